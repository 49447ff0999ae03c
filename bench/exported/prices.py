#!/usr/bin/env python3
"""How far analytic prices are from measured ones, by kind of node.

    prices.py RELAYOUT MODEL.onnx... [--threads N] [--json FILE]

RELAYOUT is the command. Each model is planned by measured prices, and each step of that plan is priced both ways; what
is compared is the analytic price over the measured one. The command keeps measured prices, so that a second run is
fast. Measure on a machine that does nothing else.
"""
import argparse
import collections
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile


def command(*args):
    got = subprocess.run([str(a) for a in args], capture_output=True, text=True)
    if got.returncode:
        sys.exit("%s: %s" % (args[2], got.stderr.strip()))
    return got.stdout


def priced(relayout, model, threads, plan, cost):
    """The steps of the plan with their predicted times."""
    got = command(relayout, "run", model, "--plan", plan, "--cost", cost, "--threads", threads, "--random-inputs", 1,
                  "--profile", "--json")
    return [step for step in json.loads(got)["profile"]["steps"] if "predicted_us" in step]


def prices_of(relayout, model, threads):
    """For each step: its kind, name, implementation, analytic and measured microseconds."""
    with tempfile.TemporaryDirectory() as folder:
        plan = pathlib.Path(folder) / "plan.json"
        command(relayout, "plan", model, "--cost", "measured", "--threads", threads, "-o", plan)
        analytic, measured = (priced(relayout, model, threads, plan, cost) for cost in ("analytic", "measured"))
    return [(a.get("primitive", "reorder"), a["name"], a["implementation"], a["predicted_us"], m["predicted_us"])
            for a, m in zip(analytic, measured, strict=True)]


def within(ratio):
    return 0.5 <= ratio <= 2


def show(rows):
    """A line for each kind, and one for all."""
    kinds = collections.defaultdict(list)
    for row in rows:
        if row[4] > 0:
            kinds[row[0]].append(row)
            kinds["all"].append(row)
    print("| kind | nodes | within two times | of the time | median | least | most | farthest |")
    print("|---|---|---|---|---|---|---|---|")
    for kind in sorted(kinds, key=lambda kind: (kind == "all", kind)):
        of = kinds[kind]
        ratios = [row[3] / row[4] for row in of]
        far = max(of, key=lambda row: max(row[3] / row[4], row[4] / max(row[3], 1e-9)))
        good, whole = sum(row[4] for row in of if within(row[3] / row[4])), sum(row[4] for row in of)
        print("| %s | %d | %.0f %% | %.0f %% | %.2f | %.2f | %.2f | %s by %s, %.3g for %.3g us |" % (
            kind, len(of), 100 * sum(map(within, ratios)) / len(of), 100 * good / whole, statistics.median(ratios),
            min(ratios), max(ratios), far[1][:30], far[2][:40], far[3], far[4]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("relayout")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    rows = []
    for model in args.models:
        rows += prices_of(args.relayout, model, args.threads)
        print("%s: %d steps" % (model, len(rows)), file=sys.stderr)
    show(rows)
    if args.json:
        args.json.write_text(json.dumps(rows))


if __name__ == "__main__":
    main()
