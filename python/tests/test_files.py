"""Files: load(), save() and open(), against what NumPy writes and reads."""
import errno
import json
import os
import pickle
import random
import struct
import sys

import numpy as np
import pytest
import relayout
from random_arrays import random_array, same_bits
from reference import pack
from relayout._dtypes import numpy_dtype

TYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]


def arrays(count, seed=0):
    rng = random.Random(seed)
    return [random_array(rng, [np.dtype(t) for t in TYPES + [">i4", ">f8"]],
                         rank=rng.randint(0, 5)) for _ in range(count)]


def native(x):
    return x.astype(x.dtype.newbyteorder("=")).reshape(x.shape)


def test_npy_of_numpy(tmp_path):
    for i, x in enumerate(arrays(100)):
        np.save(tmp_path / f"{i}.npy", x)
        got = relayout.load(tmp_path / f"{i}.npy")
        assert same_bits(got, np.load(tmp_path / f"{i}.npy")), x.dtype
        assert got.flags.f_contiguous or got.flags.c_contiguous


def test_npy_for_numpy(tmp_path):
    for i, x in enumerate(arrays(100, 1)):
        relayout.save(tmp_path / f"{i}.npy", x)
        assert same_bits(np.load(tmp_path / f"{i}.npy"), native(x)), x.dtype


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz(tmp_path, save):
    named = {f"a{i}": x for i, x in enumerate(arrays(20, 2))}
    save(tmp_path / "x.npz", **named)
    got = relayout.load(tmp_path / "x.npz")
    assert list(got) == list(named) and all(same_bits(got[name], x) for name, x in named.items())
    relayout.save(tmp_path / "y.npz", named)
    with np.load(tmp_path / "y.npz") as again:
        assert sorted(again.files) == sorted(named) and all(same_bits(again[name], native(x)) for name,
                                                            x in named.items())
    assert same_bits(relayout.load(tmp_path / "x.npz", "a3"), named["a3"])
    with pytest.raises(KeyError):
        relayout.load(tmp_path / "x.npz", "b")


