"""Files whose elements are of types that NumPy, or relayout, lacks; tensors that cannot be read beside others; names
that are not there; metadata; pictures as pixels."""
import json
import struct

import numpy as np
import pytest
import relayout
from random_arrays import same_bits

ml_dtypes = pytest.importorskip("ml_dtypes")

SMALL = ["bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4"]
NAMES = {"bfloat16": "bf16", "float8_e4m3fn": "f8_e4m3", "float8_e5m2": "f8_e5m2", "int4": "s4", "uint4": "u4"}
SHAPES = [(3, 4), (), (0, 2), (5,), (2, 3, 1)]


def small(name, shape):
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(getattr(ml_dtypes, name))


def only(loaded):
    return next(iter(loaded.values())) if isinstance(loaded, dict) else loaded


def write_npy(path, descr, shape, data):
    head = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data)


def write_safetensors(path, entries, data, metadata=None):
    header = {} if metadata is None else {"__metadata__": metadata}
    for name, (dtype, shape, begin, end) in entries.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


@pytest.mark.parametrize("extension", ["npy", "npz", "safetensors"])
@pytest.mark.parametrize("name", SMALL)
def test_small_types_come_back(tmp_path, name, extension):
    for i, shape in enumerate(SHAPES):
        x = small(name, shape)
        path = tmp_path / f"{i}.{extension}"
        relayout.save(path, x)
        assert same_bits(only(relayout.load(path)), x)
        tensor = next(iter(relayout.open(path).values()))
        assert (tensor.dtype, tensor.shape) == (NAMES[name], shape)
        if extension == "npy" and name[-1] != "4":
            assert same_bits(np.load(path).view(x.dtype).reshape(shape), x)  # NumPy passes over the comment


@pytest.mark.parametrize("name", SMALL)
def test_small_types_that_numpy_wrote(tmp_path, name):
    for i, shape in enumerate(SHAPES):
        x = small(name, shape)
        np.save(tmp_path / f"{i}.npy", x)
        got = relayout.load(tmp_path / f"{i}.npy")
        assert got.shape == shape
        if name in ("bfloat16", "float8_e5m2"):  # whose codes no other type has
            assert same_bits(got, x)
        else:
            assert got.dtype == "V1" and got.tobytes() == x.tobytes()
            assert relayout.open(tmp_path / f"{i}.npy")[""].dtype is None
        for dtype in [x.dtype] if name[-1] == "4" else [x.dtype, NAMES[name], name]:
            assert same_bits(relayout.load(tmp_path / f"{i}.npy", dtype=dtype), x)
        np.savez(tmp_path / f"{i}.npz", x=x, y=np.arange(3))
        assert same_bits(relayout.load(tmp_path / f"{i}.npz", "x", dtype=x.dtype), x)
    swapped = small("bfloat16", (3, 4)).astype(np.dtype(ml_dtypes.bfloat16).newbyteorder(">"))
    np.save(tmp_path / "swapped.npy", swapped)
    got = relayout.load(tmp_path / "swapped.npy")
    assert np.array_equal(got.astype("f4"), small("bfloat16", (3, 4)).astype("f4"))


@pytest.mark.parametrize("descr, dtype, x", [
    ("'<f1'", "f8_e5m2", small("float8_e5m2", (3, 4))), ("'bfloat16'", "bf16", small("bfloat16", (3, 4))),
    ("'float8_e4m3fn'", "f8_e4m3", small("float8_e4m3fn", (3, 4))),
    ("'float32'", "f32", np.arange(12, dtype="f4").reshape(3, 4)),
    ("'>V2'", "bf16", small("bfloat16", (3, 4)))])
def test_names_of_types(tmp_path, descr, dtype, x):
    data = x.byteswap() if ">" in descr else x
    write_npy(tmp_path / "x.npy", descr, x.shape, data.tobytes())
    assert relayout.open(tmp_path / "x.npy")[""].dtype == dtype
    assert np.array_equal(relayout.load(tmp_path / "x.npy").astype("f4"), x.astype("f4"))


