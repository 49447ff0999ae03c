"""Where what a peer gives is not the measure of right and wrong, rule by rule and why."""
import itertools

import numpy

import elements


class NoAnswer(Exception):
    """Neither peer runs an operator."""


def attributes_of(node):
    from onnx import helper
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def windows(x, node, out):
    """(Index of the result's spatial dims, elements of its window without padding), of every channel at once."""
    how = attributes_of(node)
    rank = x.ndim - 2
    strides, dilations = how.get("strides", [1] * rank), how.get("dilations", [1] * rank)
    starts = how.get("pads", [0] * rank)[:rank]
    for at in itertools.product(*map(range, out[2:])):
        places = []
        for i, n in enumerate(x.shape[2:]):
            first = at[i] * strides[i] - starts[i]
            places.append([p for p in range(first, first + how["kernel_shape"][i] * dilations[i], dilations[i])
                           if 0 <= p < n])
        yield at, x[numpy.ix_(range(x.shape[0]), range(x.shape[1]), *places)].reshape(*x.shape[:2], -1)


def max_pool(node, known, shape):
    """Windows pass over NaN where they have a number.

    The reference has two programs for MaxPool. One, for unit strides, does so; the other keeps a NaN where it comes
    first in its window, and some forms of three dims go wrong. ONNX Runtime gives the least number for windows of NaN
    alone.
    """
    x = known[node.input[0]]
    out = numpy.empty(shape, x.dtype)
    for at, window in windows(x, node, shape):
        if window.shape[-1]:
            out[(slice(None), slice(None), *at)] = numpy.fmax.reduce(window.astype("f8"), -1).astype(x.dtype)
    return out


def global_max_pool(node, known, shape):
    """The reference takes the last two dims for all there are."""
    x = known[node.input[0]]
    return x.max(axis=tuple(range(2, x.ndim)), keepdims=True)


