"""relayout.Layout: where elements lie, as text, as views, as other systems' descriptions.

Offsets are compared with NumPy: an array of the numbers 0, 1, ... viewed in the same way holds its own offsets.
"""
import copy
import itertools
import pickle
import random
import xml.etree.ElementTree

import numpy as np
import pytest
import relayout
from relayout import interop

TAGS = {
    1: ["a", "A4a"], 2: ["ab", "ba", "Ab8a", "aB4b", "AB2a3b", "BA16b4a"], 3: ["abc", "cab", "aBc4b", "ABc2b8a", "ncw", "nwc"],
    4: ["abcd", "nhwc", "nchw", "nChw8c", "nChw16c", "OIhw4i16o4i", "hwio", "aBcd4b", "nh|Cw4c", "chwn", "NChw16n16c"],
    5: ["ncdhw", "ndhwc", "nCdhw8c", "goihw", "gOIhw8i8o"],
}
DIMS = {1: [(1,), (7,), (16,)], 2: [(3, 4), (1, 5), (17, 16)], 3: [(2, 3, 4), (5, 9, 1)],
        4: [(2, 17, 5, 4), (1, 1, 1, 1), (3, 32, 2, 2)], 5: [(2, 3, 4, 5, 2), (1, 9, 8, 2, 1)]}


def layouts():
    """Some hundred layouts of all kinds."""
    out = [relayout.layout(tag, dims) for rank in TAGS for tag in TAGS[rank] for dims in DIMS[rank]]
    out += [relayout.layout(text) for text in ("cute:(4,2):(1,4)", "cute:((2,3),5):((1,10),2)")]
    out += [relayout.layout("strides:5,1@3", (3, 4)), relayout.layout("strides:-4,1@8", (3, 4)),
            relayout.layout("strides:0,1", (3, 4)), relayout.layout("digits:(3,4)|(2,1)(2,2)", (3, 4)),
            relayout.layout("contiguous", ()), relayout.layout("contiguous", (0, 3))]
    return out


def views():
    """Views of them, as a random user makes them."""
    rng = random.Random(11)
    out = []
    for layout in layouts():
        for _ in range(3):
            made = layout
            for _ in range(rng.randint(1, 3)):
                steps = [lambda l: l.permute(rng.sample(range(l.ndim), l.ndim)), lambda l: l[..., ::-1] if l.ndim else l,
                         lambda l: l[rng.randint(0, l.dims[0] - 1)] if l.ndim and l.dims[0] else l,
                         lambda l: l[None], lambda l: l[1:] if l.ndim and l.dims[0] > 1 else l,
                         lambda l: l[::2] if l.ndim else l, lambda l: l.flatten() if l.ndim else l]
                try:
                    made = rng.choice(steps)(made)
                except relayout.Error:
                    pass
            out.append(made)
    return out


ALL = layouts() + views()


def indices(layout):
    return list(itertools.product(*(range(n) for n in layout.dims)))[:200]


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
        same = a.dims == b.dims and all(a.offset(i) == b.offset(i) for i in indices(a)) and len(indices(a)) == a.elements
        if a.dims == b.dims and not a.padded and not b.padded:
            assert (a == b) == same == (a.difference(b) is None) == a.same_function(b), (a, b)
        if a == b:
            assert hash(a) == hash(b) and same


