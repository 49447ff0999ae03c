"""Elements of 4 bits: two a byte, as relayout and files have them, and one a byte, as ml_dtypes has them.

    packed(numpy.array([1, -2, 3], ml_dtypes.int4))        # uint8 [0xe1, 0x03]: the even one is the low nibble
    unpacked(_, "s4", (3,))                                # int4 [1, -2, 3]
"""
from __future__ import annotations

import sys
from typing import Any, Iterator, Optional, Sequence

import numpy as np

from ._errors import UnsupportedError

_THEIRS = {"s4": "int4", "u4": "uint4"}


def nibble_name(dtype: Any) -> Optional[str]:
    """relayout's name for ml_dtypes' type of 4 bits; None of any other type."""
    if sys.modules.get("ml_dtypes") is None or not isinstance(dtype, np.dtype) or dtype.itemsize != 1:
        return None
    return {"int4": "s4", "uint4": "u4"}.get(dtype.name)


def nibble_dtype(name: str) -> np.dtype:
    """ml_dtypes' type for s4 or u4."""
    try:
        import ml_dtypes
    except ImportError:
        raise UnsupportedError(f"NumPy has no {_THEIRS[name]}: install the package ml_dtypes, or ask for the bytes by "
                               "dtype='u8'", "dtype", name) from None
    return np.dtype(getattr(ml_dtypes, _THEIRS[name]))


def _parts(size: int) -> Iterator[slice]:
    """Parts of a million bytes, between which Python handles signals."""
    step = 1 << 20
    return (slice(at, min(at + step, size)) for at in range(0, size, step))


def unpacked(raw: np.ndarray, name: str, shape: Sequence[int]) -> np.ndarray:
    """The elements of bytes that hold two each, as an array of this shape."""
    dtype = nibble_dtype(name)
    count = int(np.prod(shape, dtype=np.int64))
    both = np.empty((raw.size, 2), np.uint8)
    for part in _parts(raw.size):
        np.bitwise_and(raw[part], 15, out=both[part, 0])
        np.right_shift(raw[part], 4, out=both[part, 1])
    return both.reshape(-1)[:count].view(dtype).reshape(tuple(shape))


def packed(array: np.ndarray) -> np.ndarray:
    """Row-major elements of ml_dtypes' int4 or uint4 as bytes that hold two each; of an odd number the last high nibble
    is 0."""
    flat, made = array.reshape(-1).view(np.uint8), np.empty((array.size + 1) // 2, np.uint8)
    for part in _parts(array.size // 2):
        even, odd = flat[2 * part.start:2 * part.stop:2], flat[2 * part.start + 1:2 * part.stop:2]
        made[part] = even & 15 | odd << 4
    if array.size % 2:
        made[-1] = flat[-1] & 15
    return made


def one_a_byte(array: np.ndarray) -> np.ndarray:
    """The values of an array of ml_dtypes' int4 or uint4, as int8 or uint8."""
    return converted(array, np.dtype(np.int8 if nibble_name(array.dtype) == "s4" else np.uint8))


_PART_BYTES = 16 << 20


def assign(dst: np.ndarray, src: np.ndarray) -> None:
    """dst[...] = src for arrays of one shape, in parts, between which Python handles signals."""
    longest = max(range(src.ndim), key=src.shape.__getitem__) if src.ndim else 0
    if src.nbytes <= _PART_BYTES or src.shape[longest] < 2:
        dst[...] = src
        return
    half = src.shape[longest] // 2
    for part in (slice(None, half), slice(half, None)):
        index = (*[slice(None)] * longest, part)
        assign(dst[index], src[index])


def converted(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """array.astype(dtype), in parts."""
    if array.nbytes <= _PART_BYTES:
        return array.astype(dtype)
    made = np.empty_like(array, dtype)
    assign(np.asarray(made), np.asarray(array))
    return made
