#!/usr/bin/env python3
"""Swizzled layouts against NVIDIA's pycute and against tensor-layouts.

    swizzles.py SWIZZLE_LINES [--seed N]      SWIZZLE_LINES is the program swizzle_lines.cc

Random layouts with random swizzles and offsets go to relayout as CuTe's text. Each must have the offset of pycute's
ComposedLayout and of tensor-layouts' for every index, and the text that comes back must be the same function to them.
20,000 layouts. Without one of the packages its part is skipped, without both the test is (exit code 77).
scripts/install slow puts both into build/cute.
"""
import argparse
import itertools
import os
import random
import re
import subprocess
import sys

sys.dont_write_bytecode = True  # the module is beside this file, in the source tree
from cute_packages import pycute, tensor_layouts


def random_case(rng):
    """((bits, base, shift), offset, shape, stride): tiles of powers of two, and any other layouts."""
    bits = rng.randint(0, 3)
    swizzle = (bits, rng.randint(0, 4), rng.choice((1, 1, -1)) * rng.randint(max(bits, 1), bits + 2))
    shape, stride, step = [], [], 1
    for _ in range(rng.randint(1, 3)):
        extent = rng.choice((1, 2, 4, 8, 16)) if rng.random() < 0.7 else rng.randint(1, 9)
        shape.append(extent)
        stride.append(step if rng.random() < 0.8 else rng.randint(0, 40))
        step = max(step, stride[-1] * extent)
    order = list(range(len(shape)))
    rng.shuffle(order)
    offset = rng.choice((0, 0, 8 * rng.randint(0, 9), rng.randint(0, 99)))
    return swizzle, offset, tuple(shape[k] for k in order), tuple(stride[k] for k in order)


def text_of(case):
    swizzle, offset, shape, stride = case
    tuples = tuple("(" + ",".join(map(str, values)) + ")" for values in (shape, stride))
    return "Sw<%d,%d,%d> o %d o %s:%s" % (*swizzle, offset, *tuples)


def case_of(text):
    """What relayout prints; without a swizzle where it changes nothing."""
    swizzle, offset = (0, 0, 1), 0
    if text.startswith("Sw<"):
        head, offset, text = text.split(" o ")
        swizzle = tuple(map(int, re.findall(r"-?\d+", head)))
    shape, stride = (tuple(map(int, re.findall(r"\d+", part))) for part in text.split(":"))
    return swizzle, int(offset), shape, stride


def by_pycute(case):
    swizzle, offset, shape, stride = case
    layout = pycute.swizzle.ComposedLayout(pycute.swizzle.Swizzle(*swizzle), offset, pycute.Layout(shape, stride))
    return [layout(*index) for index in itertools.product(*map(range, shape))]


def by_tensor_layouts(case):
    swizzle, offset, shape, stride = case
    apply, layout = tensor_layouts.Swizzle(*swizzle), tensor_layouts.Layout(shape, stride)
    return [apply(offset + layout(*index)) for index in itertools.product(*map(range, shape))]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("RELAYOUT_SEED", "26")))
    options = parser.parse_args()
    count = int(os.environ.get("RELAYOUT_CASES", "20000"))
    rng = random.Random(options.seed)
    cases = [random_case(rng) for _ in range(count)]
    done = subprocess.run([options.program], input="".join(text_of(case) + "\n" for case in cases),
                          capture_output=True, text=True)
    answers = done.stdout.splitlines()
    if done.returncode != 0 or len(answers) != count:
        print("FAILED: %s ended with %d after %d of %d lines" % (options.program, done.returncode, len(answers), count))
        return 1
    packages = [(name, call) for name, module, call in (
        ("pycute", pycute, by_pycute), ("tensor-layouts", tensor_layouts, by_tensor_layouts)) if module]
    failures = swizzled = texts = 0
    for case, answer in zip(cases, (line.split("\t") for line in answers)):
        if answer[0] == "error":
            # CuTe's text of a layout without a swizzle has no offset.
            problems = [] if "begins at offset" in answer[-1] else [answer[-1]]
        else:
            offsets = list(map(int, answer[2].split(",")))
            again = case_of(answer[3])
            texts += 1
            swizzled += again[0][0] > 0
            problems = []
            if int(answer[1]) != max(offsets) + 1:
                problems.append("a span of %s" % answer[1])
            for name, call in packages:
                if call(case) != offsets:
                    problems.append("%s has %s" % (name, call(case)[:20]))
                if call(again) != offsets:
                    problems.append("%s reads %s as another function" % (name, answer[3]))
        if problems:
            failures += 1
            if failures <= 5:
                print("FAILED: %s: %s" % (text_of(case), "; ".join(problems)))
    print("seed %d: %d layouts, %d with text, %d swizzled, against %s" % (
        options.seed, count, texts, swizzled, " and ".join(name for name, _ in packages)))
    if texts < count // 2 or swizzled < count // 3:
        print("FAILED: too few layouts with text or with a swizzle")
        return 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
