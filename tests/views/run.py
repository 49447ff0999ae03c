#!/usr/bin/env python3
"""Views in layout expressions against NumPy's and PyTorch's views.

    run.py VIEWS_LINES      VIEWS_LINES is the program bind_lines.cc

Random chains of views are applied by relayout (an expression, bound by VIEWS_LINES), by NumPy and by PyTorch. Of
layouts with one stride a dim, all three must agree on the verdict (a view, or a copy is needed), the dims, the offset
and the strides. Of blocked layouts, and of views that NumPy does not have (merge, split, reindex), the offset of each
element must be the one that NumPy finds when it applies the same operations to an array of offsets.

2,000 chains, and 20,000 with RELAYOUT_SLOW_TESTS=1. Without NumPy the test is skipped; without PyTorch its part is.
"""
import os
import random
import subprocess
import sys

try:
    import numpy
except ImportError:
    print("skipped: the views are compared with NumPy's, and python3 has no numpy (Debian: python3-numpy)")
    sys.exit(77)
try:
    import torch
except ImportError:
    torch = None

SEED = int(os.environ.get("RELAYOUT_SEED", "25"))
MOST_ELEMENTS = 400


class CopyNeeded(Exception):
    """A reshape that no strides describe."""


# --- the views, by NumPy and by PyTorch ------------------------------------------------------------------------------

def inverse(order):
    out = [0] * len(order)
    for i, d in enumerate(order):
        out[d] = i
    return out


def indexed(ndims, d, what):
    """An index that takes `what` of dim d and all of the others."""
    out = [slice(None)] * ndims
    out[d] = what
    return tuple(out) + (Ellipsis,)  # without which NumPy would copy a single element


def numpy_view(array, name, lists, copies=False):
    """The view of a NumPy array. Where `copies`, reshapes may copy."""
    a, ndims = lists[0], array.ndim
    if name == "transpose":
        return array.swapaxes(a[0], a[1])
    if name == "permute":
        return array.transpose(a)
    if name == "permute_axes":
        return array.transpose(inverse(a))
    if name == "narrow":
        return array[indexed(ndims, a[0], slice(a[1], a[1] + a[2]))]
    if name == "slice":
        return array[indexed(ndims, a[0], slice(a[1], a[2], a[3] if len(a) == 4 else 1))]
    if name == "select":
        return array[indexed(ndims, a[0], a[1])]
    if name == "flip":
        return numpy.flip(array, a)
    if name == "submemory":
        return array[tuple(slice(o, o + n) for o, n in zip(lists[0], lists[1])) + (Ellipsis,)]
    if name == "expand":
        shape = (1,) * (len(a) - ndims) + array.shape
        return numpy.broadcast_to(array, [s if n == -1 else n for n, s in zip(a, shape)])
    if name == "squeeze":
        return array.squeeze(a[0]) if a else array.squeeze()
    if name == "unsqueeze":
        return numpy.expand_dims(array, a[0])
    if name == "reindex":
        return array.take(lists[1], axis=a[0])
    if name == "unfold":
        windows = numpy.lib.stride_tricks.sliding_window_view(array, a[1], axis=a[0])
        return windows[indexed(ndims + 1, a[0], slice(None, None, a[2]))]
    if name == "diagonal":
        return array.diagonal(a[0], a[1], a[2])
    if name == "split":
        shape = array.shape[:a[0]] + tuple(a[1:]) + array.shape[a[0] + 1:]
    elif name in ("merge", "flatten"):
        shape = array.shape[:a[0]] + (-1,) + array.shape[a[1] + 1:]
    else:
        shape = tuple(a)
    if copies:
        return array.reshape(shape)
    out = array[...]
    try:
        out.shape = shape
    except (AttributeError, ValueError) as error:
        raise CopyNeeded from error
    return out