def test_void_types_take_a_dtype_of_their_width(tmp_path):
    path = tmp_path / "v.npy"
    for width, right in ((1, ["u8", "f8_e4m3", "bool", ml_dtypes.float8_e8m0fnu]), (2, ["f16", "bf16", "u16"]),
                         (8, ["f64", "s64", np.complex64])):
        write_npy(path, f"'|V{width}'", (2, 3), bytes(range(6 * width)))
        got = relayout.load(path)
        assert got.dtype == f"V{width}" and got.shape == (2, 3) and same_bits(got, np.load(path))
        for dtype in right:
            typed = relayout.load(path, dtype=dtype)
            assert typed.shape == (2, 3) and typed.dtype.itemsize == width and typed.tobytes() == got.tobytes()
        for dtype in ("f32", "s32"):
            with pytest.raises(relayout.InvalidArgumentError):
                relayout.load(path, dtype=dtype)


def test_dtype_never_contradicts_a_file(tmp_path):
    x = np.arange(12, dtype="u1").reshape(3, 4)
    np.save(tmp_path / "x.npy", x)
    assert same_bits(relayout.load(tmp_path / "x.npy", dtype="u8"), x)
    assert relayout.load(tmp_path / "x.npy", dtype="f8_e4m3").dtype == ml_dtypes.float8_e4m3fn
    assert relayout.load(tmp_path / "x.npy", dtype="u4").tolist() == [n for b in range(12) for n in (b, 0)]
    with pytest.raises(relayout.InvalidArgumentError, match="convert"):
        relayout.load(tmp_path / "x.npy", dtype="s8")
    x.tofile(tmp_path / "x.bin")
    assert same_bits(relayout.load(tmp_path / "x.bin", dtype="u32"), x.reshape(-1).view("u4"))
    with pytest.raises(relayout.InvalidArgumentError):
        relayout.load(tmp_path / "x.bin", dtype="f64")
    relayout.save(tmp_path / "n.npy", small("int4", (3, 3)))
    assert relayout.load(tmp_path / "n.npy", dtype="u8").tolist() == [0x10, 0x32, 0x54, 0x76, 0x08]


FOREIGN = {"c": np.arange(4, dtype="c8").reshape(2, 2), "big": np.arange(3, dtype=">c16"), 
           "text": np.array(["ab", "c"]), "bytes": np.array([b"abc", b"d"]),
           "time": np.array(["2020-01-01", "2021-01-01"], "M8[D]"),
           "record": np.zeros(3, [("a", "<f4"), ("it's", ">i2", (2,)), ("n", [("x", "u1")])]),
           "aligned": np.zeros((2, 2), np.dtype([("a", "u1"), ("b", "f8")], align=True)),
           "long": np.arange(3, dtype="g"), "column": np.asfortranarray(np.arange(6, dtype="c8").reshape(2, 3))}


def test_types_that_numpy_alone_has(tmp_path):
    for name, x in FOREIGN.items():
        np.save(tmp_path / f"{name}.npy", x)
        tensor = relayout.open(tmp_path / f"{name}.npy")[""]
        assert same_bits(relayout.load(tmp_path / f"{name}.npy"), x)
        assert tensor.dtype == tensor.type_name != "" and tensor.shape == x.shape
        raw = tensor.array(dtype="u8")
        assert raw.dtype == np.uint8 and raw.shape == (*x.shape, x.itemsize) and raw.tobytes() == x.tobytes()
    write_npy(tmp_path / "strange.npy", "'float4_of_somebody'", (2, 2), b"abcd")
    tensor = relayout.open(tmp_path / "strange.npy")[""]
    assert tensor.dtype == "float4_of_somebody" and tensor.array().tobytes() == b"abcd"


def test_one_member_hides_no_other(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, o=np.array([None, 1]), w=np.arange(3), **FOREIGN)
    file = relayout.open(path)
    assert same_bits(relayout.load(path, "w"), np.arange(3)) and same_bits(file["w"].array(), np.arange(3))
    for name, x in FOREIGN.items():
        assert same_bits(file[name].array(), x)
    assert "objects of Python" in file["o"].problem and "unreadable" in repr(file["o"])
    for call in (lambda: file["o"].array(), lambda: relayout.load(path, "o"), lambda: relayout.load(path),
                 lambda: np.asarray(file["o"])):
        with pytest.raises(relayout.UnsupportedError, match='"o".*objects of Python'):
            call()


