"""Layers, reductions and normalizations for random models: what adds up many elements."""
import numpy

import elements
from pointwise import need, need_float

AXIS_REDUCTIONS = ("ReduceSum", "ReduceMean", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp",
                   "ReduceSumSquare", "ReduceMax", "ReduceMin")


def reduce(d, x):
    need(x.rank > 0)
    need_float(d, x)
    operator = d.of(AXIS_REDUCTIONS + ("ReduceMax", "ReduceMin"))
    axes = [int(a) for a in d.rng.permutation(x.rank)[:d.between(1, x.rank)]]
    sources = [x] if d.chance(0.15) else [x, d.fixed(axes)]
    return d.node(operator, sources, exact=operator in ("ReduceMax", "ReduceMin"), keepdims=d.between(0, 1))


def softmax(d, x):
    need(x.rank > 0)
    need_float(d, x)
    return d.node(d.of(("Softmax", "LogSoftmax")), [x], axis=d.between(-x.rank, x.rank - 1))


def normalization(d, x):
    need(x.rank > 1)
    need_float(d, x)
    kinds = ["LayerNormalization", "LpNormalization", "MeanVarianceNormalization"]
    kinds += ["RMSNormalization"] * 2 if d.opset >= 23 else []
    kinds += ["BatchNormalization", "InstanceNormalization", "LRN"] if x.rank > 2 else []
    kinds += ["GroupNormalization"] if x.rank > 2 and d.opset >= 21 and x.shape[1] % 4 == 0 else []
    kind = d.of(kinds)
    channels = (x.shape[1],)
    if kind in ("LayerNormalization", "RMSNormalization"):
        axis = d.between(1, x.rank - 1)
        sources = [d.operand(x.shape[axis:], x.dtype) for _ in range(d.between(1, 2) if kind[0] == "L" else 1)]
        return d.node(kind, [x, *sources], axis=axis)
    if kind == "LpNormalization":
        return d.node(kind, [x], axis=d.between(0, x.rank - 1), p=d.between(1, 2))
    if kind == "MeanVarianceNormalization":
        return d.node(kind, [x], axes=[i for i in range(x.rank) if i != 1])
    if kind == "LRN":
        return d.node(kind, [x], size=d.of((1, 3, 5)), alpha=0.5)
    sources = [d.fresh(channels, x.dtype, constant=d.chance(0.8)) for _ in range(2)]
    if kind == "BatchNormalization":
        variance = numpy.abs(elements.plain(d.rng, channels, x.dtype)) + numpy.asarray(0.5, x.dtype)
        if d.chance(0.3):
            variance[d.between(0, len(variance) - 1)] = d.of((numpy.nan, numpy.inf, 0.0, -2.0))
        sources += [d.fresh(channels, x.dtype, constant=True),
                    d.fresh(channels, constant=True, array=variance.astype(x.dtype))]
    more = {"num_groups": d.of((1, 2, 4))} if kind == "GroupNormalization" else {}
    return d.node(kind, [x, *sources], **more)


def product(d, x):
    need(x.rank > 1)
    need_float(d, x)
    inner, columns = x.shape[-1], d.of((1, 4, 8, 17))
    kind = d.between(0, 3)
    if kind == 0 and x.rank == 2:
        down, across = d.between(0, 1), d.between(0, 1)
        rows, inner = x.shape[::-1] if down else x.shape
        sources = [x, d.operand((columns, inner) if across else (inner, columns), x.dtype)]
        if d.chance(0.7):
            sources.append(d.operand(d.of(((columns,), (rows, columns), (1, columns), ())), x.dtype))
        return d.node("Gemm", sources, alpha=d.of((1.0, 0.5)), beta=d.of((1.0, 2.0)), transA=down, transB=across)
    if kind == 1 and x.rank > 2:
        return d.node("MatMul", [x, d.operand(tuple(x.shape[:-2]) + (inner, columns), x.dtype)])
    if kind == 2 and d.chance(0.3):
        return d.node("MatMul", [x, d.operand((inner,), x.dtype)])
    out = d.node("MatMul", [x, d.operand((inner, columns), x.dtype)])
    if d.chance(0.5):
        bias = d.operand((columns,), x.dtype)
        out = d.node("Add", [out, bias] if d.chance(0.5) else [bias, out])
    return out


def einsum(d, x):
    need_float(d, x)
    need(x.rank == 3)
    b, i, j = x.shape
    equation, shape = d.of((("bij,bjk->bik", (b, j, 5)), ("bij,bkj->bik", (b, 5, j)), ("bij,jk->bik", (j, 4)),
                            ("bij,bij->b", x.shape), ("bij->bji", None), ("bij,bi->bj", (b, i))))
    return d.node("Einsum", [x] + ([d.operand(shape, x.dtype)] if shape else []), equation=equation)