def torch_view(tensor, name, lists):
    """The view of a tensor; only for views that PyTorch has."""
    a = lists[0]
    if name == "transpose":
        return tensor.transpose(a[0], a[1])
    if name == "permute":
        return tensor.permute(a)
    if name == "permute_axes":
        return tensor.permute(inverse(a))
    if name == "narrow":
        return tensor.narrow(a[0], a[1], a[2])
    if name == "slice":
        return tensor[indexed(tensor.dim(), a[0], slice(a[1], a[2], a[3] if len(a) == 4 else 1))]
    if name == "select":
        return tensor.select(a[0], a[1])
    if name == "submemory":
        for d, (offset, extent) in enumerate(zip(lists[0], lists[1])):
            tensor = tensor.narrow(d, offset, extent)
        return tensor
    if name == "expand":
        return tensor.expand(a)
    if name in ("squeeze", "unsqueeze", "unfold", "diagonal"):
        return getattr(tensor, name)(*a)
    try:
        return tensor.view(list(tensor.shape[:a[0]]) + [-1] + list(tensor.shape[a[1] + 1:]) if name == "flatten" else a)
    except RuntimeError as error:
        raise CopyNeeded from error


# --- random layouts --------------------------------------------------------------------------------------------------

def random_dims(rng, rank):
    while True:
        dims = [rng.choice((1, 1, 2, 2, 3, 4, 5, 6, 8)) for _ in range(rank)]
        if numpy.prod(dims) <= MOST_ELEMENTS:
            return dims


def strided_base(rng):
    """An expression with one stride a dim, its dims, strides and offset."""
    dims = random_dims(rng, rng.randint(0, 5))
    order = list(range(len(dims)))
    if rng.random() < 0.6:
        rng.shuffle(order)
    strides, step = [0] * len(dims), 1
    for d in reversed(order):
        strides[d] = step
        step *= dims[d] + (rng.randint(0, 3) if rng.random() < 0.2 else 0)
    offset = rng.choice((0, 0, 7))
    for d in range(len(dims)):
        if rng.random() < 0.05:
            strides[d] = 0
    if strides == list(numpy.cumprod([1] + dims[:0:-1])[::-1][:len(dims)]) and dims and rng.random() < 0.5:
        return "contiguous@%d" % offset, dims, strides, offset
    return "strides:%s@%d" % (",".join(map(str, strides)), offset), dims, strides, offset


