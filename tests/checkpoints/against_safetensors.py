#!/usr/bin/env python3
""".safetensors files, in one file and in several, against PyPI's package safetensors, in both directions.

    against_safetensors.py RELAYOUT CHECKPOINT_COPY

Without the package the test is skipped.
"""
import json

import shared

safetensors, numpy = shared.skip_without("safetensors", "numpy")
from safetensors.numpy import load_file, save_file  # noqa: E402

TYPES = ("f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?")


def arrays():
    rng = numpy.random.default_rng(1)
    out = {kind: rng.integers(0, 100, (3, 4, 5)).astype(kind) for kind in TYPES}
    out.update({"scalar": numpy.array(2.5, "f4"), "empty": numpy.zeros((0, 4), "f4"),
                "é/x": numpy.arange(9, dtype="u1")})
    return out


def one_file(folder):
    tensors = arrays()
    save_file(tensors, str(folder / "a.safetensors"), metadata={"format": "np", "k": "é\n"})
    said = shared.listed(folder / "a.safetensors")
    assert said["metadata"] == {"format": "np", "k": "é\n"}
    assert said["bytes"] == sum(array.nbytes for array in tensors.values())
    for name, array in tensors.items():
        got = shared.array_of(folder / "a.safetensors", said["tensors"][name], array.dtype)
        numpy.testing.assert_array_equal(got, array, err_msg=name)
    shared.copy(folder / "a.safetensors", folder / "b.safetensors")
    check(load_file(str(folder / "b.safetensors")), tensors)
    with safetensors.safe_open(str(folder / "b.safetensors"), "numpy") as file:
        assert file.metadata() == {"format": "np", "k": "é\n"}


def several_files(folder):
    tensors = arrays()
    save_file(tensors, str(folder / "a.safetensors"))
    shared.copy(folder / "a.safetensors", folder / "b.safetensors", 600)
    index = json.loads((folder / "b.safetensors.index.json").read_text())
    assert index["metadata"]["total_size"] == sum(array.nbytes for array in tensors.values())
    files = sorted(set(index["weight_map"].values()))
    assert len(files) > 2 and files[0] == "b-00001-of-%05d.safetensors" % len(files), files
    loaded = {}
    for file in files:
        part = load_file(str(folder / file))
        assert all(index["weight_map"][name] == file for name in part)
        assert len(part) == 1 or sum(array.nbytes for array in part.values()) <= 600
        loaded.update(part)
    check(loaded, tensors)
    said = shared.listed(folder / "b.safetensors.index.json")
    assert set(said["tensors"]) == set(tensors) and len(said["files"]) == len(files)


def check(loaded, tensors):
    assert set(loaded) == set(tensors)
    for name, array in tensors.items():
        assert loaded[name].dtype == array.dtype and loaded[name].shape == array.shape, name
        numpy.testing.assert_array_equal(loaded[name], array, err_msg=name)


if __name__ == "__main__":
    shared.main(one_file, several_files)
