#!/usr/bin/env python3
"""NaN, infinities, denormals, -0 and the greatest numbers at random places of random ONNX models.

    run.py CASES [--first SEED] [--count N] [--keep FOLDER]

CASES is the program special_values_cases. Each model has 1 to 8 operators, and special values among its inputs and
constants. It runs by relayout in several layouts, with its nodes merged and apart. Each element must be what ONNX's
reference (PyPI's onnx) or ONNX Runtime gives for it; where only one of them runs an operator, what that one gives.
Prints every difference and how many models, elements and operators there were; exit code 1 where one differs, or where
one of the faults that are planted in outputs is not found.

A test of the slow tier: without RELAYOUT_SLOW_TESTS=1, or without the packages onnx and onnxruntime, it exits with 77
and says so.
"""
import argparse
import collections
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE)]

from with_onnx import with_onnx  # noqa: E402

COUNT = 500
# Seeds beyond these that once showed a fault, of the library or of a rule of the comparison.
SHOWN = [5330, 6491, 7417, 9420, 200204, 201096, 201173, 202082,
         300514, 300797, 301527, 302118, 302178, 300239,
         305744, 302591, 305601]
POLICIES = ["any", "apart", "nchw", "nhwc", "8c", "16c"]


def ways_of(seed):
    return ["reference", *POLICIES, "drawn%d" % (2 * seed), "drawn%d" % (2 * seed + 1)]


def first_difference(chains, value, got):
    import numpy
    if got.shape != value.shape or got.dtype != value.dtype:
        return "has %s of %s" % (got.dtype, got.shape)
    good = chains.accepted(value, got)
    if good.all():
        return ""
    at = tuple(int(i) for i in numpy.argwhere(~good)[0])
    return "%d elements, first %s at %s: %s; the reference %s, ONNX Runtime %s, by relayout's choices %s" % (
        (~good).sum(), value.name, at, got[at], chains.reference[value.name][at], chains.runtime[value.name][at],
        chains.chosen[value.name][at])


def judge(seed, ours, counts):
    """What is wrong with the model of a seed, by way."""
    import models
    import peers
    import planted
    import rules
    draft = models.drafted(seed)
    model, outputs = draft.model()
    operators = [node.op_type for node in model.graph.node]
    try:
        chains = peers.Chains(draft, peers.checked(model), ours)
    except rules.NoAnswer as why:
        counts["no answer"][str(why)] += 1
        return {}, operators
    except peers.Wrong as why:
        return {"alone": str(why)}, operators
    counts["differing"].update(chains.differing)
    found = ours(model, {n: a for n, a in draft.inputs.items()}, outputs, ways_of(seed))
    wrong = {}
    for way, results in found.items():
        if isinstance(results, str):
            if results.startswith("wrong"):
                wrong[way] = results
            else:
                counts["refused"][results] += 1
            continue
        counts["runs"][way.rstrip("0123456789") if way.startswith("drawn") else way] += 1
        for value, got in zip(outputs, results):
            counts["elements"]["compared" if way != "reference" else "compared of the reference"] += got.size
            counts["elements"]["let pass"] += int(chains.marked[value.name].sum())
            what = first_difference(chains, value, got)
            if what:
                wrong[way] = what + (" by" + ours.names[way] if ours.names[way] else "")
                break
            if way == POLICIES[0]:
                planted.plant(chains, value, got, counts)
    if not any(isinstance(r, str) for r in found.values()):
        counts["operators"].update(operators)
        counts["types"][draft.dtype.name] += 1
    return wrong, operators


def report(models, counts, bad):
    """Prints the counts; the exit code."""
    import planted
    for what in ("runs", "types", "operators", "differing", "no answer", "refused", "elements", "planted", "found"):
        print("%s: %s" % (what, ", ".join("%s %d" % pair for pair in counts[what].most_common())))
    missed = planted.missed(counts)
    if missed:
        print("planted and not found: %s" % ", ".join(missed))
    print("special values: %d models, %d wrong" % (models, bad))
    return 1 if bad or missed or not models else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--first", type=int)
    parser.add_argument("--count", type=int)
    parser.add_argument("--keep")
    args = parser.parse_args()
    with_onnx("onnxruntime")
    first = args.first or 0
    seeds = list(range(first, first + (COUNT if args.count is None else args.count)))
    if args.first is None and args.count is None:
        seeds += SHOWN
    from ours import Ours
    counts = collections.defaultdict(collections.Counter)
    bad = 0
    with tempfile.TemporaryDirectory() as temporary:
        ours = Ours(args.program, args.keep or temporary)
        for seed in seeds:
            wrong, operators = judge(seed, ours, counts)
            bad += bool(wrong)
            if wrong:
                print("WRONG %d (%s)" % (seed, ", ".join(operators)))
                said = collections.defaultdict(list)
                for way, why in wrong.items():
                    said[why].append(way)
                for why, ways in said.items():
                    print("   %s: %s" % (" ".join(ways), why), flush=True)
        ours.close()
    return report(len(seeds), counts, bad)


if __name__ == "__main__":
    sys.exit(main())
