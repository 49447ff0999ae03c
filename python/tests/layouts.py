"""Some hundred layouts and views of them, for the tests beside this file: layouts.ALL."""
import itertools
import random

import relayout

TAGS = {
    1: ["a", "A4a"], 2: ["ab", "ba", "Ab8a", "aB4b", "AB2a3b", "BA16b4a"], 3: ["abc", "cab", "aBc4b", "ABc2b8a", "ncw",
                                                                               "nwc"],
    4: ["abcd", "nhwc", "nchw", "nChw8c", "nChw16c", "OIhw4i16o4i", "hwio", "aBcd4b", "nh|Cw4c", "chwn", "NChw16n16c"],
    5: ["ncdhw", "ndhwc", "nCdhw8c", "goihw", "gOIhw8i8o"],
}
DIMS = {1: [(1,), (7,), (16,)], 2: [(3, 4), (1, 5), (17, 16)], 3: [(2, 3, 4), (5, 9, 1)],
        4: [(2, 17, 5, 4), (1, 1, 1, 1), (3, 32, 2, 2)], 5: [(2, 3, 4, 5, 2), (1, 9, 8, 2, 1)]}


def layouts():
    """Some hundred layouts of all kinds."""
    out = [relayout.layout(tag, dims) for rank in TAGS for tag in TAGS[rank] for dims in DIMS[rank]]
    out += [relayout.layout(text) for text in ("cute:(4,2):(1,4)", "cute:((2,3),5):((1,10),2)")]
    out += [relayout.layout("strides:5,1@3", (3, 4)), relayout.layout("strides:-4,1@8", (3, 4)),
            relayout.layout("strides:0,1", (3, 4)), relayout.layout("digits:(3,4)|(2,1)(2,2)", (3, 4)),
            relayout.layout("contiguous", ()), relayout.layout("contiguous", (0, 3))]
    return out


def views():
    """Views of them, as a random user makes them."""
    rng = random.Random(11)
    out = []
    for layout in layouts():
        for _ in range(3):
            made = layout
            for _ in range(rng.randint(1, 3)):
                steps = [lambda l: l.permute(rng.sample(range(l.ndim), l.ndim)), lambda l: l[...,
                                                                                             ::-1] if l.ndim else l,
                         lambda l: l[rng.randint(0, l.dims[0] - 1)] if l.ndim and l.dims[0] else l,
                         lambda l: l[None], lambda l: l[1:] if l.ndim and l.dims[0] > 1 else l,
                         lambda l: l[::2] if l.ndim else l, lambda l: l.flatten() if l.ndim else l]
                try:
                    made = rng.choice(steps)(made)
                except relayout.Error:
                    pass
            out.append(made)
    return out


ALL = layouts() + views()


def indices(layout):
    return list(itertools.product(*(range(n) for n in layout.dims)))[:200]