def test_one_tensor_hides_no_other(tmp_path):
    w = np.arange(12, dtype="f4").reshape(3, 4)
    path = tmp_path / "x.safetensors"
    for dtype, shape, size in (("F8_E4M3FNUZ", [4], 4), ("C64", [2], 16), ("F8_E5M2FNUZ", [2, 2], 4),
                               ("UNHEARD_OF", [2, 2], 8)):
        data = bytes(range(size))
        write_safetensors(path, {"s": (dtype, shape, 0, size), "w": ("F32", [3, 4], size, size + 48)},
                          data + w.tobytes())
        file = relayout.open(path)
        assert same_bits(relayout.load(path, "w"), w) and same_bits(relayout.load(path)["w"], w)
        assert file["s"].dtype == file["s"].type_name == dtype and file["s"].shape == tuple(shape)
        assert file["s"].array().tobytes() == data
    assert relayout.load(path, "s").shape == (2, 2, 2)  # two bytes an element, as the file's size shows
    for entry in (("F32", [3], 0, 8), ("F32", [-1], 0, 8), ("F32", "2", 0, 8), (7, [2], 0, 8), ("F32", [2], 0, 800)):
        write_safetensors(path, {"s": entry, "w": ("F32", [3, 4], 8, 56)}, bytes(8) + w.tobytes())
        assert same_bits(relayout.load(path, "w"), w) and same_bits(relayout.open(path)["w"].array(), w)
        for call in (lambda: relayout.load(path, "s"), lambda: relayout.load(path)):
            with pytest.raises(relayout.CorruptError, match='"s"'):
                call()


#: Arrays of NumPy's own types that relayout does not convert.
UNCONVERTED = [
    np.arange(6).reshape(2, 3).astype("c8") * 1j, np.arange(6).reshape(2, 3).astype(">c16"),
    np.array(["ab", "c\u20ac"]),
    np.array([b"xy", b""], "S3"), np.array([(1, 2.5), (3, 4.5)], [("a", "<i2"), ("b", "<f8")]),
    np.zeros((2, 2), np.dtype({"names": ["x", "y"], "formats": ["u1", ("<f4", (2,))], "offsets": [0, 4],
                               "itemsize": 16})),
    np.array([1, 2**40], "M8[ns]"), np.array(7, "m8[s]"), np.zeros((0, 2), "c16"), np.array([b"abc"], "V3"),
    np.asfortranarray(np.arange(12).reshape(3, 4).astype("c16")), np.arange(8).astype("c8")[::-2],
]


@pytest.mark.parametrize("extension", ["npy", "npz"])
@pytest.mark.parametrize("x", UNCONVERTED, ids=[f"{x.dtype.str}{i}" for i, x in enumerate(UNCONVERTED)])
def test_what_is_loaded_is_saved_again(tmp_path, x, extension):
    first, second, third = (tmp_path / f"{name}.{extension}" for name in ("first", "second", "third"))
    np.savez(first, x=x) if extension == "npz" else np.save(first, x)
    loaded = only(relayout.load(first))
    relayout.save(second, {"x": loaded} if extension == "npz" else loaded)
    opened = relayout.open(second)
    relayout.save(third, dict(opened) if extension == "npz" else next(iter(opened.values())))
    for path in (second, third):
        got = np.load(path)["x"] if extension == "npz" else np.load(path)
        assert got.dtype == x.dtype and got.shape == x.shape and got.tobytes() == x.tobytes()


