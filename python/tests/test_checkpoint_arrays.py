"""relayout.checkpoint: arrays of frameworks, saving them, strides that come back, and what shows progress."""
import os
import sys
import types

import numpy as np
import pytest
import relayout
import relayout.checkpoint


def test_saves_and_reads_arrays(tmp_path):
    arrays = {"a": np.arange(6, dtype="f4").reshape(2, 3), "t": np.arange(6, dtype="i2").reshape(2, 3).T,
              "s": np.ones((), "f8"), "e": np.zeros((0, 2), "u1"), "c": np.ones(3, "c8")}
    for file in ("m.safetensors", "m.npz", "m.pt"):
        kept = {name: array for name, array in arrays.items() if file != "m.pt" or name != "c"}
        assert relayout.checkpoint.save(tmp_path / file, kept) == [str(tmp_path / file)]
        model = relayout.checkpoint.open(tmp_path / file)
        for name, array in kept.items():
            np.testing.assert_array_equal(model[name], array)
        with pytest.raises(FileExistsError):
            relayout.checkpoint.save(tmp_path / file, kept)
    files = relayout.checkpoint.save(tmp_path / "s.safetensors", {"a": np.ones(10), "b": np.ones(10)}, shard_bytes=80,
                                     metadata={"k": "v"})
    assert [os.path.basename(file) for file in files] == ["s-00001-of-00002.safetensors",
                                                          "s-00002-of-00002.safetensors", "s.safetensors.index.json"]
    model = relayout.checkpoint.open(files[-1])
    assert model.metadata == {"k": "v"} and model.names == ["a", "b"]
    copied = model.save(tmp_path / "one.safetensors")
    assert relayout.checkpoint.open(copied[0]).names == ["a", "b"]
    with pytest.raises(relayout.UnsupportedError):
        relayout.checkpoint.save(tmp_path / "m.unknown", arrays)
    with pytest.raises(TypeError, match="text"):
        relayout.checkpoint.save(tmp_path / "n.npz", {1: np.ones(2)})
    with pytest.raises(relayout.UnsupportedError, match="'o'"):
        relayout.checkpoint.save(tmp_path / "n.npz", {"o": np.array([None])})


def test_records_of_tensors_are_saved(tmp_path):
    x = np.arange(24, dtype="f4").reshape(2, 3, 1, 4)
    relayout.save(tmp_path / "a.safetensors", x.transpose(0, 2, 3, 1), name="w", layout="ohwi", dims=(2, 3, 1, 4))
    tensor = relayout.checkpoint.open(tmp_path / "a.safetensors").tensor("w")
    relayout.checkpoint.save(tmp_path / "b.safetensors", {"v": tensor, "plain": tensor.array()})
    model = relayout.checkpoint.open(tmp_path / "b.safetensors")
    assert (model.layout("v"), model.tensor("v").dims, model.layout("plain")) == ("ohwi", (2, 3, 1, 4), None)


def test_frameworks(tmp_path):
    relayout.checkpoint.save(tmp_path / "m.safetensors", {"a": np.arange(6, dtype="f4").reshape(2, 3)})
    with pytest.raises(relayout.InvalidArgumentError, match="numpy, torch, jax, mlx"):
        relayout.checkpoint.open(tmp_path / "m.safetensors", framework="caffe")
    for framework, package in (("torch", "torch"), ("jax", "jax"), ("mlx", "mlx.core")):
        model = relayout.checkpoint.open(tmp_path / "m.safetensors", framework=framework)
        try:
            __import__(package)
        except ImportError:
            with pytest.raises((relayout.UnsupportedError, ImportError), match=package.split(".")[0]):
                model["a"]
            continue
        assert type(model["a"]).__module__.split(".")[0] in (framework, "jaxlib")
        np.testing.assert_array_equal(np.asarray(model["a"]), np.arange(6, dtype="f4").reshape(2, 3))


def test_scalars_for_mlx(tmp_path, monkeypatch):
    """What MLX's array() is given, where MLX itself need not be installed."""
    arrays = {"s": np.array(2.5, "f4"), "a": np.arange(6, dtype="f4").reshape(2, 3)}
    relayout.checkpoint.save(tmp_path / "m.safetensors", arrays)
    core = types.ModuleType("mlx.core")
    core.array = lambda given: given
    monkeypatch.setitem(sys.modules, "mlx", types.ModuleType("mlx"))
    monkeypatch.setitem(sys.modules, "mlx.core", core)
    model = relayout.checkpoint.open(tmp_path / "m.safetensors", framework="mlx")
    for name, array in arrays.items():
        assert model[name].shape == array.shape and model[name].flags.c_contiguous
        np.testing.assert_array_equal(model[name], array)


