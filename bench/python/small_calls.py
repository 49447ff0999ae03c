#!/usr/bin/env python3
"""Measures calls of 16 to 16 K elements, where a call costs more than the copy, beside NumPy and PyTorch.

    bench/python/small_calls.py                      a table in Markdown, in microseconds
    bench/python/small_calls.py --filter cast        some of the rows
    bench/python/small_calls.py --rounds 51

Calls take turns in one process (timing.py), on one thread. Each cell has the median of relayout, and in parentheses
how many times as long that is as the faster of NumPy and PyTorch, which do the same with arrays of their own; of
tensors also how many times as long as PyTorch alone, since nobody makes or reads a tensor in the time of NumPy's
arrays. The last lines count the calls that take over 1.5 times that. torch is left out where it is not installed.
"""
import argparse

import numpy as np

import relayout
import timing

try:
    import torch
except ImportError:
    torch = None

SIZES = (16, 256, 1024, 4096, 16384)
GOAL = 1.5


def sides(count):
    """Extents of a matrix, not square where that is possible."""
    rows = 2 ** ((count.bit_length() - 1) // 2)
    return rows, count // rows


def floats(*shape):
    return np.arange(int(np.prod(shape)), dtype="f4").reshape(shape)


class Row:
    """One operation of one size: what relayout, NumPy and PyTorch do, of arrays x, with a destination out or none."""

    def __init__(self, name, x, out, ours, numpy_does, torch_does):
        self.name, self.x, self.out = name, x, out
        self.ours, self.numpy_does, self.torch_does = ours, numpy_does, torch_does

    def calls(self):
        """Functions by (who, whose arrays)."""
        out = self.out
        made = {("relayout", "numpy"): lambda: self.ours(self.x, out), ("numpy", "numpy"): lambda: self.numpy_does(
            self.x, out)}
        if torch is not None:
            x, to = tensor(self.x), tensor(out)
            made["relayout", "torch"] = lambda: self.ours(x, to)
            made["torch", "torch"] = lambda: self.torch_does(x, to)
        return made


def tensor(x):
    """The same view of PyTorch's, which has no negative strides; None of None."""
    if x is None:
        return None
    base = x
    while isinstance(base.base, np.ndarray):
        base = base.base
    whole = torch.from_numpy(base.reshape(-1))
    offset = (x.ctypes.data - base.ctypes.data) // x.itemsize
    return whole.as_strided(x.shape, [step // x.itemsize for step in x.strides], offset)


def per_channel(x, out, mean, std):
    return np.divide(np.subtract(x.transpose(0, 3, 1, 2), mean, dtype="f4"), std, out=out)


def rows_of(count):
    """The operations on `count` elements."""
    rows, columns = sides(count)
    turned = floats(columns, rows).T
    bytes_ = turned.astype("u1", order="K")
    photo = (np.arange(3 * count) % 256).astype("u1").reshape(1, rows, columns, 3)
    planes = np.empty((1, 3, rows, columns), "f4")
    mean, std = np.array([1, 2, 3], "f4").reshape(3, 1, 1), np.array([4, 5, 6], "f4").reshape(3, 1, 1)
    numbers = dict(mean=[1, 2, 3], std=[4, 5, 6])
    mean_t, std_t = (torch.from_numpy(mean), torch.from_numpy(std)) if torch is not None else (None, None)

    def copy(x, out):
        relayout.copy(out, x, threads=1)

    def torch_copy(x, out):
        out.copy_(x)

    def numpy_copy(x, out):
        np.copyto(out, x, casting="unsafe")

    def casts(name, x, dtype):
        return Row(name, x, np.empty(x.shape, dtype), copy, numpy_copy, torch_copy)

    yield Row("transpose f32, new", turned, None, lambda x, _: relayout.contiguous(x, threads=1),
              lambda x, _: np.ascontiguousarray(x), lambda x, _: x.contiguous())
    yield Row("transpose u8, new", bytes_, None, lambda x, _: relayout.contiguous(x, threads=1),
              lambda x, _: np.ascontiguousarray(x), lambda x, _: x.contiguous())
    yield Row("transpose f32, copy into", turned, np.empty(turned.shape, "f4"), copy, numpy_copy, torch_copy)
    yield Row("copy f32", floats(rows, columns), np.empty((rows, columns), "f4"), copy, numpy_copy, torch_copy)
    yield Row("broadcast f32 row, new", np.broadcast_to(floats(columns), (rows, columns)), None,
              lambda x, _: relayout.contiguous(x, threads=1), lambda x, _: np.ascontiguousarray(x),
              lambda x, _: x.contiguous())
    yield casts("cast u8 to f32, copy into", np.ascontiguousarray(bytes_), "f4")
    yield casts("cast f32 to f16, copy into", floats(rows, columns) % 2048, "f2")
    yield casts("cast f64 to f32, copy into", floats(rows, columns).astype("f8"), "f4")
    yield casts("cast s64 to s32, copy into", floats(rows, columns).astype("i8"), "i4")
    yield casts("cast u8 to f32 transposed, copy into", bytes_, "f4")
    yield Row("convert nhwc to nchw u8", photo, None,
              lambda x, _: relayout.convert(x, "nhwc", "nchw", threads=1),
              lambda x, _: np.ascontiguousarray(x.transpose(0, 3, 1, 2)),
              lambda x, _: x.permute(0, 3, 1, 2).contiguous())
    yield Row("convert nhwc u8 to nchw f32, times 1/255, into", photo, planes,
              lambda x, out: relayout.convert(x, "nhwc", "nchw", dtype="f32", scale=1 / 255, out=out, threads=1),
              lambda x, out: np.multiply(x.transpose(0, 3, 1, 2), np.float32(1 / 255), out=out),
              lambda x, out: torch.mul(x.permute(0, 3, 1, 2), 1 / 255, out=out))
    yield Row("convert nhwc u8 to nchw f32, mean and std, into", photo, planes,
              lambda x, out: relayout.convert(x, "nhwc", "nchw", dtype="f32", out=out, threads=1, **numbers),
              lambda x, out: per_channel(x, out, mean, std),
              lambda x, out: torch.sub(x.permute(0, 3, 1, 2), mean_t, out=out).div_(std_t))
    plan = relayout.plan_conversion(photo, "nhwc", "nchw", dtype="f32", **numbers)
    yield Row("the same, planned before", photo, planes, lambda x, out: plan.run(x, out, 1),
              lambda x, out: per_channel(x, out, mean, std),
              lambda x, out: torch.sub(x.permute(0, 3, 1, 2), mean_t, out=out).div_(std_t))


def cell(found, library):
    """The text, and the ratios to the faster of both and to the library itself."""
    if ("relayout", library) not in found:
        return "", None
    ours, own = found["relayout", library], found[library, library]
    ratios = ours / min(time for (who, _), time in found.items() if who != "relayout"), ours / own
    shown = f"{ratios[0]:.1f}" if library == "numpy" else f"{ratios[0]:.1f}; {ratios[1]:.1f}"
    return f"{ours / 1000:.2f} ({shown})", ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--filter", default="", help="rows whose names contain this")
    parser.add_argument("--rounds", type=int, default=21)
    options = parser.parse_args()
    if torch is not None:
        torch.set_num_threads(1)
    rows = [list(rows_of(count)) for count in SIZES]
    named = [several for several in zip(*rows) if options.filter in several[0].name]
    print("| | arrays of | " + " | ".join(map(str, SIZES)) + " |")
    print("|---" * (len(SIZES) + 2) + "|")
    counted = {}
    for several in named:
        found = [timing.measure(row.calls(), options.rounds, row.x.nbytes) for row in several]
        for library in ("numpy", "torch"):
            cells = [cell(times, library) for times in found]
            if cells[0][1] is not None:
                print(f"| {several[0].name} | {library} | " + " | ".join(text for text, _ in cells) + " |", flush=True)
                counted.setdefault(library, []).extend(ratios for _, ratios in cells)
    for library, ratios in counted.items():
        both, own = (sum(pair[i] > GOAL for pair in ratios) for i in (0, 1))
        print(f"\nof {len(ratios)} calls on arrays of {library}, {both} take over {GOAL} times the faster of both, and "
              f"{own} over {GOAL} times {library}'s own")


if __name__ == "__main__":
    main()
