"""What a library of arrays must tell, so that its arrays can be laid out and rebuilt: `Framework`, which is NumPy's.

Example: `Framework().dtype("bf16")` is the bfloat16 of the package ml_dtypes.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _dtypes
from .._errors import ParseError, UnsupportedError
from .._sub_byte import sub_byte_dtype
from .recipe import Layout, Recipe

if TYPE_CHECKING:
    from .values import Values

Reader = Callable[[], np.ndarray]


def empty_bytes(count: int, skew: int = 0) -> np.ndarray:
    """`count` zero bytes that start `skew` bytes after a multiple of 64; pages are not touched before they are used.

    The array stands for a whole allocation: the memory in front of it (`in_front`) is not part of what its views have
    as their base. It is there for kernels that read or write before the start of a buffer.
    """
    front = room_in_front(count)
    raw = np.zeros(front + count + 128, np.uint8)
    start = front + -raw.ctypes.data % 64 + skew
    return np.frombuffer(raw.data[start : start + count], np.uint8) if count else raw[:0]


def room_in_front(count: int) -> int:
    """How many bytes lie at least in front of a buffer of so many."""
    return -(-min(max(count, 1 << 12), 1 << 16) // 64) * 64


def in_front(raw: np.ndarray) -> np.ndarray:
    """The memory in front of `empty_bytes(...)`, all zeros until something writes there."""
    if not isinstance(raw.base, memoryview) or not isinstance(raw.base.obj, np.ndarray):
        return raw[:0]
    whole = raw.base.obj
    return whole[: raw.ctypes.data - whole.ctypes.data]


def named_dtype(name: Any) -> np.dtype:
    """NumPy's type of a name: relayout's ("bf16"), NumPy's ("float32", "datetime64[s]"), or one of ml_dtypes.

    UnsupportedError where the type is one of the package ml_dtypes, which is missing.
    """
    if not isinstance(name, str):
        return np.dtype(name)
    try:
        ours = _dtypes.name_of(name)
    except (ParseError, UnsupportedError):  # NumPy has more types, such as complex64 and datetime64[s]
        ours = None
    if ours is not None:
        return sub_byte_dtype(ours) if ours in _dtypes.PACKED else _dtypes.numpy_dtype(ours)
    try:
        return np.dtype(name)
    except TypeError:
        try:
            ml_dtypes = importlib.import_module("ml_dtypes")
        except ImportError:
            text = f"dtype: NumPy has no {name!r}; if it is a type of the package ml_dtypes, install that"
            raise UnsupportedError(text, "dtype", name) from None
        found = getattr(ml_dtypes, name, None)
        if not isinstance(found, type):
            raise TypeError(f"dtype: {name!r} is the name of no type of NumPy, ml_dtypes or relayout") from None
        return np.dtype(found)


class Framework:
    """NumPy, and what the others have in common with it."""

    name = "numpy"
    imports = "import numpy as np"

    def owns(self, value: Any) -> bool:
        """Whether `value` is an array of this framework whose layout can be chosen."""
        return type(value) in (np.ndarray, np.memmap) and not value.dtype.hasobject and value.dtype.itemsize > 0

    def dtype(self, name: Any) -> Any:
        """The element type of this name."""
        return named_dtype(name)

    def supports(self, recipe: Recipe, values: Values) -> bool:
        """Whether the framework has arrays of this recipe."""
        return True

    def itemsize(self, dtype: Any) -> int:
        return int(np.dtype(dtype).itemsize)

    def to_bytes(self, array: Any) -> np.ndarray:
        """The elements in row-major order, as bytes of their own."""
        return np.frombuffer(np.asarray(array).tobytes(), np.uint8)

    def to_numpy(self, array: Any) -> np.ndarray:
        """The values in a type that NumPy can compare."""
        return np.array(array)

    def cast(self, array: np.ndarray, dtype: Any) -> Any:
        """A NumPy array of small integers in this type."""
        if np.dtype(dtype).kind in "SUVMm" and np.dtype(dtype).names is not None:
            raise ValueError("a structured type has no numbers")
        return array.astype(dtype)

    def evaluate(self, text: str, dtype: Any) -> Any:
        """The array that an expression denotes, in this type."""
        return eval(text, {"np": np}).astype(dtype)

    def contiguous(self, values: Values) -> Any:
        raw = empty_bytes(values.data.size)
        raw[:] = values.data.reshape(-1)
        return np.ndarray(values.shape, values.dtype, raw)

    def between(self, values: Values, raw: np.ndarray, front: int) -> tuple[Any, Reader]:
        """A contiguous array over bytes of `raw`, `front` bytes after their start, and what reads `raw` again.

        What owns the array's memory starts where the array does, so that the bytes in front are not the array's base.
        """
        return np.ndarray(values.shape, values.dtype, np.frombuffer(raw.data[front:], np.uint8)), lambda: raw

    def whole(self, array: Any) -> tuple[np.ndarray, int] | None:
        """The bytes of all memory that this array is a view of, and at which of them its first element starts."""
        root = array
        while isinstance(root.base, np.ndarray):
            root = root.base
        if isinstance(root.base, (memoryview, bytes, bytearray)):
            root = np.frombuffer(root.base, np.uint8)
        if not root.flags.c_contiguous:
            return None
        return root.reshape(-1).view(np.uint8), array.ctypes.data - root.ctypes.data

    def place(self, values: Values, layout: Layout, raw: np.ndarray) -> tuple[Any, Reader]:
        """An array over the bytes `raw`, and a function that reads them again after a call."""
        strides = tuple(stride * values.itemsize for stride in layout.strides)
        buffer = raw.data.toreadonly() if layout.foreign else raw.data
        offset = layout.offset * values.itemsize
        array = np.ndarray(values.shape, values.dtype, buffer, offset, strides)
        return array, lambda: raw

    def dtype_name(self, dtype: Any) -> Any:
        """What `dtype` understands: a name, for a structured type its description."""
        found = np.dtype(dtype)
        return str(found) if found.names is None else found.descr

    def dtype_code(self, dtype: Any) -> str:
        name = str(np.dtype(dtype))
        is_structured = np.dtype(dtype).names is not None
        return f"np.dtype({np.dtype(dtype).descr})" if is_structured else repr(name)

    def extra_imports(self, dtype: Any) -> list[str]:
        return ["import ml_dtypes"] if np.dtype(dtype).type.__module__.startswith("ml_dtypes") else []

    def place_code(self, name: str, values: Values, layout: Layout, gap: str, content: str,
                   aligned: bool = False) -> list[str]:
        """Lines that rebuild the array; `content` is an expression for a contiguous array of the values.

        With `aligned` the buffer's address is a multiple of 64 where the framework does not see to that itself, and
        there is memory in front of it.
        """
        dtype = self.dtype_code(values.dtype)
        bytes_ = layout.size * values.itemsize
        strides = tuple(stride * values.itemsize for stride in layout.strides)
        lines = []
        is_negative = any(stride < 0 for stride in strides)  # may be read from before the start
        if aligned or layout.skew or is_negative:
            front = room_in_front(bytes_)
            lines += [f"{name}_bytes = np.zeros({front + bytes_ + 128}, np.uint8)",
                      f"{name}_start = -{name}_bytes.ctypes.data % 64 + {front + layout.skew}",
                      f"{name}_base = {name}_bytes[{name}_start:{name}_start + {bytes_}].view({dtype})"]
            if gap:
                lines.append(f"{name}_base[:] = {gap}")
        elif gap:
            lines.append(f"{name}_base = ({gap}).astype({dtype})")
        else:
            lines.append(f"{name}_base = np.zeros({layout.size}, {dtype})")
        rest = f"{layout.offset * values.itemsize}, {strides})"
        kind = np.dtype(values.dtype)
        has_buffer = kind.kind in "fiubc" and kind.isbuiltin == 1  # NumPy does not lend memory of other types
        base = f"{name}_base" if has_buffer else f"{name}_base.view(np.uint8)"
        lines += [f"{name} = np.ndarray({layout.shape}, {dtype}, {base}, {rest}", f"{name}[...] = {content}"]
        if layout.foreign:
            lines.append(f"{name} = np.ndarray({layout.shape}, {dtype}, memoryview({base}).toreadonly(), {rest}")
        return lines

    def plain_code(self, name: str, values: Values, content: str) -> list[str]:
        return [f"{name} = {content}"]

    def content_code(self, values: Values, content: str) -> str:
        return content
