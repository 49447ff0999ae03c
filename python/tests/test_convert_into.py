"""convert_into(): parts of random tensors in every kind of file, against NumPy's slices."""
import json
import os
import struct
import zipfile

import numpy as np
import pytest
import relayout


def slices(at, shape):
    return tuple(slice(begin, begin + extent) for begin, extent in zip(at, shape))


def save_npy(path, array):
    np.save(path, array)
    return {}


def save_fortran(path, array):
    np.save(path, np.asfortranarray(array))
    return {}


def save_npz(path, array):
    np.savez(path, other=np.arange(5), w=array)
    return {"dst_name": "w"}


def save_safetensors(path, array):
    relayout.save(path, {"a": np.ones(3, "i1"), "w": array, "b": np.ones(2, "i1")}, overwrite=True)
    return {"dst_name": "w"}


def save_raw(path, array):
    path.write_bytes(np.ascontiguousarray(array).tobytes())
    return {"dst": "abc", "dst_dims": array.shape, "dtype": array.dtype}


def save_gguf(path, array):
    if array.dtype not in (np.float32, np.float16, np.int32):
        pytest.skip("GGUF has no such type")
    code = {"f4": 0, "f2": 1, "i4": 26}[array.dtype.str[1:]]
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + struct.pack("<Q", 1) + b"w" + struct.pack("<I", array.ndim)
    head += struct.pack("<%dQ" % array.ndim, *array.shape[::-1]) + struct.pack("<IQ", code, 0)
    path.write_bytes(head + bytes(-len(head) % 32) + np.ascontiguousarray(array).tobytes() + bytes(32))
    return {"dst_name": "w"}


def load(path, name, array):
    if path.suffix == ".raw":
        return np.fromfile(path, array.dtype).reshape(array.shape)
    if path.suffix in (".npy", ".npz"):
        found = np.load(path)
        return found if path.suffix == ".npy" else found["w"]  # which compares the checksum
    return relayout.checkpoint.open(path)["w"]


KINDS = {"x.npy": save_npy, "f.npy": save_fortran, "x.npz": save_npz, "x.safetensors": save_safetensors,
         "x.raw": save_raw, "x.gguf": save_gguf}


@pytest.mark.parametrize("file", list(KINDS))
@pytest.mark.parametrize("dtype", ["f4", "f2", "i4", "u1"])
def test_is_what_numpy_writes(tmp_path, file, dtype):
    rng = np.random.default_rng(1)
    for case in range(12):
        whole = rng.integers(0, 100, rng.integers(1, 9, 3)).astype(dtype)
        at = [int(rng.integers(0, extent)) for extent in whole.shape]
        part = rng.integers(100, 200, [int(rng.integers(1, e - b + 1)) for b, e in zip(at, whole.shape)]).astype(dtype)
        path = tmp_path / file
        said = KINDS[file](path, whole)
        before, size = path.read_bytes(), path.stat().st_size
        if case % 2:
            relayout.convert_into(part, path, at, **said)
        else:
            np.save(tmp_path / "part.npy", part)
            relayout.convert_into(tmp_path / "part.npy", path, at, **said)
        want = whole.copy()
        want[slices(at, part.shape)] = part
        np.testing.assert_array_equal(load(path, "w", whole), want)
        after = path.read_bytes()
        assert path.stat().st_size == size
        if file.endswith("z"):
            assert zipfile.ZipFile(path).testzip() is None
        else:  # nothing but elements of the part has changed
            changed = sum(a != b for a, b in zip(before, after))
            assert changed <= part.nbytes


def test_layouts_and_types(tmp_path):
    x = np.arange(2 * 17 * 5 * 4, dtype="f4").reshape(2, 17, 5, 4)
    relayout.save(tmp_path / "w.safetensors", relayout.convert(x, "nchw", "nChw8c"), layout="nChw8c", dims=x.shape)
    part = -np.arange(2 * 5 * 3 * 4, dtype="f4").reshape(2, 3, 4, 5)  # nhwc
    relayout.convert_into(part, tmp_path / "w.safetensors", (0, 6, 1, 0), "nhwc")
    x[:, 6:11, 1:4] = part.transpose(0, 3, 1, 2)
    got = relayout.load(tmp_path / "w.safetensors")["tensor"]
    np.testing.assert_array_equal(got, relayout.convert(x, "nchw", "nChw8c"))
    np.save(tmp_path / "h.npy", np.zeros((4, 4), "f2"))
    values = np.array([[1.0001, 2]], "f4")
    with pytest.raises(relayout.InvalidArgumentError, match="does not hold all"):
        relayout.convert_into(values, tmp_path / "h.npy", (0, 0))
    relayout.convert_into(values, tmp_path / "h.npy", (3, 2), dtype="f16")
    assert np.load(tmp_path / "h.npy").tolist()[3] == [0, 0, 1, 2]
    relayout.convert_into(np.array([[7]], "u1"), tmp_path / "h.npy", (0, 0))
    assert np.load(tmp_path / "h.npy")[0, 0] == 7