def test_strides_of_pytorch_come_back(tmp_path):
    torch = pytest.importorskip("torch")
    base = torch.arange(2 * 3 * 5 * 4, dtype=torch.float32).reshape(2, 3, 5, 4)
    saved = {"last": base.contiguous(memory_format=torch.channels_last), "plain": base, "t": base.transpose(1, 3),
             "bf16": base.to(torch.bfloat16).contiguous(memory_format=torch.channels_last),
             "last3d": torch.ones(2, 3, 2, 2, 2).contiguous(memory_format=torch.channels_last_3d),
             "expanded": base[:, :1].expand(2, 4, 5, 4), "parameter": torch.nn.Parameter(base[0]),
             "one": torch.ones(4, 1, 1, 1).contiguous(memory_format=torch.channels_last)}
    relayout.checkpoint.save(tmp_path / "m.safetensors", saved)
    model = relayout.checkpoint.open(tmp_path / "m.safetensors", framework="torch")
    for name, tensor in saved.items():
        got = model[name]
        assert torch.equal(got, tensor) and got.dtype == tensor.dtype, name
        assert name == "expanded" or got.stride() == tensor.stride(), name
    assert model["last"].is_contiguous(memory_format=torch.channels_last)
    assert model.tensor("last").saved_strides == (60, 1, 12, 3) and model.tensor("plain").saved_strides is None
    # In the file elements are row-major, whoever reads it.
    np.testing.assert_array_equal(relayout.load(tmp_path / "m.safetensors", "last"), base.numpy())


def test_a_channels_last_model_is_restored(tmp_path):
    torch = pytest.importorskip("torch")
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Conv2d(8, 4, 1), torch.nn.Flatten(),
                              torch.nn.Linear(4 * 36, 5)).to(memory_format=torch.channels_last)
    torch.save(net.state_dict(), tmp_path / "net.pt")
    relayout.checkpoint.convert(tmp_path / "net.pt", tmp_path / "net.safetensors")
    relayout.checkpoint.save(tmp_path / "direct.safetensors", net.state_dict())
    renamed = {"rules": None, "maps": "0.*: first.{1}"}
    relayout.checkpoint.convert(tmp_path / "net.safetensors", tmp_path / "named.safetensors", **renamed)
    relayout.checkpoint.convert(tmp_path / "named.safetensors", tmp_path / "back.safetensors", invert=True, **renamed)
    x = torch.randn(2, 3, 8, 8)
    for file in ("net.safetensors", "direct.safetensors", "back.safetensors"):
        model = relayout.checkpoint.open(tmp_path / file)
        state = {name: model.torch(name) for name in model}
        for name, tensor in net.state_dict().items():
            assert state[name].stride() == tensor.stride() and torch.equal(state[name], tensor), (file, name)
        other = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Conv2d(8, 4, 1),
                                    torch.nn.Flatten(), torch.nn.Linear(4 * 36, 5))
        other = other.to(memory_format=torch.channels_last)
        other.load_state_dict(state)
        assert torch.equal(other(x), net(x)), file


class Bar:
    """What tqdm's bars have."""

    made = []

    def __init__(self, total, unit, unit_scale):
        self.total, self.unit, self.n, self.closed = total, unit, 0, False
        Bar.made.append(self)

    def update(self, count):
        self.n += count

    def close(self):
        self.closed = True


def test_bars(tmp_path, monkeypatch):
    Bar.made = []
    relayout.checkpoint.save(tmp_path / "a.safetensors", {"w": np.ones((100, 100))}, progress=Bar)
    relayout.checkpoint.convert(tmp_path / "a.safetensors", tmp_path / "b.safetensors", maps="w: ab -> ba",
                                progress=Bar)
    relayout.checkpoint.compare(tmp_path / "a.safetensors", tmp_path / "a.safetensors", progress=Bar)
    assert len(Bar.made) == 3 and all(bar.closed and bar.n == bar.total > 0 and bar.unit == "B" for bar in Bar.made)
    relayout.checkpoint.convert(tmp_path / "a.safetensors", tmp_path / "c.safetensors", progress=False)
    relayout.checkpoint.convert(tmp_path / "a.safetensors", tmp_path / "d.safetensors", progress=True)
    monkeypatch.setitem(__import__("sys").modules, "tqdm.auto", None)
    relayout.checkpoint.convert(tmp_path / "a.safetensors", tmp_path / "e.safetensors", progress=True)
    with pytest.raises(relayout.InvalidArgumentError, match="progress"):
        relayout.checkpoint.convert(tmp_path / "a.safetensors", tmp_path / "f.safetensors", progress=3)
    assert not (tmp_path / "f.safetensors").exists()
