#!/usr/bin/env python3
"""CuTe's algebra against NVIDIA's pycute and against tensor-layouts.

    cute.py CUTE_LINES [--seed N] [--only FUNCTION]      CUTE_LINES is the program cute_lines.cc

For each function, random layouts go to relayout and to both packages. Where relayout gives a layout, it must keep the
function's law (computed here, from the modes alone), and it must be the package's layout: the same offset for every
index, and the same top-level extents. Where relayout refuses, the package must refuse too, or its result must break
the law. What is another way on purpose is counted by its reason:

    overlap      complement, and so divides by an overlapping tiler and products of an overlapping block, refuse modes
                 that overlap, as CuTe in C++ does (a static assertion); the packages go on. left_inverse refuses them
                 too, where CuTe in C++ demands divisibility alone.
    tie          right_inverse takes the left one of two modes with one stride; the packages take the shorter one.
    ends         right_inverse goes past modes that do not continue the ones before, as CuTe in C++ does; pycute ends
                 at the first.
    gaps         pycute's left_inverse leads offsets that no index has to indices behind the last; nobody reads these.
    beyond       a result where the package refuses: pycute's assertion also fails for a digit of b that fits into a
                 mode of a as a whole, and both check the strides of modes with one element.
    broken       relayout refuses, and the package's result breaks the law: it does not check what a digit of b has
                 left over, or that digits of b carry into each other, or its complement has no elements.
    mended       the package's result breaks the law, and relayout's keeps it.

2,000 calls of each function, and 20,000 with RELAYOUT_SLOW_TESTS=1. Without one of the packages its part is skipped,
without both the test is (exit code 77). scripts/install slow puts both into build/cute.
"""
import argparse
import collections
import os
import random
import subprocess
import sys

sys.dont_write_bytecode = True  # the modules are beside this file, in the source tree
from cute_laws import *
from cute_modes import *
from cute_packages import *


# --- the functions ---------------------------------------------------------------------------------------------------

def py(a):
    return pycute.Layout(a.shape, a.stride)


def tl(a):
    return tensor_layouts.Layout(a.shape, a.stride)


class Function:
    """How arguments are made, what law holds, and how the packages are called (None: they have no such function)."""

    def __init__(self, arguments, law, py=None, tl=None, shape=None, refusal=None, different=None):
        self.arguments, self.law, self.py, self.tl = arguments, law, py, tl
        self.shape = shape or (lambda package, *arguments: True)  # whether the top-level extents must agree
        self.refusal = refusal      # (arguments) -> a reason to refuse on purpose
        self.different = different  # (package, arguments) -> a reason to differ on purpose


def single(rng):
    return [random_layout(rng)]


def pair(rng):
    a = random_layout(rng)
    return [a, random_tile(rng, a.size()) if rng.random() < 0.7 else random_layout(rng, 40)]


def small_pair(rng):
    return [random_layout(rng, 12, 2), random_layout(rng, 8, 2)]


def tiled(rng):
    a = random_layout(rng)
    return [a] + random_tilers(rng, a)


def repeated(rng):
    a = random_layout(rng, 12, 2)
    return [a] + [random_layout(rng, 4, 1) for _ in a.dims()[:rng.randint(1, len(a.dims()))]]


def py_pair(name):
    return lambda a, b: getattr(pycute, name)(py(a), py(b))


def tl_pair(name):
    return lambda a, b: getattr(tensor_layouts, name)(tl(a), tl(b))


def py_tuple(name, drop=False):
    def call(a, *tilers):
        kept = pycute.make_layout([py(d) for d in a.dims()[:len(tilers)]]) if drop else py(a)
        if not drop and not isinstance(a.shape, tuple):
            kept = pycute.make_layout([py(a)])
        return getattr(pycute, name)(kept, tuple(py(t) for t in tilers))
    return call


def tl_tuple(name):
    def call(a, *tilers):
        tops = a if isinstance(a.shape, tuple) else Modes((a.shape,), (a.stride,))
        return getattr(tensor_layouts, name)(tl(tops), tuple(tl(t) for t in tilers))
    return call