def test_refusals_leave_the_file(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((3, 4), "f4"))
    np.savez_compressed(tmp_path / "z.npz", x=np.zeros((3, 4), "f4"))
    np.save(tmp_path / "big.npy", np.zeros((3, 4), ">f4"))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    part = np.ones((2, 2), "f4")
    for file, at, error in (("x.npy", (2, 0), "does not fit"), ("x.npy", (0, -1), "does not fit"),
                            ("x.npy", (0,), "has 2 dims"), ("z.npz", (0, 0), "compressed"),
                            ("big.npy", (0, 0), "big-endian"), ("none.npy", (0, 0), "No such file")):
        with pytest.raises(relayout.Error, match=error):
            relayout.convert_into(part, tmp_path / file, at)
    with pytest.raises(relayout.InvalidArgumentError, match="one file"):
        relayout.convert_into(tmp_path / "x.npy", tmp_path / "x.npy", (0, 0))
    assert before == {path.name: path.read_bytes() for path in tmp_path.iterdir()}


def test_a_tensor_of_a_sharded_checkpoint(tmp_path):
    relayout.save(tmp_path / "one.safetensors", {"a": np.zeros((4, 2), "f4")})
    relayout.save(tmp_path / "two.safetensors", {"b": np.zeros((4, 2), "f4")})
    (tmp_path / "m.safetensors.index.json").write_text(
        json.dumps({"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}))
    relayout.convert_into(np.ones((1, 2), "f4"), tmp_path, (3, 0), dst_name="b")
    assert relayout.load(tmp_path / "two.safetensors")["b"].tolist() == [[0, 0]] * 3 + [[1, 1]]
    assert not relayout.load(tmp_path / "one.safetensors")["a"].any()


def test_the_source_is_another_file(tmp_path):
    w = np.arange(8, dtype="f4").reshape(4, 2)
    shard, index = tmp_path / "model-00001-of-00002.safetensors", tmp_path / "model.safetensors.index.json"
    relayout.save(shard, {"w": w})
    relayout.save(tmp_path / "model-00002-of-00002.safetensors", {"v": w})
    index.write_text(json.dumps({"weight_map": {"w": shard.name, "v": "model-00002-of-00002.safetensors"}}))
    np.save(tmp_path / "x.npy", w)
    os.link(tmp_path / "x.npy", tmp_path / "link.npy")
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    to_index, to_npy = (index, (1, 0), "w"), (tmp_path / "x.npy", (1, 0), None)
    for x, (path, at, name) in ((shard, to_index), (shard, (tmp_path, (1, 0), "w")),
                                (relayout.open(shard)["w"], to_index), (relayout.open(shard), to_index),
                                (relayout.checkpoint.open(index).tensor("w"), to_index),
                                (tmp_path / "link.npy", to_npy), (mapped[:2], to_npy),
                                (np.asarray(mapped)[1:].T, to_npy)):
        with pytest.raises(relayout.InvalidArgumentError, match="are one file"):
            relayout.convert_into(x, path, at, name="w", dst_name=name or "")
    assert before == {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    # The other shard is another file, and so is a copy in memory.
    relayout.convert_into(relayout.checkpoint.open(index).tensor("w"), index, (0, 0), dst_name="v")
    relayout.convert_into(shard, index, (0, 0), name="w", dst_name="v")
    relayout.convert_into(-np.array(mapped[:2]), tmp_path / "x.npy", (1, 0))
    assert relayout.load(tmp_path / "model-00002-of-00002.safetensors")["v"].tolist() == w.tolist()
    assert np.load(tmp_path / "x.npy").tolist() == [[0, 1], [0, -1], [-2, -3], [6, 7]]


def test_what_ends_it(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((4096, 4096), "f4"))

    def stop(done, total):
        raise KeyboardInterrupt

    part = np.ones((4096, 4095), "f4")
    with pytest.raises(KeyboardInterrupt):
        relayout.convert_into(part, tmp_path / "x.npy", (0, 1), progress=stop)
    relayout.convert_into(part, tmp_path / "x.npy", (0, 1))
    assert np.load(tmp_path / "x.npy").sum() == part.size
