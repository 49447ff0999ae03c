#!/usr/bin/env python3
"""Random Attention nodes in every form that ONNX has, with NaN and infinities, against ONNX's reference.

    attention.py CASES [--first SEED] [--count N]

CASES is the program special_values_cases. Sources have three or four dims; masks are boolean or numbers, of any dims
that repeat, causal, windows and lengths, and mask whole rows too; NaN and infinities lie in queries, keys and values,
often where a mask hides them. Each node runs by relayout in several layouts, with its nodes merged and apart, and each
element must be what ONNX's reference gives.

A test of the slow tier, as run.py.
"""
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE)]

from nodes import judge_nodes  # noqa: E402

COUNT = 400
WAYS = ["reference", "any", "apart", "nchw", "nhwc"]


def numbers_of(d, shape, specials):
    """Queries, keys or values: small numbers, and special ones in some."""
    import elements
    import numpy
    out = elements.plain(d.rng, shape, d.dtype)
    for _ in range(d.of((0, 0, 1, 3))):
        value = d.of(specials)
        if d.chance(0.5):
            out[tuple(d.between(0, n - 1) for n in shape)] = value
        else:  # all numbers of a head, so that a row of scores is infinite throughout
            out[tuple(d.between(0, n - 1) for n in shape[:-1])] = value
    return out


def mask_of(d, batch, heads, queries, keys):
    """A mask of one of the dims that repeat to B H S T, or None."""
    import numpy
    kind = d.of(("none", "boolean", "numbers"))
    if kind == "none":
        return None
    shape = [d.of((1, batch)), d.of((1, heads)), queries, keys][d.of((0, 0, 1, 2, 2)):]
    if d.opset >= 24 and d.chance(0.2):
        shape[-1] = d.between(1, keys)  # filled up
    hidden = d.rng.random(shape) < d.of((0.2, 0.5, 0.9))
    if len(shape) > 1 and d.chance(0.4):
        hidden[..., d.between(0, queries - 1), :] = True
    if kind == "boolean":
        return ~hidden
    array = (d.rng.integers(-16, 17, shape) / 8).astype(d.dtype)
    array[hidden] = -numpy.inf
    if d.chance(0.1):
        array[tuple(d.between(0, n - 1) for n in shape)] = d.of((numpy.inf, numpy.nan))
    return array


def attributes_of(d):
    how = {"is_causal": d.of((0, 1))}
    if d.chance(0.3):
        how["scale"] = d.of((0.25, 0.5, 1.0))
    if d.chance(0.2):
        how["softcap"] = d.of((0.5, 3.0))
    if d.chance(0.2):
        how["softmax_precision"] = d.of((1, 10, 11))
    if d.opset >= 25 and d.chance(0.5):
        how["left_window_size"] = d.of((-1, 0, 1, 2))
        how["right_window_size"] = d.of((-1, 0, 1, 2))
    return how


def drawn(seed):
    """A draft of one node, and the type by whose rounding its results are compared."""
    import elements
    import numpy
    from draft import Draft
    d = Draft([seed, 5], 23, numpy.dtype("f4"), False)
    d.opset = d.of((23, 24, 25))
    d.dtype = numpy.dtype(d.of(["f4"] * 6 + ["f2", "f8", elements.BF16]))
    batch, kv_heads, size, v_size = d.between(1, 2), d.between(1, 3), d.between(1, 5), d.between(1, 5)
    heads, queries, new_keys = kv_heads * d.of((1, 1, 2)), d.between(1, 5), d.between(1, 6)
    flat = d.chance(0.4)
    past = d.of((0, 0, 1, 3))
    how = attributes_of(d)
    shapes = [(batch, heads, queries, size), (batch, kv_heads, new_keys, size), (batch, kv_heads, new_keys, v_size)]
    if flat:
        how.update(q_num_heads=heads, kv_num_heads=kv_heads)
        shapes = [(b, s, h * n) for b, h, s, n in shapes]
    # The narrowest type that is computed in says how exact the results are.
    narrow = how.get("softmax_precision") == 10 and d.dtype.itemsize > 2
    compared = numpy.dtype("f2") if narrow else d.dtype
    # Weights that are 0 in a type of 16 bits may be tiny numbers in f32, in which they are computed, and times infinity
    # the former give NaN, the latter infinity.
    infinite = (numpy.inf, -numpy.inf, -numpy.inf, numpy.nan)
    specials = (infinite, infinite, infinite if compared.itemsize > 2 else (numpy.nan,))
    sources = [d.fresh((), array=numbers_of(d, *each)) for each in zip(shapes, specials)]
    mask = mask_of(d, batch, heads, queries, past + new_keys)
    sources.append(None if mask is None else d.fresh((), array=mask, constant=d.chance(0.5)))
    if past:
        sources += [d.fresh((), array=numbers_of(d, (batch, kv_heads, past, n), of))
                    for n, of in zip((size, v_size), specials[1:])]
    elif d.opset >= 24 and not flat and d.chance(0.4):
        lengths = d.rng.integers(0, new_keys + 1, batch)
        sources += [None, None, d.fixed(lengths)]
    outputs = 1
    if d.chance(0.5) and past:
        outputs = d.of((3, 4))
    if outputs == 4:
        # The reference gives mode 0, the scores as they are, only where there is no soft cap.
        how["qk_matmul_output_mode"] = d.between(1 if "softcap" in how else 0, 3)
    while sources[-1] is None:
        sources.pop()
    d.node("Attention", sources, outputs=outputs, **how)
    return d, compared


def judge(seed, ours, counts):
    """What is wrong with the node of a seed, by way; and what it is."""
    import elements
    import numpy
    import peers
    from draft import Unfit
    try:
        d, compared = drawn(seed)
    except Unfit as why:
        return {"the draft": str(why)}, ""

    def good_of(got, right):
        return elements.same(got.astype(compared), right.astype(compared), False, False)

    model, outputs = d.model()
    what = str(model.graph.node[0]).replace("\n", " ")
    want = peers.by_reference(model, d.inputs)
    if want is None:
        counts["without an answer"][d.dtype.name] += 1
        return {}, what
    by_runtime = peers.by_runtime(model, d.inputs)
    if by_runtime:
        good = all(good_of(a, b).all() for a, b in zip(by_runtime, want))
        counts["ONNX Runtime"]["agrees" if good else "differs"] += 1
    wrong = {}
    for way, results in ours(model, d.inputs, outputs, [*WAYS, "drawn%d" % seed]).items():
        if isinstance(results, str):
            wrong[way] = results
            continue
        for i, (got, right) in enumerate(zip(results, want)):
            good = good_of(got, right)
            if not good.all():
                at = tuple(int(i) for i in numpy.argwhere(~good)[0])
                wrong[way] = "%d elements of result %d, first %s: %s; the reference %s" % (
                    (~good).sum(), i, at, got[at], right[at])
                break
    counts["ran"][d.dtype.name] += not wrong
    counts["elements"]["NaN"] += sum(int((a != a).sum()) for a in want)
    counts["elements"]["0"] += sum(int((a == 0).sum()) for a in want)
    counts["elements"]["all"] += sum(a.size for a in want)
    return wrong, what


if __name__ == "__main__":
    tables = ("ran", "elements", "ONNX Runtime", "without an answer")
    sys.exit(judge_nodes(judge, "attention", COUNT, tables, "ran"))
