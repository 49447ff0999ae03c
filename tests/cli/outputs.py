"""Models of .onnx files: outputs keep the names that the model gives them, and inputs may be raw bytes."""
import json
import struct
import zipfile

import tensors
from shared import expect

FLOAT = 1


def field(number, content):
    """One field of a protobuf message: a number, or bytes with their length (at most 127)."""
    if isinstance(content, int):
        return bytes([number << 3, content])
    content = content.encode() if isinstance(content, str) else content
    assert len(content) < 128
    return bytes([number << 3 | 2, len(content)]) + content


def node(operation, src, dst):
    return field(1, src) + field(2, dst) + field(4, operation)


def value(name, dims):
    """A ValueInfoProto of f32."""
    shape = b"".join(field(1, field(1, dim)) for dim in dims)
    return field(1, name) + field(2, field(1, field(1, FLOAT) + field(2, shape)))


def model(nodes, outputs):
    """An ONNX model of opset 13 with the input x of 1x2."""
    parts = [field(1, n) for n in nodes] + [field(2, "graph"), field(11, value("x", [1, 2]))]
    graph = b"".join(parts + [field(12, value(name, [1, 2])) for name in outputs])
    # A graph of up to 16 KiB: its length takes two bytes.
    length = bytes([len(graph) & 127 | 128, len(graph) >> 7])
    return field(1, 7) + bytes([7 << 3 | 2]) + length + graph + field(8, field(2, 13))


def output_names(command):
    """Behind an Identity, and one tensor under two names."""
    with open(command.path("net.onnx"), "wb") as file:
        file.write(model([node("Relu", "x", "r"), node("Identity", "r", "y")], ["y", "r"]))
    result = command.run("run", "net.onnx", "--threads", "1", "--random-inputs", "1", "-o", "out.npz", "--check")
    if "built without" in result.stderr or "this build has no" in result.stderr:
        return "skipped: " + result.stderr.strip()
    expect(result.returncode, 0, "exit code: " + result.stderr)
    with zipfile.ZipFile(command.path("out.npz")) as file:
        expect(sorted(file.namelist()), ["r.npy", "y.npy"], "names of the outputs")
        expect(file.read("r.npy"), file.read("y.npy"), "the tensor under its other name")
    for path in ("out.npz", "out.safetensors"):
        command.ok("run", "net.onnx", "--threads", "1", "--random-inputs", "1", "-o", path, "-f")
        for tensor in ("y", "r"):
            command.ok("convert", path, tensor + "." + path + ".npy", "--to", "ab", "--tensor", tensor)
    for tensor in ("y", "r"):
        one, other = [tensors.read_npy(command.path(tensor + "." + path + ".npy"))
                      for path in ("out.npz", "out.safetensors")]
        expect(one, other, "the outputs in both formats")
    refused = command.run("run", "net.onnx", "--threads", "1", "--random-inputs", "1", "-o", "out.npy")
    expect(refused.returncode, 2, "two outputs for a file of one tensor: " + refused.stderr)
    assert "only .npz and .safetensors files" in refused.stderr, refused.stderr
    command.ok("plan", "net.onnx", "--threads", "1", "-o", "plan.json")
    with open(command.path("plan.json")) as file:
        expect(json.load(file)["output_names"], ["y", "r"], "names in the plan")
    command.ok("run", "net.onnx", "--threads", "1", "--random-inputs", "1", "--plan", "plan.json", "-o", "planned.npz")
    return None


def raw_input(command):
    """The model fixes dims and type, so raw bytes need no flags, and their number is checked."""
    with open(command.path("net.onnx"), "wb") as file:
        file.write(model([node("Relu", "x", "y")], ["y"]))
    with open(command.path("x.bin"), "wb") as file:
        file.write(struct.pack("<2f", -1, 2))
    result = command.run("run", "net.onnx", "--threads", "1", "--input", "x.bin", "-o", "y.npy")
    if result.returncode == 5:
        return "skipped: " + result.stderr.strip()
    expect(result.returncode, 0, result.stderr)
    expect(tensors.read_npy(command.path("y.npy"))[3], [0, 2], "the output")
    # Of strides, the span and oneDNN's size are lengths that raw bytes may have.
    for values in ((-1, 7, 2), (-1, 7, 2, 7)):
        with open(command.path("strided.bin"), "wb") as file:
            file.write(struct.pack("<%df" % len(values), *values))
        command.ok("run", "net.onnx", "--threads", "1", "--input", "strided.bin", "--input-layout", "strides:4,2", "-o",
                   "y.npy", "-f")
        expect(tensors.read_npy(command.path("y.npy"))[3], [0, 2], "the output of %d floats" % len(values))
    result = command.run("run", "net.onnx", "--threads", "1", "--input", "strided.bin")
    expect(result.returncode, 3, "too many bytes")
    expect(result.stderr, "relayout: strided.bin: 16 bytes in the file; contiguous f32 with dims 1x2 takes 8\n",
           "the error")
    result = command.run("run", "net.onnx", "--threads", "1", "--input", "x.bin", "--input-layout", "ab.narrow(1,0,2)")
    expect(result.returncode, 2, "a view that does not show the buffer: " + result.stderr)
    assert "do not show the dims of the buffer" in result.stderr, result.stderr
    # An array in blocks has the model's dims, of which its shape shows no padding.
    tensors.write_npy(command.path("b.npy"), (1, 1, 4))
    command.ok("run", "net.onnx", "--threads", "1", "--input", "b.npy", "--input-layout", "aB4b", "-o", "y.npy", "-f")
    return None


def unknown_operators_alone(command):
    """A plan that takes no time says nothing of what it saves."""
    with open(command.path("net.onnx"), "wb") as file:
        file.write(model([node("Unknown", "x", "u"), node("Unknown", "u", "y")], ["y"]))
    result = command.run("plan", "net.onnx", "--threads", "1")
    if result.returncode == 5:
        return "skipped: " + result.stderr.strip()
    expect(result.returncode, 0, result.stderr)
    assert "predicted time 0 us" in result.stdout, result.stdout
    assert "nan" not in result.stdout and "saves" not in result.stdout, result.stdout
    return None


ALL = [output_names, raw_input, unknown_operators_alone]
