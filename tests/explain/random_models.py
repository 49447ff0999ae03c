#!/usr/bin/env python3
"""`relayout explain MODEL.onnx --fix NEW.onnx` on random models: small graphs of elementwise operators with
broadcasting, residuals, Concat, Split, Pad, Slice, Softmax, reductions, convolutions, products of matrices and
reshapes, in which transpositions are put at random, alone and as pairs that cancel.

    random_models.py RELAYOUT [COUNT [FIRST]]     exit 77 where the package onnx or onnxruntime is absent

ONNX Runtime, without its own optimisations, runs each file and its new one on the same inputs, and their outputs must
agree; neither the number of transpositions nor their predicted time may rise.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

from models import Net, check_fix, np, onnx  # which leaves with 77 where a package is absent


class Random:
    """A random graph: values by their names and dims, of which each step takes some and adds one. `largest` bounds the
    dims of its input."""

    def __init__(self, seed, largest=6):
        self.random = np.random.default_rng(seed)
        rank = int(self.random.integers(2, 5))
        self.dims = {"x": [int(d) for d in self.random.integers(2, largest + 1, rank)]}
        self.net = Net(x=self.dims["x"])
        self.used = set()
        steps = [self.elementwise, self.with_constant, self.residual, self.concat, self.transpose, self.transpose,
                 self.pair, self.softmax, self.reduce, self.pad, self.slice, self.split, self.conv, self.matmul,
                 self.reshape, self.squeeze]
        for _ in range(int(self.random.integers(4, 14))):
            steps[int(self.random.integers(len(steps)))]()

    def pick(self):
        """One of the values, most often the last."""
        names = list(self.dims)
        name = names[-1] if self.random.random() < 0.7 else names[int(self.random.integers(len(names)))]
        self.used.add(name)
        return name, list(self.dims[name])

    def add(self, name, dims):
        self.dims[name] = [int(d) for d in dims]
        return name

    def choose(self, *values):
        return values[int(self.random.integers(len(values)))]

    def elementwise(self):
        x, dims = self.pick()
        self.add(self.net.op(self.choose("Relu", "Sigmoid", "Tanh", "Neg", "Abs", "Elu"), x), dims)

    def with_constant(self):
        x, dims = self.pick()
        shape = [d if self.random.random() < 0.5 else 1 for d in dims][int(self.random.integers(len(dims))):]
        pair = [x, self.net.random(*shape)]
        if self.random.random() < 0.5:
            pair.reverse()
        self.add(self.net.op(self.choose("Add", "Mul", "Sub"), *pair), dims)

    def residual(self):
        x, dims = self.pick()
        others = [name for name, other in self.dims.items() if other == dims and name != x]
        if others:
            y = others[int(self.random.integers(len(others)))]
            self.used.add(y)
            self.add(self.net.op(self.choose("Add", "Mul"), x, y), dims)

    def concat(self):
        x, dims = self.pick()
        axis = int(self.random.integers(len(dims)))
        fits = [name for name, other in self.dims.items() if len(other) == len(dims) and all(
            a == b for d, (a, b) in enumerate(zip(dims, other)) if d != axis)]
        y = fits[int(self.random.integers(len(fits)))]
        self.used.add(y)
        other = self.dims[y][axis]
        self.add(self.net.op("Concat", x, y, axis=self.choose(axis, axis - len(dims))),
                 [d + (other if k == axis else 0) for k, d in enumerate(dims)])

    def transpose(self):
        x, dims = self.pick()
        perm = [int(d) for d in self.random.permutation(len(dims))]
        self.add(self.net.op("Transpose", x, perm=perm), [dims[d] for d in perm])

    def pair(self):
        """A transposition, sometimes something between, and the one that undoes it."""
        x, dims = self.pick()
        perm = [int(d) for d in self.random.permutation(len(dims))]
        y = self.add(self.net.op("Transpose", x, perm=perm), [dims[d] for d in perm])
        for _ in range(int(self.random.integers(3))):
            y = self.add(self.net.op(self.choose("Relu", "Sigmoid"), y), self.dims[y])
        self.used.add(y)
        self.add(self.net.op("Transpose", y, perm=[perm.index(d) for d in range(len(perm))]), dims)

    def softmax(self):
        x, dims = self.pick()
        self.add(self.net.op("Softmax", x, axis=int(self.random.integers(-len(dims), len(dims)))), dims)

    def reduce(self):
        x, dims = self.pick()
        axis, keep = int(self.random.integers(len(dims))), int(self.random.random() < 0.7 or len(dims) == 2)
        left = [1 if d == axis else extent for d, extent in enumerate(dims) if keep or d != axis]
        self.add(self.net.op(self.choose("ReduceMean", "ReduceMax"), x, axes=[axis], keepdims=keep), left)

    def pad(self):
        x, dims = self.pick()
        pads = [int(p) for p in self.random.integers(0, 2, 2 * len(dims))]
        sizes = [d + pads[k] + pads[k + len(dims)] for k, d in enumerate(dims)]
        self.add(self.net.op("Pad", x, self.net.constant(pads, np.int64)), sizes)

    def slice(self):
        x, dims = self.pick()
        axis = int(self.random.integers(len(dims)))
        if dims[axis] > 2:
            bounds = [self.net.constant([value], np.int64) for value in (1, dims[axis], axis)]
            self.add(self.net.op("Slice", x, *bounds), [d - (k == axis) for k, d in enumerate(dims)])

    def split(self):
        x, dims = self.pick()
        axis = int(self.random.integers(len(dims)))
        if dims[axis] > 1:
            sizes = [1, dims[axis] - 1]
            parts = self.net.op("Split", x, self.net.constant(sizes, np.int64), outputs=2, axis=axis)
            for part, size in zip(parts, sizes):
                self.add(part, [size if k == axis else d for k, d in enumerate(dims)])

    def conv(self):
        x, dims = self.pick()
        if len(dims) == 4:
            channels = int(self.random.integers(2, 6))
            self.add(self.net.conv(x, dims[1], channels), [dims[0], channels, *dims[2:]])

    def matmul(self):
        x, dims = self.pick()
        if len(dims) > 1:
            columns = int(self.random.integers(2, 6))
            self.add(self.net.op("MatMul", x, self.net.random(dims[-1], columns)), [*dims[:-1], columns])

    def reshape(self):
        """Two neighbouring dims as one, or one as two."""
        x, dims = self.pick()
        at = int(self.random.integers(len(dims)))
        if len(dims) > 2 and at + 1 < len(dims):
            new = [*dims[:at], dims[at] * dims[at + 1], *dims[at + 2:]]
        elif len(dims) < 4 and dims[at] % 2 == 0:
            new = [*dims[:at], 2, dims[at] // 2, *dims[at + 1:]]
        else:
            return
        self.add(self.net.op("Reshape", x, self.net.constant(new, np.int64)), new)

    def squeeze(self):
        x, dims = self.pick()
        if 1 in dims and len(dims) > 2:
            axis = dims.index(1)
            left = [*dims[:axis], *dims[axis + 1:]]
            self.add(self.net.op("Squeeze", x, self.net.constant([axis], np.int64)), left)
        elif len(dims) < 4:
            axis = int(self.random.integers(len(dims) + 1))
            self.add(self.net.op("Unsqueeze", x, self.net.constant([axis], np.int64)), [*dims[:axis], 1, *dims[axis:]])

    def model(self):
        """Its outputs are the values that nobody reads, and now and then one that is read."""
        ends = [name for name in self.dims if name not in self.used and name != "x"]
        if not ends:
            ends = [self.net.op("Relu", "x")]
        more = [name for name in self.dims if name in self.used and name != "x" and self.random.random() < 0.1]
        return self.net.model(*ends, *more)


def main():
    relayout = str(Path(sys.argv[1]).resolve())
    count, first = (int(each) for each in (sys.argv[2:] + ["40", "0"][len(sys.argv) - 2:])[:2])
    failures, before, after = 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            source, fixed = Path(folder) / "model.onnx", Path(folder) / "fixed.onnx"
            model = Random(seed).model()
            onnx.save(model, source)
            fixed.unlink(missing_ok=True)
            failure, counts, _ = check_fix(relayout, model, source, fixed)
            if failure:
                failures += 1
                print(f"FAILED: seed {seed}: {failure}")
            else:
                before, after = before + counts[0], after + counts[1]
    print(f"explain_random_models: {count} models, {failures} failures, {before} transpositions became {after}")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
