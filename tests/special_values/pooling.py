#!/usr/bin/env python3
"""Random pooling nodes in every form that ONNX has, against the definition and against ONNX's peers.

    pooling.py CASES [--first SEED] [--count N]

CASES is the program special_values_cases. Kernels, strides and dilations may be longer than the image, pads as long as
the kernel allows, with and without ceil_mode, auto_pad and count_include_pad, in one to three spatial dims and several
types. Each node runs by relayout in several layouts, and each element must be what the definition gives. Where ONNX's
reference or ONNX Runtime runs a node, one of them must agree with the definition, but for forms that they take
otherwise (unlike_peers).

A test of the slow tier, as run.py.
"""
import itertools
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE)]

from nodes import judge_nodes  # noqa: E402

COUNT = 600
WAYS = ["reference", "any", "apart", "nchw", "nhwc", "16c"]


def drawn_form(rng, rank):
    """The operator and its attributes for `rank` spatial dims."""
    def between(low, high):
        return int(rng.integers(low, high + 1))

    def some(share, low, high):
        return [between(low, high) if rng.random() < share else 1 for _ in range(rank)]

    operator = str(rng.choice(["MaxPool", "AveragePool", "AveragePool", "LpPool"]))
    how = {"kernel_shape": some(1, 1, 4), "strides": some(0.6, 1, 4), "dilations": some(0.4, 1, 3),
           "ceil_mode": between(0, 1)}
    mode = str(rng.choice(["NOTSET"] * 4 + ["SAME_UPPER", "SAME_LOWER", "VALID"]))
    if mode == "NOTSET":
        how["pads"] = [between(0, k - 1) if rng.random() < 0.7 else 0 for k in how["kernel_shape"] * 2]
    else:
        how["auto_pad"] = mode
    if operator == "AveragePool":
        how["count_include_pad"] = between(0, 1)
    if operator == "LpPool":
        how["p"] = between(1, 3)
    return operator, how


def drawn(seed):
    """A draft of one node, its operator, attributes and source."""
    import elements
    import numpy
    from draft import Draft
    rng = numpy.random.default_rng([seed, 3])
    rank, most = int(rng.integers(1, 4)), int(rng.choice([2, 7, 7]))
    dims = [int(rng.integers(1, most + 1)) for _ in range(rank)]
    operator, how = drawn_form(rng, rank)
    types = ["f4"] * 6 + ["f2", "f8", elements.BF16] + (["i1", "u1"] if operator == "MaxPool" else [])
    dtype = numpy.dtype(types[int(rng.integers(len(types)))])
    x = elements.plain(rng, (int(rng.integers(1, 3)), int(rng.choice([1, 3, 8, 17])), *dims), dtype)
    if operator == "MaxPool" and rng.random() < 0.5:
        how["storage_order"] = int(rng.integers(0, 2))
    draft = Draft(seed, 22, dtype, False)
    return draft, operator, how, x, draft.fresh(x.shape, array=x)


