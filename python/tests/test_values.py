"""Every value that relayout moves, against NumPy: 20,000 random arrays of every type, shape and kind of view.

Seeds are fixed. A failing case prints its seed and the array's strides.
"""
import random
import sys

import numpy as np
import pytest
import relayout
from random_arrays import PLAIN, describe, random_array, random_floats, random_shape, random_view, same_bits
from reference import converted, pack, unpack
from relayout._dtypes import name_of, numpy_dtype

LETTERS = "abcdefgh"


def permutation(rng, rank):
    axes = list(range(rank))
    rng.shuffle(axes)
    return axes


def as_ordered(x, axes):
    """NumPy's copy of x with its dims in memory in this order, the outermost first."""
    return np.ascontiguousarray(x.transpose(axes)).transpose(np.argsort(axes))


def check_order(y, axes, x):
    assert same_bits(y, x), describe(x)
    assert y.transpose(axes).flags.c_contiguous, (axes, y.strides)
    assert y.flags.writeable or y is x


@pytest.mark.parametrize("seed", range(20))
def test_contiguous(seed):
    """Each order, 450 arrays a seed."""
    rng = random.Random(seed)
    for _ in range(450):
        x = random_array(rng)
        axes = permutation(rng, x.ndim)
        rank = range(x.ndim)
        check_order(relayout.contiguous(x), rank, x)
        check_order(relayout.contiguous(x, "F"), rank[::-1], x)
        check_order(relayout.contiguous(x, axes), axes, x)
        kept = relayout.contiguous(x, "K")
        assert same_bits(kept, x), describe(x)
        if 0 < x.ndim:
            check_order(relayout.contiguous(x, "".join(LETTERS[d] for d in axes)), axes, x)
        if x.ndim == 4:
            check_order(relayout.contiguous(x, "channels_last"), (0, 2, 3, 1), x)
        copied = relayout.contiguous(x, rng.choice("CF"), copy=True, threads=rng.choice([0, 1, 2]))
        assert copied is not x and same_bits(copied, x) and not np.shares_memory(copied, x), describe(x)


@pytest.mark.parametrize("seed", range(10))
def test_transpose(seed):
    rng = random.Random(100 + seed)
    for _ in range(200):
        x = random_array(rng)
        axes = permutation(rng, x.ndim)
        expected = np.ascontiguousarray(x.transpose(axes)).reshape([x.shape[d] for d in axes])
        signed = [d - x.ndim if rng.random() < 0.3 else d for d in axes]
        got = relayout.transpose(x, signed)
        assert same_bits(got, expected) and got.flags.c_contiguous, describe(x)
        assert same_bits(relayout.transpose(x), np.ascontiguousarray(x.T).reshape(x.shape[::-1])), describe(x)
        out = random_view(rng, np.zeros(expected.shape, x.dtype))
        if out.shape == expected.shape and out.flags.writeable:
            assert relayout.transpose(x, axes, out=out) is out
            assert same_bits(out, expected), describe(x)


def strided_place(rng, shape, dtype):
    """A writable array of this shape amid others' bytes, and the whole memory of it."""
    rank = len(shape)
    axes = permutation(rng, rank)
    steps = [rng.choice([1, 1, 2, 3]) for _ in shape]
    outer = [shape[d] * steps[d] + rng.choice([0, 0, 1]) for d in axes]
    memory = np.zeros(outer, dtype)
    if memory.nbytes:
        memory.view(np.uint8).fill(0x55) if memory.ndim else memory.reshape(1).view(np.uint8).fill(0x55)
    place = memory.transpose(np.argsort(axes))[(*(slice(0, n * step, step) for n, step in zip(shape, steps)), ...)]
    return place[(*(slice(None, None, rng.choice([1, 1, -1])) for _ in shape), ...)], memory