def py_interleaved(block_first):
    def call(a, b):
        rank = max(len(a.dims()), len(b.dims()))
        pad = [Modes(1, 0)] * rank
        block = pycute.make_layout([py(m) for m in (a.dims() + pad)[:rank]])
        tiler = pycute.make_layout([py(m) for m in (b.dims() + pad)[:rank]])
        both = pycute.logical_product(block, tiler)
        order = (0, 1) if block_first else (1, 0)
        return pycute.make_layout([pycute.make_layout(both[order[0]][d], both[order[1]][d]) for d in range(rank)])
    return call


FUNCTIONS = {
    "text": Function(single, law_coalesce, lambda a: py(a), lambda a: tl(a)),
    "coalesce": Function(single, law_coalesce, lambda a: pycute.coalesce(py(a)),
                         lambda a: tensor_layouts.coalesce(tl(a))),
    "compose": Function(pair, law_compose, py_pair("composition"), tl_pair("compose"),
                        shape=lambda package, a, b: isinstance(b.shape, tuple)),
    "complement": Function(lambda rng: [random_layout(rng), rng.randint(1, 300)], law_complement,
                           lambda a, n: pycute.complement(py(a), n), lambda a, n: tensor_layouts.complement(tl(a), n),
                           refusal=lambda a, n: "overlap" if overlaps(a) else None),
    "right_inverse": Function(single, law_right_inverse, lambda a: pycute.right_inverse(py(a)),
                              lambda a: tensor_layouts.right_inverse(tl(a)), different=different_right_inverse),
    "left_inverse": Function(single, law_left_inverse, lambda a: pycute.left_inverse(py(a)),
                             lambda a: tensor_layouts.left_inverse(tl(a)),
                             refusal=lambda a: "overlap" if not_nested(a) else None,
                             different=lambda package, a: "gaps" if package == "pycute" else None),
    "logical_divide": Function(pair, law_split(divide_values), py_pair("logical_divide"), tl_pair("logical_divide"),
                               refusal=overlapping_tiler),
    "zipped_divide": Function(pair, law_split(divide_values), py_pair("zipped_divide"), tl_pair("zipped_divide"),
                              refusal=overlapping_tiler),
    "tiled_divide": Function(pair, law_split(divide_values), py_pair("tiled_divide"), tl_pair("tiled_divide"),
                             refusal=overlapping_tiler),
    "flat_divide": Function(pair, law_split(divide_values), None, tl_pair("flat_divide"),
                            refusal=overlapping_tiler),
    "logical_product": Function(small_pair, law_split(product_values), py_pair("logical_product"),
                                tl_pair("logical_product"), refusal=overlapping_block),
    "blocked_product": Function(small_pair, law_interleaved(True), py_interleaved(True),
                                refusal=overlapping_block),
    "raked_product": Function(small_pair, law_interleaved(False), py_interleaved(False), tl_pair("raked_product"),
                              refusal=overlapping_block),
    "compose_by_mode": Function(tiled, law_compose_by_mode, py_tuple("composition", drop=True)),
    "logical_divide_by_mode": Function(tiled, law_by_mode(divide_values, False), py_tuple("logical_divide"),
                                       tl_tuple("logical_divide"), several_dims, overlapping_tiler),
    "zipped_divide_by_mode": Function(tiled, law_by_mode(divide_values, True), py_tuple("zipped_divide"),
                                      tl_tuple("zipped_divide"), several_dims, overlapping_tiler),
    "tiled_divide_by_mode": Function(tiled, law_by_mode(divide_values, True), py_tuple("tiled_divide"),
                                     tl_tuple("tiled_divide"), several_dims, overlapping_tiler),
    "flat_divide_by_mode": Function(tiled, law_by_mode(divide_values, True), None, tl_tuple("flat_divide"),
                                    several_tilers, overlapping_tiler),
    "logical_product_by_mode": Function(repeated, law_by_mode(product_values, False), py_tuple("logical_product"),
                                        tl_tuple("logical_product"), several_dims, overlapping_blocks),
    "zipped_product_by_mode": Function(repeated, law_by_mode(product_values, True), py_tuple("zipped_product"),
                                       tl_tuple("zipped_product"), several_dims, overlapping_blocks),
    "tiled_product_by_mode": Function(repeated, law_by_mode(product_values, True), py_tuple("tiled_product"),
                                      tl_tuple("tiled_product"), several_dims, overlapping_blocks),
    "flat_product_by_mode": Function(repeated, law_by_mode(product_values, True), None, tl_tuple("flat_product"),
                                     several_tilers, overlapping_blocks),
}