def window(d, x):
    """Attributes of a window over the spatial dims, each of which it fits."""
    out = {"kernel_shape": [], "strides": [], "pads": [], "dilations": []}
    ends = []
    for n in x.shape[2:]:
        kernel, dilation = d.of((1, 2, 3, 3)), d.of((1, 1, 2))
        if (kernel - 1) * dilation + 1 > n:
            kernel, dilation = min(kernel, n), 1
        reach = kernel // 2
        out["kernel_shape"].append(kernel)
        out["dilations"].append(dilation)
        out["strides"].append(d.of((1, 1, 2)))
        out["pads"].append(d.between(0, reach))
        ends.append(d.between(0, reach))
    out["pads"] += ends
    return out


def begins_in_padding(x, how):
    """Whether a window that ceil_mode adds would begin in the padding at the end: such windows are left out, which
    ONNX's inference of dims overlooks."""
    for i, n in enumerate(x.shape[2:]):
        room = n + how["pads"][i] + how["pads"][i + x.rank - 2]
        reach = (how["kernel_shape"][i] - 1) * how.get("dilations", [1, 1, 1])[i] + 1
        if -(-(room - reach) // how["strides"][i]) * how["strides"][i] >= n + how["pads"][i]:
            return True
    return False


def convolution(d, x):
    need(x.rank in (3, 4, 5))
    need_float(d, x)
    channels, how = x.shape[1], window(d, x)
    group = d.of([g for g in (1, 1, 2, 4, channels) if channels % g == 0])
    made = group * d.of((1, 2, 4)) if group > 1 else d.of((4, 8, 16, 17))
    transposed = d.chance(0.3)
    shape = (channels, made // group) if transposed else (made, channels // group)
    weights = d.fresh(shape + tuple(how["kernel_shape"]), x.dtype, constant=d.chance(0.8))
    sources = [x, weights]
    if d.chance(0.6):
        sources.append(d.fresh((made,), x.dtype, constant=d.chance(0.8)))
    if transposed and d.chance(0.3):
        how["output_padding"] = [s - 1 for s in how["strides"]]
    return d.node("ConvTranspose" if transposed else "Conv", sources, group=group, **how)


def pooling(d, x):
    need(x.rank in (3, 4, 5))
    need_float(d, x)
    kind = d.of(("MaxPool", "MaxPool", "AveragePool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "LpPool"))
    if kind.startswith("Global"):
        return d.node(kind, [x], exact=kind == "GlobalMaxPool")
    how = window(d, x)
    if kind == "AveragePool":
        how["count_include_pad"] = d.between(0, 1)
        if d.opset < 19:
            del how["dilations"]
    if kind == "LpPool":
        how["p"] = d.between(1, 3)
    how["ceil_mode"] = int(d.chance(0.3) and not begins_in_padding(x, how))
    return d.node(kind, [x], exact=kind == "MaxPool", **how)


def resize(d, x):
    need(x.rank == 4)
    need_float(d, x)
    mode = d.of(("nearest", "linear", "linear", "cubic"))
    scales = numpy.array([1, 1, d.of((2, 1, 0.5)), d.of((2, 1.5))], "f4")
    need(all(n * s >= 1 for n, s in zip(x.shape, scales)))
    where = d.of(("half_pixel", "asymmetric", "align_corners"))
    return d.node("Resize", [x, None, d.fixed(scales, "f4")], exact=mode == "nearest", mode=mode,
                  coordinate_transformation_mode=where)


def recurrent(d, x):
    need(x.rank == 3 and x.dtype == "f4")
    operator, hidden = d.of(("LSTM", "GRU", "RNN")), d.of((4, 8))
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[operator]
    direction = d.of(("forward", "forward", "reverse", "bidirectional"))
    ways = 1 + (direction == "bidirectional")
    sources = [x, d.fresh((ways, gates * hidden, x.shape[2]), constant=True, special=d.chance(0.3)),
               d.fresh((ways, gates * hidden, hidden), constant=True, special=d.chance(0.3))]
    if d.chance(0.6):
        sources.append(d.fresh((ways, 2 * gates * hidden), constant=True, special=d.chance(0.3)))
    more = {"linear_before_reset": d.between(0, 1)} if operator == "GRU" else {}
    return d.node(operator, sources, outputs=2, hidden_size=hidden, direction=direction, **more)[0]


def attention(d, x):
    need(x.rank == 3 and d.opset >= 23 and x.dtype == "f4")
    batch, length, width = x.shape
    heads = d.of([h for h in (1, 2, 4) if width % h == 0])
    keys, values = (d.operand((batch, length, width)) for _ in range(2))
    sources = [x, keys, values]
    if d.chance(0.4):
        mask = numpy.where(d.rng.random((length, length)) < 0.3, d.of((-numpy.inf, -10.0)), 0)
        sources.append(d.fresh((), constant=True, array=mask.astype("f4")))
    more = {"is_causal": 1} if len(sources) == 3 and d.chance(0.4) else {}
    return d.node("Attention", sources, q_num_heads=heads, kv_num_heads=heads, **more)


FUNCTIONS = (reduce, reduce, softmax, softmax, normalization, normalization, product, product, einsum, convolution,
             convolution, convolution, pooling, pooling, resize, recurrent, attention)