def test_types_of_safetensors_are_saved_again(tmp_path):
    data = bytes(range(36))
    entries = {"c": ("C64", [2], 0, 16), "e": ("F8_E5M2FNUZ", [2, 3], 16, 22), "z": ("F8_E4M3FNUZ", [2], 22, 24),
               "new": ("X9_Y", [3], 24, 36)}
    write_safetensors(tmp_path / "x.safetensors", entries, data)
    file = relayout.open(tmp_path / "x.safetensors")
    relayout.save(tmp_path / "y.safetensors", dict(file))
    again = relayout.open(tmp_path / "y.safetensors")
    for name, (kind, shape, begin, end) in entries.items():
        assert again[name].type_name == kind and again[name].shape == tuple(shape)
        assert again[name].array().tobytes() == data[begin:end]
    # What is the same type in both formats goes from one into the other.
    relayout.save(tmp_path / "c.npy", file["c"])
    assert np.load(tmp_path / "c.npy").dtype == np.complex64 and np.load(tmp_path / "c.npy").tobytes() == data[:16]
    relayout.save(tmp_path / "c.safetensors", np.load(tmp_path / "c.npy"))
    assert next(iter(relayout.open(tmp_path / "c.safetensors").values())).type_name == "C64"
    relayout.save(tmp_path / "e.safetensors", np.arange(1, 4).astype(ml_dtypes.float8_e5m2fnuz))
    assert next(iter(relayout.open(tmp_path / "e.safetensors").values())).type_name == "F8_E5M2FNUZ"


def test_formats_that_lack_a_type_say_which_have_it(tmp_path):
    write_safetensors(tmp_path / "x.safetensors", {"e": ("F8_E5M2FNUZ", [2], 0, 2), "f": ("F8_E4M3FNUZ", [2], 2, 4)},
                      bytes(4))
    file = relayout.open(tmp_path / "x.safetensors")
    scales = np.arange(1, 4).astype(ml_dtypes.float8_e5m2fnuz)
    for call, message in [
            (lambda: relayout.save(tmp_path / "y.npy", file["e"]),
             "no type F8_E5M2FNUZ of 8 bits; .safetensors has it"),
            (lambda: relayout.save(tmp_path / "y.npz", {"f": file["f"]}),
             "no type F8_E4M3FNUZ of 8 bits; .safetensors has it"),
            (lambda: relayout.save(tmp_path / "y.npy", scales),
             ".npy has no type float8_e5m2fnuz; .safetensors has it as"),
            (lambda: relayout.save(tmp_path / "y.safetensors", np.zeros(2, "c16")), "no type <c16; .npy and .npz have"),
            (lambda: relayout.save(tmp_path / "y.safetensors", np.zeros(2, "i4,f4")), "i4.*; .npy and .npz have"),
            (lambda: relayout.save(tmp_path / "y.npy", np.zeros(2, object)), "object")]:
        with pytest.raises(relayout.UnsupportedError, match=message):
            call()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.safetensors"]


def test_more_dims_than_a_tensor_has_here(tmp_path):
    deep, flat = np.zeros((1,) * 12 + (2,), np.float32), np.arange(3.0)
    np.save(tmp_path / "x.npy", deep)
    with pytest.raises(relayout.LimitError, match="13 dims; at most 12 are read") as caught:
        relayout.load(tmp_path / "x.npy")
    assert (caught.value.field, caught.value.value, caught.value.limit) == ("shape", "13", "12")
    np.savez(tmp_path / "x.npz", deep=deep, flat=flat)
    write_safetensors(tmp_path / "x.safetensors", {"deep": ("F32", deep.shape, 0, 8), "flat": ("F64", (3,), 8, 32)},
                      deep.tobytes() + flat.tobytes())
    for path in (tmp_path / "x.npz", tmp_path / "x.safetensors"):
        file = relayout.open(path)
        assert "13 dims; at most 12 are read" in file["deep"].problem and file["flat"].problem is None
        assert np.array_equal(file["flat"], flat) and np.array_equal(relayout.load(path, "flat"), flat)
        for call in (lambda: file["deep"].array(), lambda: relayout.load(path), lambda: relayout.load(path, "deep")):
            with pytest.raises(relayout.LimitError, match="13 dims; at most 12 are read"):
                call()


