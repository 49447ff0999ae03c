"""relayout.Layout: where elements lie, as text and as views.

Offsets are compared with NumPy: an array of the numbers 0, 1, ... viewed in the same way holds its own offsets.
"""
import copy
import pickle
import random

import numpy as np
import pytest
import relayout
from layouts import ALL, DIMS, TAGS, indices
from reference import pack


# ---- Text ----


def test_there_are_hundreds():
    assert len(ALL) > 300


def test_repr_evaluates_to_itself():
    for layout in ALL:
        again = eval(repr(layout))
        assert again == layout and again.dims == layout.dims, repr(layout)
        assert repr(again) == repr(layout)
        assert relayout.layout(layout.expression, layout.dims) == layout or "." in layout.expression


def test_equal_hash_and_pickle():
    for layout in ALL:
        for again in (pickle.loads(pickle.dumps(layout)), copy.copy(layout), copy.deepcopy(layout)):
            assert again == layout and hash(again) == hash(layout)
    assert relayout.layout("nchw", (2, 3, 4, 5)) == relayout.layout("abcd", (2, 3, 4, 5))
    assert relayout.layout("nchw", (2, 1, 4, 5)) == relayout.layout("nchw", (2, 1, 4, 5))
    assert hash(relayout.layout("nchw", (2, 3, 1, 1))) == hash(relayout.layout("nhwc", (2, 3, 1, 1)))
    assert relayout.layout("ab", (3, 4)) != relayout.layout("ba", (3, 4))
    for other in (None, 3, "ab", (), relayout.Layout):
        assert relayout.layout("ab", (3, 4)) != other


def test_equal_layouts_are_the_same_function():
    shown = [layout for layout in ALL if layout.elements <= 200]
    rng = random.Random(5)
    for _ in range(2000):
        a, b = rng.choice(shown), rng.choice(shown)
        same = a.dims == b.dims and all(a.offset(i) == b.offset(i) for i in indices(a))
        if a.dims == b.dims and not a.padded and not b.padded:
            assert (a == b) == same == (a.difference(b) is None) == a.same_function(b), (a, b)
        if a == b:
            assert hash(a) == hash(b) and same


# ---- Offsets ----


def check_against(layout, array):
    """`array` holds at each index the offset that layout should give."""
    assert layout.dims == array.shape and layout.ndim == array.ndim and layout.elements == array.size
    for index in indices(layout):
        assert layout.offset(index) == layout.offset(*index) == array[index]
    if array.size:
        assert layout.span_elements == array.max() + 1
        assert layout.offset0 == array[(0,) * array.ndim]
    assert layout.injective == (len(np.unique(array)) == array.size)


def test_offsets_of_tags():
    for rank, tags in TAGS.items():
        for tag in tags:
            if "|" in tag:
                continue
            for dims in DIMS[rank]:
                layout = relayout.layout(tag, dims)
                letters = layout.names
                positions = np.arange(int(np.prod(dims))).reshape(dims)
                physical = pack(positions, tag, letters, -1).reshape(-1)
                offsets = np.empty(positions.size, np.int64)
                offsets[physical[physical >= 0]] = np.flatnonzero(physical >= 0)
                offsets = offsets.reshape(dims)
                for index in indices(layout):
                    assert layout.offset(index) == offsets[index], (tag, dims, index)
                for offset, element in enumerate(physical[:300]):
                    kind, index = layout.index(offset)
                    assert kind == ("padding" if element < 0 else "element")
                    if element >= 0:
                        assert positions[index] == element
                assert layout.span_elements <= physical.size == int(np.prod(layout.padded_dims))
                assert layout.padded == (physical.size != positions.size)


def random_key(rng, shape):
    """A key of NumPy's basic indexing."""
    key = []
    named = rng.randint(0, len(shape))
    for extent in shape[:named]:
        kind = rng.random()
        if kind < 0.3 and extent:
            key.append(rng.randint(-extent, extent - 1))
        elif kind < 0.9:
            ends = [None, *range(-extent - 2, extent + 3)]
            key.append(slice(rng.choice(ends), rng.choice(ends), rng.choice([None, 1, 2, 3, -1, -2, 100, -100])))
        else:
            key.append(slice(None))
        if rng.random() < 0.15:
            key.append(None)
    if rng.random() < 0.3:
        key.append(...)
        key += [slice(None, None, rng.choice([1, -1])) for _ in shape[named:]]
    return tuple(key) if len(key) != 1 or rng.random() < 0.5 else key[0]


def test_indexing_as_numpy_does():
    rng = random.Random(3)
    done = 0
    for _ in range(3000):
        shape = tuple(rng.choice([1, 2, 3, 5]) for _ in range(rng.randint(0, 4)))
        array = np.arange(int(np.prod(shape))).reshape(shape)
        layout = relayout.layout("contiguous", shape)
        for _ in range(rng.randint(1, 2)):
            key = random_key(rng, array.shape)
            expected = array[key]
            array = np.asarray(expected)
            layout = layout[key]
        if array.size:
            check_against(layout, array)
            done += 1
        else:
            assert layout.dims == array.shape
    assert done > 1000


def test_indices_that_do_not_exist():
    layout = relayout.layout("ab", (3, 4))
    for key in (3, -4, (0, 4), (0, 0, 0), (..., ...), 10**30):
        with pytest.raises(IndexError):
            layout[key]
    for key in ("a", 1.5, [0], (0, "b"), np.array([0, 1])):
        with pytest.raises(TypeError):
            layout[key]
    assert layout[np.int64(1)].dims == (4,) and layout[np.int64(1):].dims == (2, 4)
    with pytest.raises(ValueError):
        layout[::0]


