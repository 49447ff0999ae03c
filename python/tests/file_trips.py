"""What fuzz_files.py expects of a round trip: how arrays are read by each program, and when they count as equal."""
import os
import subprocess

import ml_dtypes
import numpy as np
import relayout
from relayout._sub_byte import sub_byte_name

NAMES = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "float8_e5m2": "f8_e5m2",
         "float8_e4m3fn": "f8_e4m3", "int64": "s64", "int32": "s32", "int16": "s16", "int8": "s8", "uint64": "u64",
         "uint32": "u32", "uint16": "u16", "uint8": "u8", "bool": "bool", "int4": "s4", "uint4": "u4"}
_IN_SAFETENSORS = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "float8_e5m2": "F8_E5M2",
                   "float8_e4m3fn": "F8_E4M3", "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8",
                   "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8", "bool": "BOOL",
                   "complex64": "C64", "float8_e5m2fnuz": "F8_E5M2FNUZ", "float8_e4m3fnuz": "F8_E4M3FNUZ"}
#: Types of which NumPy writes the width alone, in void types. It cannot read '<f1', of float8_e5m2, at all.
_OWN_CODE = ("bfloat16", "float8_e5m2")


def has_relayout(dtype):
    return dtype.name in NAMES


def is_numpys_own(dtype):
    return not dtype.hasobject and not _is_of_ml_dtypes(dtype)


def saved(path, x):
    """What NumPy reads of an array that relayout saved."""
    relayout.save(path, x, overwrite=True)
    return np.load(path)


def safetensors_has(dtype):
    return dtype.name in _IN_SAFETENSORS


def _is_of_ml_dtypes(dtype):
    return dtype.fields is None and dtype.type.__module__.startswith("ml_dtypes")


def canonical(x):
    """An array's type, shape and bits, whatever its order in memory and of bytes; of an int4's byte four bits."""
    plain = x.astype(x.dtype.newbyteorder("="), order="C") if x.dtype.fields is None else np.array(x, order="C")
    data = plain.tobytes()
    if sub_byte_name(plain.dtype):
        data = (np.frombuffer(data, np.uint8) & 15).tobytes()
    return plain.dtype.newbyteorder("="), x.shape, data


def outcome(x, said, read):
    """The outcome of a round trip: "equal", "equal as bits", "refused: ...", or "FAILED ..."."""
    refusal = expected_refusal(x, said)
    try:
        got = read()
    except relayout.Error as error:
        if refusal is not None and isinstance(error, refusal) and len(str(error)) > 20:
            return f"refused: {error}"
        return f"FAILED {type(error).__name__}: {error}"
    if refusal is not None:
        return "FAILED it was to be refused"
    if canonical(got) == canonical(x):
        return "equal"
    if may_be_bits(x, said) and same_bits_alone(x, got):
        return "equal as bits"
    return f"FAILED got {got.dtype} {got.shape}"


def expected_refusal(x, said):
    """The error with which a tensor is to be refused; None where it is to be read."""
    if said == "nothing" or x.dtype.hasobject:
        return relayout.UnsupportedError
    if not said.endswith("by the command") or said.startswith("relayout"):
        return None
    if not has_relayout(x.dtype):
        no_dim_left = x.ndim == 12 and x.itemsize not in (1, 2, 4, 8)  # for the bytes of an element
        return None if dtype_flag(x, said) and not no_dim_left else relayout.UnsupportedError
    untyped = said.startswith("numpy") and _is_of_ml_dtypes(x.dtype) and x.dtype.name not in _OWN_CODE
    return relayout.UnsupportedError if untyped and not dtype_flag(x, said) else None


def may_be_bits(x, said):
    """Whether what is read may lack the type: of types that the file does not name, or that NumPy has no array of."""
    if said.startswith("numpy"):
        return not has_relayout(x.dtype) or _is_of_ml_dtypes(x.dtype) and x.dtype.name not in _OWN_CODE
    return not has_relayout(x.dtype)


def same_bits_alone(x, got):
    """Equal bits of equal shape, or with the bytes of an element as the last dim."""
    plain = np.array(x, order="C")
    shapes = (x.shape, (*x.shape, x.itemsize))
    return got.shape in shapes and np.array(got, order="C").tobytes() == plain.tobytes()


