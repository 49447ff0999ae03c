"""HDF5 files as checkpoints: what h5py writes is read, where it lies or by h5py, and conversions go both ways."""
import json
import os

import numpy as np
import pytest
import relayout
import relayout.checkpoint

h5py = pytest.importorskip("h5py")


def test_reads_what_h5py_writes(tmp_path):
    arrays = {"dense/kernel:0": np.arange(12, dtype="f4").reshape(3, 4), "dense/bias:0": np.arange(4, dtype="f2"),
              "big": np.arange(6, dtype=">i4").reshape(2, 3), "flag": np.array([True, False]),
              "scalar": np.array(2.5), "complex": np.array([1 + 2j], "c8"), "empty": np.zeros((0, 3), "f4")}
    with h5py.File(tmp_path / "m.h5", "w") as file:
        for name, array in arrays.items():
            file[name] = array
        file.create_dataset("chunks", data=np.arange(1000, dtype="i8"), chunks=(64,), compression="gzip")
        file["text"] = "words"
        file.attrs["backend"] = "tensorflow"
        file.attrs["layer_names"] = [b"dense"]
    model = relayout.checkpoint.open(tmp_path / "m.h5")
    assert model.files[0].format == "hdf5"
    assert model.metadata == {"backend": "tensorflow", "layer_names": '["dense"]'}
    assert list(model.problems) == ["text"]
    for name, array in arrays.items():
        np.testing.assert_array_equal(model[name], array)
        assert model[name].shape == array.shape
    np.testing.assert_array_equal(model["chunks"], np.arange(1000))
    with pytest.raises(relayout.UnsupportedError, match="text"):
        model["text"]


def test_converts_from_and_to(tmp_path):
    rng = np.random.default_rng(1)
    old = {"conv.weight": rng.random((4, 3, 5, 5), "f4"), "fc.weight": rng.random((2, 6), "f4"),
           "fc.bias": rng.random(2, "f4")}
    relayout.save(tmp_path / "torch.safetensors", old)
    done = relayout.checkpoint.convert(tmp_path / "torch.safetensors", tmp_path / "keras.h5", "pytorch-keras",
                                       verify=True)
    assert done.files == [str(tmp_path / "keras.h5")] and done.tensors["conv.weight"] == "converted"
    assert sorted(os.listdir(tmp_path)) == ["keras.h5", "torch.safetensors"]
    with h5py.File(tmp_path / "keras.h5") as file:
        np.testing.assert_array_equal(file["conv.weight"], old["conv.weight"].transpose(2, 3, 1, 0))
        np.testing.assert_array_equal(file["fc.weight"], old["fc.weight"].T)
        assert json.loads(file["conv.weight"].attrs["relayout"])["layout"] == "cdba"
    assert relayout.checkpoint.open(tmp_path / "keras.h5").layout("conv.weight") == "cdba"
    # The records are read, so that a second run changes nothing, and the way back gives the old values.
    again = relayout.checkpoint.convert(tmp_path / "keras.h5", tmp_path / "again.h5", "pytorch-keras")
    assert set(again.tensors.values()) == {"already", "copied"}
    relayout.checkpoint.convert(tmp_path / "keras.h5", tmp_path / "back.safetensors", "pytorch-keras", invert=True)
    assert relayout.checkpoint.compare(tmp_path / "torch.safetensors", tmp_path / "back.safetensors") == []
    assert relayout.checkpoint.compare(tmp_path / "torch.safetensors", tmp_path / "keras.h5", "pytorch-keras") == []


def test_chunks_are_converted(tmp_path):
    x = np.arange(5 * 7 * 3, dtype="f8").reshape(5, 7, 3)
    with h5py.File(tmp_path / "m.weights.h5", "w") as file:
        file.create_dataset("layers/dense/vars/0", data=x, chunks=(2, 3, 2), compression="gzip")
        file["layers/dense/vars/1"] = x[0]
    relayout.checkpoint.convert(tmp_path / "m.weights.h5", tmp_path / "m.safetensors",
                                maps=["layers/*/vars/0: abc -> cba", "layers/*/vars/1: dense.{1}.bias"])
    new = relayout.load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(new["layers/dense/vars/0"], x.T)
    np.testing.assert_array_equal(new["dense.dense.bias"], x[0])


