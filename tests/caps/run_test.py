#!/usr/bin/env python3
"""run.py tells tests that skipped themselves from those that could not be run, and fails for these.

    run_test.py CTEST

Makes build folders whose tests are /bin/true and its like. Needs Python 3.9 and its standard library.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

RUN = pathlib.Path(__file__).resolve().with_name("run.py")
PASSES = ("passes", "/bin/true", "")
SKIPS = ("skips", "/bin/false", "SKIP_RETURN_CODE 1")
FAILS = ("fails", "/bin/false", "")
MISSING = ("missing", "/no/such/program", "")
BROKEN = ("broken", "/bin/true", "REQUIRED_FILES /no/such/file")


def run(ctest, tests):
    """The exit status of run.py and what it prints, over these tests under one instruction set."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "tools").mkdir()
        doctor = folder / "tools/relayout"
        doctor.write_text("#!/bin/sh\necho '{\"available_isas\": [\"scalar\"]}'\n")
        doctor.chmod(0o755)
        lines = ["add_test(%s %s)\nset_tests_properties(%s PROPERTIES LABELS isa %s)\n" % (test, program, test, more)
                 for test, program, more in tests]
        (folder / "CTestTestfile.cmake").write_text("".join(lines))
        env = dict(os.environ, PATH="%s:%s" % (pathlib.Path(ctest).parent, os.environ.get("PATH", "")))
        result = subprocess.run([sys.executable, RUN, folder, "--cap", "isa"], env=env, capture_output=True, text=True,
                                check=False)
        return result.returncode, result.stdout + result.stderr


def main():
    cases = [([PASSES, SKIPS], None), ([PASSES, FAILS], "fails"), ([PASSES, SKIPS, MISSING], "missing"),
             ([PASSES, BROKEN], "broken"), ([], "no cap")]
    wrong = []
    for tests, culprit in cases:
        status, text = run(sys.argv[1], tests)
        said = "none failed" in text if culprit is None else culprit in text and "failed under" in text
        if status != (culprit is not None) or (tests and not said):
            wrong.append("%s: exit status %d\n%s" % ([test[0] for test in tests], status, text))
    print("\n".join(wrong) or "%d folders of tests: all outcomes are told" % len(cases))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
