"""What convert() should give, in slow and plain NumPy: blocked layouts as pads and transposes, and the arithmetic of
docs/conversions.md.

    pack(x, "aBc4b", 0)            # the physical array of a tag, x's dims in the order of their letters
    unpack(y, "aBc4b", x.shape)
    converted(x, "f32", "u8", scale=...)
"""
import re

import numpy as np


def _tokens(tag):
    """(letter, block) of a tag from the outermost to the innermost; the block of a whole dim is None."""
    return [(letter.lower(), int(block) if block else None) for block, letter in re.findall(r"(\d*)([a-zA-Z])", tag)]


def pack(x, tag, letters=None, padding=0):
    """The array of the shape that `tag` describes; `letters` names x's dims, a, b, ... unless given."""
    tokens = _tokens(tag)
    letters = letters or "abcdefghijkl"[:x.ndim]
    axes_of = {}
    shape, widths = [], []
    for d, letter in enumerate(letters):
        blocks = [block for name, block in tokens if name == letter and block]
        capacity = int(np.prod(blocks, dtype=np.int64))
        padded = -(-x.shape[d] // capacity) * capacity
        widths.append((0, padded - x.shape[d]))
        axes_of[letter] = list(range(len(shape), len(shape) + 1 + len(blocks)))
        shape += [padded // capacity, *blocks]
    y = np.pad(x, widths, constant_values=padding).reshape(shape)
    return np.ascontiguousarray(y.transpose([axes_of[letter].pop(0) for letter, _ in tokens]))


def unpack(y, tag, dims, letters=None):
    """The tensor of extents `dims` whose physical array is y."""
    positions = np.arange(int(np.prod(dims, dtype=np.int64))).reshape(dims)
    where = pack(positions, tag, letters, -1).reshape(-1)
    out = np.empty(positions.size, y.dtype)
    out[where[where >= 0]] = y.reshape(-1)[where >= 0]
    return out.reshape(dims)


_FLOATS = {"f64", "f32", "f16", "bf16", "f8_e5m2", "f8_e4m3"}
_RANGES = {f"s{bits}": (-2**(bits - 1), 2**(bits - 1) - 1) for bits in (8, 16, 32, 64)}
_RANGES.update({f"u{bits}": (0, 2**bits - 1) for bits in (8, 16, 32, 64)})


def _compute_type(src, dst, arithmetic):
    wide = {src, dst} & {"s64", "u64"}
    if wide and not arithmetic and src not in _FLOATS:
        return object  # integers of Python, which are exact
    if wide or "f64" in (src, dst) or {src, dst} <= {"s32", "u32"}:
        return np.float64
    return np.float32


def _to_small_float(t, dtype):
    """Rounded once to the nearest of a type's values, ties to the even one: found in the list of all of them."""
    bits = dtype.itemsize * 8
    codes = np.arange(2**(bits - 1), dtype=np.uint16 if bits == 16 else np.uint8)
    finite = codes.view(dtype).astype(np.float64)
    finite = finite[np.isfinite(finite)]  # codes 0, 1, ... in the order of their values
    size = np.abs(np.asarray(t, np.float64))
    step = finite[-1] - finite[-2]
    values = np.append(finite, finite[-1] + step)
    above = np.clip(np.searchsorted(values, size), 1, len(values) - 1)
    low, high = size - values[above - 1], values[above] - size
    code = np.where((low < high) | ((low == high) & ((above - 1) % 2 == 0)), above - 1, above)
    result = np.append(finite, np.inf)[np.where(size > values[-1], len(finite), code)]
    return np.asarray(np.copysign(np.where(np.isnan(t), np.nan, result), t)).astype(dtype)


def _stored(t, dst, dtype):
    t = np.asarray(t)  # NumPy's arithmetic makes scalars of arrays without dims
    if dst == "bool":
        return np.asarray(t != 0).astype(np.bool_)
    if dst in _FLOATS:
        if t.dtype == object:
            t = t.astype(np.float64)
        return _to_small_float(t, dtype) if dtype.itemsize < 4 else t.astype(dtype)
    low, high = _RANGES[dst]
    if t.dtype == object:
        return np.array([min(max(v, low), high) for v in t.ravel().tolist()], object).astype(dtype).reshape(t.shape)
    most = t.dtype.type(high)
    if int(most) > high:
        most = np.nextafter(most, t.dtype.type(0))
    saturated = np.clip(np.where(np.isnan(t), t.dtype.type(0), t), t.dtype.type(low), most)
    return np.asarray(np.rint(saturated)).astype(dtype)


def converted(x, src, dst, dtype, scale=None, dst_scale=None, zero_point=None, dst_zero_point=None, mean=None, std=None,
              beta=0, old=None):
    """x, of relayout's type `src`, as NumPy's `dtype`, which relayout calls `dst`."""
    arithmetic = beta != 0 or any(a is not None for a in (scale, dst_scale, zero_point, dst_zero_point, mean, std))
    if src == dst and not arithmetic:
        return x.copy()
    compute = _compute_type(src, dst, arithmetic)

    def number(value):
        return np.asarray(value, np.float64).astype(compute)

    with np.errstate(all="ignore"):
        t = x.astype(compute)
        if zero_point is not None or mean is not None:
            less = np.float64(0 if zero_point is None else zero_point)
            if mean is not None:
                less = less + np.float64(mean) / np.float64(1 if scale is None else scale)
            t = t - number(less)
        if scale is not None:
            t = t * number(scale)
        if beta:
            t = t + number(beta) * old.astype(compute)
        for divisor in (dst_scale, std):
            if divisor is not None:
                t = t / number(divisor)
        if dst_zero_point is not None:
            t = t + number(dst_zero_point)
        return _stored(t, dst, dtype)
