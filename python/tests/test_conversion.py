"""A planned conversion that is run: with arrays like the one that it was planned for, and with all that are not.

What is right is decided here by the types, shapes and strides alone, and the values by NumPy. The slow tier makes
20,000 random pairs of a plan and what it is given.
"""
import copy
import os
import pickle
import random

import numpy as np
import pytest
import relayout
from random_arrays import describe, random_floats, random_shape, random_view, same_bits
from reference import converted, pack, unpack
from relayout._dtypes import numpy_dtype
from test_values import LETTERS, available_types, equal_values, random_tag, random_values, strided_place

PAIRS = 20000 if os.environ.get("RELAYOUT_SLOW_TESTS") else 2000
X = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
PLAN = relayout.plan_conversion(X, "abc", "cab", dtype="f32")
RIGHT = X.transpose(2, 0, 1).astype("f4")


class Made:
    """A plan, and the array that it was made for."""

    def __init__(self, rng):
        self.rng, rank = rng, rng.randint(1, 4)
        self.dims = random_shape(rng, rank, 200)
        self.src, self.dst = rng.choice(available_types()), rng.choice(available_types())
        self.src_tag, self.dst_tag = random_tag(rng, rank), random_tag(rng, rank)
        self.shape = pack(np.zeros(self.dims, np.uint8), self.src_tag).shape
        self.out_shape = pack(np.zeros(self.dims, np.uint8), self.dst_tag).shape
        self.x = self.array()
        self.plan = relayout.plan_conversion(self.x, self.src_tag, self.dst_tag, dims=self.dims, dtype=self.dst)

    def array(self):
        """An array of the source's type and shape, with strides of any kind."""
        values = pack(random_values(self.rng, self.dims, self.src), self.src_tag)
        place, _ = strided_place(self.rng, values.shape, values.dtype)
        place[...] = values
        return place

    def expected(self, x):
        values = converted(unpack(x, self.src_tag, self.dims), self.src, self.dst, numpy_dtype(self.dst))
        return pack(values, self.dst_tag)

    def given_x(self):
        """An array, and whether it is one of those that the plan was made for."""
        rng, fresh = self.rng, lying_like(self.x, self.x.dtype)
        fresh[...] = pack(random_values(rng, self.dims, self.src), self.src_tag)
        kind = rng.choice(["same"] * 5 + ["type", "strides", "shape", "rank", "any"])
        if kind == "type":
            name = rng.choice(available_types())
            other = lying_like(self.x, numpy_dtype(name))
            other[...] = random_values(rng, self.shape, name)
            return other, like(other, self.x)
        if kind == "strides":
            other = self.array()
            return other, like(other, self.x)
        if kind == "shape":
            other = random_values(rng, tuple(n + rng.choice([0, 1]) for n in self.shape), self.src)
            return other, like(other, self.x)
        if kind == "rank":
            other = np.ascontiguousarray(fresh).reshape(-1)
            return other, like(other, self.x)
        if kind == "any":
            name = rng.choice(available_types())
            other = random_view(rng, random_values(rng, random_shape(rng, rng.randint(0, 4), 200), name))
            return other, like(other, self.x)
        return fresh, True

    def given_out(self):
        """(a destination, the memory that it is a part of, whether the plan may write to it)."""
        rng, dtype = self.rng, numpy_dtype(self.dst)
        kind = rng.choice(["none", "array", "array", "strided", "strided", "flat", "bytes", "type", "shape", "short",
                           "read-only", "broadcast"])
        if kind == "none":
            return None, None, True
        count = int(np.prod(self.out_shape, dtype=np.int64))
        if kind == "array":
            return (out := np.zeros(self.out_shape, dtype)), out, True
        if kind == "strided":
            return *strided_place(rng, self.out_shape, dtype), True
        if kind == "flat":
            return (out := np.zeros(count + rng.choice([0, 0, 3]), dtype)), out, True
        if kind == "bytes":
            out = np.zeros(count * dtype.itemsize, np.uint8)
            return out, out, self.dst not in ("s8", "bool")
        if kind == "type":
            other = rng.choice([*available_types(), "c8", "V3"])
            out = np.zeros(self.out_shape, other if other in ("c8", "V3") else numpy_dtype(other))
            stands_for = {"bf16": "u16", "f8_e5m2": "u8", "f8_e4m3": "u8"}.get(self.dst)
            return out, out, other in (self.dst, stands_for) or other == "u8" and not count
        if kind == "shape":
            out = np.zeros((1, *self.out_shape, 2), dtype)
            return out, out, False
        if kind == "short":
            out = np.zeros(max(count - 1, 0), dtype)
            return out, out, count == 0
        if kind == "read-only":
            out = np.zeros(self.out_shape, dtype)
            out.flags.writeable = False
            return out, out, False
        memory = np.zeros(1, dtype)
        out = np.ndarray(self.out_shape, dtype, memory.view(np.uint8).data, 0, (0,) * len(self.out_shape))
        return out, memory, count < 2


