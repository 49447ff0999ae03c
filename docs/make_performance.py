#!/usr/bin/env python3
"""Writes docs/performance.md, the page of measured speeds, from what the benchmark suite measured.

    docs/make_performance.py SUITE.json                          the page, on standard output
    docs/make_performance.py SUITE.json -o docs/performance.md   the page, into a file; docs/speed_pictures.py then
                                                                 draws its picture
    docs/make_performance.py SUITE.json --readme                 the README's table of five classes

SUITE.json is written by `scripts/bench` (build/bench/report/suite.json), by `relayout_suite --out SUITE.json`, or by
`relayout bench --suite --out SUITE.json`, which has no other systems. It does not record the command that made it;
--command TEXT names that in the page. Exit code 2 and a message where the file is none of these, 1 where it cannot be
read or the page cannot be written. Python 3.11, standard library only.
"""
import argparse
import json
import math
import os
import sys
from collections import namedtuple

# The classes that the README shows, in its order, with what they are in a few words.
README_CLASSES = (
    ("channels", "nchw to nhwc and back, weights"),
    ("blocks", "channel blocks, RGB, slices, padded rows"),
    ("transpose", "transposes of large matrices"),
    ("convert", "with conversion of types"),
    ("tails", "blocks that do not divide, tails"),
)
SYSTEM_NAMES = {"onednn": "oneDNN", "hptt": "HPTT", "torch": "PyTorch", "pytorch": "PyTorch", "eigen": "Eigen"}
SLOWEST = 10

# Of a class and a number of threads: `fastest_other` is the geometric mean of the fastest other system's value over the
# `raced` cases in which one has a time; 0 where there are none.
Peers = namedtuple("Peers", "fastest_other raced ahead")


class BadReport(Exception):
    """The file is not what the benchmark suite writes."""


class Incomplete(Exception):
    """It is, but what is asked for is not in it."""


def field(table, key, kind, where):
    """table[key], which must be there and of that kind."""
    if not isinstance(table, dict):
        raise BadReport(f"{where} is not an object")
    if key not in table:
        raise BadReport(f'{where} has no "{key}"')
    value = table[key]
    number = kind is float
    if number and isinstance(value, (int, float)) and not isinstance(value, bool):
        # NaN and infinity, which JSON does not have but Python's parser takes, would spoil the means.
        if math.isfinite(value):
            return float(value)
        raise BadReport(f'{where}: "{key}" is not a finite number')
    if number or not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise BadReport(f'{where}: "{key}" is not {"a number" if kind in (float, int) else "a " + kind.__name__}')
    return value


def positive(table, key, where):
    value = field(table, key, float, where)
    if value <= 0:
        raise BadReport(f'{where}: "{key}" is not above 0')
    return value


def check_competitor(competitor, where):
    field(competitor, "name", str, where)
    field(competitor, "version", str, where)
    if competitor.get("median_ns") is not None:
        positive(competitor, "median_ns", where)


def check_result(result, where):
    for key in ("row", "name", "goal_of"):
        field(result, key, str, where)
    field(result, "threads", int, where)
    positive(result, "goal", where)
    if "error" in result:
        field(result, "error", str, where)
        return
    field(result, "repeat", int, where)
    for key in ("median_ns", "copy_ns", "ratio", "plan_ns", "gbps"):
        positive(result, key, where)
    field(result, "met", bool, where)
    if result["goal_of"] not in ("ratio", "median_ns", "plan_ns"):
        raise BadReport(f'{where}: "goal_of" is neither ratio nor median_ns nor plan_ns')
    competitors = field(result, "competitors", list, where) if "competitors" in result else []
    for index, competitor in enumerate(competitors):
        check_competitor(competitor, f"{where}.competitors[{index}]")


def check_row(row, where):
    for key in ("row", "title", "goal", "unit"):
        field(row, key, str, where)
    if row["unit"] not in ("x", "ns"):
        raise BadReport(f'{where}: "unit" is neither x nor ns')
    for index, side in enumerate(field(row, "by_threads", list, where)):
        at = f"{where}.by_threads[{index}]"
        for key in ("threads", "cases", "met"):
            field(side, key, int, at)
        for key in ("mean", "worst"):
            field(side, key, float, at)
        field(side, "worst_case", str, at)


def check_report(report):
    """Raises BadReport unless the page can be made of it."""
    if isinstance(report, dict) and "sweeps" in report:
        raise BadReport("it is a report of sizes (sweep.json); the suite's is suite.json")
    for key in ("rows", "results"):
        if not field(report, key, list, "it"):
            raise BadReport(f'its "{key}" is empty')
    machine = field(report, "machine", dict, "it")
    field(machine, "cores", int, "machine")
    field(machine, "page_bytes", int, "machine")
    for key in ("compiler", "flags", "date"):
        field(machine, key, str, "machine")
    for size in field(machine, "caches", dict, "machine"):
        field(machine["caches"], size, int, "machine.caches")
    for index, row in enumerate(report["rows"]):
        check_row(row, f"rows[{index}]")
    for index, result in enumerate(report["results"]):
        check_result(result, f"results[{index}]")
    unknown = {result["row"] for result in report["results"]} - {row["row"] for row in report["rows"]}
    if unknown:
        raise BadReport(f'a result is of the row "{sorted(unknown)[0]}", which "rows" does not have')


