"""One tensor of a file: its array, and what the file says of its type and layout.

    tensor = relayout.open("model.safetensors")["encoder.weight"]
    tensor.dtype, tensor.shape, tensor.layout          # "bf16", (2, 2, 5, 4, 16), "nChw16c"
    tensor.array(), numpy.asarray(tensor)              # the same array, over the file's pages
"""
from __future__ import annotations

import ast
import operator
import sys
from typing import TYPE_CHECKING, Any, Mapping, Optional, Tuple

import numpy as np

from . import _native
from ._dtypes import PACKED, name_of, numpy_dtype
from ._errors import InvalidArgumentError, UnsupportedError
from ._sub_byte import converted, count_in, sub_byte_dtype, sub_byte_name, unpacked
from ._progress import Progress

if TYPE_CHECKING:
    from ._files import File

#: Types that a file which lacks them keeps as this one.
_KEPT_AS = {"u8": (*PACKED, "f8_e5m2", "f8_e4m3", "f8_e8m0"), "u16": ("bf16", "f16")}


def _of_numpy(type_name: str) -> Optional[np.dtype]:
    """NumPy's type for a descr of a .npy header; None where this NumPy, or ml_dtypes, has none."""
    try:
        if type_name[0] in "[(":
            return np.lib.format.descr_to_dtype(ast.literal_eval(type_name))
        if type_name.isidentifier() and type_name not in np.sctypeDict:
            ml_dtypes = sys.modules.get("ml_dtypes")
            return np.dtype(getattr(ml_dtypes, type_name)) if hasattr(ml_dtypes, type_name) else None
        return np.dtype(type_name)
    except (TypeError, ValueError, SyntaxError):
        return None


def _asked(dtype: Any) -> Tuple[Optional[str], np.dtype]:
    """relayout's name of what a caller asks for, or None where it has none, and NumPy's type."""
    if isinstance(dtype, (np.dtype, type)) and sub_byte_name(np.dtype(dtype)) is not None:
        return None, np.dtype(dtype)  # one element a byte, which sub-byte types here are not
    try:
        name = name_of(dtype)
    except UnsupportedError:
        if isinstance(dtype, str):
            raise
        return None, np.dtype(dtype)
    return name, numpy_dtype(name)