def lying_like(x, dtype):
    """An array of zeros that lies in memory as x does, in elements."""
    strides = [step // x.itemsize * dtype.itemsize for step in x.strides]
    ends = [step * (n - 1) for n, step in zip(x.shape, strides)] if x.size else []
    at = -sum(end for end in ends if end < 0)
    memory = bytearray(at + sum(end for end in ends if end > 0) + dtype.itemsize)
    return np.ndarray(x.shape, dtype, memory, at, strides)


def like(a, b):
    """Whether a plan that was made for b is one for a."""
    counts = [n > 1 and 0 not in a.shape for n in a.shape]
    return (a.dtype == b.dtype and a.shape == b.shape and
            all(one == other for one, other, c in zip(a.strides, b.strides, counts) if c))


def stands_as(out, expected):
    """What is in a destination of the result's shape, or in a run of its elements or bytes."""
    if out.shape != expected.shape or out.dtype != expected.dtype:
        out = np.ascontiguousarray(out).reshape(-1).view(np.uint8)[:expected.nbytes].view(expected.dtype)
    return out.reshape(expected.shape)


def test_random_pairs():
    """Each run is right, to the last byte around its destination, or refused, and then nothing is written."""
    rng = random.Random(50)
    counts = {"right": 0, "refused": 0}
    while sum(counts.values()) < PAIRS:
        made = Made(rng)
        for _ in range(5):
            x, x_fits = made.given_x()
            out, memory, out_fits = made.given_out()
            before = None if memory is None else memory.copy()
            said = (made.src_tag, made.dst_tag, made.dims, repr(made.plan), describe(x),
                    None if out is None else describe(out))
            try:
                got = made.plan.run(x, out, rng.choice([0, 1]))
            except relayout.Error:
                assert not (x_fits and out_fits), said
                assert memory is None or same_bits(memory, before), said
                counts["refused"] += 1
                continue
            assert x_fits and out_fits, said
            assert out is None or got is out
            expected = made.expected(x)
            assert equal_values(stands_as(got, expected), expected), said
            if memory is not None:  # what lies around the destination is as it was
                part_of(before, memory, out)[...] = out
                assert same_bits(memory, before), said
            counts["right"] += 1
    print(counts)
    assert min(counts.values()) > PAIRS // 5, counts


def part_of(other, memory, part):
    """The part of `other`, which is like `memory`, that `part` is of `memory`."""
    at = part.ctypes.data - memory.ctypes.data if other.size else 0
    return np.ndarray(part.shape, part.dtype, other.reshape(-1).view(np.uint8).data, at, part.strides)


@pytest.mark.parametrize("dtype", ["f8", "f2", "i4", "u4", "i8", "c8", "M8[s]", ">f8", "?", "V4", "U1"])
def test_another_type_of_the_destination(dtype):
    """It was written to as if it had the result's type."""
    out = np.zeros((4, 2, 3), dtype)
    with pytest.raises(relayout.Error, match="out"):
        PLAN.run(X, out)
    assert not any(out.tobytes())
    with pytest.raises(relayout.Error):
        relayout.convert(X, "abc", "cab", dtype="f32", out=out)


@pytest.mark.parametrize("dtype", ["i1", "?", "S1", "V1", "u2", "f4"])
def test_another_type_of_the_source(dtype):
    with pytest.raises(relayout.InvalidArgumentError, match="planned for one of u8") as caught:
        PLAN.run(np.zeros((2, 3, 4), dtype), np.zeros((4, 2, 3), "f4"))
    assert caught.value.field == "x" and caught.value.limit == "u8"


def test_signed_bytes_are_no_bytes():
    """-1 would be 255 in a destination that is taken for mere memory."""
    x = np.full((2, 3), -1.0, "f4")
    for name in ("s8", "bool"):
        with pytest.raises(relayout.InvalidArgumentError, match=f"of {name}, and out of uint8"):
            relayout.convert(x, "ab", "ba", dtype=name, out=np.zeros((3, 2), np.uint8))
    memory = np.zeros(24, np.uint8)
    relayout.convert(x, "ab", "ba", out=memory)
    assert (memory.view("f4") == -1).all()


def test_a_new_result():
    assert same_bits(PLAN.run(X), RIGHT)
    assert same_bits(PLAN.run(x=X, threads=1, progress=lambda *_: None), RIGHT)
    out = np.zeros((4, 2, 3), "f4")
    assert PLAN.run(X, out) is out and same_bits(out, RIGHT)
    blocked = relayout.plan_conversion(X, "abc", "aBc2b")
    assert same_bits(blocked.run(X), pack(X, "aBc2b"))
    with pytest.raises(relayout.InvalidArgumentError, match="no out"):
        relayout.plan_conversion(X, "abc", "cab", beta=1.0).run(X)


def test_results_are_of_the_sources_library():
    torch = pytest.importorskip("torch")
    made = PLAN.run(torch.from_numpy(X))
    assert type(made) is torch.Tensor and same_bits(made.numpy(), RIGHT)
    out = torch.zeros((4, 2, 3), dtype=torch.float32)
    assert PLAN.run(X, out) is out and same_bits(out.numpy(), RIGHT)  # of another library than x
    for wrong in (torch.float64, torch.int32, torch.complex64):
        with pytest.raises(relayout.InvalidArgumentError, match="and out of torch"):
            PLAN.run(torch.from_numpy(X), torch.zeros((4, 2, 3), dtype=wrong))
    with pytest.raises(relayout.InvalidArgumentError, match="planned for one of u8"):
        PLAN.run(torch.from_numpy(X).view(torch.int8))


def test_results_of_jax():
    jax = pytest.importorskip("jax")
    made = PLAN.run(jax.numpy.asarray(X))
    assert isinstance(made, jax.Array) and same_bits(np.asarray(made), RIGHT)


def test_other_orders_of_bytes():
    big = X.astype(">i4")
    plan = relayout.plan_conversion(big, "abc", "cab", dtype="f32")
    assert same_bits(plan.run(big), RIGHT) and same_bits(plan.run(X.astype("i4")), RIGHT)
    out = np.zeros((4, 2, 3), ">f4")
    assert PLAN.run(X, out) is out and (out == RIGHT).all()
    out.flags.writeable = False
    with pytest.raises(relayout.InvalidArgumentError, match="read-only"):
        PLAN.run(X, out)


def test_a_plan_that_runs_often_has_machine_code():
    """From the 256th run on, where code can be generated at all; the results are those of NumPy before and after."""
    x = np.arange(2 * 4 * 22 * 6, dtype=np.uint16).reshape(2, 4, 22, 6)      # n, blocks of channels, pixels, c
    right = np.pad(x.transpose(0, 1, 3, 2).reshape(2, 24, 22)[:, :23], [(0, 0), (0, 1), (0, 0)])
    right = right.reshape(2, 3, 8, 22).transpose(0, 1, 3, 2)
    plan = relayout.plan_conversion(x, "nCw6c", "nCw8c", dims=(2, 23, 22))
    for run in range(1, 300):
        assert (plan.run(x) == right).all()
        code = run >= 256 and relayout.generated_code_problem() == ""
        assert ("machine code" in plan.explain()) == code, run
    assert (plan.run(x, np.full(right.shape, 7, np.uint16)) == right).all()
    assert "machine code" not in pickle.loads(pickle.dumps(plan)).explain()


def test_copies_that_run_often():
    """The plan that a thread keeps of a copy may get machine code as well."""
    x = np.arange(12 * 83 * 24).astype(np.uint8).reshape(12, 83, 2, 6, 2).transpose(2, 4, 0, 1, 3)
    for _ in range(300):
        assert (relayout.contiguous(x) == x).all()


def test_what_an_array_is_said_to_hold():
    """Of bytes that hold another type, as src_dtype= says, and arrays of that type itself."""
    nibbles = np.array([0x21, 0x43], np.uint8)
    plan = relayout.plan_conversion(nibbles, "a", "a", dims=(4,), src_dtype="u4", dtype="f32")
    assert plan.src_dtype == "u4" and plan.run(nibbles).tolist() == [1, 2, 3, 4]
    with pytest.raises(relayout.InvalidArgumentError):
        plan.run(nibbles.view(np.int8))
    back = relayout.plan_conversion(np.ones(4, "f4"), "a", "a", dtype="u4")
    assert back.run(np.array([1, 2, 3, 4], "f4")).tolist() == [0x21, 0x43]


def test_text_and_copies():
    assert repr(PLAN) == "<relayout.Conversion u8 abc (2, 3, 4) -> f32 cab (4, 2, 3)>"
    assert str(PLAN).startswith("convert u8 abc -> f32 cab\n")
    for again in (pickle.loads(pickle.dumps(PLAN)), copy.copy(PLAN), copy.deepcopy(PLAN)):
        assert repr(again) == repr(PLAN) and str(again) == str(PLAN) and same_bits(again.run(X), RIGHT)
        with pytest.raises(relayout.InvalidArgumentError):
            again.run(X.view(np.int8))
        with pytest.raises(relayout.InvalidArgumentError):
            again.run(X, np.zeros((4, 2, 3), "f8"))


def letterbox(dst, canvas, part):
    photo = np.arange(4 * 5 * 3, dtype=np.uint8).reshape(1, 4, 5, 3)
    expected = canvas.copy()
    values = photo.astype("f4") / np.float32(255)
    expected[part] = values.transpose(0, 3, 1, 2) if dst == "nchw" else values
    return photo, expected


@pytest.mark.parametrize("dst", ["nchw", "nhwc"])
def test_a_part_of_a_canvas(dst):
    """convert() writes a picture into the middle of a larger one, and nothing around it."""
    shape, part = ((1, 3, 9, 12), np.s_[:, :, 2:6, 4:9]) if dst == "nchw" else ((1, 9, 12, 3), np.s_[:, 2:6, 4:9])
    canvas = np.full(shape, 0.5, "f4")
    photo, expected = letterbox(dst, canvas, part)
    out = canvas[part]
    assert relayout.convert(photo, "nhwc", dst, dtype="f32", dst_scale=255, out=out) is out
    assert same_bits(canvas, expected)
    flipped = np.full(shape, 0.5, "f4")
    relayout.plan_conversion(photo, "nhwc", dst, dtype="f32", dst_scale=255).run(photo, flipped[part][:, ::-1])
    assert same_bits(np.ascontiguousarray(flipped[part][:, ::-1]), np.ascontiguousarray(expected[part]))


def test_a_part_of_a_canvas_of_torch():
    torch = pytest.importorskip("torch")
    canvas = torch.full((1, 3, 9, 12), 0.5)
    photo, expected = letterbox("nchw", canvas.numpy().copy(), np.s_[:, :, 2:6, 4:9])
    relayout.convert(torch.from_numpy(photo), "nhwc", "nchw", dtype="f32", dst_scale=255, out=canvas[:, :, 2:6, 4:9])
    assert same_bits(canvas.numpy(), expected)


def test_blocks_with_strides():
    """Padding is a part of the array, and gaps are not."""
    x = np.arange(2 * 5 * 3, dtype="f4").reshape(2, 5, 3)
    memory = np.full((2, 4, 3, 2, 4), -1.0, "f4")
    out = memory[:, ::2, :, 1]
    assert relayout.convert(x, "abc", "aBc4b", out=out) is out
    expected = np.full_like(memory, -1)
    expected[:, ::2, :, 1] = pack(x, "aBc4b")
    assert same_bits(memory, expected)
    kept = np.full_like(memory, -1)
    relayout.convert(x, "abc", "aBc4b", out=kept[:, ::2, :, 1], padding=None)
    assert same_bits(unpack(np.ascontiguousarray(kept[:, ::2, :, 1]), "aBc4b", x.shape), x)
    assert (kept[:, 2, :, 1, 1:] == -1).all()
    added = np.full_like(memory, -1)
    relayout.convert(x, "abc", "aBc4b", out=added[:, ::2, :, 1], beta=1.0)
    assert same_bits(unpack(np.ascontiguousarray(added[:, ::2, :, 1]), "aBc4b", x.shape), x - 1)


def test_destinations_with_strides_that_cannot_be():
    x = np.arange(6, dtype="f4").reshape(2, 3)
    shared = np.lib.stride_tricks.as_strided(np.zeros(4, "f4"), (3, 2), (4, 4))
    with pytest.raises(relayout.NotInjectiveError, match="out share memory"):
        relayout.convert(x, "ab", "ba", out=shared)
    odd = np.ndarray((3, 2), "f4", bytearray(64), 0, (9, 4))
    with pytest.raises(relayout.UnsupportedError, match="no multiple"):
        relayout.convert(x, "ab", "ba", out=odd)
    with pytest.raises(relayout.UnsupportedError, match="one run of memory"):
        relayout.convert(x, "ab", "strides:4,1", out=np.zeros(16, "f4")[::2])
    with pytest.raises(relayout.InvalidArgumentError, match="describes one of 3x2"):
        relayout.convert(x, "ab", "ba", out=np.zeros((6, 2), "f4")[::3])


def test_overlaps_are_looked_at_by_elements():
    memory = np.arange(24, dtype="f4").reshape(2, 3, 4)
    x, out = memory[..., ::2], memory[..., 1::2]
    relayout.convert(x, "abc", "abc", scale=2, out=out)
    assert (out == 2 * x).all()
    with pytest.raises(relayout.OverlapError):
        relayout.convert(memory[..., :2], "abc", "abc", out=memory[..., 1:3])