def lrn(node, known, _):
    """The reference goes through the images as if they were channels."""
    x, how = known[node.input[0]], attributes_of(node)
    size, squares = how["size"], numpy.zeros(x.shape, "f8")
    with numpy.errstate(all="ignore"):
        for c in range(x.shape[1]):
            near = x[:, max(0, c - (size - 1) // 2):c + size // 2 + 1].astype("f8")
            squares[:, c] = (near**2).sum(1)
        below = (how.get("bias", 1.0) + how.get("alpha", 1e-4) / size * squares) ** how.get("beta", 0.75)
        return (x / below).astype(x.dtype)


def resize(node, known, run):
    """The result without the elements whose weight is 0.

    The two peers read other ones of these: the reference one before, ONNX Runtime one behind a position that is an
    element's own. Where such an element is infinity or NaN, they give NaN, each for other elements.

    A cubic window beyond the border reads the element there several times, by weights of both signs, so that an
    infinity may make NaN, which the sum of the weights does not show (at_border).
    """
    x = known[node.input[0]]
    wide = x.astype("f8")
    places = numpy.argwhere(~numpy.isfinite(wide))
    if not 0 < len(places) <= MOST_PLACES:
        return None
    out = run(numpy.where(numpy.isfinite(wide), wide, 0).astype(x.dtype))[0].astype("f8")
    for place in map(tuple, places):
        one = numpy.zeros(x.shape, x.dtype)
        one[place] = 1
        weights = run(one)[0].astype("f8")
        reached = numpy.abs(weights) > 1e-6
        with numpy.errstate(all="ignore"):
            out[reached] += weights[reached] * wide[place]
    return out.astype(x.dtype)


def at_border(node, x):
    """Whether a cubic resize has infinity or NaN at a border."""
    places = numpy.argwhere(~numpy.isfinite(x.astype("f8")))
    ends = ((places == 0) | (places == numpy.array(x.shape) - 1))[:, 2:]
    return attributes_of(node).get("mode") == b"cubic" and bool(ends.any())


def mean_variance_normalization(node, known, _):
    """The reference computes the variance as a difference of squares, which is below 0 by rounding where it is 0."""
    x, axes = known[node.input[0]], tuple(attributes_of(node).get("axes", (0, 2, 3)))
    wide = x.astype("f8")
    with numpy.errstate(all="ignore"):
        shifted = wide - wide.mean(axes, keepdims=True)
        return (shifted / ((shifted**2).mean(axes, keepdims=True) ** 0.5 + 1e-9)).astype(x.dtype)


# By operator: a function of the node, the known values and the result's shape, in place of the reference.
REPLACED = {"MaxPool": max_pool, "GlobalMaxPool": global_max_pool, "LRN": lrn,
            "MeanVarianceNormalization": mean_variance_normalization}
# How many infinities and NaN a resize is looked into for; with more of them it is not compared.
MOST_PLACES = 64


def replaced(node, known, shapes, run):
    """The answer that a rule gives in place of the reference's, or None. `run` is the reference for another first
    source."""
    rule = REPLACED.get(node.op_type)
    out = resize(node, known, run) if node.op_type == "Resize" else rule and rule(node, known, shapes[0])
    return None if out is None else [out]


# What adds up or squares elements. Where one of them is so large that a square of it, or a sum of some, overflows, the
# order of operations says whether the result is a number, infinity or NaN; such results are not compared.
ADDING = ("ReduceSum ReduceMean ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare Softmax "
          "LogSoftmax LayerNormalization RMSNormalization LpNormalization MeanVarianceNormalization "
          "BatchNormalization LRN InstanceNormalization GroupNormalization Gemm MatMul Einsum Conv ConvTranspose "
          "AveragePool GlobalAveragePool LpPool Resize LSTM GRU RNN Attention Sum Mean CumSum ScatterElements "
          "ScatterND").split()
# What may pass over NaN, and so over an element that is not compared.
PASSING = ("MaxPool", "Max", "Min", "Hardmax", "TopK")


def large(array, operator):
    """Finite elements that overflow when they are squared; where an operator divides by a sum of squares, such whose
    squares become 0, too."""
    if not elements.is_float(array.dtype):
        return numpy.zeros(array.shape, bool)
    most, normal, _ = elements.limits("f4" if array.dtype == "f8" else array.dtype)
    with numpy.errstate(all="ignore"):
        wide = numpy.abs(array.astype("f8"))
        small = (wide > 0) & (wide < normal**0.5 * 4) if operator == "LpNormalization" else False
        return numpy.isfinite(wide) & (wide > most**0.5 / 4) | small


# Numbers that stand for elements that are not compared. Whole ones and 0 are among them, because a power of a negative
# number is NaN for others, and one of NaN for all but 0.
KEPT = ([1, 0.5, 2, 0.75, 1.5], [1, 2, 3], [0])


def shaken(array, noisy, way):
    """The elements but for some rounding; zeros stay zeros unless they are differences."""
    wide = array.astype("f8")
    share = elements.TOLERANCE[array.dtype.name] / 20
    # All steps differ, so that no group of elements moves as one, which a normalization would not see.
    signs = way * numpy.random.default_rng(array.size).uniform(0.5, 1, array.shape)
    signs *= numpy.resize([1, -1, -1, 1, 1, -1, 1], array.shape)
    with numpy.errstate(all="ignore"):
        moved = wide + signs * share * (numpy.abs(wide) + elements.scale_of(wide) / 4)
        return numpy.where((wide == 0) & (not noisy), wide, moved).astype(array.dtype)


def of_nan(node, given, marked):
    """No integer stands for NaN: what it is quantized to is not defined, and both peers leave it to the processor."""
    first = node.input[0]
    mask = marked[first] | numpy.isnan(given[first])
    return [mask] if mask.any() else None


def not_compared(node, given, marked, values, peers):
    """As depends(), and what windows beyond the border make of infinity and NaN there."""
    masks = depends(node, given, marked, values, peers)
    if node.op_type != "Resize" or masks is True or not at_border(node, given[node.input[0]]):
        return masks
    masks = masks or [False]
    return [masks[0] | ~numpy.isfinite(run(given)[0].astype("f8")) for run in peers[:1]]


def depends(node, given, marked, values, peers):
    """A mask of each result of a node: which elements are not compared. `marked` has the masks of its sources, `values`
    what is known of those that nodes made; `peers` are functions that give the node's results for other sources, or
    None.

    Not compared is what depends on elements that are not, what overflows by the order of operations, and what changes
    much if the sources change by rounding.
    """
    if node.op_type == "Resize" and (~numpy.isfinite(given[node.input[0]].astype("f8"))).sum() > MOST_PLACES:
        return True
    if node.op_type == "QuantizeLinear":
        return of_nan(node, given, marked)
    sources = {n: marked[n] | large(a, node.op_type) if node.op_type in ADDING else marked[n] for n, a in given.items()}
    if any(value.narrowed for value in values.values()):
        sources = {n: mask | may_be_flushed(given[n]) for n, mask in sources.items()}
    rounded = [n for n, a in given.items() if n in values and not values[n].exact and elements.is_float(a.dtype)]
    any_masked = any(mask.any() for mask in sources.values())
    if any(sources[n].any() and not elements.is_float(a.dtype) for n, a in given.items()):
        return True
    if not any_masked and not rounded:
        return None

    def results(run, values):
        return run({n: numpy.where(sources[n], numpy.resize(values, a.shape).astype(a.dtype), a) if sources[n].any()
                    else a for n, a in given.items()})

    masks = []
    for run in peers:
        if any_masked:
            lost = results(run, [numpy.nan])
            for numbers in KEPT:
                kept = results(run, numbers)
                if lost and kept:
                    masks.append([numpy.isnan(a.astype("f8")) & ~numpy.isnan(b.astype("f8"))
                                  for a, b in zip(lost, kept)])
        if rounded:
            still = run(given)
            for way in (1, -1):
                moved = run({n: shaken(a, values[n].noisy, way) if n in rounded else a for n, a in given.items()})
                if still and moved:
                    masks.append([~elements.same(a, b, False, False) for a, b in zip(moved, still)])
    if any_masked and node.op_type in PASSING or not masks:
        return True
    return [numpy.logical_or.reduce(parts) for parts in zip(*masks)]


def near_overflow(got, want):
    """Merged steps may stay just below the greatest number, where apart they pass it and come to infinity."""
    if not elements.is_float(want.dtype):
        return numpy.zeros(want.shape, bool)
    most = elements.limits("f4" if want.dtype == "f8" else want.dtype)[0]  # float64 is computed in float32
    g, w = got.astype("f8"), want.astype("f8")
    with numpy.errstate(all="ignore"):
        return (numpy.sign(g) == numpy.sign(w)) & (numpy.abs(g) > most / 16) & (numpy.abs(w) > most / 16)


def may_be_flushed(array):
    """Denormals of bfloat16, and numbers of float64 that float32 does not have, in which it is computed."""
    if not elements.is_float(array.dtype):
        return False
    wide = numpy.abs(array.astype("f8"))
    most, normal, _ = elements.limits("f4")
    return (wide > 0) & (wide < normal) | (wide > most) & numpy.isfinite(wide)


def flushed(got, want):
    """Denormals of bfloat16 may become 0, as the processor's conversion from float32 makes them 0; and numbers of
    float64 that are too small for float32."""
    return (got == 0) & (numpy.abs(want.astype("f8")) < 1) & may_be_flushed(want)