class Tensor:
    """One tensor of a file. `numpy.asarray(tensor)` gives its values, as array() does."""

    def __init__(self, file: "File", index: int, said: Mapping[str, Any]):
        self._file, self._index, self._said = file, index, said
        self.name: str = said["name"]
        #: relayout's name of the type of the elements; the file's own for a type that relayout does not convert, such
        #: as "F8_E8M0"; None where the file does not say it.
        self.dtype: Optional[str] = said["dtype"] or (None if self._untyped() else said["type_name"])
        #: The type as the file names it; "" where it names none.
        self.type_name: str = said["type_name"]
        #: Of the array in the file.
        self.shape: Tuple[int, ...] = said["shape"]
        #: The layout expression and the tensor's own dims, where the file has them.
        self.layout: Optional[str] = said["layout"]
        self.dims: Optional[Tuple[int, ...]] = said["dims"]
        #: Why the tensor cannot be read; None where it can.
        self.problem: Optional[str] = said["problem"]
        if file.format == "bmp" and self.dims is not None:  # a picture of strides, which an array of NumPy has itself
            batch, channels, height, width = self.dims
            self.shape, self.layout = (batch, height, width, channels), "nhwc"

    def _untyped(self) -> bool:
        """Whether the file says at most how wide an element is."""
        name = self._said["type_name"].lstrip("<>=|")
        return not name or name[0] == "V" and name[1:].isdigit()

    def _raw(self, progress: Optional[Progress] = None) -> np.ndarray:
        return np.asarray(self._file._native.bytes(self._index, progress))

    def array(self, dtype: Any = None, *, progress: Optional[Progress] = None) -> np.ndarray:
        """The values: a read-only array over the file's pages where it is mapped, of the shape that is in the file.

        dtype: what the elements are, where the file does not say it: of raw bytes any type, of NumPy's void types one
        of their width, and of bytes also the 8-bit floats and sub-byte types. Another type than the file's is an error,
        as convert() converts values.
        Sub-byte elements become those of ml_dtypes, of which each takes a byte; dtype="u8" gives the bytes of several
        as they are. A type that relayout does not convert comes as NumPy's own (complex numbers, text, records), and
        where NumPy has none as bytes, uint8.
        progress: as for convert(), while a picture or a member of an .npz is decoded; what a file's pages are is not
        read here. A tensor is decoded once.
        """
        raw = self._raw(progress)
        if self._file.format == "bmp":
            return self._view(self._picture(raw), self.dtype, dtype)
        said = self._said["dtype"]
        if said in PACKED:
            return self._unpacked(raw, said, dtype)
        if said is None:
            return self._of_unknown_type(raw, dtype)
        return self._view(self._shaped(raw, numpy_dtype(said)), said, dtype)

    def _shaped(self, raw: np.ndarray, dtype: np.dtype) -> np.ndarray:
        if self._said["byte_swapped"]:
            dtype = dtype.newbyteorder()
        return raw.view(dtype).reshape(self.shape, order="F" if self._said["fortran_order"] else "C")

    def _picture(self, raw: np.ndarray) -> np.ndarray:
        layout = _native.layout(self._said["layout"], self._said["dims"])
        pixels = np.ndarray(self._said["dims"], np.uint8, raw, layout.offset(*[0] * 4), layout.strides_elements)
        return pixels.transpose(0, 2, 3, 1)

    def _view(self, array: np.ndarray, said: Optional[str], dtype: Any) -> np.ndarray:
        """An array of a type that the file names, as the type that the caller asks for."""
        if dtype is None:
            return array
        name, wanted = _asked(dtype)
        if name == said:
            return array
        if name in _KEPT_AS.get(str(said), ()):
            if not array.dtype.isnative:  # ml_dtypes has no types of the other byte order
                array = array.astype(array.dtype.newbyteorder("="))
                array.flags.writeable = False
            if name in PACKED:
                flat = array.reshape(-1)
                return unpacked(flat, str(name), (count_in(str(name), flat.size),))
            return array.view(wanted)
        if self._said["dtype_assumed"] and wanted.itemsize == array.itemsize:
            return array.view(wanted.newbyteorder() if self._said["byte_swapped"] else wanted)
        raise InvalidArgumentError(f"{self._what()} is of {said}, not of {name or dtype}; convert() converts values",
                                   "dtype", str(dtype), str(said))

    def _unpacked(self, raw: np.ndarray, said: str, dtype: Any) -> np.ndarray:
        name = said if dtype is None else _asked(dtype)[0]
        if name == "u8":
            return raw
        if dtype is not None and name != said and np.dtype(dtype) != sub_byte_dtype(said):
            raise InvalidArgumentError(f"{self._what()} is of {said}, not of {dtype}", "dtype", str(dtype), said)
        return unpacked(raw, said, self.shape)

    def _of_unknown_type(self, raw: np.ndarray, dtype: Any) -> np.ndarray:
        width = self._said["item_bits"] // 8
        if dtype is None:
            return self._as_itself(raw, width)
        name, wanted = _asked(dtype)
        if name == "u8" and (width != 1 or not self._untyped()):
            return self._as_bytes(raw, width)
        if self._file.format == "raw" or not self.type_name:
            if name in PACKED:
                return unpacked(raw, str(name), (count_in(str(name), raw.size),))
            if wanted.itemsize and raw.size % wanted.itemsize == 0:
                return raw.view(wanted)
            raise InvalidArgumentError(f"{self._what()} has {raw.size} bytes, no whole number of elements of {dtype}",
                                       "dtype", str(dtype), str(raw.size))
        if name in PACKED and self.type_name in ("<V1", ">V1"):  # as NumPy writes arrays of ml_dtypes
            return self._shaped(raw, sub_byte_dtype(str(name)))
        if name in PACKED and width == 1 and self._untyped():
            return unpacked(raw, str(name), (count_in(str(name), raw.size),))
        if name not in PACKED and wanted.itemsize * 8 == self._said["item_bits"]:
            return self._shaped(raw, wanted)
        raise InvalidArgumentError(f"{self._what()} has elements of {self._said['item_bits']} bits, and {dtype} has "
                                   f"{wanted.itemsize * 8}", "dtype", str(dtype), self.type_name)

    def _as_itself(self, raw: np.ndarray, width: int) -> np.ndarray:
        """In NumPy's own type, if it has one."""
        dtype = None
        if self._file.format in ("npy", "npz") and self.type_name:
            dtype = _of_numpy(self.type_name)
        elif self.type_name == "C64":
            dtype = np.dtype(np.complex64)
        if dtype is not None and dtype.itemsize == width:  # the type says its order of bytes itself
            return raw.view(dtype).reshape(self.shape, order="F" if self._said["fortran_order"] else "C")
        return self._as_bytes(raw, width)

    def _as_bytes(self, raw: np.ndarray, width: int) -> np.ndarray:
        """An element's bytes as the last dim; one dim alone where elements are no whole bytes."""
        if not width or self._said["item_bits"] % 8:
            return raw
        shape = self.shape if width == 1 else (*self.shape, width)
        if not self._said["fortran_order"]:
            return raw.reshape(shape)
        turned = raw.reshape((*self.shape[::-1], width))
        moved = _native.contiguous(turned.transpose((*range(len(self.shape))[::-1], len(self.shape))))
        return moved.reshape(shape)

    def _as_kept(self) -> Optional[Tuple[np.ndarray, Tuple[str, int], Tuple[int, ...]]]:
        """Of a type that relayout does not convert: its bytes, row-major, the type and the shape; None of any other."""
        bits = self._said["item_bits"]
        if self._said["dtype"] is not None or not self.type_name or not bits:
            return None
        array = np.ascontiguousarray(self.array())
        return array.reshape(-1).view(np.uint8), (self.type_name, bits), self.shape

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> np.ndarray:
        """For numpy.asarray(), numpy.array() and whatever makes arrays so."""
        array = self.array()
        made = self._said["dtype"] in PACKED  # by array() itself, and nobody else has it
        if dtype is not None and np.dtype(dtype) != array.dtype:
            if copy is False:
                raise ValueError(f"{self._what()} is of {array.dtype}, and copy=False forbids to convert it to {dtype}")
            return converted(array, np.dtype(dtype))
        if made and copy is False:
            raise ValueError(f"{self._what()} is of {self.dtype}, whose elements share bytes, and copy=False forbids "
                             "to take them apart")
        return converted(array, array.dtype) if copy and not made else array

    def __reduce__(self) -> Tuple[Any, ...]:
        """A tensor is pickled as its file is."""
        return operator.getitem, (self._file, self.name)

    def __copy__(self) -> "Tensor":
        return self

    def _what(self) -> str:
        return f"the tensor {self.name!r}" if self.name else "the file's tensor"

    def _type_and_shape(self) -> str:
        return "unreadable" if self.problem else f"{self.dtype or self.type_name or 'bytes'} {self.shape}"

    def __repr__(self) -> str:
        layout = f", {self.layout} of {self.dims}" if self.layout else ""
        problem = f": {self.problem}" if self.problem else ""
        return f"<relayout.Tensor {self.name!r} {self._type_and_shape()}{layout}{problem}>"