@pytest.mark.parametrize("seed", range(10))
def test_copy(seed):
    """Into strided memory, of which no other byte may change, with and without broadcasting."""
    rng = random.Random(200 + seed)
    for _ in range(250):
        src = random_array(rng, rank=rng.randint(0, 6))
        shape = src.shape
        if rng.random() < 0.3 and src.ndim < 7:
            shape = tuple(rng.choice([1, 2, 3]) for _ in range(rng.randint(0, 2))) + tuple(
                rng.choice([2, 3]) if n == 1 and rng.random() < 0.5 else n for n in shape)
        state = rng.getstate()
        dst, memory = strided_place(rng, shape, src.dtype)
        rng.setstate(state)
        expected_dst, expected_memory = strided_place(rng, shape, src.dtype)
        np.copyto(expected_dst, src)
        assert relayout.copy(dst, src, threads=rng.choice([0, 1])) is None
        assert same_bits(memory, expected_memory), (describe(src), describe(dst))


@pytest.mark.parametrize("seed", range(10))
def test_copy_within_one_array(seed):
    """Source and destination overlap in any way; all is read as it was before."""
    rng = random.Random(300 + seed)
    for _ in range(150):
        rank = rng.randint(1, 4)
        shape = tuple(rng.choice([1, 2, 3, 5, 8, 40]) for _ in range(rank))
        room = [n * 2 + 2 for n in shape]
        dtype = rng.choice([np.dtype(t) for t in PLAIN + ["c16", "V3"]])
        generator = np.random.default_rng(rng.getrandbits(32))
        memory = generator.integers(0, 2 if dtype == np.bool_ else 256, int(np.prod(room)) * dtype.itemsize, np.uint8)
        memory = memory.view(dtype).reshape(room)
        plan = [tuple((rng.randint(0, 2), rng.choice([1, 2]), rng.choice([1, -1])) for _ in shape) for _ in range(2)]

        def part(array, how):
            array = array[tuple(slice(at, at + n * step, step) for (at, step, _), n in zip(how, shape))]
            return array[tuple(slice(None, None, sign) for _, _, sign in how)]

        expected = memory.copy()
        np.copyto(part(expected, plan[0]), part(expected, plan[1]).copy())
        relayout.copy(part(memory, plan[0]), part(memory, plan[1]))
        assert same_bits(memory, expected), (plan, shape, dtype)


TYPES = ["f64", "f32", "f16", "bf16", "f8_e5m2", "f8_e4m3", "s64", "s32", "s16", "s8", "u64", "u32", "u16", "u8",
         "bool"]


def available_types():
    try:
        numpy_dtype("bf16")
    except relayout.UnsupportedError:
        return [name for name in TYPES if not name.startswith(("bf", "f8"))]
    return TYPES


def random_values(rng, shape, name):
    dtype = numpy_dtype(name)
    if name.startswith(("f", "bf")):
        return random_floats(rng, shape, dtype)
    generator = np.random.default_rng(rng.getrandbits(32))
    if name == "bool":
        return np.asarray(generator.integers(0, 2, shape)).astype(np.bool_)
    info = np.iinfo(dtype)
    # Of 64 bits only those that a double holds, since the reference rounds them in doubles.
    low, high = max(info.min, -2**52), min(info.max, 2**52)
    if rng.random() < 0.5:
        low, high = max(low, -300), min(high, 300)
    return np.asarray(generator.integers(low, high, shape, np.int64, endpoint=True)).astype(dtype)


def equal_values(got, expected):
    """Equal bits, where all NaNs are one."""
    if got.dtype != expected.dtype or got.shape != expected.shape:
        return False
    if got.dtype.itemsize <= 2 and got.dtype.kind not in "iub" or got.dtype.kind == "f":
        a, b = got.astype(np.float64), expected.astype(np.float64)
        return bool(np.all((a == b) & (np.signbit(a) == np.signbit(b)) | np.isnan(a) & np.isnan(b)))
    return same_bits(got, expected)


