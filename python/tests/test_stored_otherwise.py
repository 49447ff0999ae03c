"""Arrays whose elements are stored in another way than relayout's: in the other order of bytes, or ml_dtypes' int4 and
uint4 with one element a byte."""
import numpy as np
import pytest
import relayout
from random_arrays import same_bits

ml_dtypes = pytest.importorskip("ml_dtypes")

BIG = [np.dtype(t) for t in (">i2", ">i4", ">i8", ">u2", ">u4", ">u8", ">f2", ">f4", ">f8")]
BIG.append(np.dtype(ml_dtypes.bfloat16).newbyteorder(">"))
NIBBLES = [np.dtype(ml_dtypes.int4), np.dtype(ml_dtypes.uint4)]


def numbers(dtype, shape=(2, 3, 4)):
    return (np.arange(np.prod(shape)) % 8).reshape(shape).astype(dtype)


def native(dtype):
    return dtype.newbyteorder("=")


@pytest.mark.parametrize("dtype", BIG, ids=str)
def test_big_endian_sources(dtype):
    x = numbers(dtype)
    for view in (x, x[::-1, :, ::2], x.transpose(2, 0, 1)):
        expected = np.ascontiguousarray(view.transpose(0, 2, 1)).astype(native(dtype))
        assert same_bits(relayout.convert(view, "abc", "acb"), expected)
        assert same_bits(relayout.convert(view, "abc", "abc", dtype="f32"), view.astype("f4"))
        assert relayout.plan_conversion(view, "abc", "acb").shape == expected.shape
    blocked = relayout.convert(x, "abc", "aBc2b")
    assert same_bits(blocked, relayout.convert(x.astype(native(dtype)), "abc", "aBc2b"))


@pytest.mark.parametrize("dtype", BIG, ids=str)
def test_big_endian_elements_are_moved_as_they_are(dtype):
    x = numbers(dtype)
    for got in (relayout.transpose(x, (0, 2, 1)), relayout.contiguous(x.transpose(0, 2, 1)),
                relayout.rearrange("a b c -> a c b", x)):
        assert same_bits(got, np.ascontiguousarray(x.transpose(0, 2, 1)))
    assert relayout.layout_of(x[:, ::2]) == relayout.layout_of(x.astype(native(dtype))[:, ::2])
    out = relayout.empty((2, 4, 3), dtype)
    assert out.dtype == dtype and relayout.transpose(x, (0, 2, 1), out=out) is out
    assert same_bits(out, np.ascontiguousarray(x.transpose(0, 2, 1)))
    y = x.copy()
    assert same_bits(relayout.reorder_in_place(y, "abc", "acb"), out)


@pytest.mark.parametrize("dtype", BIG, ids=str)
def test_big_endian_destinations(dtype):
    x = np.arange(24, dtype="f4").reshape(2, 3, 4)
    out = np.zeros((2, 4, 3), dtype)
    assert relayout.convert(x, "abc", "acb", dtype=native(dtype), out=out) is out
    assert same_bits(out, np.ascontiguousarray(x.transpose(0, 2, 1)).astype(dtype))
    relayout.convert(x, "abc", "acb", dtype=dtype, beta=1, out=out)
    assert np.array_equal(out.astype("f8"), 2 * x.transpose(0, 2, 1))
    back = np.zeros((2, 4, 3), "f8")
    relayout.copy(back, out)
    assert np.array_equal(back, out.astype("f8"))
    relayout.copy(out, back[:, ::-1] / 2)
    assert np.array_equal(out.astype("f8"), back[:, ::-1] / 2)
    assert same_bits(relayout.convert(x, "abc", "abc", dtype=dtype), x.astype(dtype))
    with pytest.raises(relayout.InvalidArgumentError):
        relayout.convert(x, "abc", "abc", dtype=dtype, out=np.zeros((2, 3, 5), dtype))
    with pytest.raises(relayout.InvalidArgumentError):
        relayout.convert(x, "abc", "abc", dtype="s8", out=np.zeros((2, 3, 4), dtype))


@pytest.mark.parametrize("dtype", BIG + NIBBLES, ids=str)
def test_what_a_conversion_leaves_is_what_the_destination_held(dtype):
    name = {"int4": "s4", "uint4": "u4"}.get(dtype.name, "u1")
    x = numbers(np.dtype("u1"), (3, 5))
    expected = np.full((3, 3, 2), 5, "u1")
    expected.reshape(3, 6)[:, :5] = x  # the last block of each row has one element of padding
    for out in (np.full((3, 3, 2), 5).astype(dtype), np.full((3, 2, 3), 5).astype(dtype).transpose(0, 2, 1)):
        assert relayout.convert(x, "ab", "aB2b", dtype=dtype, padding=None, out=out) is out, name
        assert (out.astype("u1") == expected).all()
    run = np.full(24, 5).astype(dtype)  # one run of elements, longer than the layout and with gaps between its rows
    relayout.convert(x, "ab", "strides:7,1@1", dtype=dtype, out=run)
    expected = np.full(24, 5, "u1")
    for row in range(3):
        expected[1 + 7 * row:6 + 7 * row] = x[row]
    assert (run.astype("u1") == expected).all()
    added = np.ones((3, 5)).astype(dtype)
    relayout.convert(x % 4, "ab", "ab", dtype=dtype, beta=1, out=added)
    assert (added.astype("u1") == x % 4 + 1).all()


