#!/usr/bin/env python3
"""Checkpoints of PyTorch against torch: values, strides, nested dicts, and what is refused.

    against_torch.py RELAYOUT CHECKPOINT_COPY

Without PyTorch the test is skipped.
"""
import collections
import json

import shared

torch, numpy = shared.skip_without("torch", "numpy")

INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def bits_of(tensor):
    """The bits of a tensor's elements, as integers of their width, which NumPy has for every type."""
    tensor = tensor.detach()
    if tensor.is_complex():
        return tensor.numpy().view("u8" if tensor.dtype == torch.complex64 else "u8")
    if tensor.dtype == torch.bool:
        return tensor.numpy().view("u1")
    return tensor.contiguous().view(INTEGERS[tensor.element_size()]).numpy().view("u%d" % tensor.element_size())


def flat(value, name=""):
    """(name, tensor or plain value) of nested dicts, lists and tuples."""
    if isinstance(value, torch.Tensor) or not isinstance(value, (dict, list, tuple)):
        yield name, value
        return
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield from flat(inner, "%s.%s" % (name, key) if name else str(key))


def compare(saved, path):
    said = shared.listed(path)
    wanted = dict(flat(saved))
    tensors = {name: value for name, value in wanted.items() if isinstance(value, torch.Tensor)}
    assert list(said["tensors"]) == list(tensors), (list(said["tensors"]), list(tensors))
    for name, tensor in tensors.items():
        entry = said["tensors"][name]
        assert entry["shape"] == list(tensor.shape), name
        if tensor.numel() > 0:
            ours = entry.get("strides")
            row_major = torch.empty(tensor.shape).stride()
            real = [s for s, e in zip(tensor.stride(), tensor.shape) if e > 1]
            have = [s for s, e in zip(ours or row_major, tensor.shape) if e > 1]
            assert have == real, (name, ours, tensor.stride())
        if not entry.get("compressed"):
            got = shared.array_of(path, entry, "u%d" % tensor.element_size())
            numpy.testing.assert_array_equal(got, bits_of(tensor), err_msg=name)
    for name, value in wanted.items():
        if name in tensors:
            continue
        shown = value if isinstance(value, (bool, int, float, str)) else str(value)
        assert said["metadata"][name] == shown, (name, said["metadata"].get(name), shown)


def views():
    base = torch.arange(240, dtype=torch.float32).reshape(2, 3, 5, 8)
    types = [torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
             torch.uint8, torch.bool]
    out = collections.OrderedDict((str(t), (torch.arange(30) % 7).to(t).reshape(5, 6)) for t in types)
    out.update({"base": base, "channels_last": base.contiguous(memory_format=torch.channels_last),
                "transposed": base.transpose(1, 3), "slice": base[1:, 1, ::2, 3:6],
                "expanded": base[:, :1].expand(2, 4, 5, 8),
                "scalar": torch.tensor(3.5), "empty": torch.empty(0, 3), "one": base[:1, :1, :1, :1],
                "parameter": torch.nn.Parameter(base[0]), "tied": base.view(-1)})
    return out


def state_dicts(folder):
    """A model's state, an optimizer's, and plain values, in every protocol."""
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 3, 3), torch.nn.BatchNorm2d(3), torch.nn.Flatten(),
                                torch.nn.Linear(27, 4), torch.nn.ReLU())
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.5, 0.75))
    model(torch.randn(2, 3, 5, 5)).sum().backward()
    optimizer.step()
    saved = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3, "lr": 0.125, "name": "x",
             "flag": True, "views": views(), "dtype": torch.float32, "size": torch.Size([2, 3]), "big": 2 ** 40}
    for protocol in (2, 3, 4, 5):
        path = folder / ("p%d.pt" % protocol)
        torch.save(saved, path, pickle_protocol=protocol)
        compare(saved, path)
    torch.save(views()["slice"], folder / "one.pt")
    compare({"tensor": views()["slice"]}, folder / "one.pt")
    torch.save([torch.ones(2), {"a": torch.zeros(3)}], folder / "list.pt")
    compare([torch.ones(2), {"a": torch.zeros(3)}], folder / "list.pt")


def copies(folder):
    """What this library writes of them, row-major."""
    saved = views()
    torch.save(saved, folder / "m.pt")
    for target in ("m.safetensors", "m.npz"):
        shared.copy(folder / "m.pt", folder / target)
        said = shared.listed(folder / target)
        for name, tensor in saved.items():
            got = shared.array_of(folder / target, said["tensors"][name], "u%d" % tensor.element_size())
            numpy.testing.assert_array_equal(got, bits_of(tensor), err_msg=name)


def writes(folder):
    """What this library writes, torch loads; with weights_only too, where this torch has that."""
    saved = views()
    torch.save(saved, folder / "m.pt")
    shared.copy(folder / "m.pt", folder / "n.pt")
    options = [{}, {"weights_only": True}] if "weights_only" in torch.load.__code__.co_varnames else [{}]
    for option in options:
        loaded = torch.load(folder / "n.pt", **option)
        assert type(loaded) is collections.OrderedDict and list(loaded) == list(saved)
        for name, tensor in saved.items():
            assert loaded[name].dtype == tensor.dtype and loaded[name].is_contiguous(), name
            assert torch.equal(loaded[name], tensor), name
    shared.copy(folder / "n.pt", folder / "o.pt")
    assert (folder / "n.pt").read_bytes() == (folder / "o.pt").read_bytes()


def shards(folder):
    """The files of a model that transformers saved with torch, by their index."""
    parts = [{"a": torch.arange(6.0), "b": torch.ones(2, 3).t()}, {"c": torch.zeros(4, dtype=torch.float16)}]
    names = ["pytorch_model-0000%d-of-00002.bin" % (i + 1) for i in range(2)]
    for name, part in zip(names, parts):
        torch.save(part, folder / name)
    where = {key: name for name, part in zip(names, parts) for key in part}
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": where}))
    said = shared.listed(folder)
    assert [file["format"] for file in said["files"]] == ["pytorch"] * 2
    for name, part in zip(names, parts):
        for key, tensor in part.items():
            entry = said["tensors"][key]
            assert entry["file"] == name
            got = shared.array_of(folder / name, entry, "u%d" % tensor.element_size())
            numpy.testing.assert_array_equal(got, bits_of(tensor), err_msg=key)


def refusals(folder):
    """Nothing is run, and what is not read is named."""
    class Evil:
        def __reduce__(self):
            return (exec, ("open(%r, 'w')" % str(folder / "run"),))
    saved = {"w": torch.ones(2), "evil": Evil(), "number": numpy.float64(2.0), "set": {1, 2}, "z": torch.zeros(2)}
    torch.save(saved, folder / "m.pt")
    said = shared.listed(folder / "m.pt")["tensors"]
    assert "builtins.exec" in said["evil"]["problem"] or "__builtin__.exec" in said["evil"]["problem"], said["evil"]
    assert "numpy.core.multiarray.scalar" in said["number"]["problem"], said["number"]
    for name in ("w", "z"):
        assert "problem" not in said[name], said[name]
    assert not (folder / "run").exists()
    torch.save(torch.nn.Linear(2, 2), folder / "module.pt")
    assert "torch.nn.modules.linear.Linear" in shared.refused(folder / "module.pt")
    torch.save(saved, folder / "old.pt", _use_new_zipfile_serialization=False)
    assert "before PyTorch 1.6" in shared.refused(folder / "old.pt")
    assert not (folder / "run").exists()


if __name__ == "__main__":
    torch.manual_seed(1)
    shared.main(state_dicts, copies, writes, shards, refusals)