def write_safetensors(path, named):
    """The format by hand: the header's length, the header, the bytes."""
    header, data = {}, b""
    for name, (dtype, array) in named.items():
        header[name] = {"dtype": dtype, "shape": list(array.shape),
                        "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def test_safetensors(tmp_path):
    named = {"weights.w": ("F32", np.arange(12, dtype="f4").reshape(3, 4)), "n": ("I64", np.arange(3)),
             "\u00fc": ("U8", np.zeros((2, 0), "u1")), "s": ("F64", np.array(2.5))}
    write_safetensors(tmp_path / "x.safetensors", named)
    got = relayout.load(tmp_path / "x.safetensors")
    assert set(got) == set(named) and all(same_bits(got[name], array) for name, (_, array) in named.items())
    file = relayout.open(tmp_path / "x.safetensors")
    assert file.format == "safetensors" and len(file) == 4 and file["n"].dtype == "s64" and file["n"].shape == (3,)
    assert "weights.w" in file and "v" not in file and "weights.w" in repr(file["weights.w"])


def test_a_layout_is_kept(tmp_path):
    x = np.arange(2 * 17 * 5 * 4, dtype="f4").reshape(2, 17, 5, 4)
    blocked = relayout.convert(x, "nchw", "nChw16c")
    path = tmp_path / "x.safetensors"
    relayout.save(path, blocked, name="w", layout="nChw16c", dims=x.shape)
    tensor = relayout.open(path)["w"]
    assert tensor.dims == x.shape and tensor.shape == blocked.shape
    assert relayout.layout(tensor.layout, tensor.dims) == relayout.layout("nChw16c", x.shape)
    assert same_bits(tensor.array(), pack(x, "nChw16c", "nchw"))
    assert same_bits(relayout.convert(tensor.array(), tensor.layout, "nchw", dims=tensor.dims), x)


def test_small_floats(tmp_path):
    pytest.importorskip("ml_dtypes")
    for name in ("bf16", "f8_e4m3", "f8_e5m2"):
        x = np.linspace(-3, 3, 10).astype(numpy_dtype(name))
        relayout.save(tmp_path / f"{name}.safetensors", x, name="x")
        assert same_bits(relayout.load(tmp_path / f"{name}.safetensors")["x"], x)


def test_raw_bytes(tmp_path):
    x = np.arange(10, dtype="i4")
    relayout.save(tmp_path / "x.raw", x)
    assert (tmp_path / "x.raw").read_bytes() == x.tobytes() == relayout.load(tmp_path / "x.raw").tobytes()
    (tmp_path / "empty.bin").write_bytes(b"")
    assert relayout.load(tmp_path / "empty.bin").size == 0


def test_arrays_of_other_libraries(tmp_path):
    x = np.arange(12, dtype="f4").reshape(3, 4)
    for i, module in enumerate(("torch", "jax.numpy")):
        library = pytest.importorskip(module) if module in sys.modules or i else None
        if library is None:
            continue
        relayout.save(tmp_path / f"{i}.npy", library.asarray(x))
        assert same_bits(np.load(tmp_path / f"{i}.npy"), x)
    relayout.save(tmp_path / "buffer.npy", relayout.Buffer.from_dlpack(x.T))
    assert same_bits(np.load(tmp_path / "buffer.npy"), np.ascontiguousarray(x.T))


def test_images(tmp_path):
    photo = os.path.join(os.path.dirname(__file__), "../../examples/photo.png")
    if not os.path.exists(photo):
        pytest.skip("the repository is not there")
    try:
        x = relayout.load(photo)
    except relayout.UnsupportedError as error:
        pytest.skip(str(error))
    tensor = relayout.open(photo)[""]
    assert x.shape == tensor.shape == (1, *x.shape[1:]) and x.dtype == np.uint8 and tensor.layout == "nhwc"
    planar = relayout.convert(x, "nhwc", "nchw", dtype="f32", scale=1 / 255)
    assert np.allclose(planar, x.transpose(0, 3, 1, 2) / 255)


def test_overwriting(tmp_path):
    path = tmp_path / "x.npy"
    relayout.save(path, np.zeros(3))
    mapped = relayout.load(path)
    with pytest.raises(relayout.FileError):
        relayout.save(path, np.ones(3))
    assert np.array_equal(relayout.load(path), np.zeros(3))
    relayout.save(path, np.ones(3), overwrite=True)
    assert np.array_equal(relayout.load(path), np.ones(3))
    assert np.array_equal(mapped, np.zeros(3))  # the old pages live on
    with pytest.raises(relayout.Error):
        relayout.save(tmp_path / "y.npy", np.zeros(3, object))
    with pytest.raises(relayout.Error):
        relayout.save(tmp_path / "y.npz", {"a": np.zeros(3), "b": np.zeros(3, object)})
    assert sorted(os.listdir(tmp_path)) == ["x.npy"]  # nothing half written is left


def test_paths(tmp_path):
    x = np.arange(3)
    for name in ("a b", "\u00fc\u20ac", "\udcff"):
        path = tmp_path / f"{name}.npy"
        try:
            relayout.save(path, x)
        except relayout.FileError:
            continue  # a file system may refuse such a name
        for spelling in (path, str(path), os.fsencode(path)):
            assert np.array_equal(relayout.load(spelling), x)
    for wrong in ("", tmp_path, tmp_path / "none.npy"):
        with pytest.raises(relayout.FileError):
            relayout.load(wrong)
    with pytest.raises(relayout.FileError):
        relayout.save(tmp_path / "no" / "x.npy", x)
    with pytest.raises(relayout.InvalidArgumentError):
        relayout.load("a\0b")


def test_errors_of_the_system_are_the_built_in_ones(tmp_path):
    """Caught as FileError and as what open() would raise."""
    path = tmp_path / "x.npy"
    relayout.save(path, np.zeros(3))
    missing = tmp_path / "none.npy"
    below = path / "y.npy"
    for error, number, call in (
            (FileNotFoundError, errno.ENOENT, lambda: relayout.load(missing)),
            (FileNotFoundError, errno.ENOENT, lambda: relayout.open(missing)),
            (FileNotFoundError, errno.ENOENT, lambda: relayout.save(tmp_path / "no" / "x.npy", np.zeros(3))),
            (FileNotFoundError, errno.ENOENT, lambda: relayout.convert_file(missing, tmp_path / "y.npy", "a", "a")),
            (FileExistsError, errno.EEXIST, lambda: relayout.save(path, np.zeros(3))),
            (FileExistsError, errno.EEXIST, lambda: relayout.convert_file(path, path, "a", "a")),
            (IsADirectoryError, errno.EISDIR, lambda: relayout.load(tmp_path)),
            (NotADirectoryError, errno.ENOTDIR, lambda: relayout.load(below))):
        with pytest.raises(error) as caught:
            call()
        assert isinstance(caught.value, relayout.FileError) and caught.value.errno == number
        assert caught.value.code == "io" and str(caught.value)
        again = pickle.loads(pickle.dumps(caught.value))
        assert type(again) is type(caught.value) and again.errno == number and str(again) == str(caught.value)
    with pytest.raises(relayout.MissingFileError):
        relayout.load(missing)
    assert relayout.FileError("x").errno is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read any file")
def test_files_that_may_not_be_read(tmp_path):
    path = tmp_path / "x.npy"
    relayout.save(path, np.zeros(3))
    path.chmod(0)
    with pytest.raises(PermissionError) as caught:
        relayout.load(path)
    assert isinstance(caught.value, relayout.FileError)


@pytest.mark.parametrize("extension", [".npy", ".npz", ".bin", ".raw", ".safetensors"])
def test_a_layout_must_fit_in_every_format(tmp_path, extension):
    """It was ignored by formats that do not keep it."""
    path, x = tmp_path / f"x{extension}", np.zeros((2, 3, 4, 5), "f4")
    for how in (dict(layout="nc"), dict(layout="nchw", dims=(2, 3, 4)), dict(layout="nhwc", dims=(2, 3, 4, 5)),
                dict(layout="nChw16c"), dict(layout="nChw16c", dims=(2, 3, 4, 5)), dict(dims=(2, 3, 4, 5)),
                dict(layout="nchw", dims=(2, 3, 4, 6)), dict(layout="strides:1,2,3,4", dims=(2, 3, 4, 5))):
        with pytest.raises((relayout.InvalidArgumentError, relayout.ParseError)):
            relayout.save(path, x, **how)
        assert not path.exists()
    for how in (dict(layout="nchw", dims=(2, 3, 4, 5)), dict(layout="nhwc", dims=(2, 5, 3, 4))):
        relayout.save(path, x, overwrite=True, **how)
    if extension != ".safetensors":  # which keeps both, and so needs both
        relayout.save(path, x, overwrite=True, layout="nchw")
        relayout.save(path, np.zeros((2, 1, 4, 5, 16), "f4"), overwrite=True, layout="nChw16c")


def test_files_that_lie(tmp_path):
    """Any byte changed, any length: an error of the tree or an array, never a crash."""
    rng = random.Random(3)
    np.save(tmp_path / "a.npy", np.arange(20.0).reshape(4, 5))
    np.savez(tmp_path / "b.npz", x=np.arange(5), y=np.zeros((2, 3)))
    write_safetensors(tmp_path / "c.safetensors", {"x": ("F32", np.zeros((2, 3), "f4"))})
    outcomes = {"loaded": 0, "refused": 0}
    for name in ("a.npy", "b.npz", "c.safetensors"):
        good = (tmp_path / name).read_bytes()
        for i in range(400):
            data = bytearray(good[:rng.randint(0, len(good))] if rng.random() < 0.3 else good)
            for _ in range(rng.randint(0, 3)):
                if data:
                    data[rng.randrange(min(len(data), 150))] = rng.randrange(256)
            path = tmp_path / f"{i}-{name}"
            path.write_bytes(data)
            try:
                got = relayout.load(path)
                for array in got.values() if isinstance(got, dict) else [got]:
                    array.tobytes()
                outcomes["loaded"] += 1
            except relayout.InternalError:
                raise
            except relayout.Error as error:
                assert str(error)
                outcomes["refused"] += 1
    assert min(outcomes.values()) > 20, outcomes
