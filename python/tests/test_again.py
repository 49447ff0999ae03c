"""Calls of convert() and copy() whose like was made before, which go a shorter way: right where they are alike, and
noticed where they are not."""
import random

import numpy as np
import pytest
import relayout
from random_arrays import random_shape, same_bits
from reference import converted
from relayout._dtypes import numpy_dtype
from test_values import available_types, equal_values, random_values, strided_place

PHOTO = np.arange(2 * 3 * 4 * 3, dtype=np.uint8).reshape(2, 3, 4, 3)


def normalized(x, scale=None, mean=None, std=None):
    """nhwc of u8 to nchw of f32."""
    shape = (1, 3, 1, 1)

    def as_array(n):
        return n if n is None or np.ndim(n) == 0 else np.reshape(n, shape)

    return converted(x.transpose(0, 3, 1, 2), "u8", "f32", np.dtype("f4"), scale=as_array(scale), mean=as_array(mean),
                     std=as_array(std))


def twice(call):
    """The second call goes the shorter way."""
    call()
    return call()


@pytest.mark.parametrize("how", [
    {}, {"scale": 1 / 255}, {"scale": 2}, {"scale": [0.5, 2, 3.0]}, {"mean": [1, 2, 3], "std": [4.0, 5, 6]},
    {"mean": (1, 2, 3), "std": (4.0, 5, 6)}, {"scale": np.float32(0.5)}, {"mean": np.array([1.0, 2, 3])}], ids=str)
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_numbers(library, how):
    plain = {key: np.asarray(value).tolist() for key, value in how.items()}
    x, out = PHOTO, np.zeros((2, 3, 3, 4), "f4")
    if library == "torch":
        torch = pytest.importorskip("torch")
        x, out = torch.from_numpy(x), torch.from_numpy(out)
    expected = normalized(PHOTO, **plain)
    made = twice(lambda: relayout.convert(x, "nhwc", "nchw", dtype="f32", **how))
    assert type(made) is type(x) and same_bits(np.asarray(made), expected)
    assert twice(lambda: relayout.convert(x, "nhwc", "nchw", dtype="f32", out=out, **how)) is out
    assert same_bits(np.asarray(out), expected)


def test_a_list_that_has_changed():
    numbers = [1.0, 2.0, 4.0]
    for _ in range(3):
        for i in range(3):
            numbers[i] += 1
            got = relayout.convert(PHOTO, "nhwc", "nchw", dtype="f32", scale=numbers)
            assert same_bits(got, normalized(PHOTO, scale=numbers))


def test_zeros_of_both_signs():
    x = np.zeros((2, 3), "f4")
    for zero in (0.0, -0.0, 0.0, -0.0, 0, -0.0):
        got = relayout.convert(x, "ab", "ba", dst_zero_point=zero, scale=-1.0)
        expected = x.T * np.float32(-1.0) + np.float32(zero)
        assert (np.signbit(got) == np.signbit(expected)).all(), zero


def test_a_number_for_a_list_of_one_and_numbers_that_are_none():
    x = np.ones((2, 1, 3), "f4")
    for scale, wanted in (([2.0], 2.0), (2.0, 2.0), ([3.0], 3.0), (3, 3.0)):
        assert (twice(lambda: relayout.convert(x, "ncw", "nwc", scale=scale)) == wanted).all()
    relayout.convert(x, "ncw", "nwc", scale=1.0)
    for wrong in ("1.0", object, [1.0, 2.0], 2**60 + 1, [[1.0]] * 2):
        with pytest.raises((TypeError, relayout.Error)):
            relayout.convert(x, "ncw", "nwc", scale=wrong)


def test_destinations_are_looked_at_each_time():
    how = dict(dtype="f32", scale=2.0)
    expected = normalized(PHOTO, scale=2.0)
    out = np.zeros((2, 3, 3, 4), "f4")
    twice(lambda: relayout.convert(PHOTO, "nhwc", "nchw", out=out, **how))
    for wrong in (np.zeros((2, 3, 3, 4), "f8"), np.zeros((2, 3, 3, 4), "i4"), np.zeros((2, 3, 4, 3), "f4"),
                  np.broadcast_to(np.float32(0), (2, 3, 3, 4)), np.zeros((3, 3, 4), "f4")):
        with pytest.raises(relayout.Error):
            relayout.convert(PHOTO, "nhwc", "nchw", out=wrong, **how)
    canvas = np.zeros((2, 3, 5, 6), "f4")
    relayout.convert(PHOTO, "nhwc", "nchw", out=canvas[:, :, 1:4, 1:5], **how)
    assert same_bits(np.ascontiguousarray(canvas[:, :, 1:4, 1:5]), expected) and canvas.sum() == expected.sum()
    swapped = np.zeros((2, 3, 3, 4), ">f4")
    relayout.convert(PHOTO, "nhwc", "nchw", out=swapped, **how)
    assert (swapped == expected).all()
    square = np.arange(16, dtype="f4").reshape(4, 4)
    twice(lambda: relayout.convert(square.copy(), "ab", "ba", out=np.zeros((4, 4), "f4")))
    with pytest.raises(relayout.OverlapError):
        relayout.convert(square, "ab", "ba", out=square)