def test_names_that_are_not_there(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, **{"encoder.weight": np.zeros(2), "encoder.bias": np.zeros(2)})
    file = relayout.open(path)
    for call in (lambda: file["encoder.wieght"], lambda: relayout.load(path, "encoder.wieght")):
        with pytest.raises(KeyError) as caught:
            call()
        assert isinstance(caught.value, relayout.MissingTensorError)
        assert 'did you mean "encoder.weight"?' in str(caught.value)
    assert file.get("none") is None and "none" not in file and 3 not in file
    for wrong in (3, None, "\udcff", ""):
        with pytest.raises(relayout.MissingTensorError):
            file[wrong]


def test_arrays_before_the_path(tmp_path):
    arrays = {"w": np.arange(6.0).reshape(2, 3), "b": np.arange(3, dtype="i4")}
    path = tmp_path / "first.safetensors"
    relayout.save(arrays, path, metadata={"format": "pt"})
    assert relayout.open(path).metadata == {"format": "pt"}
    for name, x in relayout.load(path).items():
        np.testing.assert_array_equal(x, arrays[name])
    relayout.save(arrays["w"], str(tmp_path / "w.npy"))
    np.testing.assert_array_equal(np.load(tmp_path / "w.npy"), arrays["w"])
    with pytest.raises(TypeError, match="PathLike"):
        relayout.save(arrays, arrays)


def test_metadata(tmp_path):
    path = tmp_path / "x.safetensors"
    arrays = {"b": np.arange(3, dtype="u1"), "w": np.arange(4.0), "\u00fc": small("int4", (3,))}
    metadata = {"format": "pt", "\u20ac \"": "a\nb"}
    relayout.save(path, arrays, metadata=metadata)
    file = relayout.open(path)
    assert file.metadata == metadata and file.names == list(arrays) == list(file)
    assert all(same_bits(file[name].array(), x) for name, x in arrays.items())
    for word in ("x.safetensors", "3 tensors", "'w' f64 (4,)"):
        assert word in repr(file)
    relayout.save(tmp_path / "y.safetensors", file, metadata=file.metadata)
    assert (tmp_path / "y.safetensors").read_bytes() == path.read_bytes()
    blocked = relayout.convert(np.arange(34, dtype="f4").reshape(1, 17, 2, 1), "nchw", "nChw16c")
    relayout.save(path, blocked, name="w", layout="nChw16c", dims=(1, 17, 2, 1), metadata={"a": "b"}, overwrite=True)
    relayout.save(path, relayout.open(path), overwrite=True)
    assert relayout.open(path)["w"].dims == (1, 17, 2, 1) and relayout.open(path).metadata == {}
    for wrong in ({"relayout": "x"}, {"a": 1}, {1: "a"}, {"a": "\udcff"}):
        with pytest.raises((relayout.InvalidArgumentError, TypeError)):
            relayout.save(tmp_path / "z.safetensors", arrays, metadata=wrong)
    with pytest.raises(relayout.InvalidArgumentError):
        relayout.save(tmp_path / "z.npz", arrays, metadata=metadata)
    with pytest.raises(relayout.InvalidArgumentError):
        relayout.save(tmp_path / "z.npz", arrays, layout="ab", dims=(2, 2))
    assert not list(tmp_path.glob("z*"))


def test_metadata_with_the_package_safetensors(tmp_path):
    numpy_of = pytest.importorskip("safetensors.numpy")
    arrays = {"b": np.arange(3, dtype="u1"), "w": np.arange(4.0), "c": np.arange(3, dtype="c8")}
    numpy_of.save_file(arrays, tmp_path / "a.safetensors", metadata={"format": "np"})
    file = relayout.open(tmp_path / "a.safetensors")
    assert file.metadata == {"format": "np"} and all(same_bits(file[n].array(), x) for n, x in arrays.items())
    del arrays["c"]
    relayout.save(tmp_path / "b.safetensors", arrays, metadata={"format": "np"})
    assert all(same_bits(numpy_of.load_file(tmp_path / "b.safetensors")[n], x) for n, x in arrays.items())


