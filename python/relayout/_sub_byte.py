"""Sub-byte elements: several a byte, as relayout and files have them, and one a byte, as ml_dtypes has them.

    packed(numpy.array([1, -2, 3], ml_dtypes.int4))        # uint8 [0xe1, 0x03]: the even one is the low nibble
    unpacked(_, "s4", (3,))                                # int4 [1, -2, 3]
"""
from __future__ import annotations

import sys
from typing import Any, Iterator, NamedTuple, Optional, Sequence

import numpy as np

from ._errors import UnsupportedError


class _Type(NamedTuple):
    """A sub-byte type: its bits, ml_dtypes' name, and the type of a byte that holds all its values."""

    bits: int
    theirs: str
    held_by: str


TYPES = {
    "s4": _Type(4, "int4", "s8"), "u4": _Type(4, "uint4", "u8"), "s2": _Type(2, "int2", "s8"),
    "u2": _Type(2, "uint2", "u8"), "u1": _Type(1, "uint1", "u8"), "f4_e2m1": _Type(4, "float4_e2m1fn", "f8_e5m2"),
    "f6_e3m2": _Type(6, "float6_e3m2fn", "f8_e5m2"), "f6_e2m3": _Type(6, "float6_e2m3fn", "f8_e4m3"),
}
_OURS = {found.theirs: ours for ours, found in TYPES.items()}
_BYTES = {"s8": "int8", "u8": "uint8", "f8_e5m2": "float8_e5m2", "f8_e4m3": "float8_e4m3fn"}


def sub_byte_name(dtype: Any) -> Optional[str]:
    """relayout's name for a type of ml_dtypes of fewer than 8 bits; None of any other type."""
    if sys.modules.get("ml_dtypes") is None or not isinstance(dtype, np.dtype) or dtype.itemsize != 1:
        return None
    return _OURS.get(dtype.name)


def sub_byte_dtype(name: str) -> np.dtype:
    """ml_dtypes' type for a name of relayout's. UnsupportedError where the package, or the type in it, is missing."""
    theirs = TYPES[name].theirs
    try:
        import ml_dtypes
        return np.dtype(getattr(ml_dtypes, theirs))
    except (ImportError, AttributeError):
        raise UnsupportedError(f"NumPy has no {theirs}: install the package ml_dtypes, or ask for the bytes by "
                               "dtype='u8'", "dtype", name) from None


def _parts(size: int) -> Iterator[slice]:
    """Parts of a million groups, between which Python handles signals."""
    step = 1 << 20
    return (slice(at, min(at + step, size)) for at in range(0, size, step))


def _group(name: str) -> tuple[int, int, int]:
    """The bits of an element, and the elements and bytes of the least group that fills whole bytes."""
    bits = TYPES[name].bits
    elements = 4 if bits == 6 else 8 // bits
    return bits, elements, elements * bits // 8


def count_in(name: str, size: int) -> int:
    """How many elements so many bytes have room for."""
    return size * 8 // TYPES[name].bits


def _filled(flat: np.ndarray, group: int) -> np.ndarray:
    """Bytes as whole groups, the last one filled up with 0, a row each."""
    rest = -flat.size % group
    if rest:
        flat = np.concatenate([flat, np.zeros(rest, np.uint8)])
    return flat.reshape(-1, group)


def unpacked(raw: np.ndarray, name: str, shape: Sequence[int]) -> np.ndarray:
    """The elements of bytes that hold several each, as an array of this shape."""
    dtype, (bits, elements, size) = sub_byte_dtype(name), _group(name)
    groups, mask = _filled(raw, size), (1 << bits) - 1
    made = np.empty((len(groups), elements), np.uint8)
    for part in _parts(len(groups)):
        word = groups[part, 0] if size == 1 else groups[part, 0] + (groups[part, 1].astype(np.uint32) << 8) + (
            groups[part, 2].astype(np.uint32) << 16)
        for at in range(elements):
            made[part, at] = word >> bits * at & mask
    return made.reshape(-1)[:int(np.prod(shape, dtype=np.int64))].view(dtype).reshape(tuple(shape))


def packed(array: np.ndarray) -> np.ndarray:
    """Row-major elements of a sub-byte type of ml_dtypes as bytes that hold several each; bits behind the last element
    are 0."""
    name = sub_byte_name(array.dtype)
    assert name is not None
    bits, elements, size = _group(name)
    groups, mask = _filled(array.reshape(-1).view(np.uint8), elements), (1 << bits) - 1
    made = np.empty((len(groups), size), np.uint8)
    for part in _parts(len(groups)):
        word = np.zeros(len(groups[part]), np.uint8 if size == 1 else np.uint32)
        for at in range(elements):
            word |= (groups[part, at] & mask).astype(word.dtype) << bits * at
        for at in range(size):
            made[part, at] = word >> 8 * at & 255
    return made.reshape(-1)[:(array.size * bits + 7) // 8]


def one_a_byte(array: np.ndarray) -> np.ndarray:
    """The values of an array of a sub-byte type of ml_dtypes in a type of a byte that relayout converts."""
    held_by = _BYTES[TYPES[str(sub_byte_name(array.dtype))].held_by]
    if held_by.startswith("float"):
        import ml_dtypes
        return converted(array, np.dtype(getattr(ml_dtypes, held_by)))
    return converted(array, np.dtype(held_by))


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