def test_tensors_are_looked_at_each_time():
    torch = pytest.importorskip("torch")
    x = torch.arange(12.0).reshape(3, 4)
    twice(lambda: relayout.convert(x, "ab", "ba"))
    twice(lambda: relayout.copy(torch.zeros(3, 4, dtype=torch.float64), x))
    with pytest.raises(relayout.InvalidArgumentError, match="gradient"):
        relayout.convert(x.clone().requires_grad_(), "ab", "ba")
    with pytest.raises(relayout.InvalidArgumentError, match="gradient"):
        relayout.copy(torch.zeros(3, 4, dtype=torch.float64), x.clone().requires_grad_())
    with pytest.raises(relayout.UnsupportedError, match="torch.jit.trace"):
        torch.jit.trace(lambda x: relayout.convert(x, "ab", "ba"), (x,), check_trace=False)
    with pytest.raises(relayout.UnsupportedError):
        relayout.convert(torch.zeros(3, 4, device="meta"), "ab", "ba")
    assert same_bits(relayout.convert(x.numpy(), "ab", "ba"), np.ascontiguousarray(x.numpy().T))
    negated = torch.zeros(3, 4, dtype=torch.complex64).conj().imag
    with pytest.raises(relayout.InvalidArgumentError, match="resolve_neg"):
        relayout.convert(negated, "ab", "ba")


def test_a_tensor_that_was_written_to_is_noted():
    torch = pytest.importorskip("torch")
    x, out = torch.ones(3, 4), torch.zeros(4, 3)
    if not hasattr(torch.autograd.graph, "increment_version"):
        pytest.skip("PyTorch before 2.1 cannot be told")
    for call in (lambda: relayout.convert(x, "ab", "ba", out=out), lambda: relayout.copy(out, x.double().t())):
        call()
        version = out._version
        call()
        assert out._version > version


@pytest.mark.parametrize("seed", range(4))
def test_casts_of_tensors(seed):
    """As test_values.py has them of NumPy's arrays, into any strides that tensors have."""
    torch = pytest.importorskip("torch")
    rng = random.Random(600 + seed)
    types = {"f64", "f32", "f16", "s64", "s32", "s16", "s8", "u8", "bool"} & set(available_types())
    for _ in range(100):
        src, dst = rng.choice(sorted(types)), rng.choice(sorted(types))
        x = random_values(rng, random_shape(rng, rng.randint(0, 4), 200), src)
        out, _ = strided_place(rng, x.shape, numpy_dtype(dst))
        if any(step < 0 for step in out.strides):
            out = np.zeros(x.shape, out.dtype)
        for _ in range(2):
            relayout.copy(torch.from_numpy(out), torch.from_numpy(np.ascontiguousarray(x).reshape(x.shape)))
        assert equal_values(out, converted(x, src, dst, out.dtype)), (src, dst, x.shape, out.strides)


def test_casts_within_one_memory_and_with_strides_between_elements():
    memory = np.arange(24, dtype="f4")
    expected = memory[:12].astype("f8")
    relayout.copy(memory.view("f8")[:12], memory[:12])
    assert same_bits(memory.view("f8")[:12].copy(), expected)
    odd = np.ndarray((3, 2), "f4", bytearray(64), 0, (9, 4))
    odd[...] = [[1, 2], [3, 4], [5, 6]]
    into = np.ndarray((3, 2), "f8", bytearray(128), 0, (17, 8))
    for _ in range(2):
        relayout.copy(into, np.ascontiguousarray(odd))
        assert (into == odd).all()
    with pytest.raises(relayout.NotInjectiveError):
        relayout.copy(np.lib.stride_tricks.as_strided(np.zeros(3), (2, 3), (0, 8)), np.zeros((2, 3), "f4"))
