"""Kernels with a planted fault each: they read raw memory through the pointer, as compiled code does.

`PLANTED` has a row for every fault: the kernel, its arguments, and what the explanation must say.
Example: `row_major` reads x.size elements from x's pointer and never looks at its strides.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


def offsets_of(shape: tuple[int, ...], byte_strides: tuple[int, ...]) -> np.ndarray:
    """The offset in bytes of each element."""
    result = np.zeros((), np.int64)
    for n, stride in zip(shape, byte_strides, strict=True):
        result = result[..., None] + np.arange(n, dtype=np.int64) * stride
    return result


def load(pointer: int, offsets: np.ndarray, dtype: Any) -> np.ndarray:
    """The elements at these offsets in bytes from a pointer."""
    size = np.dtype(dtype).itemsize
    low, high = int(offsets.min()), int(offsets.max()) + size
    memory = np.ctypeslib.as_array((ctypes.c_uint8 * (high - low)).from_address(pointer + low))
    return memory[(offsets - low).reshape(-1)[:, None] + np.arange(size)].view(dtype).reshape(offsets.shape)


def store(pointer: int, offsets: np.ndarray, values: np.ndarray) -> None:
    """Writes the elements to these offsets in bytes from a pointer."""
    size = values.dtype.itemsize
    low, high = int(offsets.min()), int(offsets.max()) + size
    memory = np.ctypeslib.as_array((ctypes.c_uint8 * (high - low)).from_address(pointer + low))
    rows = (offsets - low).reshape(-1)[:, None] + np.arange(size)
    memory[rows] = np.ascontiguousarray(values).reshape(-1, 1).view(np.uint8)


def dense(shape: tuple[int, ...], itemsize: int, order: tuple[int, ...] | None = None) -> tuple[int, ...]:
    """Strides in bytes of a dense array."""
    strides, run = [0] * len(shape), itemsize
    for d in reversed(order or tuple(range(len(shape)))):
        strides[d] = run
        run *= shape[d]
    return tuple(strides)


def reading(x: np.ndarray, strides: tuple[int, ...]) -> np.ndarray:
    return load(x.ctypes.data, offsets_of(x.shape, strides), x.dtype)


def f(values: np.ndarray) -> np.ndarray:
    """What the kernels compute."""
    return values * 2 + 1


def row_major(x: np.ndarray) -> np.ndarray:
    return f(reading(x, dense(x.shape, x.itemsize)))


def row_major_sum(x: np.ndarray) -> float:
    return float(reading(x, dense(x.shape, x.itemsize)).sum())


def last_stride_one(x: np.ndarray) -> np.ndarray:
    return f(reading(x, (*x.strides[:-1], x.itemsize)))


def axes_mixed(x: np.ndarray) -> np.ndarray:
    if x.flags.c_contiguous:
        return f(x)
    return f(reading(x, (x.strides[0], x.strides[2], x.strides[1])))


def pitch_of_size_one(x: np.ndarray) -> np.ndarray:
    """Of shape (n, 1, w): takes the stride of the one row in the middle for the distance between images."""
    return f(reading(x, (x.strides[1], x.strides[1], x.strides[2])))


def not_broadcast(x: np.ndarray) -> np.ndarray:
    full = dense(x.shape, x.itemsize)
    return f(reading(x, tuple(s if s else whole for s, whole in zip(x.strides, full, strict=True))))


def step_one(x: np.ndarray) -> np.ndarray:
    return f(reading(x, (int(np.sign(x.strides[0])) * x.itemsize,)))


def unsigned_strides(x: np.ndarray) -> np.ndarray:
    return f(reading(x, tuple(abs(s) for s in x.strides)))


def aligned_loads(x: np.ndarray) -> np.ndarray:
    pointer = x.ctypes.data // x.itemsize * x.itemsize
    return f(load(pointer, offsets_of(x.shape, x.strides), x.dtype))


def vector_loads(x: np.ndarray) -> np.ndarray:
    return f(load(x.ctypes.data // 64 * 64, offsets_of(x.shape, x.strides), x.dtype))


def negates_in_place(x: np.ndarray) -> float:
    y = np.ascontiguousarray(x)
    np.abs(y, out=y)
    return float(y.sum())


def scratch_in_input(x: np.ndarray) -> np.ndarray:
    result = f(x)
    if not x.flags.c_contiguous and x.flags.writeable:
        x[...] = 0
    return result


def int32_offsets(x: np.ndarray) -> np.ndarray:
    elements = offsets_of(x.shape, x.strides) // x.itemsize
    return f(load(x.ctypes.data, elements.astype(np.int32).astype(np.int64) * x.itemsize, x.dtype))


def channels_last_by_one_stride(x: np.ndarray) -> np.ndarray:
    if x.strides[1] == x.itemsize and x.shape[1] > 1:
        return f(reading(x, dense(x.shape, x.itemsize, (0, 2, 3, 1))))
    return f(x)


def strides_of_doubles(x: np.ndarray) -> np.ndarray:
    if x.flags.c_contiguous:
        return f(x)
    return f(reading(x, tuple(s // x.itemsize * 8 for s in x.strides)))


def strides_in_bytes(x: np.ndarray) -> np.ndarray:
    if x.flags.c_contiguous:
        return f(x)
    return f(reading(x, tuple(s // x.itemsize for s in x.strides)))


def base_pointer(x: np.ndarray) -> np.ndarray:
    pointer = x.ctypes.data if x.base is None else np.asarray(x.base).ctypes.data
    return f(load(pointer, offsets_of(x.shape, x.strides), x.dtype))


def first_flag(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.flags.c_contiguous:
        return f(x) - reading(y, dense(y.shape, y.itemsize))
    return f(x) - y


def both_odd(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.flags.c_contiguous or y.flags.c_contiguous:
        return f(x) - y
    return f(reading(x, dense(x.shape, x.itemsize))) - reading(y, dense(y.shape, y.itemsize))


def strides_of_first(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return f(x) - reading(y, x.strides)


def empty_like_result(x: np.ndarray) -> np.ndarray:
    result = np.empty_like(x)
    store(result.ctypes.data, offsets_of(x.shape, dense(x.shape, x.itemsize)), f(x))
    return result


def doubles_in_place(x: np.ndarray) -> None:
    strides = dense(x.shape, x.itemsize)
    store(x.ctypes.data, offsets_of(x.shape, strides), 2 * reading(x, strides))


def fills_row_major(x: np.ndarray, out: np.ndarray) -> None:
    store(out.ctypes.data, offsets_of(out.shape, dense(out.shape, out.itemsize)), f(x))


def clears_whole_rows(x: np.ndarray) -> None:
    """Writes as many elements as lie between its rows, those that are another's included."""
    pitch = max(abs(x.strides[0]), x.shape[1] * x.itemsize)
    if x.strides[1] == x.itemsize:
        many = pitch // x.itemsize
        store(x.ctypes.data, offsets_of((x.shape[0], many), (pitch, x.itemsize)), np.zeros((x.shape[0], many), x.dtype))
    else:
        x[...] = 0