def test_a_layout_is_no_sequence():
    for call in (iter, tuple, list, relayout.empty, lambda l: 1 in l):
        with pytest.raises(TypeError):
            call(relayout.layout("ab", (2**31, 2**31)))


def test_views_as_numpy_has_them():
    rng = random.Random(4)
    for _ in range(300):
        shape = tuple(rng.choice([1, 2, 3, 4]) for _ in range(rng.randint(2, 4)))
        array = np.arange(int(np.prod(shape))).reshape(shape)
        layout = relayout.layout("contiguous", shape)
        axes = rng.sample(range(len(shape)), len(shape))
        check_against(layout.permute(axes), array.transpose(axes))
        check_against(layout.permute(*[a - len(shape) for a in axes]), array.transpose(axes))
        a, b = rng.sample(range(len(shape)), 2)
        check_against(layout.transpose(a, b), array.swapaxes(a, b))
        check_against(layout.transpose(a - len(shape), b), array.swapaxes(a, b))
        check_against(layout.flip(a), np.flip(array, a))
        check_against(layout.select(a, shape[a] - 1), np.asarray(array.take(-1, a)))
        check_against(layout.narrow(a, 0, shape[a] - 1 or 1), array.take(range(shape[a] - 1 or 1), a))
        check_against(layout.squeeze(), array.squeeze())
        check_against(layout.unsqueeze(a), np.expand_dims(array, a))
        check_against(layout.flatten(), array.reshape(-1))
        check_against(layout.view(-1), array.reshape(-1))
        check_against(layout.unsqueeze(0).expand(3, *[-1] * len(shape)), np.broadcast_to(array, (3, *shape)))
        check_against(layout.diagonal(0, a, b), array.diagonal(0, a, b))
        check_against(layout.split(a, (1, shape[a])), array.reshape(shape[:a] + (1, shape[a]) + shape[a + 1:]))
        check_against(layout.merge(0, 1), array.reshape((shape[0] * shape[1],) + shape[2:]))
        size = rng.randint(1, shape[a])
        check_against(layout.unfold(a, size, 1), np.lib.stride_tricks.sliding_window_view(array, size, a))
        if array.size > 2:
            check_against(layout.as_strided((2, 2), (1, 1)), np.array([[0, 1], [1, 2]]))
        check_against(layout.canonical(), array)


def test_strides():
    rng = random.Random(6)
    for _ in range(500):
        shape = tuple(rng.choice([1, 2, 3, 5]) for _ in range(rng.randint(1, 4)))
        array = np.zeros(shape, "f4").transpose(rng.sample(range(len(shape)), len(shape)))
        layout = relayout.layout_of(array)
        expected = tuple(stride if extent > 1 else 0 for stride, extent in zip(array.strides, array.shape))
        assert layout.strides_bytes("f32") == expected
        assert layout.strides_elements == tuple(stride // 4 for stride in expected)
        digits = layout.digits
        assert tuple(int(np.prod([extent for extent, _ in dim])) for dim in digits) == layout.padded_dims
    blocked = relayout.layout("nChw16c", (2, 17, 5, 4))
    assert blocked.digits[1] == ((16, 1), (2, 320)) and blocked.padded_dims == (2, 32, 5, 4)
    with pytest.raises(relayout.UnsupportedError, match="dim 1"):
        blocked.strides_elements
    with pytest.raises(relayout.UnsupportedError):
        relayout.layout("ab", (3, 5)).strides_bytes("s4")
    assert blocked.span_bytes("f32") == 4 * blocked.span_elements == 8 * blocked.span_bytes("s4")


def test_offsets_by_digits():
    """The sum over all digits of digit times stride is the offset, of every layout."""
    for layout in ALL:
        for index in indices(layout)[::7]:
            total = layout.offset0
            for i, digits in zip(index, layout.digits):
                for extent, stride in digits:
                    total += i % extent * stride
                    i //= extent
            assert total == layout.offset(index)


def test_index_is_the_inverse():
    for layout in ALL:
        if layout.injective:
            for index in indices(layout):
                assert layout.index(layout.offset(index)) == ("element", index), layout


def test_layout_of_arrays():
    x = np.zeros((6, 8), "f4")
    for view in (x, x.T, x[::2, ::-1], x[1:, 2:], np.broadcast_to(x, (2, 6, 8)), x[:0], x[0, 0, ...], np.zeros(())):
        layout = relayout.layout_of(view)
        low = view.ctypes.data - layout.offset0 * view.itemsize
        assert layout.dims == view.shape
        for index in indices(layout):
            address = view[tuple(slice(i, i + 1) for i in index)].ctypes.data if index else view.ctypes.data
            assert low + layout.offset(index) * view.itemsize == address
    with pytest.raises(relayout.UnsupportedError):
        relayout.layout_of(np.zeros(4, "i1,i4")["f1"])
    with pytest.raises(relayout.UnsupportedError):
        relayout.layout_of(np.zeros(4, "V0"))


def test_overlaps_and_difference():
    x = relayout.layout("strides:2", (4,))
    assert x.overlaps(x) is True and x.overlaps(relayout.layout("strides:2@1", (4,))) is False
    found = relayout.layout("ab", (3, 4)).difference(relayout.layout("ba", (3, 4)))
    assert found["index"] == (0, 1) and found["offset_a"] == 1 and found["offset_b"] == 3
