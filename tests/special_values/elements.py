"""Elements of random tensors, with special values planted among them, and when two results are the same.

Numbers are multiples of an eighth, so that sums and products of a few of them are exact in all types.
"""
import ml_dtypes
import numpy

BF16 = numpy.dtype(ml_dtypes.bfloat16)
FLOATS = (numpy.dtype("f4"), numpy.dtype("f2"), BF16, numpy.dtype("f8"))
# What rounding may change, relative to an element and to the largest usual element of its tensor.
TOLERANCE = {"float32": 2e-4, "float16": 1e-2, "bfloat16": 8e-2, "float64": 2e-4}
# Finite numbers beyond this are taken for remains of the greatest values, and say nothing about a tensor's scale.
UNUSUAL = 1e5


def is_float(dtype):
    return numpy.dtype(dtype) in FLOATS


def limits(dtype):
    """The greatest number, the least normal and the least positive one."""
    info = ml_dtypes.finfo(dtype)
    return float(info.max), float(info.smallest_normal), float(info.smallest_subnormal)


def specials(dtype, greatest):
    most, normal, least = limits(dtype)
    out = [numpy.nan, -numpy.nan, numpy.nan, numpy.inf, -numpy.inf, numpy.inf, -numpy.inf, -0.0, -0.0, 0.0, least,
           -least, normal / 4, -normal / 4, normal]
    return out + ([most, -most, most / 2] if greatest else [])


def plain(rng, shape, dtype):
    """Numbers without anything special."""
    dtype = numpy.dtype(dtype)
    if dtype == bool:
        return numpy.asarray(rng.integers(0, 2, shape)).astype(bool)
    if not is_float(dtype):
        low = 0 if dtype.kind == "u" else -9
        return numpy.asarray(rng.integers(low, 10, shape)).astype(dtype)
    return (numpy.asarray(rng.integers(-24, 25, shape)) / 8).astype(dtype)


def planted(rng, shape, dtype, greatest):
    """The same with one to four special values at random places."""
    out = plain(rng, shape, dtype)
    if out.size == 0 or out.dtype == bool:
        return out
    flat = out.reshape(-1)
    if is_float(dtype):
        values = specials(dtype, greatest)
    else:
        info = numpy.iinfo(dtype)
        # Far from overflow, which is not what is looked at.
        values = [max(info.min, -40), min(info.max, 40), 0]
    for _ in range(int(rng.integers(1, 5))):
        value = values[int(rng.integers(len(values)))]
        flat[int(rng.integers(flat.size))] = numpy.array(value).astype(out.dtype)
    return out


def scale_of(want):
    """The largest usual element, at least 1."""
    usual = numpy.abs(want[numpy.isfinite(want) & (numpy.abs(want) < UNUSUAL)])
    return max(1.0, float(usual.max())) if usual.size else 1.0


def same(got, want, exact, zeros):
    """By element, whether it is the same: but for rounding unless `exact`, and with the sign of zeros if `zeros`."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return numpy.zeros(want.shape, bool)
    if not is_float(want.dtype):
        return got == want
    name = want.dtype.name
    g, w = got.astype("f8"), want.astype("f8")
    with numpy.errstate(all="ignore"):
        near = numpy.abs(g - w) <= (0 if exact else TOLERANCE[name] * (numpy.abs(w) + scale_of(w)))
    out = (g == w) | (numpy.isnan(g) & numpy.isnan(w)) | (near & numpy.isfinite(g) & numpy.isfinite(w))
    return out & (numpy.signbit(g) == numpy.signbit(w)) | out & (g != 0) | out & (w != 0) if zeros else out
