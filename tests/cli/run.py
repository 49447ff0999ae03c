#!/usr/bin/env python3
"""Tests of the relayout command from outside.

    run.py RELAYOUT               runs the golden cases and the behaviours
    run.py RELAYOUT --part PART   the golden cases alone ("cases"), or the behaviours of one file ("plan")
    run.py RELAYOUT --only TEXT   only tests whose name contains TEXT
    run.py --update RELAYOUT      writes what the command prints into the golden cases; read the diff

A golden case is a file cases/*.txt, run line by line in an empty directory:

    # a comment
    $ relayout offset nhwc --dims 2,3,5,4 --index 0,2,0,0
    | 2                             standard output
    ! relayout: ...                 standard error
    ? 2                             the exit code, where it is not 0

`tensor` makes and shows small files (tensors.py). Needs Python 3.9 and its standard library.
"""
import argparse
import difflib
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

import behaviours
import shared

HERE = pathlib.Path(__file__).resolve().parent

# Parts of the output that differ between machines and runs.
NORMAL = [
    (re.compile(r'"seconds": [0-9.e+-]+'), '"seconds": SECONDS'),
    (re.compile(r'"isa": "[^"]*"'), '"isa": "ISA"'),
    (re.compile(r'"threads": [0-9]+'), '"threads": N'),
    (re.compile(r'"plan": ".*"'), '"plan": "PLAN"'),
    (re.compile(r"^relayout [0-9]+\.[0-9]+\.[0-9]+$", re.M), "relayout VERSION"),
]


def environment(binary, directory, cost_file):
    """PATH with `relayout` and `tensor`, and nothing that changes what is printed. The machine's speeds are measured by
    the first test that needs them and kept in the cost file for the others."""
    tools = pathlib.Path(directory) / "bin"
    tools.mkdir()
    (tools / "relayout").symlink_to(binary)
    wrapper = tools / "tensor"
    script = shlex.quote(str(HERE / "tensors.py"))
    wrapper.write_text("#!/bin/sh\nexec %s %s \"$@\"\n" % (shlex.quote(sys.executable), script))
    wrapper.chmod(0o755)
    # RELAYOUT_ISA and oneDNN's cap stay: they may change no test's outcome (scripts/test --caps).
    settings = ("NO_COLOR", "COLUMNS", "RELAYOUT_KERNEL", "RELAYOUT_OPENCL_DEVICE", "RELAYOUT_TUNE_FILE")
    env = {key: value for key, value in os.environ.items() if key not in settings}
    env.update(PATH="%s:%s" % (tools, env.get("PATH", "/usr/bin:/bin")), LC_ALL="C", PYTHONDONTWRITEBYTECODE="1",
               RELAYOUT_COST_FILE=str(cost_file),
               RELAYOUT_SPEEDS_FILE=str(pathlib.Path(directory) / "no-speeds.txt"),
               RELAYOUT_OPENCL_LIBRARY="")  # no device: what it is would be printed; tests/opencl has devices
    return env


def normal(text, directory):
    text = text.replace(str(directory), "DIR")
    for pattern, replacement in NORMAL:
        text = pattern.sub(replacement, text)
    return text


def marked(text, mark):
    if not text:
        return ""
    lines = text.split("\n")
    tail = ""
    if lines[-1] == "":
        lines.pop()
    else:
        tail = mark.strip() + "(no line end)\n"
    return "".join((mark + line).rstrip() + "\n" for line in lines) + tail


def run_case(path, env, directory):
    """The case's text with what really happened in place of what was expected."""
    out = []
    for line in path.read_text().splitlines():
        if not line.startswith("$ "):
            if line.startswith("#") or not line:
                out.append(line + "\n")
            continue
        result = subprocess.run(["/bin/sh", "-c", line[2:]], cwd=directory, env=env, capture_output=True,
                                timeout=shared.HUNG)
        out.append(line + "\n")
        out.append(marked(normal(result.stdout.decode("utf-8", "backslashreplace"), directory), "| "))
        out.append(marked(normal(result.stderr.decode("utf-8", "backslashreplace"), directory), "! "))
        if result.returncode != 0:
            out.append("? %d\n" % result.returncode)
    return "".join(out)


def golden(path, binary, cost_file, update):
    with tempfile.TemporaryDirectory(prefix="relayout-cli-") as top:
        directory = pathlib.Path(top) / "work"
        directory.mkdir()
        actual = run_case(path, environment(binary, top, cost_file), directory)
    expected = path.read_text()
    if actual == expected:
        return None
    if update:
        path.write_text(actual)
        return None
    diff = difflib.unified_diff(expected.splitlines(True), actual.splitlines(True), "expected", "actual")
    return "".join(diff)


def behaviour(function, binary, cost_file):
    with tempfile.TemporaryDirectory(prefix="relayout-cli-") as top:
        directory = pathlib.Path(top) / "work"
        directory.mkdir()
        try:
            return function(shared.Command(binary, environment(binary, top, cost_file), directory))
        except (AssertionError, subprocess.SubprocessError, OSError) as error:
            return "%s: %s" % (type(error).__name__, error)


def shortened(text, most=4000):
    """Its start and its end."""
    return text if len(text) <= most else "%s\n... %d characters ...\n%s" % (
        text[:most // 2], len(text) - most, text[-most // 2:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=lambda text: pathlib.Path(text).resolve(strict=True))
    parser.add_argument("--update", action="store_true", help="rewrite the golden cases")
    parser.add_argument("--only", default="", help="part of a name")
    parser.add_argument("--part", default="", choices=["", "cases", *behaviours.PARTS], help="one part of the tests")
    args = parser.parse_args()

    kept = tempfile.TemporaryDirectory(prefix="relayout-cli-costs-")
    cost_file = pathlib.Path(kept.name) / "costs.txt"
    failed, passed, skipped = [], 0, []
    cases = sorted((HERE / "cases").glob("*.txt")) if args.part in ("", "cases") else []
    functions = [] if args.update else behaviours.of(args.part)
    if cases:  # CTest runs one part after the other, by the list in CMakeLists.txt
        listed = (HERE / "CMakeLists.txt").read_text().split("foreach(part ")[1].split(")")[0].split()
        if sorted(listed) != sorted(["cases", *behaviours.PARTS]):
            failed.append("the list of parts in CMakeLists.txt")
    for path in cases:
        if args.only in path.stem:
            problem = golden(path, args.binary, cost_file, args.update)
            passed += problem is None
            if problem is not None:
                failed.append(path.stem)
                print("FAILED %s\n%s" % (path.stem, problem))
    for function in functions:
        if args.only in function.__name__:
            start = time.monotonic()
            problem = behaviour(function, args.binary, cost_file)
            seconds = time.monotonic() - start
            if problem is None:
                passed += 1
                print("ok %s (%.1f s)" % (function.__name__, seconds))
            elif problem.startswith("skipped:"):
                skipped.append(function.__name__)
                print("%s %s" % (function.__name__, problem))
            else:
                failed.append(function.__name__)
                print("FAILED %s: %s" % (function.__name__, shortened(problem)))
    if failed:  # repeated here, because the end of a long log is what is kept
        print("FAILED: " + ", ".join(failed))
    print("%d passed, %d failed%s" % (passed, len(failed), ", %d skipped" % len(skipped) if skipped else ""))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