def typed(tensor, x):
    """A relayout.Tensor as an array; of x's type where the file does not say it."""
    got = tensor.array()
    if got.dtype != x.dtype and _is_of_ml_dtypes(x.dtype) and got.dtype.itemsize == x.itemsize == 1:
        if not same_bits_alone(x, got) and x.dtype.name not in _OWN_CODE:
            raise AssertionError(f"{got.dtype} {got.shape} of other bits")
        got = tensor.array(dtype=x.dtype)
    return got


def load_npy(path, x):
    return typed(relayout.open(path)[""], x)


def load_numpy(got, x):
    """What NumPy read of relayout's file, where ml_dtypes' types are void and two elements of 4 bits are a byte."""
    if sub_byte_name(x.dtype):
        both = np.stack([got.view(np.uint8) & 15, got.view(np.uint8) >> 4], -1).reshape(-1)
        return both[:x.size].view(x.dtype).reshape(x.shape)
    return got.view(x.dtype.newbyteorder("=")) if got.dtype.kind == "V" else got


def from_safetensors(theirs, x):
    """What the package safetensors read."""
    data = np.frombuffer(bytes(theirs["data"]), np.uint8)
    if sub_byte_name(x.dtype):
        assert theirs["dtype"] == "U8" and theirs["shape"] == [data.size]
        return load_numpy(data, x)
    assert theirs["dtype"] == _IN_SAFETENSORS[x.dtype.name], theirs["dtype"]
    return data.view(x.dtype.newbyteorder("=")).reshape(theirs["shape"])


def native_array(file, name):
    """What the C++ library says of a tensor and its bytes, as an array without the package's own Python."""
    index = file.find(name)
    said, raw = file.tensors()[index], np.asarray(file.bytes(index))
    theirs = {ours: theirs for theirs, ours in NAMES.items()}.get(said["dtype"])
    order = "F" if said["fortran_order"] else "C"
    if theirs is None:
        width = said["item_bits"] // 8
        return np.array(raw.view(f"V{width}").reshape(said["shape"], order=order), order="C")
    dtype = np.dtype(getattr(ml_dtypes, theirs, theirs))
    if said["item_bits"] == 4:
        both = np.stack([raw & 15, raw >> 4], -1).reshape(-1)
        return both[:int(np.prod(said["shape"]))].view(dtype).reshape(said["shape"])
    return raw.view(dtype.newbyteorder() if said["byte_swapped"] else dtype).reshape(said["shape"], order=order)


def dtype_flag(x, said):
    """--dtype where the file does not say the type or relayout has none: a third of the tensors go without."""
    if x.size % 3 == 0 or x.dtype.hasobject:
        return []
    if said.startswith("numpy") and x.dtype.name == "float8_e4m3fn":
        return ["--dtype", "f8_e4m3"]
    if not has_relayout(x.dtype):
        unsigned = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}.get(x.itemsize, "u8")
        return ["--dtype", unsigned]
    return []


def by_command(call, target, x, reader):
    """Runs the command and has a program read what it wrote. Its own refusals are errors of relayout."""
    if os.path.exists(target):
        os.remove(target)
    done = subprocess.run(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
    if done.returncode:
        assert not os.path.exists(target) and done.stderr.startswith("relayout: "), done.stderr
        kind = relayout.UnsupportedError if done.returncode in (2, 5) else relayout.CorruptError
        raise kind(done.stderr.strip())
    if "--dtype" not in call or has_relayout(x.dtype):
        return _by_reader(target, x, reader)
    wide = x.itemsize in (1, 2, 4, 8)
    bits = np.empty(x.shape if wide else (*x.shape, x.itemsize), f"u{x.itemsize}" if wide else np.uint8)
    got = _by_reader(target, bits, reader)
    assert (got.dtype, got.shape) == (bits.dtype, bits.shape), (got.dtype, got.shape)
    return np.ndarray(x.shape, f"V{x.itemsize}", got.tobytes()) if x.size else np.empty(x.shape, f"V{x.itemsize}")


def _by_reader(target, x, reader):
    if reader == "safetensors":
        import safetensors
        with open(target, "rb") as opened:
            ((_, theirs),) = safetensors.deserialize(opened.read())
        return from_safetensors(theirs, x)
    got = np.load(target) if reader == "NumPy" else relayout.load(target)
    if not isinstance(got, np.ndarray):
        got = next(iter(got.values()))
    return load_numpy(got, x) if reader == "NumPy" else got
