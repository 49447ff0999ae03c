"""Scales, zero points, means and deviations of convert(): a scale of zero, and what errors about them name."""
import numpy as np
import pytest
import relayout


@pytest.mark.parametrize("src", [np.float32, np.float64, np.uint8, np.int64])
@pytest.mark.parametrize("dtype", [None, "f32", "f64", "u8", "bool", "f16"])
def test_a_scale_of_zero_gives_the_zero_point(src, dtype):
    x = np.full((2, 3, 4, 5), 3, src)
    plain = relayout.convert(x, "nchw", "nhwc", dtype=dtype, scale=0)
    assert np.array_equal(plain, np.zeros(plain.shape, plain.dtype))
    moved = relayout.convert(x, "nchw", "nhwc", dtype=dtype, scale=0, dst_zero_point=1)
    assert np.array_equal(moved, np.ones(moved.shape, moved.dtype))
    channels = relayout.convert(x, "nchw", "nchw", dtype=dtype, scale=[0, 1, 1], zero_point=1)
    expected = np.broadcast_to(np.array([0, 2, 2]).reshape(1, 3, 1, 1), x.shape).astype(channels.dtype)
    assert np.array_equal(channels, expected)


@pytest.mark.parametrize(("given", "field", "text"), [
    ({"std": 0}, "std", "std is 0"), ({"dst_scale": 0}, "dst_scale", "dst_scale is 0"),
    ({"std": [1, 2, 0]}, r"std[2]", r"std\[2\] is 0"), ({"std": [1, 2]}, "std", "^std of shape"),
    ({"scale": 1e60}, "scale", "scale is 1e"), ({"zero_point": 256}, "zero_point", "zero_point is 256")])
def test_errors_name_what_the_caller_gave(given, field, text):
    x = np.zeros((1, 3, 2, 2), np.uint8)
    with pytest.raises(relayout.InvalidArgumentError, match=text) as error:
        relayout.convert(x, "nchw", "nhwc", dtype="f32", **given)
    assert error.value.field == field and "src_" not in str(error.value)


def test_padding_is_a_number_or_none():
    for wrong in ("keep", [7]):
        with pytest.raises(TypeError, match="padding must be a number or None, not"):
            relayout.convert(np.zeros((1, 3, 2, 2)), "nchw", "nChw8c", padding=wrong)


def test_layouts_are_expressions_or_layouts(tmp_path):
    x = np.zeros((1, 3, 2, 2))
    for sides in (("nchw", None), (None, "nhwc"), ("nchw", 5)):
        with pytest.raises(TypeError, match=r"(src|dst) must be a layout expression or a Layout, not (None|5 \(int\))"):
            relayout.convert(x, *sides)
    np.save(tmp_path / "x.npy", x)
    with pytest.raises(TypeError, match="dst must be a layout expression"):
        relayout.convert_file(tmp_path / "x.npy", tmp_path / "y.npy", None, None)


def test_the_other_byte_order_is_a_type_by_its_code():
    x = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)
    for dtype in (">f4", np.dtype(">f4"), ">i2"):
        got = relayout.convert(x, "nchw", "nhwc", dtype=dtype)
        assert got.dtype == np.dtype(dtype) and np.array_equal(got, x.transpose(0, 2, 3, 1))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8])
@pytest.mark.parametrize("shape", [(64, 3), (1, 3), (64, 1), (8, 96), (2, 2)])
def test_a_scale_of_groups_is_said_by_its_shape(dtype, shape):
    random = np.random.default_rng(7)
    x = random.integers(-100, 100, (64, 96)).astype(np.int8)
    scale = random.integers(1, 50, shape).astype(dtype)
    each = np.repeat(np.repeat(scale, 64 // shape[0], 0), 96 // shape[1], 1).astype(np.float32)
    assert np.array_equal(relayout.convert(x, "ab", "ba", dtype="f32", scale=scale), (x * each).T)
    assert np.array_equal(relayout.convert(x, "ab", "ab", dtype="f32", zero_point=scale), x - each)
    back = relayout.convert(x * each, "ab", "ab", dtype="s8", dst_scale=scale.tolist())
    assert np.array_equal(back, x)


def test_groups_whose_last_is_shorter_are_given():
    x = np.arange(20, dtype=np.uint8).reshape(2, 10)
    scale = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    each = np.repeat(scale, 4, 1)[:, :10]
    assert np.array_equal(relayout.convert(x, "ab", "ab", dtype="f32", scale=scale, groups=(1, 4)), x * each)
    for wrong in (None, (1, 3), (4,), (1, 0)):
        with pytest.raises(relayout.InvalidArgumentError, match="scale|groups"):
            relayout.convert(x, "ab", "ab", dtype="f32", scale=scale, groups=wrong)