def load(path):
    try:
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
    except OSError as error:
        sys.exit(f"make_performance: cannot read {path}: {error.strerror}")
    except (ValueError, RecursionError) as error:
        raise BadReport(f"it is not JSON: {error}") from error
    check_report(report)
    return report


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else 0


def escaped(text):
    return text.replace("|", "\\|")


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def size_text(size):
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size:.4g} {unit}"
        size /= 1024


def value_text(unit, value):
    """A mean or a worst case: ratios as they are, times in ns, or in us from 1000 ns on."""
    if value == 0:
        return "-"
    if unit == "x":
        return f"{value:.2f}"
    return f"{value:.1f} ns" if value < 1000 else f"{value / 1000:.1f} us"


def many(count, what):
    return f"{count} {what}" + ("" if count == 1 else "s")


def measured(report, threads, row=None):
    """The results that have times, of a number of threads."""
    return [result for result in report["results"]
            if "error" not in result and result["threads"] == threads and row in (None, result["row"])]


def others(result):
    """Other systems' times of a case, in ns, by name."""
    return {one["name"]: one["median_ns"] for one in result.get("competitors", []) if one.get("median_ns") is not None}


def peers(report, row, threads):
    values, ahead = [], 0
    for result in measured(report, threads, row):
        times = others(result)
        if not times or result["goal_of"] == "plan_ns":
            continue
        fastest = min(times.values())
        values.append(fastest / result["copy_ns"] if result["goal_of"] == "ratio" else fastest)
        ahead += result["median_ns"] <= fastest
    return Peers(geometric_mean(values), len(values), ahead)


def thread_counts(report):
    return sorted({result["threads"] for result in report["results"]})


def machine_lines(report, command):
    machine = report["machine"]
    caches = ", ".join(f"{level} {size_text(size)}" for level, size in machine["caches"].items() if size > 0)
    isas = sorted({result["isa"] for result in report["results"] if isinstance(result.get("isa"), str)})
    pages = size_text(machine["page_bytes"])
    huge = machine.get("transparent_huge_pages")
    if isinstance(huge, str) and "[" in huge:
        pages += f" (transparent huge pages: {huge.split('[')[1].split(']')[0]})"
    repeats = sorted({result["repeat"] for result in report["results"] if "error" not in result})
    counts = ",".join(map(str, thread_counts(report)))
    how = (f"`{command}`" if command else "not recorded") + f"; threads {counts}"
    if repeats:
        how += ", repetitions " + ", ".join(map(str, repeats))
    rows = [
        ("processor", f"{machine.get('processor') or 'not known'}, {many(machine['cores'], 'core')}"),
        ("instruction set", ", ".join(isas) or "not known"),
        ("caches", caches or "not known"),
        ("pages", pages),
        ("system", machine.get("system") or "not known"),
        ("compiler", f"{machine['compiler']}, {machine['flags']}"),
        ("date", machine["date"]),
        ("command", how),
    ]
    return table(("", ""), [(name, escaped(str(value))) for name, value in rows])


def least(report, threads, row):
    """The least value of a case of the class, in its goal's unit; 0 where the class has no case of its own."""
    return min((result[result["goal_of"]] for result in measured(report, threads, row["row"])), default=0)


def classes_table(report, threads):
    lines = []
    compares = any(peers(report, row["row"], threads).raced for row in report["rows"])
    for row in report["rows"]:
        for side in row["by_threads"]:
            if side["threads"] != threads:
                continue
            values = (side["mean"], least(report, threads, row), side["worst"])
            cells = [row["row"], str(side["cases"]), *(value_text(row["unit"], value) for value in values),
                     escaped(row["goal"]), f"{side['met']} of {side['cases']}"]
            if compares:
                peer = peers(report, row["row"], threads)
                ahead = f"{peer.ahead} of {peer.raced}" if peer.raced else "-"
                cells += [value_text(row["unit"], peer.fastest_other), ahead]
            lines.append(cells)
    head = ["class", "cases", "mean", "best", "worst", "goal", "meet it"]
    return table(head + (["fastest other", "ahead of all"] if compares else []), lines)


def slowest_table(report, threads):
    cases = [result for result in measured(report, threads) if result["goal_of"] == "ratio"]
    cases.sort(key=lambda result: (-result["ratio"], result["name"]))
    lines = []
    for result in cases[:SLOWEST]:
        times = others(result)
        best = min(times, key=times.get) if times else None
        other = f"{times[best] / result['copy_ns']:.2f} ({SYSTEM_NAMES.get(best, best)})" if best else "-"
        lines.append((f"`{escaped(result['name'])}`", result["row"], f"{result['ratio']:.2f}", f"{result['goal']:g}",
                      f"{result['gbps']:.1f}", other))
    return table(("case", "class", "ratio", "goal", "GB/s", "fastest other"), lines) if lines else ""