@pytest.mark.parametrize("seed", range(10))
def test_cast(seed):
    """copy() into another type, by the rules of docs/conversions.md."""
    rng = random.Random(400 + seed)
    types = available_types()
    for _ in range(100):
        src, dst = rng.choice(types), rng.choice(types)
        x = random_view(rng, random_values(rng, random_shape(rng, rng.randint(0, 4), 200), src))
        expected = converted(x, src, dst, numpy_dtype(dst))
        out, _ = strided_place(rng, x.shape, numpy_dtype(dst))
        relayout.copy(out, x)
        assert equal_values(out, expected), (src, dst, describe(x))


def random_tag(rng, rank):
    """A tag of dims a, b, ... with up to three blocks."""
    letters = [LETTERS[d] for d in permutation(rng, rank)]
    blocks = [(rng.choice([2, 3, 4, 8, 16]), rng.choice(letters)) for _ in range(rng.choice([0, 0, 1, 1, 2, 3]))]
    blocked = {letter for _, letter in blocks}
    return "".join(c.upper() if c in blocked else c for c in letters) + "".join(f"{n}{c}" for n, c in blocks)


@pytest.mark.parametrize("seed", range(10))
def test_convert_layouts(seed):
    """From any tag to any other and back."""
    rng = random.Random(500 + seed)
    types = available_types()
    for _ in range(150):
        rank = rng.randint(1, 5)
        dims = random_shape(rng, rank, 20000 if rng.random() < 0.02 else 300)
        name, padding = rng.choice(types), rng.choice([0, 0, 1])
        x = random_values(rng, dims, name)
        first, second = random_tag(rng, rank), random_tag(rng, rank)
        a = relayout.convert(x, LETTERS[:rank], first, padding=padding)
        assert same_bits(a, pack(x, first, padding=padding)), (first, dims, name)
        b = relayout.convert(a, first, second, dims=dims, padding=padding)
        assert same_bits(b, pack(x, second, padding=padding)), (first, second, dims, name)
        assert same_bits(unpack(b, second, dims), x)
        strided, _ = strided_place(rng, b.shape, b.dtype)
        np.copyto(strided, b)
        back = relayout.convert(strided, second, LETTERS[:rank], dims=dims)
        assert same_bits(back, x), (second, dims, describe(strided))


@pytest.mark.parametrize("seed", range(10))
def test_convert_arithmetic(seed):
    """Scales and zero points, one or one for each index of some dims, against NumPy's arithmetic."""
    rng = random.Random(600 + seed)
    types = [name for name in available_types() if name != "bool"]
    for _ in range(120):
        rank = rng.randint(1, 4)
        dims = random_shape(rng, rank, 200)
        src, dst = rng.choice(types), rng.choice(types)
        x = random_values(rng, dims, src)
        generator = np.random.default_rng(rng.getrandbits(32))

        def numbers(lowest, highest, whole=False):
            shape = () if rng.random() < 0.4 else tuple(n if rng.random() < 0.5 else 1 for n in dims)
            made = generator.integers(lowest, highest, shape) if whole else generator.uniform(lowest, highest, shape)
            return made if shape else made.item() if hasattr(made, "item") else made

        def zero_points(dtype, whole):
            return numbers(0 if dtype[0] == "u" else -5, 100, whole and dtype[0] in "su")

        how = {}
        if rng.random() < 0.5:
            how["scale"] = numbers(0.01, 3)
        if rng.random() < 0.5:
            how[rng.choice(["dst_scale", "std"])] = numbers(0.01, 3)
        if rng.random() < 0.5:
            how["zero_point"] = zero_points(src, rng.random() < 0.5)
        if rng.random() < 0.5:
            how["dst_zero_point"] = zero_points(dst, True)
        if rng.random() < 0.3:
            how["mean"] = numbers(-300, 300)
        tag = random_tag(rng, rank)
        old = None
        if rng.random() < 0.3:
            how["beta"] = rng.choice([1.0, 0.5])
            old = random_values(rng, dims, dst)
        expected = converted(x, src, dst, numpy_dtype(dst), old=old, **how)
        out = None if old is None else pack(old, tag)
        got = relayout.convert(x, LETTERS[:rank], tag, dtype=dst, out=out, **how)
        assert out is None or got is out
        assert equal_values(unpack(got, tag, dims), expected), (src, dst, dims, tag, how)


