"""Random NumPy arrays of every type, shape and kind of view, for the tests beside this file.

    rng = random.Random(7)
    x = random_array(rng)          # the same for the same seed
    describe(x)                    # what a failing test prints
"""
import numpy as np

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

PLAIN = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]
_OTHERS = ["g", "c8", "c16", "G", "M8[s]", "m8[us]", "S1", "S5", "U2", "V1", "V3", "V8", "V16", "V24", "S0", "V0",
           [("a", "i1"), ("b", "f4")], [("a", "f8"), ("b", "i4", (3,))]]
_SWAPPED = [">i2", ">i4", ">f8", ">c8", ">U2", ">M8[s]"]
_ML = ["bfloat16", "float8_e5m2", "float8_e4m3fn", "float8_e4m3b11fnuz", "int4", "uint4"]

DTYPES = [np.dtype(name) for name in PLAIN * 2 + _OTHERS + _SWAPPED]
if ml_dtypes is not None:
    DTYPES += [np.dtype(getattr(ml_dtypes, name)) for name in _ML if hasattr(ml_dtypes, name)]


def describe(x):
    """What one needs to make the same view again."""
    return f"{x.dtype} shape {x.shape} strides {x.strides} at {x.ctypes.data % 64} mod 64"


def same_bits(a, b):
    """Whether two arrays have the same type, shape and bits of elements; NaNs are equal to themselves so."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def random_shape(rng, rank, most=400):
    """Extents whose product is about `most` or less; some are 1, a few 0."""
    shape, room = [], most
    for _ in range(rank):
        extent = min(rng.choice([1, 1, 2, 2, 3, 4, 5, 7, 8, 16, 17, 33]), room)
        if rng.random() < 0.01:
            extent = 0
        shape.append(extent)
        room = max(1, room // max(extent, 1))
    rng.shuffle(shape)
    return tuple(shape)


def _filled(rng, shape, dtype):
    """A row-major array of random bits, now and then not aligned to its elements."""
    count = int(np.prod(shape, dtype=np.int64))
    shift = rng.choice([0, 0, 0, 1, 3])
    raw = np.frombuffer(bytearray(rng.randbytes(count * dtype.itemsize + shift)), np.uint8)[shift:]
    if dtype == np.bool_:
        raw = raw & 1
    if dtype.itemsize == 0:
        return np.zeros(shape, dtype)
    if dtype.kind == "U":  # not every number is a character
        raw = np.tile(np.array([65, 0, 0, 0] if dtype.isnative else [0, 0, 0, 65], np.uint8), max(raw.size // 4, 0))
        raw = raw[:count * dtype.itemsize]
    return np.ndarray(shape, dtype, raw.data) if raw.size else np.empty(shape, dtype)


def _sliced(rng, x):
    index = []
    for extent in x.shape:
        step = rng.choice([1, 1, 2, 3, -1, -1, -2])
        low, high = sorted((rng.randint(0, extent), rng.randint(0, extent)))
        if high == low and rng.random() < 0.9:
            low, high = 0, extent
        index.append(slice(low, high, step) if step > 0 else slice(high - 1 if high else None,
                                                                   low - 1 if low else None, step))
    return x[(*index, ...)]  # with ... an array of no dims stays an array


def _broadcast(rng, x):
    if x.ndim >= 8:
        return x
    at = rng.randint(0, x.ndim)
    x = np.expand_dims(x, at)
    return np.broadcast_to(x, x.shape[:at] + (rng.choice([1, 2, 5]),) + x.shape[at + 1:])


def random_view(rng, x):
    """A view of a view of x's memory: dims in another order, slices, broadcasts, at random."""
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        kind = rng.random()
        if kind < 0.45:
            axes = list(range(x.ndim))
            rng.shuffle(axes)
            x = x.transpose(axes)
        elif kind < 0.8:
            x = _sliced(rng, x)
        elif kind < 0.9 and x.size < 2000:
            x = _broadcast(rng, x)
        elif x.ndim >= 2:
            x = x.diagonal() if rng.random() < 0.3 else x[..., None].swapaxes(-1, 0)[0]
    return x


def random_array(rng, dtypes=None, rank=None, most=None):
    """An array of up to eight dims, mostly small, one in fifty large enough for threads."""
    dtype = rng.choice(dtypes or DTYPES)
    if most is None:
        most = 60000 if rng.random() < 0.02 else 400
    shape = random_shape(rng, rng.randint(0, 8) if rank is None else rank, most)
    x = random_view(rng, _filled(rng, shape, dtype))
    if x.flags.writeable and rng.random() < 0.1:
        x.flags.writeable = False
    return x


def random_floats(rng, shape, dtype):
    """Numbers of moderate size and some special values, of a type of elements."""
    generator = np.random.default_rng(rng.getrandbits(32))
    values = np.asarray(generator.normal(0, rng.choice([1, 30, 1000]), shape))
    if values.size and rng.random() < 0.5:
        flat = values.reshape(-1)
        for special in (0.5, -0.5, 1.5, 2.5, np.inf, -np.inf, np.nan, 3e9, -3e9, -0.0, 464.0, 465.0):
            if rng.random() < 0.5:
                flat[rng.randrange(flat.size)] = special
    with np.errstate(all="ignore"):
        return np.asarray(values).astype(dtype)