def systems_table(report, threads):
    """Each other system over the cases that it has a time of; "" where there is none."""
    found = {}
    for result in measured(report, threads):
        for one in result.get("competitors", []):
            entry = found.setdefault(one["name"], {"version": one["version"], "times": [], "faster": 0, "wrong": 0})
            entry["wrong"] += one.get("why") == "wrong result"
            if one.get("median_ns") is not None:
                entry["times"].append(one["median_ns"] / result["median_ns"])
                entry["faster"] += one["median_ns"] < result["median_ns"]
    lines = []
    for name, entry in sorted(found.items()):
        mean = f"{geometric_mean(entry['times']):.2f}" if entry["times"] else "-"
        system = f"{SYSTEM_NAMES.get(name, name)} {escaped(entry['version'])}".strip()
        lines.append((system, str(len(entry["times"])), mean, str(entry["faster"]), str(entry["wrong"])))
    head = ("system", "cases it does", "times as long (mean)", "faster in", "wrong results")
    return table(head, lines) if lines else ""


def unmeasured(report):
    """Cases that have no time, or a time of a wrong result."""
    lines = []
    for result in report["results"]:
        wrong = "its result differs from the reference's" if result.get("verified") is False else None
        why = result.get("error", wrong)
        if why:
            lines.append(f"- `{result['name']}` ({many(result['threads'], 'thread')}): {why}")
    return lines


def page(report, command):
    parts = [
        "# Performance",
        "<!-- Generated by docs/make_performance.py from the benchmark suite's JSON. Do not edit. -->",
        "How long relayout takes to convert tensors between layouts, in multiples of a plain copy of as many bytes in\n"
        "the same run: 1 is as fast as memory can be copied.\n"
        "[Benchmarks](benchmarks.md) says how this is measured, [the lab notebook](lab/README.md) what was tried.",
        "![Each class of conversions beside a plain copy and the fastest other system](performance.svg)",
        "## Where and how",
        machine_lines(report, command),
    ]
    for threads in thread_counts(report):
        of = many(threads, "thread")
        parts += [f"## Classes of conversions, {of}", classes_table(report, threads)]
        slowest = slowest_table(report, threads)
        if slowest:
            parts += [f"## The slowest cases, {of}", slowest]
        systems = systems_table(report, threads)
        if systems:
            parts += [f"## Other systems, {of}", systems]
    parts += [
        "## What the columns mean",
        "Mean, best and worst are the time of a conversion divided by that of the copy, over the cases of the\n"
        "class; of the classes *tiny* and *plan* they are times. Means are geometric. *Goal* is what the project\n"
        "wants every case of the class to stay below, and *meet it* says how many do. *plan* counts the plan of\n"
        "every case. *Fastest other* is the mean of the fastest other system's ratio, over the cases that one of\n"
        "them can do; *ahead of all* says in how many of these no other system is faster. *Times as long* is the\n"
        "mean of a system's time over relayout's in the same turns. A wrong result has no time.",
        "\n".join(f"- *{row['row']}*: {row['title']}" for row in report["rows"]),
    ]
    missing = unmeasured(report)
    if missing:
        parts += ["## Without a valid time", "\n".join(missing)]
    return "\n\n".join(part for part in parts if part) + "\n"


def readme_table(report):
    """Five classes on the fewest threads that were measured."""
    threads = thread_counts(report)[0]
    sides = {row["row"]: side for row in report["rows"] for side in row["by_threads"] if side["threads"] == threads}
    missing = [name for name, _ in README_CLASSES if name not in sides]
    if missing:
        raise Incomplete(f"no case of {', '.join(missing)}, which the README shows; measure without --filter")
    lines = []
    for name, what in README_CLASSES:
        lines.append((name, what, value_text("x", sides[name]["mean"]),
                      value_text("x", peers(report, name, threads).fastest_other)))
    return table(("class", "what it is", "mean ratio to a copy", "fastest other system"), lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("suite", metavar="SUITE.json", help="what scripts/bench wrote: build/bench/report/suite.json")
    parser.add_argument("-o", "--out", metavar="FILE", help="write to this file instead of standard output")
    parser.add_argument("--readme", action="store_true", help="only the README's table of five classes")
    parser.add_argument("--command", help="the command that made SUITE.json, to be named in the page")
    options = parser.parse_args()
    try:
        report = load(options.suite)
        text = readme_table(report) if options.readme else page(report, options.command)
    except BadReport as error:
        print(f"make_performance: {options.suite} is not a report of the benchmark suite: {error}", file=sys.stderr)
        return 2
    except Incomplete as error:
        print(f"make_performance: {options.suite} has {error}", file=sys.stderr)
        return 2
    if not options.out:
        sys.stdout.write(text)
        return 0
    # The file is replaced as a whole, so that an error leaves the old page.
    temporary = options.out + ".tmp"
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, options.out)
    except OSError as error:
        sys.exit(f"make_performance: cannot write {options.out}: {error.strerror}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
