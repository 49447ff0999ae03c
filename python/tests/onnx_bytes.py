"""The bytes of small ONNX models, written by hand, so that no package of ONNX is needed.

    model([node("Relu", ["x"], ["y"])], {"x": (1, 4)}, {"y": (1, 4)})       # -> bytes of an .onnx file

Field numbers are those of onnx.proto3.
"""
import numpy as np

_TYPES = {np.dtype("f4"): 1, np.dtype("u1"): 2, np.dtype("i8"): 7}


def _varint(number):
    out = bytearray()
    number &= 2**64 - 1
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def _field(number, value):
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    if isinstance(value, float):
        return _varint(number << 3 | 5) + np.float32(value).tobytes()
    value = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _attribute(name, value):
    if isinstance(value, (list, tuple)):
        return _field(1, name) + b"".join(_field(8, i) for i in value) + _field(20, 7)
    if isinstance(value, float):
        return _field(1, name) + _field(2, value) + _field(20, 1)
    return _field(1, name) + _field(3, value) + _field(20, 2)


def node(kind, inputs, outputs, **attributes):
    return (b"".join(_field(1, name) for name in inputs) + b"".join(_field(2, name) for name in outputs) +
            _field(3, "the_" + outputs[0]) + _field(4, kind) +
            b"".join(_field(5, _attribute(name, value)) for name, value in attributes.items()))


def _tensor(name, array):
    return (b"".join(_field(1, n) for n in array.shape) + _field(2, _TYPES[array.dtype]) + _field(8, name) +
            _field(9, array.tobytes()))


def _operand(name, dims):
    # A dim is a number, or the name of one that is left open.
    shape = b"".join(_field(1, _field(2, n) if isinstance(n, str) else _field(1, n)) for n in dims)
    return _field(1, name) + _field(2, _field(1, _field(1, 1) + _field(2, shape)))


def model(nodes, inputs, outputs, weights=None, opset=13):
    """`inputs` and `outputs`: dims of f32 by names, with names for dims that are left open; `weights`: arrays by
    names."""
    graph = (b"".join(_field(1, n) for n in nodes) + _field(2, "graph") +
             b"".join(_field(5, _tensor(name, array)) for name, array in (weights or {}).items()) +
             b"".join(_field(11, _operand(*item)) for item in inputs.items()) +
             b"".join(_field(12, _operand(*item)) for item in outputs.items()))
    return _field(1, 7) + _field(7, graph) + _field(8, _field(1, "") + _field(2, opset))
