"""relayout.checkpoint: arrays of each kind of file, what is recorded of them, and what cannot be read. The packages
that write such files are compared where they are there."""
import json
import os
import pickle
import struct

import numpy as np
import pytest

import relayout
import relayout.checkpoint


def test_reads_arrays_lazily_by_name(tmp_path):
    arrays = {"a": np.arange(6, dtype="f4").reshape(2, 3), "b/c": np.arange(4, dtype="i8")}
    relayout.save(tmp_path / "m.safetensors", arrays, metadata={"format": "np"})
    np.savez(tmp_path / "m.npz", **arrays)
    np.savez_compressed(tmp_path / "z.npz", **arrays)
    for file in ("m.safetensors", "m.npz", "z.npz"):
        model = relayout.checkpoint.open(tmp_path / file)
        assert sorted(model.names) == ["a", "b/c"] and len(model) == 2 and "a" in model
        for name, array in arrays.items():
            np.testing.assert_array_equal(model[name], array)
            assert not model[name].flags.writeable
        assert model.files[0].path.endswith(file)
        assert pickle.loads(pickle.dumps(model)).names == model.names
        assert model.problems == {}
    assert relayout.checkpoint.open(tmp_path / "m.safetensors").metadata == {"format": "np"}


def test_arrays_outlive_the_checkpoint(tmp_path):
    np.savez_compressed(tmp_path / "m.npz", x=np.arange(1000))
    array = relayout.checkpoint.open(tmp_path / "m.npz")["x"]
    np.testing.assert_array_equal(array, np.arange(1000))


def test_fortran_order_and_other_byte_orders(tmp_path):
    x = np.asfortranarray(np.arange(24, dtype=">i2").reshape(2, 3, 4))
    np.savez(tmp_path / "m.npz", x=x)
    model = relayout.checkpoint.open(tmp_path / "m.npz")
    np.testing.assert_array_equal(model["x"], x)
    assert model.tensor("x").strides == (1, 2, 6)


def test_what_is_recorded(tmp_path):
    x = np.arange(24, dtype="f4").reshape(2, 3, 1, 4)
    relayout.save(tmp_path / "m.safetensors", {"w": x})
    relayout.save(tmp_path / "n.safetensors", x.transpose(0, 2, 3, 1), name="w", layout="ohwi", dims=(2, 3, 1, 4))
    assert relayout.checkpoint.open(tmp_path / "m.safetensors").layout("w") is None
    tensor = relayout.checkpoint.open(tmp_path / "n.safetensors").tensor("w")
    assert (tensor.layout, tensor.dims, tensor.shape) == ("ohwi", (2, 3, 1, 4), (2, 1, 4, 3))
    assert tensor.from_layout is None and tensor.packed is None and tensor.saved_strides is None


def gguf_bytes():
    """A key, blocks of q4_0, and a tensor of a type that nobody knows."""
    def text(value):
        return struct.pack("<Q", len(value)) + value

    out = b"GGUF" + struct.pack("<IQQ", 3, 2, 1) + text(b"k") + struct.pack("<IIQ", 9, 4, 2) + struct.pack("<II", 7, 8)
    out += text(b"q") + struct.pack("<IQQIQ", 2, 32, 2, 2, 0) + text(b"odd") + struct.pack("<IQIQ", 1, 2, 99, 64)
    out += bytes(-len(out) % 32)
    return out + bytes(range(36)) + bytes(60)


def test_gguf(tmp_path):
    (tmp_path / "m.gguf").write_bytes(gguf_bytes())
    model = relayout.checkpoint.open(tmp_path / "m.gguf")
    assert model.metadata == {"k": [7, 8]}
    assert model["q"].tolist() == [list(range(18)), list(range(18, 36))]
    assert (model.tensor("q").packed, model.tensor("q").packed_shape) == ("ggml:q4_0", (2, 32))
    assert relayout.dequantize("ggml:q4_0", model["q"].reshape(-1), (2, 32)).shape == (2, 32)
    assert "type 99" in model.problems["odd"]
    with pytest.raises(relayout.UnsupportedError, match="odd"):
        model["odd"]