@pytest.mark.parametrize("dtype", BIG + NIBBLES, ids=str)
def test_destinations_that_are_refused(dtype):
    x = numbers(np.dtype("u1"), (3, 5))
    for shape in ((3, 4), (5, 3), (14,), (1, 15)):
        with pytest.raises(relayout.Error):
            relayout.convert(x, "ab", "ab", dtype=dtype, out=np.zeros(shape, dtype))
    out = np.zeros((3, 5), dtype)
    out.flags.writeable = False
    with pytest.raises(relayout.InvalidArgumentError, match="read-only"):
        relayout.convert(x, "ab", "ab", dtype=dtype, out=out)


@pytest.mark.parametrize("dtype", BIG, ids=str)
def test_big_endian_results_for_arrays_of_jax_and_buffers(dtype):
    values = np.arange(6, dtype="f4").reshape(2, 3)
    given = [relayout.Buffer.from_dlpack(values)]
    if (jax := jax_or_none()) is not None:
        given.append(jax.numpy.asarray(values))
    for x in given:
        with pytest.raises(relayout.UnsupportedError, match="NumPy's alone"):
            relayout.convert(x, "ab", "ba", dtype=dtype)


def jax_or_none():
    try:
        import jax
    except ImportError:
        return None
    return jax


@pytest.mark.parametrize("dtype", BIG, ids=str)
def test_plans_of_big_endian_results(dtype):
    x = np.arange(6, dtype="f4").reshape(2, 3)
    plan = relayout.plan_conversion(x, "ab", "ba", dtype=dtype)
    assert plan.shape == (3, 2) and plan.dtype == relayout.plan_conversion(x, "ab", "ba", dtype=native(dtype)).dtype


@pytest.mark.parametrize("dtype", BIG, ids=str)
def test_big_endian_arrays_in_files(tmp_path, dtype):
    for order in ("C", "F"):
        x = np.asarray(numbers(dtype), order=order)
        np.save(tmp_path / "numpy.npy", x)
        assert np.array_equal(relayout.load(tmp_path / "numpy.npy").astype("f8"), x.astype("f8"))
        assert same_bits(relayout.convert(relayout.load(tmp_path / "numpy.npy"), "abc", "abc"), x.astype(native(dtype),
                                                                                                      order="C"))
        for extension in ("npy", "npz", "safetensors"):
            relayout.save(tmp_path / f"x.{extension}", x, overwrite=True)
            got = relayout.load(tmp_path / f"x.{extension}")
            got = next(iter(got.values())) if isinstance(got, dict) else got
            assert same_bits(got, x.astype(native(dtype), order="C"))


@pytest.mark.parametrize("dtype", NIBBLES, ids=str)
def test_nibbles_of_ml_dtypes(dtype):
    values = np.arange(24).reshape(2, 3, 4) % 16 - (8 if dtype == ml_dtypes.int4 else 0)
    x = values.astype(dtype)
    name = {"int4": "s4", "uint4": "u4"}[dtype.name]
    turned = np.ascontiguousarray(x.transpose(0, 2, 1))
    for got in (relayout.convert(x, "abc", "acb"), relayout.transpose(x, (0, 2, 1)),
                relayout.rearrange("a b c -> a c b", x), relayout.contiguous(x.transpose(0, 2, 1))):
        assert got.dtype == dtype and np.array_equal(got, turned)
    assert same_bits(relayout.convert(x, "abc", "abc", dtype="f32"), values.astype("f4"))
    assert same_bits(relayout.convert(x, "abc", "acb", dtype="s8"), turned.astype("i1"))
    packed = relayout.convert(x, "abc", "acb", dtype=name)
    assert packed.dtype == np.uint8 and packed.shape == (12,)
    assert np.array_equal(relayout.convert(packed, "acb", "abc", src_dtype=name, dtype="s32", dims=x.shape), values)
    padded = relayout.convert(x, "abc", "aBc2b")
    assert padded.dtype == dtype and np.array_equal(padded, relayout.convert(values, "abc", "aBc2b"))
    # What is out of range saturates, as for s4 and u4.
    wide = np.array([-100, -9, -8, 7, 8, 100])
    low, high = (-8, 7) if name == "s4" else (0, 15)
    assert relayout.convert(wide, "a", "a", dtype=dtype).astype(int).tolist() == np.clip(wide, low, high).tolist()
    out = np.zeros(6, dtype)
    assert relayout.convert(wide, "a", "a", dtype=dtype, out=out) is out
    assert out.astype(int).tolist() == np.clip(wide, low, high).tolist()
    relayout.copy(out, wide[::-1])
    assert out.astype(int).tolist() == np.clip(wide, low, high)[::-1].tolist()
    wider = np.zeros((2, 3, 4), "f4")
    relayout.copy(wider, x)
    assert np.array_equal(wider, values)
    assert relayout.empty((2, 3), dtype).dtype == dtype and relayout.layout_of(x[:, 1:]).dims == (2, 2, 4)
    assert np.array_equal(relayout.reorder_in_place(x.copy(), "abc", "acb"), turned)
    assert relayout.convert(x[:0], "abc", "acb").shape == (0, 4, 3)
