"""What the tests of relayout.opencl share: a device or a reason to skip, and arrays of numbers that channels keep.

A broken import of relayout.opencl fails here and is not skipped.
"""
import os
import random
import tempfile

import numpy as np
import pytest

_CACHE = tempfile.TemporaryDirectory()
os.environ["POCL_CACHE_DIR"] = _CACHE.name  # PoCL keeps compiled kernels there; it reads this when it is loaded
os.environ["PYOPENCL_NO_CACHE"] = "1"

import relayout.opencl as cl  # noqa: E402

needs_device = pytest.mark.skipif(not cl.devices(), reason=f"no OpenCL: {cl.problem()}")

#: Channels, and the types of arrays that they hold.
PAIRS = [("f32", "f4"), ("f32", "f2"), ("f16", "f2"), ("f16", "f4"), ("s32", "i4"), ("u32", "u4"), ("u32", "u1"),
         ("unorm8", "u1"), ("snorm8", "i1")]
WAYS = ["mapped", "kernel", "staged"]
ACTIVATION = "mace:in_out_channel"


def numbers(seed, shape, dtype, channel="f32"):
    """Random numbers that the channels keep, of all magnitudes."""
    generator = np.random.default_rng(seed.getrandbits(32) if isinstance(seed, random.Random) else seed)
    if dtype == "i1":
        return generator.integers(-127, 128, shape, np.int8)  # -128 is the same number as -127
    if dtype[0] in "iu":
        info = np.iinfo(dtype)
        return generator.integers(info.min, info.max, shape, dtype, endpoint=True)
    if dtype == "?":
        return generator.integers(0, 2, shape).astype(bool)
    bits = np.asarray(generator.integers(0, 2**16, shape, np.uint16))
    halves = np.where(bits & 0x7c00 == 0x7c00, bits & 0xbfff, bits).astype(np.uint16).view(np.float16)
    if dtype == "f2" or channel == "f16" and generator.random() < 0.5:
        return halves.astype(dtype)
    return np.asarray(generator.normal(0, 1, shape) * 10.0 ** generator.integers(-9, 4, shape)).astype(dtype)


def lanes(x, channel):
    """What the lanes hold of an array's elements."""
    return x.astype({"f32": "f4", "f16": "f2", "s32": "i4", "u32": "u4", "unorm8": "u1", "snorm8": "i1"}[channel])


def strided(rng, dtype):
    """A view of four dims in any order, flipped, with steps and with repeated values."""
    shape = [rng.choice([1, 2, 3, 5, 8]) for _ in range(4)]
    steps = [rng.choice([1, 1, 2, 3]) for _ in range(4)]
    whole = numbers(rng, [n * step for n, step in zip(shape, steps)], dtype)
    x = whole[tuple(slice(None, None, step * rng.choice([1, -1])) for step in steps)].transpose(rng.sample(range(4), 4))
    if rng.random() < 0.3:
        d = rng.randrange(4)
        x = np.broadcast_to(x[tuple(slice(0, 1) if k == d else slice(None) for k in range(4))], x.shape)
    return x