def blocked_base(rng):
    """A blocked tag, its dims and the offset of each element, by NumPy."""
    rank = rng.randint(1, 4)
    dims = random_dims(rng, rank)
    outer = list(range(rank))
    rng.shuffle(outer)
    blocks = [(rng.randrange(rank), rng.choice((2, 3, 4))) for _ in range(rng.randint(1, 3))]
    product = [1] * rank
    for d, size in blocks:
        product[d] *= size
    counts = [-(-n // p) for n, p in zip(dims, product)]
    shape = [counts[d] for d in outer] + [size for _, size in blocks]
    axes = [[outer.index(d)] + [rank + k for k, b in enumerate(blocks) if b[0] == d] for d in range(rank)]
    offsets = numpy.arange(numpy.prod(shape)).reshape(shape).transpose(sum(axes, []))
    offsets = offsets.reshape([c * p for c, p in zip(counts, product)])[tuple(slice(n) for n in dims)]
    blocked = {d for d, _ in blocks}
    tag = "".join(chr(ord("A" if d in blocked else "a") + d) for d in outer)
    return tag + "".join("%d%s" % (size, chr(ord("a") + d)) for d, size in blocks), dims, offsets


# --- random views ----------------------------------------------------------------------------------------------------

def factors(rng, n):
    """Extents whose product is n."""
    out = []
    while n > 1:
        f = rng.choice([k for k in range(2, n + 1) if n % k == 0])
        out.append(f)
        n //= f
    for _ in range(rng.choice((0, 0, 1))):
        out.insert(rng.randint(0, len(out)), 1)
    return out


def random_reshape(rng, shape):
    """New dims: all factored anew, or neighbours joined and dims split."""
    if rng.random() < 0.3:
        return factors(rng, int(numpy.prod(shape)))
    out = list(shape)
    for _ in range(rng.randint(1, 2)):
        if len(out) > 1 and rng.random() < 0.5:
            d = rng.randrange(len(out) - 1)
            out[d:d + 2] = [out[d] * out[d + 1]]
        elif out:
            d = rng.randrange(len(out))
            out[d:d + 1] = factors(rng, out[d])
    if out and rng.random() < 0.2:
        out[rng.randrange(len(out))] = -1
    return out


def random_step(rng, shape, names):
    """A view that this shape has: its name and lists of numbers."""
    rank = len(shape)
    while True:
        name = rng.choice(names)
        if rank == 0 and name not in ("unsqueeze", "reshape", "view", "expand", "permute", "squeeze"):
            continue
        d = rng.randrange(rank) if rank else 0
        if name == "transpose":
            return name, [[d, rng.randrange(rank)]]
        if name in ("permute", "permute_axes"):
            return name, [rng.sample(range(rank), rank)]
        if name == "narrow":
            start = rng.randrange(shape[d])
            return name, [[d, start, rng.randint(1, shape[d] - start)]]
        if name == "slice":
            start = rng.randrange(shape[d])
            return name, [[d, start, rng.randint(start + 1, shape[d])] + rng.choice(([], [1], [2], [3]))]
        if name == "select":
            return name, [[d, rng.randrange(shape[d])]]
        if name == "flip":
            return name, [rng.sample(range(rank), rng.randint(1, rank))]
        if name == "submemory":
            offsets = [rng.choice((0, rng.randrange(n))) for n in shape]
            return name, [offsets, [rng.choice((n - o, rng.randint(1, n - o))) for n, o in zip(shape, offsets)]]
        if name in ("reshape", "view") and rank < 7:
            return name, [random_reshape(rng, shape)]
        if name == "expand" and rank < 6 and numpy.prod(shape) < 100:
            new = [rng.choice((2, 3)) if n == 1 and rng.random() < 0.6 else rng.choice((n, -1)) for n in shape]
            lead = [rng.choice((1, 2))] if rng.random() < 0.3 else []
            if lead + new:
                return name, [lead + new]
        if name == "squeeze":
            ones = [k for k in range(rank) if shape[k] == 1]
            return name, [[rng.choice(ones)] if ones and rng.random() < 0.7 else []]
        if name == "unsqueeze" and rank < 7:
            return name, [[rng.randint(0, rank)]]
        if name == "split" and shape[d] > 1:
            return name, [[d] + (factors(rng, shape[d]) or [1])]
        if name in ("merge", "flatten") and rank > 1:
            first = rng.randrange(rank - 1)
            return name, [[first, rng.randint(first + 1, rank - 1)]]
        if name == "unfold" and rank < 7 and numpy.prod(shape) <= MOST_ELEMENTS:
            return name, [[d, rng.randint(1, shape[d]), rng.randint(1, 4)]]
        if name == "diagonal" and rank > 1:
            rows, columns = rng.sample(range(rank), 2)
            return name, [[rng.randint(1 - shape[rows], shape[columns] - 1), rows, columns]]
        if name == "reindex" and shape[d] <= 12:
            return name, [[d], rng.sample(range(shape[d]), shape[d])]


def written(steps):
    return "".join(".%s(%s)" % (name, ":".join(",".join(map(str, one)) for one in lists)) for name, lists in steps)


STRIDED = ("transpose", "permute", "permute_axes", "narrow", "slice", "select", "reshape", "reshape", "view", "expand",
           "squeeze", "unsqueeze", "submemory", "unfold", "diagonal", "flatten")
ALL = STRIDED + ("flip", "merge", "split", "reindex")


class Strided:
    """A chain over a layout with one stride a dim, with what NumPy and PyTorch make of it."""

    def __init__(self, rng):
        base, self.dims, strides, offset = strided_base(rng)
        buffer = numpy.arange(offset + sum((n - 1) * s for n, s in zip(self.dims, strides)) + 1)
        step = buffer.itemsize
        self.start = buffer.__array_interface__["data"][0]
        array = numpy.lib.stride_tricks.as_strided(buffer[offset:], self.dims, [s * step for s in strides])
        flips = rng.random() < 0.25  # which PyTorch has not
        tensor = torch.as_strided(torch.from_numpy(buffer), self.dims, strides, offset) if torch and not flips else None
        self.copy, steps = False, []
        for _ in range(rng.randint(1, 6)):
            steps.append(random_step(rng, array.shape, STRIDED + ("flip",) if flips else STRIDED))
            verdicts = []
            for made, view in ((array, numpy_view), (tensor, torch_view)):
                if made is None:
                    continue
                try:
                    made = view(made, *steps[-1])
                    verdicts.append(made)
                except CopyNeeded:
                    verdicts.append(None)
            if any(one is None for one in verdicts):
                self.copy = True
                self.disagree = any(one is not None for one in verdicts)
                break
            array = verdicts[0]
            tensor = verdicts[1] if tensor is not None else None
        self.text = base + written(steps)
        self.array, self.tensor, self.buffer = array, tensor, buffer

    def problem(self, answer):
        if self.copy:
            if self.disagree:
                return "NumPy and PyTorch do not agree on the verdict"
            return None if answer[:2] == ["error", "needs_copy"] else "expected that a copy is needed"
        if answer[0] != "view":
            return "expected a view"
        step = self.buffer.itemsize
        offset = (self.array.__array_interface__["data"][0] - self.start) // step
        shown = [("NumPy", list(self.array.shape), offset, [s // step for s in self.array.strides])]
        if self.tensor is not None:
            shown.append(("PyTorch", list(self.tensor.shape), self.tensor.storage_offset(), list(self.tensor.stride())))
        dims, first, strides = numbers(answer[1]), int(answer[2]), answer[3]
        for who, their_dims, their_offset, their_strides in shown:
            if dims != their_dims or first != their_offset or strides == "-":
                return "%s has dims %s at offset %d" % (who, their_dims, their_offset)
            for n, ours, theirs in zip(dims, numbers(strides), their_strides):
                if n > 1 and ours != theirs:
                    return "%s has strides %s" % (who, their_strides)
        if numbers(answer[4]) != self.array.ravel().tolist():
            return "other offsets"
        if answer[5]:
            return "padding where the buffer has an element: " + answer[5]
        return None


class Digits:
    """A chain over a blocked layout, or with views that NumPy has only as copies: the offsets must be right."""

    def __init__(self, rng):
        base, self.dims, offsets = blocked_base(rng)
        steps = []
        for _ in range(rng.randint(1, 4)):
            steps.append(random_step(rng, offsets.shape, ALL))
            offsets = numpy_view(offsets, *steps[-1], copies=True)
        self.text = base + written(steps)
        self.offsets = offsets
        self.reindex = any(name == "reindex" for name, _ in steps)
        self.submemory = any(name == "submemory" for name, _ in steps)

    def problem(self, answer):
        if answer[0] == "view":
            if numbers(answer[1]) != list(self.offsets.shape):
                return "expected dims %s" % (self.offsets.shape,)
            if numbers(answer[4]) != self.offsets.ravel().tolist():
                return "other offsets"
            # A reindexed dim may have padding that shares an element, which a destination may not.
            return "padding where the buffer has an element: " + answer[5] if answer[5] and not self.reindex else None
        # oneDNN's rule refuses submemories that begin or end inside a block by another code.
        allowed = ("needs_copy", "invalid_argument") if self.submemory else ("needs_copy",)
        return None if answer[1] in allowed else "expected a view, or that a copy is needed"


def numbers(text):
    return [int(part) for part in text.split(",")] if text else []


def main():
    program = sys.argv[1]
    slow = os.environ.get("RELAYOUT_SLOW_TESTS", "0") not in ("", "0")
    count = int(os.environ.get("RELAYOUT_CASES", "20000" if slow else "2000"))
    rng = random.Random(SEED)
    cases = [Strided(rng) if rng.random() < 0.75 else Digits(rng) for _ in range(count)]
    lines = "".join("%s\t%s\n" % (case.text, ",".join(map(str, case.dims))) for case in cases)
    done = subprocess.run([program], input=lines, capture_output=True, text=True)
    answers = done.stdout.splitlines()
    if done.returncode != 0 or len(answers) != count:
        print("FAILED: %s ended with %d after %d of %d lines" % (program, done.returncode, len(answers), count))
        return 1
    failures, views, copies, blocked_views, by_torch = 0, 0, 0, 0, 0
    for case, answer in zip(cases, (line.split("\t") for line in answers)):
        why = case.problem(answer)
        if why:
            failures += 1
            if failures <= 10:
                print("FAILED: %s of %s: %s\n  relayout: %s" % (case.text, case.dims, why, answer[:4]))
        is_view = answer[0] == "view"
        if isinstance(case, Strided):
            views += is_view
            copies += not is_view
            by_torch += case.tensor is not None
        else:
            blocked_views += is_view
    print("%d chains: %d are views and %d need a copy by NumPy, of which PyTorch judged %d; %d views of blocks" %
          (count, views, copies, by_torch, blocked_views))
    if torch is None:
        print("PyTorch's part was skipped, as python3 has no torch (Debian: python3-torch)")
    # Each kind must be there, or the comparison says nothing.
    least = count // 50
    if min(views, copies, blocked_views) < least or (torch and by_torch < least):
        print("FAILED: too few of one kind")
        return 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
