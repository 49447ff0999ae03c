"""The loop of the tests that draw one node for each seed: attention.py and pooling.py."""
import argparse
import collections
import tempfile

from with_onnx import with_onnx


def judge_nodes(judge, name, usual, tables, ran):
    """Calls judge(seed, ours, counts) for the seeds that the command line says, `usual` of them unless told otherwise.
    It gives what is wrong by way of running, and what the node was. Prints that and the tables of `counts`; 1 where
    something is wrong, or where the table `ran` has fewer than half of the nodes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=usual)
    args = parser.parse_args()
    with_onnx("onnxruntime")
    from ours import Ours
    counts = collections.defaultdict(collections.Counter)
    bad = 0
    with tempfile.TemporaryDirectory() as temporary:
        ours = Ours(args.program, temporary)
        for seed in range(args.first, args.first + args.count):
            wrong, what = judge(seed, ours, counts)
            bad += bool(wrong)
            if wrong:
                print("WRONG %d: %s" % (seed, what))
            for way, why in wrong.items():
                print("   %s: %s" % (way, why), flush=True)
        ours.close()
    for table in tables:
        print("%s: %s" % (table, ", ".join("%s %d" % pair for pair in counts[table].most_common())))
    print("%s: %d nodes, %d wrong" % (name, args.count, bad))
    return 1 if bad or sum(counts[ran].values()) < args.count / 2 else 0
