"""Types of elements: relayout's names, and the types of NumPy, ml_dtypes, PyTorch and JAX that they stand for.

    name_of(numpy.dtype("float32"))      # "f32"
    numpy_dtype("bf16")                  # dtype(bfloat16), of the package ml_dtypes
"""
from __future__ import annotations

import functools
import sys
from typing import Any, Optional

import numpy as np

from . import _native
from ._errors import UnsupportedError
from ._sub_byte import TYPES as SUB_BYTE_TYPES

#: relayout's name, and the name that NumPy, ml_dtypes, JAX and PyTorch share.
_NAMES = {
    "f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "f8_e5m2": "float8_e5m2",
    "f8_e4m3": "float8_e4m3fn", "f8_e8m0": "float8_e8m0fnu", "s64": "int64", "s32": "int32", "s16": "int16",
    "s8": "int8", "u64": "uint64", "u32": "uint32", "u16": "uint16", "u8": "uint8", "bool": "bool",
}
_ELSEWHERE = {theirs: ours for ours, theirs in _NAMES.items()}
#: Several elements share a byte.
PACKED = tuple(SUB_BYTE_TYPES)


@functools.lru_cache(maxsize=256)
def name_of(dtype: Any) -> str:
    """relayout's name of a type: of a text, a NumPy dtype or type, or a torch.dtype.

    Texts are relayout's names ("f32", "u4"), those of other libraries ("float32", "half", "fp16", "torch.bfloat16",
    "int4") and NumPy's codes behind a mark of the bytes' order ("<f4"). ParseError for any other text, which names both
    types where one means two, as "i4" does. UnsupportedError where relayout has no such type, TypeError for what is no
    type. Types of another order of bytes are others.
    """
    if isinstance(dtype, str):
        return _native.dtype_name(dtype)
    text = str(dtype)
    if text.startswith("torch."):
        found = _ELSEWHERE.get(text[len("torch."):])
    else:
        try:
            described = np.dtype(dtype)
        except (TypeError, ValueError):
            raise TypeError(f"dtype must be a type of elements such as 'f32' or numpy.float32, not {text}") from None
        found = _ELSEWHERE.get(described.name) if described.isnative else None
    if found is None:
        raise UnsupportedError(f"no type of elements {text!r}; there are {', '.join([*_NAMES, *PACKED])}", "dtype",
                               text, ", ".join([*_NAMES, *PACKED]))
    return found


def known_name(dtype: Any) -> Optional[str]:
    """name_of() a type of NumPy or PyTorch; None where relayout does not convert it."""
    try:
        return name_of(dtype)
    except UnsupportedError:
        return None


def item_bytes(dtype: Any) -> int:
    """Bytes of one element of a NumPy dtype or torch.dtype."""
    size = getattr(dtype, "itemsize", None)  # PyTorch's types have it from 2.1 on
    if size is None:
        name = name_of(dtype)
        size = 1 if name == "bool" or name.startswith("f8") else int(name.lstrip("bfsu")) // 8
    return size


@functools.lru_cache(maxsize=64)
def numpy_dtype(name: str) -> np.dtype:
    """NumPy's type for a name of relayout's. Sub-byte elements are bytes, uint8, which hold several.

    UnsupportedError where the package ml_dtypes, which has the type, is missing.
    """
    if name in PACKED:
        return np.dtype(np.uint8)
    theirs = _NAMES[name]
    try:
        return np.dtype(theirs)
    except TypeError:
        try:
            import ml_dtypes
        except ImportError:
            raise UnsupportedError(f"NumPy has no {theirs}: install the package ml_dtypes", "dtype", name) from None
        return np.dtype(getattr(ml_dtypes, theirs))


@functools.lru_cache(maxsize=64)
def torch_dtype(name: str) -> Any:
    """PyTorch's type for a name of relayout's. UnsupportedError where this PyTorch has none."""
    torch = sys.modules["torch"]
    found = getattr(torch, "uint8" if name in PACKED else _NAMES[name], None)
    if found is None:
        raise UnsupportedError(f"PyTorch {torch.__version__} has no {_NAMES[name]}", "dtype", name)
    return found