def test_what_hdf5_cannot_hold(tmp_path):
    relayout.save(tmp_path / "a.safetensors", {"a": np.ones(2, "f4"), "a/b": np.ones(2, "f4")})
    with pytest.raises(relayout.InvalidArgumentError, match="'a' would be a tensor and the group"):
        relayout.checkpoint.convert(tmp_path / "a.safetensors", tmp_path / "a.h5")
    np.save(tmp_path / "b.npy", np.ones(4, "f4"))
    relayout.convert_file(tmp_path / "b.npy", tmp_path / "b.safetensors", "a", "a", dtype="bf16", name="w")
    os.unlink(tmp_path / "b.npy")
    with pytest.raises(relayout.Error, match="HDF5 has no type.*bf16"):
        relayout.checkpoint.convert(tmp_path / "b.safetensors", tmp_path / "b.h5")
    relayout.checkpoint.convert(tmp_path / "b.safetensors", tmp_path / "b.h5", maps="w: f32")
    with pytest.raises(FileExistsError):
        relayout.checkpoint.convert(tmp_path / "b.safetensors", tmp_path / "b.h5", maps="w: f32")
    assert sorted(os.listdir(tmp_path)) == ["a.safetensors", "b.h5", "b.safetensors"]


def test_saves_arrays(tmp_path):
    arrays = {"a/b": np.arange(6, dtype="f4").reshape(2, 3), "c": np.ones((), "i8"),
              "complex": np.array([1 + 2j, -3], "c8")}
    assert relayout.checkpoint.save(tmp_path / "m.h5", arrays, metadata={"k": "v"}) == [str(tmp_path / "m.h5")]
    model = relayout.checkpoint.open(tmp_path / "m.h5")
    assert sorted(model) == sorted(arrays) and model.metadata["k"] == "v"
    for name, array in arrays.items():
        np.testing.assert_array_equal(model[name], array)
    assert os.listdir(tmp_path) == ["m.h5"]
    relayout.checkpoint.convert(tmp_path / "m.h5", tmp_path / "n.h5", verify=True)
    np.testing.assert_array_equal(relayout.checkpoint.open(tmp_path / "n.h5")["complex"], arrays["complex"])


def test_has_no_shards(tmp_path):
    for call in (lambda: relayout.checkpoint.save(tmp_path / "m.h5", {"a": np.ones(10), "b": np.ones(10)},
                                                  shard_bytes=80),
                 lambda: relayout.checkpoint.convert(tmp_path / "a.safetensors", tmp_path / "m.h5", shard_bytes=80)):
        with pytest.raises(relayout.UnsupportedError, match="one file") as error:
            call()
        assert (error.value.field, error.value.value) == ("shard_bytes", "80")
    assert os.listdir(tmp_path) == []


def test_floats_that_numpy_has_not(tmp_path):
    bf16 = h5py.h5t.IEEE_F32LE.copy()
    bf16.set_fields(15, 7, 8, 0, 7)
    bf16.set_precision(16)
    bf16.set_size(2)
    bf16.set_ebias(127)
    values = np.array([1, 2.5, -3, 2 ** 100], "f4")
    with h5py.File(tmp_path / "m.h5", "w") as file:
        made = h5py.h5d.create(file.id, b"w", bf16, h5py.h5s.create_simple(values.shape))
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, values)
        assert made.get_storage_size() == 2 * values.size
        file["plain"] = values
    model = relayout.checkpoint.open(tmp_path / "m.h5")
    assert model["w"].dtype == np.float32
    for name in ("w", "plain"):
        np.testing.assert_array_equal(model[name], values)


def test_verify_reads_the_new_file(tmp_path, monkeypatch):
    relayout.checkpoint.save(tmp_path / "a.safetensors", {"w": np.arange(6, dtype="f4"), "v": np.ones(2)})
    write = h5py.Group.create_dataset

    def wrongly(group, name, data):
        return write(group, name, data=data + 1 if name == "w" else data)

    monkeypatch.setattr(h5py.Group, "create_dataset", wrongly)
    with pytest.raises(relayout.CorruptError, match="verify: tensor 'w'"):
        relayout.checkpoint.convert(tmp_path / "a.safetensors", tmp_path / "m.h5", verify=True)
    assert os.listdir(tmp_path) == ["a.safetensors"]
    monkeypatch.undo()
    relayout.checkpoint.convert(tmp_path / "a.safetensors", tmp_path / "m.h5", verify=True)
    np.testing.assert_array_equal(relayout.checkpoint.open(tmp_path / "m.h5")["w"], np.arange(6))


def test_without_h5py(tmp_path, monkeypatch):
    (tmp_path / "m.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    with pytest.raises(relayout.FileError):
        relayout.checkpoint.open(tmp_path / "m.h5")
    monkeypatch.setitem(__import__("sys").modules, "h5py", None)
    for call in (lambda: relayout.checkpoint.open(tmp_path / "m.h5"),
                 lambda: relayout.checkpoint.save(tmp_path / "n.h5", {"a": np.ones(2)})):
        with pytest.raises(relayout.UnsupportedError, match="h5py.*not installed") as error:
            call()
        assert error.value.field == "h5py"
    assert os.listdir(tmp_path) == ["m.h5"]