def places_of(n, how, d, rank):
    """The number of windows along a dim, where the first one begins, and where the padding that counts ends."""
    kernel, stride, dilation = (how[key][d] for key in ("kernel_shape", "strides", "dilations"))
    reach, mode = (kernel - 1) * dilation + 1, how.get("auto_pad", "NOTSET")
    if mode.startswith("SAME"):
        windows = -(-n // stride)
        total = (windows - 1) * stride + reach - n
        begin = int((total + (mode == "SAME_LOWER")) / 2)  # towards 0, and negative for strides beyond the kernel
        return windows, -begin, n + total - begin
    begin, end = (how["pads"][d], how["pads"][d + rank]) if mode == "NOTSET" else (0, 0)
    room = n + begin + end - reach
    # The quotient is rounded towards 0, by which a window that is too long for the padded source is one window of it.
    windows = int((room + how["ceil_mode"] * (stride - 1)) / stride) + 1
    if how["ceil_mode"] and (windows - 1) * stride >= n + begin:
        windows -= 1
    return windows, -begin, n + end


def first_maxima(window, inside, plane, how):
    """Where in a plane, counted by its rows or its columns, the first largest element of each channel's window is."""
    import numpy
    order = "F" if how["storage_order"] else "C"
    numbers = numpy.arange(numpy.prod(plane)).reshape(plane, order=order)[numpy.ix_(*inside)]
    return numbers.reshape(-1)[window.argmax(-1)]


def defined(operator, x, how):
    """The results by the definition; and a mask of the windows that have no element, whose result is not defined."""
    import numpy
    rank = x.ndim - 2
    places = [places_of(n, how, d, rank) for d, n in enumerate(x.shape[2:])]
    out = numpy.zeros(x.shape[:2] + tuple(windows for windows, _, _ in places))
    free, at_most = numpy.zeros(out.shape, bool), numpy.zeros(out.shape, "i8")
    planes = numpy.arange(x.shape[0] * x.shape[1]).reshape(x.shape[:2]) * numpy.prod(x.shape[2:])
    for at in itertools.product(*(range(windows) for windows, _, _ in places)):
        inside, counted = [], 1
        for d, (_, begin, end) in enumerate(places):
            first = begin + at[d] * how["strides"][d]
            taps = [first + k * how["dilations"][d] for k in range(how["kernel_shape"][d])]
            inside.append([t for t in taps if 0 <= t < x.shape[2 + d]])
            counted *= sum(t < end for t in taps)
        window = x[numpy.ix_(range(x.shape[0]), range(x.shape[1]), *inside)].reshape(*x.shape[:2], -1).astype("f8")
        where = (slice(None), slice(None), *at)
        if operator == "LpPool":
            out[where] = (numpy.abs(window) ** how["p"]).sum(-1) ** (1 / how["p"])
        elif operator == "AveragePool" and how["count_include_pad"]:
            out[where] = window.sum(-1) / counted
        elif window.shape[-1] == 0:
            free[where] = True
        else:
            out[where] = window.max(-1) if operator == "MaxPool" else window.mean(-1)
            if "storage_order" in how:
                at_most[where] = planes + first_maxima(window, inside, x.shape[2:], how)
    return [out.astype(x.dtype), at_most][:results_of(how)], free


def results_of(how):
    """A MaxPool has its indices as a second result where the order of these is drawn."""
    return 2 if "storage_order" in how else 1


def node_of(draft, operator, source, how):
    """Adds the node; the shape of its results."""
    made = draft.node(operator, [source], outputs=results_of(how), **how)
    return (made[0] if results_of(how) == 2 else made).shape


def fits(got, want, free):
    import elements
    return all(g.shape == w.shape and (elements.same(g.astype(w.dtype), w, False, False) | free).all()
               for g, w in zip(got, want))


def of_peers(operator, how, x):
    """What the peers give, floating numbers as float32, which both have."""
    import elements
    import peers
    from draft import Draft
    draft = Draft(0, 22, "f4" if elements.is_float(x.dtype) else x.dtype, False)
    node_of(draft, operator, draft.fresh(x.shape, array=x.astype(draft.dtype)), how)
    model, outputs = draft.model()
    given = [p for p in (peers.by_reference(model, draft.inputs), peers.by_runtime(model, draft.inputs)) if p]
    return [p for p in given if p[0].shape == outputs[0].shape]


def unlike_peers(operator, how):
    """Whether auto_pad says SAME and both peers ignore the dilations; or a stride is longer than the kernel of a
    MaxPool, where ONNX Runtime refuses the negative padding that it takes for averages, and the reference rounds its
    halves down instead of towards 0."""
    longer = operator == "MaxPool" and any(s > k for s, k in zip(how["strides"], how["kernel_shape"]))
    return how.get("auto_pad", "").startswith("SAME") and (longer or max(how["dilations"]) > 1)


def judge(seed, ours, counts):
    """What is wrong with the node of a seed, by way; and what it is."""
    from draft import Unfit
    draft, operator, how, x, source = drawn(seed)
    try:
        shape = node_of(draft, operator, source, how)
    except Unfit:
        shape = (0,)
    what = "%s of %s %s %s" % (operator, x.dtype, x.shape, how)
    if min(shape) < 1:
        counts["without a window"][operator] += 1
        return {}, what
    want, free = defined(operator, x, how)
    if want[0].shape != shape:
        return {"the definition": "has %s, ONNX's inference %s" % (want[0].shape, shape)}, what
    given = [] if unlike_peers(operator, how) else of_peers(operator, how, x)
    counts["confirmed" if given else "without a peer"][operator] += 1
    counts["indices"]["of windows"] += want[1].size if len(want) == 2 else 0
    if given and not any(fits(p, want, free) for p in given):
        return {"the definition": "no peer agrees with it"}, what
    wrong, (model, outputs) = {}, draft.model()
    for way, results in ours(model, draft.inputs, outputs, [*WAYS, "drawn%d" % seed]).items():
        if isinstance(results, str):
            wrong[way] = results
        elif not fits(results, want, free):
            wrong[way] = "differs" + ours.names[way]
    counts["ran"][operator] += not wrong
    return wrong, what


if __name__ == "__main__":
    tables = ("ran", "confirmed", "without a peer", "without a window", "indices")
    sys.exit(judge_nodes(judge, "pooling", COUNT, tables, "confirmed"))
