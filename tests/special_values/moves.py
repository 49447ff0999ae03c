"""Operators that move, select and order elements, for random models."""
import numpy

import elements
from pointwise import need

COPY = {"exact": True, "zeros": True}


def transpose(d, x):
    need(x.rank > 1)
    return d.node("Transpose", [x], perm=[int(i) for i in d.rng.permutation(x.rank)], **COPY)


def reshape(d, x):
    kind = d.between(0, 3)
    if kind == 0:
        return d.node("Flatten", [x], axis=d.between(0, x.rank), **COPY)
    if kind == 1:
        return d.node("Unsqueeze", [x, d.fixed([d.between(0, x.rank)])], **COPY)
    if kind == 2 and 1 in x.shape:
        return d.node("Squeeze", [x, d.fixed([x.shape.index(1)])], **COPY)
    need(x.rank > 2)
    return d.node("Reshape", [x, d.fixed([x.shape[0], -1, x.shape[-1]])], **COPY)


def concat(d, x):
    need(x.rank > 0)
    axis, parts = d.between(0, x.rank - 1), [x]
    for _ in range(d.between(1, 3)):
        shape = list(x.shape)
        shape[axis] = d.between(1, 9)
        parts.append(d.operand(tuple(shape), x.dtype))
    d.rng.shuffle(parts)
    return d.node("Concat", parts, axis=axis, **COPY)


def split(d, x):
    need(x.rank > 0)
    axis = d.between(0, x.rank - 1)
    need(x.shape[axis] > 1)
    first = d.between(1, x.shape[axis] - 1)
    return d.of(d.node("Split", [x, d.fixed([first, x.shape[axis] - first])], outputs=2, axis=axis, **COPY))


def slices(d, x):
    need(x.rank > 0)
    axis = d.between(0, x.rank - 1)
    n, step = x.shape[axis], d.of((1, 1, 2, -1))
    need(n > 1)
    start, end = (n - 1, -n - 1) if step < 0 else (d.between(0, n // 2), n)
    return d.node("Slice", [x, *(d.fixed([v]) for v in (start, end, axis, step))], **COPY)


def pad(d, x):
    need(0 < x.rank and elements.is_float(x.dtype))
    mode = d.of(("constant", "constant", "reflect", "edge", "wrap"))
    amounts = [d.between(0, 2) if n > 2 else 0 for n in x.shape] * 2
    value = []
    if mode == "constant" and d.chance(0.6):
        value = [d.fixed(d.of((0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1)), x.dtype)]
    return d.node("Pad", [x, d.fixed(amounts), *value], mode=mode, **COPY)


def gather(d, x):
    need(x.rank > 0)
    axis = d.between(0, x.rank - 1)
    n = x.shape[axis]
    kind = d.between(0, 2)
    if kind == 0:
        return d.node("Gather", [x, d.fixed(d.rng.integers(-n, n, d.of(((), (3,), (2, 2)))))], axis=axis, **COPY)
    if kind == 1:
        shape = tuple(x.shape[:axis]) + (d.between(1, 5),) + tuple(x.shape[axis + 1:])
        return d.node("GatherElements", [x, d.fixed(d.rng.integers(-n, n, shape))], axis=axis, **COPY)
    need(x.rank > 1)
    where = numpy.stack([d.rng.integers(0, n, (3, 2)) for n in x.shape[:2]], -1)
    return d.node("GatherND", [x, d.fixed(where)], **COPY)


def scatter(d, x):
    need(x.rank > 0 and elements.is_float(x.dtype))
    axis = d.between(0, x.rank - 1)
    n, reduction = x.shape[axis], d.of(("none", "add", "mul", "max", "min"))
    how = {"exact": reduction in ("none", "max", "min"), "zeros": reduction == "none"}
    if d.chance(0.5):
        count = d.between(1, min(n, 3))
        shape = tuple(x.shape[:axis]) + (count,) + tuple(x.shape[axis + 1:])
        rows = d.rng.permutation(n)[:count].reshape([-1 if i == axis else 1 for i in range(x.rank)])
        return d.node("ScatterElements", [x, d.fixed(numpy.broadcast_to(rows, shape)), d.operand(shape, x.dtype)],
                      axis=axis, reduction=reduction, **how)
    rows = d.rng.permutation(x.shape[0])[:2].reshape(-1, 1)
    return d.node("ScatterND", [x, d.fixed(rows), d.operand((len(rows),) + tuple(x.shape[1:]), x.dtype)],
                  reduction=reduction, **how)


def expand(d, x):
    if d.chance(0.5):
        return d.node("Expand", [x, d.fixed((d.between(1, 3),) + tuple(x.shape))], **COPY)
    need(x.rank > 0)
    return d.node("Tile", [x, d.fixed([d.of((1, 1, 2)) for _ in x.shape])], **COPY)


def blocks(d, x):
    need(x.rank == 4 and elements.is_float(x.dtype))
    if x.shape[1] % 4 == 0:
        return d.node("DepthToSpace", [x], blocksize=2, mode=d.of(("DCR", "CRD")), **COPY)
    need(x.shape[2] % 2 == 0 and x.shape[3] % 2 == 0)
    return d.node("SpaceToDepth", [x], blocksize=2, **COPY)


def triangle(d, x):
    need(x.rank > 1)
    return d.node("Trilu", [x, d.fixed(d.between(-1, 1))], upper=d.between(0, 1), **COPY)


def largest(d, x):
    """ArgMax, ArgMin and TopK."""
    need(x.rank > 0 and x.exact and x.dtype.name in ("float32", "float64", "float16", "int32", "int64"))
    axis = d.between(0, x.rank - 1)
    if d.chance(0.5):
        out = d.node(d.of(("ArgMax", "ArgMin")), [x], exact=True, axis=axis, keepdims=d.between(0, 1),
                     select_last_index=d.between(0, 1))
        return out
    return d.node("TopK", [x, d.fixed([d.between(1, x.shape[axis])])], exact=True, outputs=2, axis=axis,
                  largest=d.between(0, 1))[0]


def running(d, x):
    need(x.rank > 0 and x.dtype.name in ("float32", "float64", "int32", "int64"))
    return d.node("CumSum", [x, d.fixed(d.between(0, x.rank - 1))], exclusive=d.between(0, 1), reverse=d.between(0, 1))


def one_hot(d, x):
    need(x.rank > 0 and x.dtype == "f4")
    return d.node("Hardmax", [x], axis=d.between(0, x.rank - 1)) if x.exact else running(d, x)


def reverse(d, x):
    need(x.rank > 1 and elements.is_float(x.dtype))
    lengths = d.fixed(d.rng.integers(1, x.shape[0] + 1, x.shape[1]))
    return d.node("ReverseSequence", [x, lengths], time_axis=0, batch_axis=1, **COPY)


FUNCTIONS = (transpose, transpose, reshape, concat, concat, split, slices, pad, gather, scatter, expand, blocks,
             triangle, largest, running, one_hot, reverse)
