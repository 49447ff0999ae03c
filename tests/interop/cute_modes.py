"""CuTe's layouts as nested tuples, and random ones, for cute.py."""

MOST = 240  # elements of a layout

# --- layouts as nested tuples ----------------------------------------------------------------------------------------

def flat(value):
    return [leaf for item in value for leaf in flat(item)] if isinstance(value, tuple) else [value]


class Modes:
    """A layout's shape and stride, as nested tuples; a function of one number."""

    def __init__(self, shape, stride):
        self.shape, self.stride = shape, stride
        self.digits = list(zip(flat(shape), flat(stride)))

    def size(self):
        out = 1
        for extent, _ in self.digits:
            out *= extent
        return out

    def cosize(self):
        return 1 + sum((extent - 1) * stride for extent, stride in self.digits)

    def extents(self):
        return [Modes(s, 0 if not isinstance(s, tuple) else s).size() for s in self.tops()]

    def tops(self):
        return list(self.shape) if isinstance(self.shape, tuple) else [self.shape]

    def dims(self):
        strides = list(self.stride) if isinstance(self.stride, tuple) else [self.stride]
        return [Modes(s, d) for s, d in zip(self.tops(), strides)]

    def values(self):
        out = [0]
        for extent, stride in self.digits:
            out = [v + k * stride for k in range(extent) for v in out]
        return out

    def coalesced(self):
        out = []
        for extent, stride in self.digits:
            if extent == 1:
                continue
            if out and out[-1][0] * out[-1][1] == stride:
                out[-1] = (out[-1][0] * extent, out[-1][1])
            else:
                out.append((extent, stride))
        return out or [(1, 0)]

    def at(self, i):
        """Its value at any i, the last mode going on."""
        out, digits = 0, self.coalesced()
        for extent, stride in digits[:-1]:
            out += i % extent * stride
            i //= extent
        return out + i * digits[-1][1]

    def text(self):
        return written(self.shape) + ":" + written(self.stride)


def written(value):
    return "(" + ",".join(written(item) for item in value) + ")" if isinstance(value, tuple) else str(value)


def of_package(layout):
    return Modes(layout.shape, layout.stride)


def of_text(text):
    shape, stride = (eval(part.replace(")", ",)").replace("(,)", "()").replace(",,", ",")) for part in text.split(":"))
    return Modes(shape, stride)


def concat(a, b):
    return Modes((a.shape, b.shape), (a.stride, b.stride))


# --- random layouts --------------------------------------------------------------------------------------------------

def random_shape(rng, depth, most):
    """A tuple of tuples of extents, at most `most` elements."""
    if depth == 0 or rng.random() < 0.4:
        return min(rng.choice((1, 2, 2, 3, 4, 4, 5, 6, 8)), max(most, 1))
    out = []
    for _ in range(rng.randint(1, 3)):
        out.append(random_shape(rng, depth - 1, most))
        most //= Modes(out[-1], out[-1]).size()
    return tuple(out)


def with_strides(shape, strides):
    if isinstance(shape, tuple):
        return tuple(with_strides(item, strides) for item in shape)
    return next(strides)


def random_layout(rng, most=MOST, depth=2):
    shape = random_shape(rng, depth, most)
    while isinstance(shape, tuple) and len(shape) == 1 and len(flat(shape)) == 1:
        shape = shape[0]  # (8):(1) is 8:1 here
    extents = flat(shape)
    order = list(range(len(extents)))
    kind = rng.random()
    if kind < 0.6:
        rng.shuffle(order)
    strides, step = [0] * len(extents), rng.choice((1, 1, 1, 1, 2, 3))
    for k in order:
        strides[k] = step
        step *= extents[k] * (rng.choice((2, 3)) if rng.random() < 0.15 else 1)
        step += rng.randint(1, 3) if rng.random() < 0.05 else 0
    if kind > 0.85:
        strides = [rng.randint(0, 12) for _ in strides]
    for k in range(len(strides)):
        if rng.random() < 0.05:
            strides[k] = 0
    return Modes(shape, with_strides(shape, iter(strides)))


def factor(rng, n):
    return rng.choice([k for k in range(1, n + 1) if n % k == 0])


def random_tile(rng, size):
    """A layout that picks some of `size` elements, mostly one that divides them."""
    if rng.random() < 0.25:
        return random_layout(rng, 24, 1)
    inner = factor(rng, size)
    apart = factor(rng, size // inner)
    if rng.random() < 0.5:
        inner, apart = apart, inner
    pieces = [(inner, apart)]
    left = size // inner // apart
    if left > 1 and rng.random() < 0.5:
        pieces.append((factor(rng, left), inner * apart))
    if rng.random() < 0.3:
        rng.shuffle(pieces)
    if len(pieces) == 1:
        return Modes(*pieces[0])
    return Modes(tuple(p[0] for p in pieces), tuple(p[1] for p in pieces))


def random_tilers(rng, a):
    dims = a.dims()
    return [random_tile(rng, dim.size()) for dim in dims[:rng.randint(1, len(dims))]]