def judged(function, name, call, arguments, ours):
    """"same", or a reason for a difference on purpose; "FAILED ..." for any other difference."""
    try:
        theirs = of_package(call(*arguments))
    except (AssertionError, ValueError, TypeError, IndexError, ZeroDivisionError):
        return "both refuse" if ours is None else "beyond"
    try:
        lawful = theirs.size() > 0 and function.law(theirs, *arguments)
    except Broken:
        lawful = False
    if ours is None:
        if not lawful:
            return "broken"
        reason = function.refusal(*arguments) if function.refusal else None
        return reason or "FAILED: refused, and %s has %s" % (name, theirs.text())
    if not lawful:
        return "mended"
    if theirs.values() == ours.values() and (
            not function.shape(name, *arguments) or theirs.extents() == ours.extents()):
        return "same"
    reason = function.different(name, *arguments) if function.different else None
    return reason or "FAILED: %s has %s" % (name, theirs.text())


def compare(program, name, function, count, seed):
    rng = random.Random("%d %s" % (seed, name))
    cases = [function.arguments(rng) for _ in range(count)]
    lines = ["\t".join([name] + [a.text() if isinstance(a, Modes) else str(a) for a in case]) for case in cases]
    done = subprocess.run([program], input="\n".join(lines) + "\n", capture_output=True, text=True)
    answers = done.stdout.splitlines()
    if done.returncode != 0 or len(answers) != count:
        print("FAILED: %s ended with %d after %d of %d lines of %s" %
              (program, done.returncode, len(answers), count, name))
        return 1
    packages = [("pycute", function.py if pycute else None),
                ("tensor-layouts", function.tl if tensor_layouts else None)]
    tallies = {package: collections.Counter() for package, _ in packages}
    failures = layouts = 0
    for case, line, answer in zip(cases, lines, (text.split("\t") for text in answers)):
        ours = of_text(answer[1]) if answer[0] == "layout" else None
        layouts += ours is not None
        problems = []
        if ours is not None and not function.law(ours, *case):
            problems.append("the law does not hold")
        if ours is None and answer[1] != "unsupported":
            problems.append("refused by another code")
        for package, call in packages:
            if call is None:
                continue
            verdict = judged(function, package, call, case, ours)
            tallies[package][verdict if not verdict.startswith("FAILED") else "FAILED"] += 1
            if verdict.startswith("FAILED"):
                problems.append(verdict)
        if problems:
            failures += 1
            if failures <= 5:
                print("FAILED: %s: %s\n  relayout: %s" % (line.replace("\t", "  "), "; ".join(problems), answer[1:]))
    print("%-24s %5d calls, %5d layouts; %s" % (name, count, layouts, "; ".join(
        "%s: %s" % (package, ", ".join("%d %s" % (n, what) for what, n in tallies[package].most_common()))
        for package, call in packages if call)))
    if layouts < count // 10:
        print("FAILED: too few layouts of %s" % name)
        return 1
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("RELAYOUT_SEED", "26")))
    parser.add_argument("--only")
    options = parser.parse_args()
    slow = os.environ.get("RELAYOUT_SLOW_TESTS", "0") not in ("", "0")
    count = int(os.environ.get("RELAYOUT_CASES", "20000" if slow else "2000"))
    print("seed %d" % options.seed)
    for package, module in (("pycute", pycute), ("tensor-layouts", tensor_layouts)):
        if module is None:
            print("%s's part was skipped, as there is no such package; scripts/install slow gets it" % package)
    status = 0
    for name, function in FUNCTIONS.items():
        if not options.only or options.only == name:
            status |= compare(options.program, name, function, count, options.seed)
    return status


if __name__ == "__main__":
    sys.exit(main())
