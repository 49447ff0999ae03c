"""The random model of a seed."""
import numpy

import elements
import layers
import moves
import pointwise
from draft import Draft, Unfit

MOST_NODES = 8
OPSETS = (18, 20, 21, 22, 23, 23, 24)


def drawn_type(rng):
    kinds = [("f4", 0.72), ("f2", 0.08), (elements.BF16, 0.08), ("f8", 0.07), ("i4", 0.03), ("i8", 0.02)]
    return kinds[int(rng.choice(len(kinds), p=[share for _, share in kinds]))][0]


def first_shape(d):
    kind = d.between(0, 9)
    if kind < 5:
        return (d.between(1, 2), d.of((3, 8, 16, 17, 20)), d.between(1, 7), d.between(2, 7))
    if kind < 7:
        return (d.between(1, 3), d.between(2, 6), d.of((4, 8, 16, 19)))
    if kind < 9:
        return (d.between(1, 6), d.of((1, 4, 16, 33)))
    return d.of(((7,), (1, 4, 3, 4, 3), ()))


def families(d):
    """How often pointwise operators, layers and moves are drawn."""
    return d.of(((0.5, 0.35, 0.15), (0.8, 0.1, 0.1), (0.35, 0.6, 0.05), (0.25, 0.25, 0.5)))


def drafted(seed):
    rng = numpy.random.default_rng([seed, 1])
    d = Draft([seed, 2], int(rng.choice(OPSETS)), drawn_type(rng), greatest=rng.random() < 0.3)
    x = d.fresh(first_shape(d), constant=False, special=d.chance(0.8))
    shares, most = families(d), d.between(1, MOST_NODES)
    for _ in range(40):
        if len(d.nodes) >= most:
            break
        family = (pointwise, layers, moves)[int(d.rng.choice(3, p=shares))]
        kept = len(d.nodes), len(d.values)
        try:
            y = d.of(family.FUNCTIONS)(d, x)
        except Unfit:
            del d.nodes[kept[0]:], d.values[kept[1]:]
            continue
        if y.dtype == d.dtype and numpy.prod(y.shape) <= 20000:
            # Mostly a chain, so that nodes can be merged; else the next operator reads an earlier value.
            x = y if d.chance(0.85) else d.of([v for v in d.values if v.dtype == d.dtype])
    if not d.nodes:
        d.node("Identity", [x], exact=True, zeros=True)
    return d