def test_numpy_takes_tensors_of_files(tmp_path):
    x = np.arange(6, dtype="f4").reshape(2, 3)
    relayout.save(tmp_path / "x.safetensors", {"x": x, "n": small("int4", (3,))})
    file = relayout.open(tmp_path / "x.safetensors")
    assert same_bits(np.asarray(file["x"]), x) and np.asarray(file["x"], "f8").dtype == np.float64
    assert np.shares_memory(np.asarray(file["x"], copy=False), file["x"].array())
    assert np.array(file["x"], copy=True).flags.writeable and np.array_equal(np.add(file["x"], 1), x + 1)
    for call in (lambda: np.asarray(file["x"], "f8", copy=False), lambda: np.asarray(file["n"], copy=False)):
        with pytest.raises(ValueError, match="copy=False"):
            call()
    with pytest.raises(TypeError, match="name a tensor"):
        np.asarray(file)
    relayout.save(tmp_path / "x.npy", x)
    assert same_bits(np.asarray(relayout.open(tmp_path / "x.npy")), x)
    assert same_bits(relayout.convert(file["x"], "ab", "ba"), np.ascontiguousarray(x.T))


def bmp(width, height, bits, top_down):
    """A picture whose pixel (x, y) is red x, green y, blue 100, without a library."""
    rows = []
    for y in range(height) if top_down else range(height)[::-1]:
        row = b"".join(bytes([100, y, x, 0][:bits // 8]) for x in range(width))
        rows.append(row + bytes(-len(row) % 4))
    data = b"".join(rows)
    return (b"BM" + struct.pack("<IHHI", 54 + len(data), 0, 0, 54) +
            struct.pack("<IiiHHIIiiII", 40, width, -height if top_down else height, 1, bits, 0, len(data), 0, 0, 0, 0) +
            data)


@pytest.mark.parametrize("bits, top_down", [(24, False), (24, True), (32, False), (32, True)])
def test_a_bmp_is_pixels(tmp_path, bits, top_down):
    (tmp_path / "x.bmp").write_bytes(bmp(5, 3, bits, top_down))
    pixels = relayout.load(tmp_path / "x.bmp")
    assert pixels.shape == (1, 3, 5, 3) and pixels.dtype == np.uint8
    assert all(pixels[0, y, x].tolist() == [x, y, 100] for y in range(3) for x in range(5))
    tensor = relayout.open(tmp_path / "x.bmp")[""]
    assert (tensor.shape, tensor.layout, tensor.dims, tensor.dtype) == ((1, 3, 5, 3), "nhwc", (1, 3, 3, 5), "u8")
    planes = relayout.convert(tensor, tensor.layout, "nchw")
    assert np.array_equal(planes, pixels.transpose(0, 3, 1, 2))


@pytest.mark.parametrize(("dtype", "bits"), [("bf16", [0x3F80, 0x4000, 0x4040]), ("f16", [0x3C00, 0x4000, 0x4200])])
@pytest.mark.parametrize("order", ["<", ">"])
def test_u2_of_either_byte_order_is_half_precision(tmp_path, dtype, bits, order):
    x = np.array(bits, order + "u2")
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "x.npz", x=x)
    for got in (relayout.load(tmp_path / "x.npy", dtype=dtype), relayout.load(tmp_path / "x.npz", "x", dtype=dtype),
                relayout.open(tmp_path / "x.npy")[""].array(dtype)):
        assert got.dtype.itemsize == 2 and got.astype(np.float32).tolist() == [1, 2, 3]


def test_an_archive_may_be_empty(tmp_path):
    relayout.save(tmp_path / "x.npz", {})
    assert relayout.load(tmp_path / "x.npz") == {} and list(np.load(tmp_path / "x.npz").keys()) == []


def test_what_cannot_be_saved_is_named(tmp_path):
    for bad, message in ((np.zeros(3, object), "tensor 'bad'.*object"), (np.zeros(3, "c16"), '"bad".*<c16')):
        with pytest.raises(relayout.UnsupportedError, match=message):
            relayout.save(tmp_path / "x.safetensors", {"good": np.zeros(3), "bad": bad})
    assert not (tmp_path / "x.safetensors").exists()
