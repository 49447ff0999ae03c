#!/usr/bin/env python3
"""Counts instructions with callgrind and compares them with those recorded in counts.json.

    count.py PROGRAM --valgrind VALGRIND --toolchain TEXT            compares; exit 1 where a case takes more
    count.py PROGRAM --valgrind VALGRIND --toolchain TEXT --update   records; read the diff

Counts do not depend on the machine's load, but they do on the compiler and its flags: those of each toolchain are
recorded apart, and where there are none for this one, the test is skipped (exit 77). Standard library only.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

COUNTS = pathlib.Path(__file__).resolve().parent / "counts.json"
TOLERANCE = 0.15
SKIPPED = 77
UPDATE = "cmake --build BUILD --target update_instructions"


def measure(program, valgrind):
    """Instructions of each case, by name. Callgrind writes a dump a case."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("RELAYOUT_")}
    with tempfile.TemporaryDirectory(prefix="relayout-instructions-") as top:
        out = pathlib.Path(top) / "out"
        run = subprocess.run([valgrind, "--tool=callgrind", "--collect-atstart=no", "--callgrind-out-file=%s" % out,
                              program], env=env, capture_output=True, text=True, timeout=1800)
        if run.returncode != 0 or "done" not in run.stdout:
            sys.exit("instructions: %s under callgrind ended with %d:\n%s" % (program, run.returncode, run.stderr))
        counts = {}
        for dump in pathlib.Path(top).iterdir():
            text = dump.read_text(errors="replace")
            name = re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.MULTILINE)
            total = re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE)
            if name and total:
                counts[name.group(1)] = int(total.group(1))
    return counts


def compare(recorded, counts):
    """Findings, as (is an error, text)."""
    for name in sorted(recorded.keys() | counts.keys()):
        if name not in counts:
            isa = re.match(r"run (\S+): ", name)
            if isa and not any(other.startswith("run %s: " % isa.group(1)) for other in counts):
                continue  # this machine, under valgrind, does not have that instruction set
            yield True, "%s: recorded, but not run any more" % name
        elif name not in recorded:
            yield True, "%s: %d instructions, none recorded" % (name, counts[name])
        else:
            was, now = recorded[name], counts[name]
            change = "%s: %d instructions, recorded %d (%+.0f%%)" % (name, now, was, 100 * (now - was) / max(was, 1))
            if now > was * (1 + TOLERANCE):
                yield True, change
            elif now < was * (1 - TOLERANCE):
                yield False, change + ": better; record it"


def self_test():
    """More is an error, less a remark, the rest silence."""
    recorded = {"make: a": 1000, "make: b": 1000, "make: c": 1000, "make: d": 1000, "run avx9: a": 5}
    counts = {"make: a": 1149, "make: b": 1151, "make: c": 849, "make: e": 3}
    found = [(error, text.split(":")[1].strip()) for error, text in compare(recorded, counts)]
    if found != [(True, "b"), (False, "c"), (True, "d"), (True, "e")]:
        sys.exit("instructions: the comparison is broken: %s" % found)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--valgrind", required=True)
    parser.add_argument("--toolchain", required=True)
    parser.add_argument("--update", action="store_true")
    args = parser.parse_args()
    self_test()
    every = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
    if not args.update and args.toolchain not in every:
        print("skipped: no instruction counts are recorded for %s, only for %s; %s records them"
              % (args.toolchain, "; ".join(sorted(every)) or "nothing", UPDATE))
        sys.exit(SKIPPED)

    counts = measure(args.program, args.valgrind)
    if not counts:
        sys.exit("instructions: callgrind counted nothing")
    if args.update:
        every[args.toolchain] = counts
        COUNTS.write_text(json.dumps(every, indent=1, sort_keys=True) + "\n")
        print("instructions: %d counts written for %s; see: git diff" % (len(counts), args.toolchain))
        return
    findings = list(compare(every[args.toolchain], counts))
    for _, text in findings:
        print(text)
    errors = sum(error for error, _ in findings)
    print("instructions: %d cases, %d findings over %.0f%%" % (len(counts), errors, 100 * TOLERANCE))
    if findings:
        print("recorded anew by: %s" % UPDATE)
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
