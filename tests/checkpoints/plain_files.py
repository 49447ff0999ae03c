""".safetensors files written and read by a few lines, which share nothing with the library."""
import json

import numpy

TYPES = {"f64": ("F64", "f8"), "f32": ("F32", "f4"), "f16": ("F16", "f2"), "s32": ("I32", "i4"), "u8": ("U8", "u1"),
         "u32": ("U32", "u4"), "s64": ("I64", "i8")}


def save(path, tensors, metadata=None):
    header, at = {}, 0
    if metadata:
        header["__metadata__"] = metadata
    for name, array in tensors.items():
        code = next(code for code, kind in TYPES.values() if numpy.dtype(kind) == array.dtype)
        header[name] = {"dtype": code, "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in tensors.values():
            file.write(numpy.ascontiguousarray(array).tobytes())


def load(path):
    with open(path, "rb") as file:
        data = file.read()
    size = int.from_bytes(data[:8], "little")
    header, out = json.loads(data[8:8 + size]), {}
    kinds = dict(TYPES.values())
    for name, one in header.items():
        if name != "__metadata__":
            begin, end = one["data_offsets"]
            values = numpy.frombuffer(data[8 + size + begin:8 + size + end], kinds[one["dtype"]])
            out[name] = values.reshape(one["shape"])
    return out


def expect(have, want):
    assert list(have) == list(want) or set(have) == set(want), "%s instead of %s" % (list(have), list(want))
    for name, array in want.items():
        assert have[name].dtype == array.dtype and have[name].shape == array.shape, name
        assert have[name].tobytes() == numpy.ascontiguousarray(array).tobytes(), name + ": other bytes"
