#!/usr/bin/env python3
"""Runs tests as processors with fewer instructions would: under each cap of oneDNN's instructions, and with each
instruction set of this library's kernels.

    run.py BUILD_FOLDER                    all caps, and a table of what passed under each
    run.py BUILD_FOLDER --cap TEXT         only caps whose name contains TEXT (may be repeated)
    run.py BUILD_FOLDER --tests REGEX      only tests whose name matches
    run.py BUILD_FOLDER --python PYTHON    the Python package's tests too, by a Python that has it installed

CTest's label `onednn` marks the tests that run oneDNN, and `isa` those that run the library's kernels by the
environment's choice (RELAYOUT_ISA). A cap above what the machine has changes nothing. What the tests said lies in
BUILD_FOLDER/caps, a file for each cap. Exits with 1 where a test failed. Needs Python 3.9 and its standard library.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time
import xml.etree.ElementTree as xml

ROOT = pathlib.Path(__file__).resolve().parents[2]
ONEDNN = ("SSE41", "AVX2", "AVX512_CORE", "AVX512_CORE_BF16", "none")
# oneDNN 2.6 and 3 understand both names.
ONEDNN_VARIABLE, OTHER_ONEDNN_VARIABLE = "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"
SYMBOLS = {"passed": ".", "failed": "X", "skipped": "-"}


class Cap:
    """One setting of the environment: its name, the label of its tests, and what it sets."""

    def __init__(self, label, value):
        self.label, self.name = label, "%s=%s" % (label, value)
        variable = {"onednn": ONEDNN_VARIABLE, "isa": "RELAYOUT_ISA"}[label]
        settings = (ONEDNN_VARIABLE, OTHER_ONEDNN_VARIABLE, "RELAYOUT_ISA", "RELAYOUT_SLOW_TESTS")
        self.env = {key: text for key, text in os.environ.items() if key not in settings}
        if value != "none":
            self.env[variable] = value


def caps(folder):
    about = subprocess.run([folder / "tools/relayout", "doctor", "--json"], check=True, capture_output=True, text=True)
    return [Cap("onednn", value) for value in ONEDNN] + [Cap("isa", value)
                                                         for value in json.loads(about.stdout)["available_isas"]]


def outcome_of(case):
    """CTest says "notrun" of a test that skipped itself, too: then it adds by which property it knows that."""
    said = case.find("skipped")
    skipped = said is not None and said.get("message", "").startswith("SKIP_")
    words = {"run": "passed", "disabled": "skipped", "notrun": "skipped" if skipped else "failed"}
    return words.get(case.get("status"), "failed")


def run_ctest(folder, cap, tests, log):
    """By test, "passed", "failed" or "skipped"; a test that was not run, as its program is not built, has failed. Where
    CTest itself fails, "ctest" has."""
    report = folder / "caps" / (cap.name + ".xml")
    report.unlink(missing_ok=True)
    command = ["ctest", "--test-dir", folder, "-L", "^%s$" % cap.label, "-R", tests, "--output-on-failure", "-j2",
               "--timeout", "3000", "--output-junit", report]
    result = subprocess.run(command, env=cap.env, stdout=log, stderr=subprocess.STDOUT, check=False)
    if not report.exists():
        return {"ctest": "failed"}
    outcomes = {case.get("name"): outcome_of(case) for case in xml.parse(report).getroot().iter("testcase")}
    if result.returncode != 0 and "failed" not in outcomes.values():
        outcomes["ctest"] = "failed"
    return outcomes


def run_python(python, cap, log):
    """The Python package's tests: those of models where oneDNN is capped, else all."""
    tests = ROOT / "python/tests"
    chosen = [tests / "test_model.py"] if cap.label == "onednn" else [tests]
    result = subprocess.run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir=%s" % tests, *chosen],
                            cwd=pathlib.Path(log.name).parent, env=dict(cap.env, RELAYOUT_ROOT=str(ROOT)),
                            stdout=log, stderr=subprocess.STDOUT, check=False)
    return {"python": "passed" if result.returncode == 0 else "failed"}


def print_table(results):
    names = sorted({name for outcomes in results.values() for name in outcomes})
    width = max(map(len, names), default=0)
    columns = list(results)
    for i, column in enumerate(columns):
        print("%*s  %s%s" % (width, "", "|  " * i, column))
    for name in names:
        cells = [SYMBOLS.get(results[column].get(name), "") for column in columns]
        print(("%-*s  %s" % (width, name, "".join("%-3s" % cell for cell in cells))).rstrip())
    print(". passed, X failed, - skipped, and nothing where the cap does not concern the test")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=lambda text: pathlib.Path(text).resolve(strict=True))
    parser.add_argument("--cap", action="append", default=[])
    parser.add_argument("--tests", default=".")
    parser.add_argument("--python", type=pathlib.Path)
    args = parser.parse_args()

    (args.folder / "caps").mkdir(exist_ok=True)
    results = {}
    for cap in caps(args.folder):
        if args.cap and not any(text in cap.name for text in args.cap):
            continue
        start = time.monotonic()
        with open(args.folder / "caps" / (cap.name + ".log"), "w", encoding="utf-8") as log:
            outcomes = run_ctest(args.folder, cap, args.tests, log)
            if args.python:
                log.flush()
                outcomes.update(run_python(args.python.absolute(), cap, log))
        results[cap.name] = outcomes
        failed = sorted(name for name, outcome in outcomes.items() if outcome == "failed")
        print("%s: %d tests, %s, %.0f s" % (cap.name, len(outcomes),
                                            "FAILED: " + ", ".join(failed) if failed else "none failed",
                                            time.monotonic() - start), flush=True)
    print_table(results)
    broken = [name for name, outcomes in results.items() if "failed" in outcomes.values() or not outcomes]
    if broken or not results:
        sys.exit("failed under %s; see %s" % (", ".join(broken) or "no cap at all", args.folder / "caps"))


if __name__ == "__main__":
    main()
