"""Broadcasts made contiguous, and numbers a channel whose channels lie innermost, against NumPy."""
import numpy as np
import pytest

import relayout


@pytest.mark.parametrize("dtype", ["u1", "f2", "f4", "f8", "c16"])
@pytest.mark.parametrize("columns", [1, 7, 64, 65, 513])
def test_columns_repeated_along_the_innermost_dim(dtype, columns):
    matrix = (np.arange(37 * 5) % 251).reshape(37, 5).astype(dtype)
    for column in (matrix[:, 2:3], matrix[::-1, :1], matrix[:0, :1]):
        x = np.broadcast_to(column, (len(column), columns))
        assert np.array_equal(relayout.contiguous(x), x)
        out = np.zeros((len(column), columns + 3), dtype)
        relayout.copy(out[:, 1:-2], x)
        assert np.array_equal(out[:, 1:-2], x)
        assert not out[:, 0].any() and not out[:, -2:].any()


@pytest.mark.parametrize("source,dtype", [("u1", "f4"), ("f4", "u1"), ("f4", "f8"), ("i2", "f2")])
def test_columns_repeated_and_cast(source, dtype):
    x = np.broadcast_to(np.arange(100, dtype=source)[::3, None], (34, 301))
    out = np.empty(x.shape, dtype)
    relayout.copy(out, x)
    assert np.array_equal(out, x.astype(dtype))


@pytest.mark.parametrize("pixels", [0, 1, 5, 21845, 70001])
@pytest.mark.parametrize("channels", [2, 3, 4, 65, 300])
@pytest.mark.parametrize("dtype", ["u1", "f4"])
def test_scales_of_innermost_channels(pixels, channels, dtype):
    if pixels * channels > 3e6:
        pixels = 6001
    x = (np.arange(pixels * channels) % 256).astype(dtype).reshape(1, pixels, 1, channels)
    scale, mean = (np.arange(channels) + 1) / 8, np.arange(channels)
    expected = x.astype("f4") * scale.astype("f4")
    assert np.array_equal(relayout.convert(x, "nhwc", "nhwc", dtype="f32", scale=list(scale)), expected)
    found = relayout.convert(x, "nhwc", "nhwc", dtype="f32", mean=list(mean), std=list(scale))
    assert np.array_equal(found, (x.astype("f4") - mean.astype("f4")) / scale.astype("f4"))
