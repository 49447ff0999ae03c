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


def peak_memory(command, folder):
    """Runs `relayout checkpoint` and returns the most MiB that it had, by the kernel's account. A process that is
    started begins with the memory of the one that starts it, so a small one does: not this, which has NumPy."""
    small = ("import resource, subprocess, sys\n"
             "code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode\n"
             "print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10)")
    result = subprocess.run([sys.executable, "-S", "-c", small, sys.argv[1], "checkpoint", *map(str, command)],
                            capture_output=True, text=True, cwd=folder)
    code, peak = map(int, result.stdout.split())
    assert code == 0, "%s: %d\n%s" % (command, code, result.stderr)
    return peak


def killed_half_way(command, made):
    """Kills a run of `relayout checkpoint` when the first half of its new file is there, which is seen by a number that
    is not 0 in the middle of the unfinished file: `made` is the file, as a run before has made it. False where the
    run was quicker. No clock is read."""
    middle = made.stat().st_size // 2
    made.unlink()
    unfinished = made.parent / (".%s.relayout-part" % made.name)
    process = subprocess.Popen([sys.argv[1], "checkpoint", *map(str, command)], cwd=made.parent,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        try:
            with open(unfinished, "rb") as file:
                file.seek(middle)
                if any(file.read(4096)):
                    break
        except FileNotFoundError:
            pass
    process.kill()
    process.wait()
    return not made.exists()


def main(*tests):
    """Runs each test in a folder of its own."""
    for test in tests:
        with tempfile.TemporaryDirectory(prefix="relayout-checkpoints-") as folder:
            test(pathlib.Path(folder))
        print(test.__name__, "passed")