def test_pictures_are_xml():
    for layout in ALL:
        root = xml.etree.ElementTree.fromstring(layout._repr_html_())
        assert root.tag.endswith("svg")
        cells = [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")]
        assert len(cells) == min(layout.span_elements, 128)


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
    from reference import pack
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
    assert blocked.span_bytes("f32") == 4 * blocked.span_elements and blocked.span_bytes("s4") * 2 == blocked.span_elements


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


# ---- Other systems ----


def test_every_system_says_it_or_says_why_not():
    said = {system: 0 for system in relayout.SYSTEMS}
    for layout in ALL:
        for system in relayout.SYSTEMS:
            for dtype in ("f32", "bf16"):
                try:
                    text = layout.as_(system, dtype)
                except relayout.UnsupportedError as error:
                    assert error.field == "system" and error.value == system and str(error)
                else:
                    assert text and isinstance(text, str)
                    said[system] += 1
    assert min(said.values()) > 0, said
    with pytest.raises(relayout.Error):
        ALL[0].as_("fortran77")


def test_numpys_words_are_an_array():
    rng = np.random.default_rng(0)
    done = 0
    for layout in ALL:
        try:
            text = layout.as_("numpy", "f32")
        except relayout.UnsupportedError:
            continue
        buf = rng.random(max(layout.span_elements, 1), np.float32)
        array = eval(text, {"np": np, "buf": buf})
        for index in indices(layout):
            assert array[index] == buf[layout.offset(index)]
        done += 1
    assert done > 50


def round_trip(to, back, among=ALL):
    """Every layout that a system can say comes back as it was."""
    done = 0
    for layout in among:
        try:
            said = to(layout)
        except (relayout.UnsupportedError, relayout.InvalidArgumentError):  # no elements, no dims, too many dims
            continue
        again = back(said, layout)
        assert again == layout or same_offsets(again, layout), (layout, said, again)
        done += 1
    assert done >= 10, done


def same_offsets(a, b):
    """Apart from offset0, which some descriptions leave to the pointer; and from dims that a system adds."""
    a, b = (layout.squeeze() for layout in (a, b))
    if a.dims != b.dims:
        return False
    return all(a.offset(i) - a.offset0 == b.offset(i) - b.offset0 for i in indices(a))


def test_interop_arrays():
    round_trip(interop.to_numpy, lambda said, _: interop.from_numpy(said, byte_offset=said["byte_offset"])[0])
    round_trip(interop.to_pytorch, lambda said, _: interop.from_pytorch(said["size"], said["stride"], said["storage_offset"]))
    for name in ("f32", "s64", "bool", "u8", "f64", "f16"):
        layout = relayout.layout("ba", (3, 4))
        assert interop.from_numpy(interop.to_numpy(layout, name)) == (layout, name)


def test_interop_directml():
    round_trip(lambda l: interop.to_directml(l), lambda said, layout: interop.from_directml(
        "f32", said["Sizes"], said["Strides"], said["TotalTensorSizeInBytes"]))
    for wrong in ((2**32 + 1, 2), (-1, 2)):
        with pytest.raises(relayout.InvalidArgumentError):
            interop.from_directml("f32", wrong)


def test_interop_onednn():
    round_trip(interop.to_onednn, lambda said, _: interop.from_onednn(said)[0])
    round_trip(interop.to_onednn_verbose, lambda said, layout: interop.from_onednn_verbose(said, layout.dims)[0],
               [layout for layout in layouts() if layout.tag and layout.elements > 1])


def test_interop_cudnn():
    round_trip(interop.to_cudnn, lambda said, _: interop.from_cudnn(
        said["dimensions"], said["strides"], "f32", said["vector_count"], said["vectorized_dimension"]))


def test_interop_texts():
    round_trip(interop.to_xla, lambda said, _: interop.from_xla(said)[0])
    round_trip(interop.to_tvm, lambda said, layout: interop.from_tvm(said, layout.dims),
               [layout for layout in ALL if layout.names in ("nchw", "ncw", "ncdhw", "oihw")])
    round_trip(interop.to_cute, lambda said, _: interop.from_cute(said))


def test_interop_mace():
    done = 0
    for name in ("in_out_channel", "in_out_height", "in_out_width", "conv2d_filter", "weight_height", "weight_width"):
        layout = interop.from_mace(name, (2, 8, 4, 12))
        said = interop.to_mace(layout)
        assert interop.from_mace(said["name"], (2, 8, 4, 12), said["pitch_texels"]) == layout
        done += said["name"] == name
    assert done >= 4


def test_interop_c_function():
    """The function in C, with a compiler if there is one."""
    import shutil
    import subprocess
    import tempfile
    layout = relayout.layout("nChw16c", (2, 17, 5, 4))
    code = interop.c_function(layout, "where")
    assert "where(" in code
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    rows = "".join(f"if (where({', '.join(map(str, i))}) != {layout.offset(i)}) return 1;\n" for i in indices(layout))
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/x.c", "w") as file:
            file.write(code + "\nint main(void) {\n" + rows + "return 0; }\n")
        subprocess.run(["cc", f"{folder}/x.c", "-o", f"{folder}/x"], check=True)
        subprocess.run([f"{folder}/x"], check=True)


def test_cute_algebra():
    """The laws of CuTe's functions, on the examples of its documentation."""
    def cute(text):
        return interop.from_cute(text)

    a, b = cute("(6,2):(8,2)"), cute("(4,3):(3,1)")
    composed = interop.compose(a, b)
    flat_a = [a.offset(i % 6, i // 6) for i in range(12)]
    assert [composed.offset(i, j) for j in range(3) for i in range(4)] == [flat_a[b.offset(i, j)] for j in range(3)
                                                                             for i in range(4)]
    assert interop.to_cute(interop.complement(cute("4:1"), 24)) == "6:4"
    assert interop.cosize(cute("(4,2):(1,4)")) == 8
    assert interop.coalesce(cute("(2,(1,6)):(1,(6,2))")) == cute("12:1")
    for name in ("logical_divide", "zipped_divide", "tiled_divide", "flat_divide"):
        assert getattr(interop, name)(cute("12:1"), cute("3:1")).elements == 12
    for name in ("logical_product", "blocked_product", "raked_product"):
        assert getattr(interop, name)(cute("(2,5):(5,1)"), cute("(3,4):(1,3)")).elements == 120
    for inverse in (interop.right_inverse, interop.left_inverse):
        assert inverse(cute("(4,2):(2,1)")).elements == 8


def test_scale_factors_and_caches():
    for kind in ("mxfp8", "nvfp4"):
        assert interop.scale_factors(kind, 128, 256).elements > 0
    with pytest.raises(relayout.InvalidArgumentError):
        interop.scale_factors("fp4", 128, 256)
    for order in ("nhd", "hnd", "key_packed", "value_transposed"):
        for pairing in ("in_block", "first", "separate"):
            try:
                assert interop.kv_cache(order, pairing, 4, 16, 8, 64).elements > 0
            except relayout.Error as error:
                assert str(error)
    assert interop.names_of(relayout.layout("nhwc", (2, 3, 4, 5)))