def test_numbers_are_exact():
    """Scales of f64 are f64, and padding is what the type holds, to the last digit."""
    x = np.array([3.0, 1e10])
    assert (relayout.convert(x, "a", "a", scale=0.1) == x * 0.1).all()
    assert (relayout.convert(x, "a", "a", std=1e300) == x / 1e300).all()
    odd = relayout.convert(np.zeros((1, 3), np.int64), "ab", "aB4b", padding=2**53 + 1)
    assert odd[0, 0].tolist() == [0, 0, 0, 2**53 + 1]
    most = relayout.convert(np.zeros((1, 3), np.uint64), "ab", "aB4b", padding=np.uint64(2**64 - 1))
    assert most[0, 0].tolist() == [0, 0, 0, 2**64 - 1]
    # Calls that differ only in how a number is given are told apart.
    floats = np.zeros((1, 3), np.float32)
    assert relayout.convert(floats, "ab", "aB4b", padding=16777217.0)[0, 0, 3] == 16777216
    with pytest.raises(relayout.InvalidArgumentError, match="whole number exactly"):
        relayout.convert(floats, "ab", "aB4b", padding=16777217)
    assert np.signbit(relayout.convert(floats, "ab", "aB4b", padding=-0.0)[0, 0, 3])


def test_lists_are_one_a_channel():
    photo = np.random.default_rng(1).integers(0, 256, (2, 5, 7, 3), dtype=np.uint8)
    mean, std = [123.675, 116.28, 103.53], [58.395, 57.12, 57.375]
    made = relayout.convert(photo, "nhwc", "nchw", dtype="f32", mean=mean, std=std)
    wanted = (photo.astype(np.float32) - np.float32(mean)) / np.float32(std)
    assert same_bits(made, np.ascontiguousarray(wanted.transpose(0, 3, 1, 2)))
    points = relayout.convert(photo, "nhwc", "nchw", dtype="f32", zero_point=mean)
    assert same_bits(points, np.ascontiguousarray((photo - np.float32(mean)).transpose(0, 3, 1, 2)))
    one = relayout.convert(photo[0], "hwc", "chw", dtype="f32", mean=mean, std=std)
    assert same_bits(one, made[0])
    with pytest.raises(relayout.InvalidArgumentError, match="mean of shape 3 for a tensor of 2x5x7x3"):
        relayout.convert(photo, "abcd", "abdc", dtype="f32", mean=mean)
    with pytest.raises(relayout.InvalidArgumentError, match="1x2x1x1 for a tensor of 2x3x5x7"):
        relayout.convert(photo, "nhwc", "nchw", dtype="f32", mean=[1.0, 2.0])


@pytest.mark.parametrize("seed", range(5))
def test_reorder_in_place(seed):
    rng = random.Random(700 + seed)
    done = 0
    for _ in range(200):
        rank = rng.randint(1, 4)
        dims = random_shape(rng, rank, 300)
        x = random_values(rng, dims, rng.choice(available_types()))
        first, second = random_tag(rng, rank), random_tag(rng, rank)
        packed, wanted = pack(x, first), pack(x, second)
        memory = np.zeros(max(packed.size, wanted.size), x.dtype)
        memory[:packed.size] = packed.reshape(-1)
        before = memory.copy()
        try:
            got = relayout.reorder_in_place(memory, first, second, dims=dims)
        except relayout.UnsupportedError:
            assert same_bits(memory, before)
            continue
        done += 1
        assert same_bits(got, wanted), (first, second, dims)
        assert got.size == 0 or np.shares_memory(got, memory)
    assert done > 50