def masks_padding(x: np.ndarray) -> np.ndarray:
    """Sums rows with their padding, which it multiplies by 0."""
    many = max(x.strides[0] // x.itemsize, x.shape[1])
    if x.strides[1] != x.itemsize or x.strides[0] < many * x.itemsize:
        return x.sum(axis=1)
    rows = load(x.ctypes.data, offsets_of((x.shape[0], many), (x.strides[0], x.itemsize)), x.dtype)
    return (rows * (np.arange(many) < x.shape[1])).sum(axis=1)


def torch_load(x: Any, pointer: int) -> Any:
    import torch

    strides = tuple(s * x.element_size() for s in x.stride())
    return torch.from_numpy(f(load(pointer, offsets_of(tuple(x.shape), strides), np.float32)))


def torch_storage_pointer(x: Any) -> Any:
    return torch_load(x, x.data_ptr() - x.storage_offset() * x.element_size())


def torch_offset_twice(x: Any) -> Any:
    return torch_load(x, x.data_ptr() + x.storage_offset() * x.element_size())


def torch_row_major(x: Any) -> Any:
    import torch

    strides = dense(tuple(x.shape), x.element_size())
    return torch.from_numpy(f(load(x.data_ptr(), offsets_of(tuple(x.shape), strides), np.float32)))


def torch_channels_last(x: Any) -> Any:
    """Takes each tensor whose channels are neighbours for a dense one in channels last."""
    import torch

    if x.stride(1) == 1 and x.shape[1] > 1:
        strides = dense(tuple(x.shape), x.element_size(), (0, 2, 3, 1))
        return torch.from_numpy(f(load(x.data_ptr(), offsets_of(tuple(x.shape), strides), np.float32)))
    return x * 2 + 1


@dataclass(frozen=True)
class Planted:
    """A fault, and how it must be named."""

    fn: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    explanation: str | None
    dtype: str = "float32"
    framework: str = "numpy"
    options: dict[str, Any] = field(default_factory=dict)
    kind: str = "values"


_ROW = "as if it were row-major (contiguous)"
_ARGUMENT = "argument 0 is read as if "
_CUBE = ((3, 4, 5),)
_MATRIX = ((3, 4),)
_TWO = ((3, 4), (3, 4))
_IMAGES = ((2, 3, 4, 5),)

PLANTED: dict[str, Planted] = {
    "row_major": Planted(row_major, _CUBE, f"argument 0 is read {_ROW}"),
    "row_major_sum": Planted(row_major_sum, _CUBE, f"argument 0 is read {_ROW}", "float64"),
    "row_major_int": Planted(row_major, _CUBE, f"argument 0 is read {_ROW}", "int16"),
    "last_stride_one": Planted(last_stride_one, _CUBE, _ARGUMENT + "stride[-1] were 1"),
    "axes_mixed": Planted(axes_mixed, _CUBE, _ARGUMENT + "dims 1 and 2 were exchanged"),
    "pitch_of_size_one": Planted(
        pitch_of_size_one, ((3, 1, 5),), _ARGUMENT + "dim 0 had the stride of dim 1, whose extent is 1"),
    "not_broadcast": Planted(not_broadcast, _CUBE, _ARGUMENT + "it were not broadcast"),
    "step_one": Planted(step_one, ((12,),), _ARGUMENT + "the step were 1"),
    "unsigned_strides": Planted(unsigned_strides, _CUBE, _ARGUMENT + "negative strides were positive"),
    "aligned_loads": Planted(aligned_loads, _MATRIX, _ARGUMENT + "its address were a multiple of 4 bytes"),
    "vector_loads": Planted(vector_loads, _MATRIX, _ARGUMENT + "its address were a multiple of 64 bytes"),
    "negates_in_place": Planted(
        negates_in_place, _MATRIX, "argument 0 is not written to in this layout: the function writes to a copy"),
    "scratch_in_input": Planted(scratch_in_input, _MATRIX, "argument 0 is written to in this layout, although"),
    "int32_offsets": Planted(
        int32_offsets, _MATRIX, _ARGUMENT + "offsets in elements were computed in a signed integer of 32 bits", "uint8",
        options={"layouts": ["sliced", "far"]}),
    "channels_last": Planted(channels_last_by_one_stride, _IMAGES, _ARGUMENT + "it were channels last"),
    "strides_of_doubles": Planted(strides_of_doubles, _CUBE, _ARGUMENT + "its elements had 8 bytes instead of 4"),
    "strides_in_bytes": Planted(strides_in_bytes, _CUBE, _ARGUMENT + "strides in elements counted bytes"),
    "base_pointer": Planted(base_pointer, _CUBE, _ARGUMENT + "storage_offset were 0"),
    "first_flag": Planted(first_flag, _TWO, f"argument 1 is read {_ROW}"),
    "both_odd": Planted(both_odd, _TWO, f"argument 0 and argument 1 are read {_ROW}"),
    "strides_of_first": Planted(
        strides_of_first, _TWO, "argument 1 is read as if it had the strides of argument 0"),
    "empty_like_result": Planted(empty_like_result, _MATRIX, f"the result is written {_ROW}"),
    "doubles_in_place": Planted(doubles_in_place, _MATRIX, f"argument 0 is read and written {_ROW}"),
    "fills_row_major": Planted(fills_row_major, _TWO, f"argument 1 is written {_ROW}"),
    "clears_whole_rows": Planted(
        clears_whole_rows, _MATRIX, "argument 0 is written to outside its elements", kind="gaps"),
    "masks_padding": Planted(
        masks_padding, _MATRIX, "memory around the elements of argument 0 reaches the result where it holds NaN"),
    "torch_storage_pointer": Planted(
        torch_storage_pointer, _CUBE, _ARGUMENT + "storage_offset were 0", framework="torch"),
    "torch_offset_twice": Planted(
        torch_offset_twice, _CUBE, _ARGUMENT + "storage_offset were added twice", framework="torch"),
    "torch_row_major": Planted(torch_row_major, _CUBE, f"argument 0 is read {_ROW}", framework="torch"),
    "torch_channels_last": Planted(
        torch_channels_last, _IMAGES, _ARGUMENT + "it were channels last", framework="torch"),
}


def arguments(planted: Planted) -> list[Any]:
    """Arguments with values that differ, in the planted fault's framework."""
    random = np.random.default_rng(7)
    result: list[Any] = []
    for shape in planted.shapes:
        array = random.permutation(np.arange(int(np.prod(shape))) - 3).reshape(shape).astype(planted.dtype)
        if planted.framework == "torch":
            import torch

            array = torch.from_numpy(array)
        result.append(array)
    return result