def test_an_index_and_what_its_files_lack(tmp_path):
    relayout.save(tmp_path / "one.safetensors", {"a": np.ones(2, "f4")})
    (tmp_path / "m.safetensors.index.json").write_text(
        json.dumps({"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}))
    model = relayout.checkpoint.open(tmp_path)
    assert model.names == ["a", "b"] and list(model.problems) == ["b"]
    assert model.files[1].problem is not None
    np.testing.assert_array_equal(model["a"], np.ones(2))
    with pytest.raises(relayout.FileError):
        model["b"]
    (tmp_path / "x.index.json").write_text(json.dumps({"weight_map": {"a": "../one.safetensors"}}))
    with pytest.raises(relayout.CorruptError, match="plain name"):
        relayout.checkpoint.open(tmp_path / "x.index.json")


def test_names_that_there_are_not(tmp_path):
    np.savez(tmp_path / "m.npz", weight=np.ones(2))
    model = relayout.checkpoint.open(tmp_path / "m.npz")
    with pytest.raises(KeyError, match="did you mean \"weight\""):
        model["wieght"]
    with pytest.raises(KeyError, match="names"):
        model[0]
    assert "wieght" not in model and 0 not in model
    with pytest.raises(FileNotFoundError):
        relayout.checkpoint.open(tmp_path / "none.npz")
    with open(tmp_path / "m.npz", "rb") as file:
        with pytest.raises(TypeError, match="path"):
            relayout.checkpoint.open(file.fileno())
        assert file.read(2) == b"PK"  # it is open still


def test_pytorch(tmp_path):
    torch = pytest.importorskip("torch")
    base = torch.arange(240, dtype=torch.float32).reshape(2, 3, 5, 8)
    saved = {"last": base.contiguous(memory_format=torch.channels_last), "view": base[1:, 1, ::2, 3:6],
             "bf16": base.to(torch.bfloat16), "complex": torch.ones(2, 3, dtype=torch.complex64).t(),
             "bool": base > 7, "nested": {"w": torch.zeros(2)}, "epoch": 3, "other": {1, 2}}
    torch.save(saved, tmp_path / "m.pt")
    model = relayout.checkpoint.open(tmp_path / "m.pt")
    assert model.metadata == {"epoch": 3} and list(model.problems) == ["other"]
    assert "nested.w" in model
    for name in ("last", "view", "bf16", "complex", "bool"):
        got = model.torch(name)
        assert got.dtype == saved[name].dtype and torch.equal(got, saved[name]), name
    assert model.torch("last").is_contiguous(memory_format=torch.channels_last)
    np.testing.assert_array_equal(model["view"], saved["view"].numpy())
    np.testing.assert_array_equal(model["complex"], saved["complex"].numpy())


def test_saved_strides_come_back(tmp_path):
    torch = pytest.importorskip("torch")
    x = torch.arange(24, dtype=torch.float32).reshape(1, 2, 3, 4)
    recorded = {"version": 1, "tensors": {"x": {"strides": [24, 1, 8, 2]}}}
    header = json.dumps({"__metadata__": {"relayout": json.dumps(recorded)},
                         "x": {"dtype": "F32", "shape": [1, 2, 3, 4], "data_offsets": [0, 96]}}).encode()
    (tmp_path / "m.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + x.numpy().tobytes())
    model = relayout.checkpoint.open(tmp_path / "m.safetensors")
    assert model.tensor("x").saved_strides == (24, 1, 8, 2)
    got = model.torch("x")
    assert got.stride() == (24, 1, 8, 2) and torch.equal(got, x)


def test_safetensors_of_the_package(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    arrays = {"a": np.arange(6, dtype="f2").reshape(2, 3), "é": np.ones((), "u1"), "empty": np.zeros((0, 3), "i4")}
    safetensors.save_file(arrays, str(tmp_path / "m.safetensors"), metadata={"k": "v"})
    model = relayout.checkpoint.open(tmp_path / "m.safetensors")
    assert set(model) == set(arrays) and model.metadata == {"k": "v"}
    for name, array in arrays.items():
        np.testing.assert_array_equal(model[name], array)
        assert model[name].shape == array.shape


def test_converts_by_rules_and_back(tmp_path):
    old = {"conv1.weight": np.arange(4 * 3 * 3 * 3, dtype="f4").reshape(4, 3, 3, 3),
           "fc.weight": np.arange(6, dtype="f4").reshape(2, 3)}
    relayout.save(tmp_path / "a.safetensors", old)
    said = []
    done = relayout.checkpoint.convert(tmp_path / "a.safetensors", tmp_path / "b.safetensors", "pytorch-mlx",
                                       maps="fc.weight: fc.w", progress=lambda part, all: said.append((part, all)))
    assert done.tensors == {"conv1.weight": "converted", "fc.w": "converted"} and done.resumed == 0
    assert [os.path.basename(path) for path in done.files] == ["b.safetensors"]
    assert any(note.startswith("taken for what the rules say") for note in done.notes)
    assert said and said[-1] == (444 + 12, 444 + 12)
    new = relayout.checkpoint.open(tmp_path / "b.safetensors")
    np.testing.assert_array_equal(new["conv1.weight"], old["conv1.weight"].transpose(0, 2, 3, 1))
    assert new.layout("conv1.weight") == "acdb"
    relayout.checkpoint.convert(tmp_path / "b.safetensors", tmp_path / "c.safetensors", "pytorch-mlx",
                                maps=["fc.weight: fc.w"], invert=True, verify=True)
    assert relayout.checkpoint.compare(tmp_path / "a.safetensors", tmp_path / "c.safetensors") == []
    differ = relayout.checkpoint.compare(tmp_path / "a.safetensors", tmp_path / "b.safetensors", maps="conv*: skip")
    assert {one.name: one.difference for one in differ} == {"fc.weight": "missing", "conv1.weight": "left over",
                                                            "fc.w": "left over"}
    for wrong in ({"rules": "no-such-rules"}, {"maps": "x"}, {"maps": "*.weight: oihw -> ohwi"}):
        with pytest.raises(relayout.Error):
            relayout.checkpoint.convert(tmp_path / "a.safetensors", tmp_path / "d.safetensors", **wrong)
    assert not (tmp_path / "d.safetensors").exists()
    relayout.checkpoint.convert(tmp_path / "a.safetensors", tmp_path / "d.safetensors", dry_run=True)
    assert not (tmp_path / "d.safetensors").exists()

    def stop(part, all):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        relayout.checkpoint.convert(tmp_path / "a.safetensors", tmp_path / "d.safetensors", progress=stop)
    assert not (tmp_path / "d.safetensors").exists()


def test_packed_weights_by_rules(tmp_path):
    rng = np.random.default_rng(5)
    words = rng.integers(-2**31, 2**31, (16, 64)).astype("i4")
    np.savez(tmp_path / "a.npz", **{"l.0.qweight": words, "l.0.qzeros": np.full((2, 8), 0x77777777, "i4"),
                                    "l.0.scales": np.ones((2, 64), "f2")})
    done = relayout.checkpoint.convert(tmp_path / "a.npz", tmp_path / "b.safetensors", maps="l.*: gptq -> marlin")
    assert done.tensors == {"l.0.B": "converted", "l.0.s": "converted"}
    tensor = relayout.checkpoint.open(tmp_path / "b.safetensors").tensor("l.0.B")
    assert (tensor.packed, tensor.packed_shape, tensor.from_layout) == ("marlin", (128, 64), "gptq")
    relayout.checkpoint.convert(tmp_path / "b.safetensors", tmp_path / "c.safetensors", maps="*: marlin -> f32")
    values = relayout.checkpoint.open(tmp_path / "c.safetensors")["l.0.weight"]
    codes = np.stack([words.view("u4") >> (4 * i) & 15 for i in range(8)], 1).reshape(128, 64)
    assert (values == codes.T.astype("f4") - 8).all()


def test_which(tmp_path):
    weight = np.random.default_rng(6).normal(size=(8, 3, 5, 5)).astype("f4")
    np.savez(tmp_path / "a.npz", **{"conv.weight": weight})
    np.savez(tmp_path / "b.npz", **{"conv.weight": weight.transpose(0, 2, 3, 1)})
    found, = relayout.checkpoint.which(tmp_path / "b.npz")
    assert (found.name, found.certainty, found.layouts) == ("conv.weight", "probably", ["ohwi"])
    assert found.evidence[0] == ("shape", "kernels of extent 5 may be dims 1 and 2", ["ohwi"])
    found, = relayout.checkpoint.which(tmp_path / "b.npz", tmp_path / "a.npz")
    assert (found.certainty, found.layouts) == ("certain", ["adbc"])