@pytest.mark.parametrize("seed", range(5))
def test_torch(seed):
    """PyTorch's tensors, made from the same arrays."""
    torch = pytest.importorskip("torch")
    rng = random.Random(800 + seed)
    for _ in range(300):
        source = random_array(rng, [np.dtype(t) for t in ["?", "i1", "i2", "i4", "i8", "u1", "f2", "f4", "f8", "c8",
                                                          "c16"]])
        x = torch.from_numpy(source.copy(order="C"))
        if rng.random() < 0.2 and x.dtype == torch.float32:
            x = x.to(torch.bfloat16)
        x = x.permute(permutation(rng, x.ndim))
        if x.ndim:
            x = x[::rng.choice([1, 2])]
        if x.ndim < 7 and rng.random() < 0.2:
            x = x.unsqueeze(0).expand(3, *x.shape)
        expected = x.contiguous()
        got = relayout.contiguous(x)
        assert type(got) is torch.Tensor and got.dtype == x.dtype and got.is_contiguous()
        assert got.shape == x.shape and bytes_of(got) == bytes_of(expected)
        for order in ("F", "K", permutation(rng, x.ndim)):
            other = relayout.contiguous(x, order)
            assert bytes_of(other.contiguous()) == bytes_of(expected) and other.shape == x.shape
        if x.ndim == 4 and x.numel():
            last = relayout.contiguous(x, "channels_last")
            assert last.is_contiguous(memory_format=torch.channels_last)
            assert bytes_of(last.contiguous()) == bytes_of(expected)
        axes = permutation(rng, x.ndim)
        turned = relayout.transpose(x, axes)
        assert turned.is_contiguous() and bytes_of(turned) == bytes_of(x.permute(axes).contiguous())
        out = torch.zeros_like(x.permute(axes).contiguous()).permute(list(np.argsort(axes)) if axes else [])
        relayout.copy(out, x)
        assert bytes_of(out.contiguous()) == bytes_of(expected)


def bytes_of(tensor):
    """The elements in row-major order; NumPy lacks bf16."""
    return (tensor.view(sys.modules["torch"].int16) if "bfloat16" in str(tensor.dtype) else tensor).numpy().tobytes()


@pytest.mark.parametrize("seed", range(2))
def test_jax(seed):
    """JAX's arrays, which never change."""
    jax = pytest.importorskip("jax")
    rng = random.Random(900 + seed)
    for _ in range(150):
        source = random_array(rng, [np.dtype(t) for t in ["?", "i1", "i2", "i4", "u1", "u2", "u4", "f2", "f4", "c8"]])
        x = jax.numpy.asarray(np.ascontiguousarray(source).reshape(source.shape))
        axes = permutation(rng, x.ndim)
        assert relayout.contiguous(x) is x
        turned = relayout.transpose(x, axes)
        assert isinstance(turned, jax.Array) and turned.dtype == x.dtype
        assert same_bits(np.asarray(turned), np.asarray(x).transpose(axes))
        again = relayout.contiguous(x, copy=True)
        assert isinstance(again, jax.Array) and same_bits(np.asarray(again), np.asarray(x))
        if x.ndim and x.dtype.kind != "c":
            letters = LETTERS[:x.ndim]
            blocked = relayout.convert(x, letters, letters.replace("a", "A") + "4a")
            assert isinstance(blocked, jax.Array)
            assert same_bits(np.asarray(blocked), pack(np.asarray(x), letters.replace("a", "A") + "4a"))
        out = np.zeros(x.shape, x.dtype)
        relayout.copy(out, x)
        assert same_bits(out, np.asarray(x))


def test_every_type_has_a_name():
    """The types that the tests above run through are those of the package."""
    for name in available_types():
        assert name_of(numpy_dtype(name)) == name


def test_the_sign_of_a_zero_in_attributes_counts():
    x = np.array([1, 0, -0.0, -2], np.float32)
    for zero in (0.0, -0.0, 0.0):
        made = relayout.convert(x, "a", "a", dst_zero_point=zero)
        assert np.signbit(made).tolist() == np.signbit(x + np.float32(zero)).tolist()
        made = relayout.convert(x, "a", "A8a", padding=zero)
        assert np.signbit(made[0, 4:]).tolist() == [bool(np.signbit(zero))] * 4
