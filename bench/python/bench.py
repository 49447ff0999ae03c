#!/usr/bin/env python3
"""Measures conversions of relayout's Python package beside NumPy, PyTorch and einops, and beside a plain copy.

    bench/python/bench.py                                          all cases, one and two threads, a table
    bench/python/bench.py --filter transpose --threads 1           some of them
    bench/python/bench.py --json FILE --page docs/performance-python.md
                                                                   the report, the page, and its picture beside it
    bench/python/bench.py --from FILE --page docs/performance-python.md
                                                                   the page anew from an earlier report
    bench/python/bench.py --cpp build/release/tools/relayout       the same conversions by the C++ command as well

It needs the packages relayout and numpy. torch and einops are measured where they are installed, and it says so where
they are not. Measure on a machine that does nothing else: a second program changes ratios as well as times. docs/
benchmarks.md says how the C++ library is measured, and this script follows it. Exit code 2 where relayout is missing.
"""
import argparse
import json
import os
import shlex
import shutil
import sys
from pathlib import Path

import cpp
import machine
import page
import systems
import timing
from cases import all_cases

sys.path.append(str(Path(__file__).parents[2] / "docs"))
import speed_pictures  # noqa: E402


def _flat(calls):
    """calls[system][variant][way] as variant -> (system, way) -> function."""
    flat = {variant: {} for variant in systems.VARIANTS}
    for system, by_variant in calls.items():
        for variant, ways in by_variant.items():
            flat[variant].update({(system, way): call for way, call in ways.items()})
    return flat


def _checked(calls, variant, arrays, expected, known):
    """The functions whose results are right, and the faults of the others; `known` has those of earlier threads."""
    right, faults = {}, {}
    for key, call in calls.items():
        own = key[0].startswith("relayout")
        why = known[key] if not own and key in known else systems.fault(arrays.case, variant, call, arrays, expected)
        known[key] = why
        if why is None:
            right[key] = call
        else:
            faults[key] = why
    return right, faults


def _summed_up(times, faults):
    """The fastest way of each system and of the copy."""
    found = {}
    for (system, way), why in faults.items():
        found.setdefault(system, {"why": f"{way}: {why}"})
    for (system, way), median in times.items():
        if "median_ns" not in found.get(system, {}) or median < found[system]["median_ns"]:
            found[system] = {"median_ns": median, "way": way}
    copy = found.pop("copy")
    return {"copy_ns": copy["median_ns"], "copy": copy["way"], "systems": found}


def _measure_case(case, options):
    """A result for each number of threads."""
    arrays = systems.Arrays(case)
    expected = systems.expected_result(case, arrays.x)
    yardsticks = systems.copies(arrays)
    known = {variant: {} for variant in systems.VARIANTS}
    for threads in options.threads:
        if systems.torch:
            systems.torch.set_num_threads(threads)
        flat = _flat(systems.all_calls(arrays, threads))
        variants = {}
        for variant in systems.VARIANTS:
            calls, faults = _checked(flat[variant], variant, arrays, expected, known[variant])
            calls.update({("copy", way): call for way, call in yardsticks[variant].items()})
            spinning = [key for key in calls if threads > 1 and "numpy" not in key]
            variants[variant] = _summed_up(timing.measure(calls, options.rounds, case.bytes, spinning), faults)
        result = {"group": case.group, "name": case.name, "threads": threads, "bytes": case.bytes, "variants": variants}
        if options.cpp:
            result["cpp_ns"], result["cpp_why"] = cpp.measure(options.cpp, case, threads, options.rounds)
        yield result


def _measure(options):
    report = {"machine": machine.describe(), "versions": machine.versions(), "rounds": options.rounds,
              "command": " ".join(map(shlex.quote, ["bench/python/bench.py", *sys.argv[1:]])), "results": []}
    for name, version in report["versions"].items():
        print(f"{name} {version or 'is not installed, and is left out'}", file=sys.stderr)
    cases = [case for case in all_cases() if options.filter in f"{case.group}: {case.name}"]
    for number, case in enumerate(cases, 1):
        if sys.stderr.isatty():
            print(f"\r{number} of {len(cases)}: {case.name}\033[K", end="", file=sys.stderr, flush=True)
        report["results"] += _measure_case(case, options)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    return report


def _options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--filter", default="", metavar="TEXT", help="only cases whose class or name has this text")
    parser.add_argument("--threads", default="1,2", metavar="N,...", help="numbers of threads; 1,2 unless given")
    parser.add_argument("--rounds", type=int, metavar="N", help="rounds whose median counts; 11 unless given")
    parser.add_argument("--quick", action="store_true", help="5 rounds, unless --rounds says otherwise")
    parser.add_argument("--cpp", metavar="COMMAND", help="the command relayout, which runs the same conversions in C++")
    parser.add_argument("--json", metavar="FILE", help="write the report to this file")
    parser.add_argument("--page", metavar="FILE.md", help="write a page, and its picture FILE.svg beside it")
    parser.add_argument("--from", dest="source", metavar="FILE", help="measure nothing; read this report")
    parser.add_argument("--list", action="store_true", help="list the cases and measure nothing")
    options = parser.parse_args()
    try:
        options.threads = sorted({int(text) for text in options.threads.split(",")})
    except ValueError:
        parser.error(f"--threads: {options.threads!r} is no list of numbers such as 1,2")
    options.rounds = options.rounds or (5 if options.quick else 11)
    if options.threads[0] < 1 or options.rounds < 1:
        parser.error("numbers of threads and rounds are at least 1")
    return options


def _write(path, text):
    """Replaces the file as a whole, so that an error leaves the old one."""
    temporary = Path(f"{path}.tmp")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)


def main():
    options = _options()
    if options.list:
        for case in all_cases():
            if options.filter in f"{case.group}: {case.name}":
                print(f"{case.group}: {case.name}  {case.bytes} bytes")
        return 0
    if options.source:
        report = json.loads(Path(options.source).read_text(encoding="utf-8"))
    elif systems.relayout is None:
        print("bench.py: the package relayout is not installed for this Python", file=sys.stderr)
        return 2
    else:
        report = _measure(options)
    if not report["results"]:
        print(f"bench.py: no case contains {options.filter!r}; --list shows all", file=sys.stderr)
        return 2
    if options.json:
        _write(options.json, json.dumps(report, indent=1) + "\n")
    print(page.table_of_cases(report))
    if options.page:
        image = Path(options.page).with_suffix(".svg")
        text = page.page(report, image.name)
        _write(options.page, text)
        command = options.cpp or shutil.which("relayout")
        if command is None:
            print(f"bench.py: {image} is not drawn: --cpp names the command that draws it", file=sys.stderr)
            return 2
        _write(image, speed_pictures.picture_of(text, command))
    return 0


if __name__ == "__main__":
    sys.exit(main())
