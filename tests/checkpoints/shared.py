"""What the comparisons of checkpoints share: the programs, and the arrays of a file by what `checkpoint list` says."""
import importlib
import json
import pathlib
import subprocess
import sys
import tempfile


def skip_without(*modules):
    """The modules, or exit 77 (skipped) where one is not there."""
    out = []
    for module in modules:
        try:
            out.append(importlib.import_module(module))
        except ImportError:
            print("skipped: no", module)
            sys.exit(77)
    return out[0] if len(out) == 1 else out


def listed(path):
    """`relayout checkpoint list PATH --json`, with the tensors by name."""
    result = subprocess.run([sys.argv[1], "checkpoint", "list", str(path), "--json"], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    out = json.loads(result.stdout)
    out["tensors"] = {tensor["name"]: tensor for tensor in out["tensors"]}
    return out


def refused(path):
    """The message with which the file is refused."""
    result = subprocess.run([sys.argv[1], "checkpoint", "list", str(path)], capture_output=True, text=True)
    assert result.returncode != 0, "%s: was read" % path
    return result.stderr


def copy(source, target, *more):
    result = subprocess.run([sys.argv[2], str(source), str(target), *map(str, more)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def array_of(path, tensor, dtype):
    """The array of a listed tensor whose bytes lie in the file as they are: read by NumPy alone."""
    import numpy
    dtype = numpy.dtype(dtype)
    shape = tensor["shape"]
    strides = tensor.get("strides")
    if strides is None:
        return numpy.fromfile(path, dtype, tensor["bytes"] // dtype.itemsize, offset=tensor["offset"]).reshape(shape)
    span = 1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides)) if 0 not in shape else 0
    memory = numpy.fromfile(path, dtype, span, offset=tensor["offset"])
    return numpy.lib.stride_tricks.as_strided(memory, shape, [stride * dtype.itemsize for stride in strides])


def main(*tests):
    """Runs each test in a folder of its own."""
    for test in tests:
        with tempfile.TemporaryDirectory(prefix="relayout-checkpoints-") as folder:
            test(pathlib.Path(folder))
        print(test.__name__, "passed")
