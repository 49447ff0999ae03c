"""Kernels in C, called by way of ctypes: right ones, and the same with a fault in how they read an argument's layout.

The C functions take a pointer and strides in bytes for each array and are right for any layout. What an argument is
said to look like is decided by a reading, such as `here` (as it is) or `row_major` (strides are not looked at).
Example: `matmul(a, b, b_as=row_major)` is a matmul that takes b for contiguous.
"""

from __future__ import annotations

import ctypes
import functools
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from kernels import dense

SOURCE = Path(__file__).with_name("c_kernels.c")
Memory = tuple[int, tuple[int, ...]]  # a pointer, and strides in bytes
Reading = Callable[[np.ndarray], Memory]


@functools.cache
def library() -> ctypes.CDLL:
    """The C file, compiled by the system's compiler."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c_kernels.so"
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", str(path), str(SOURCE), "-lm"], check=True)
        return ctypes.CDLL(str(path))


def run(name: str, *parts: Memory | int) -> None:
    arguments: list[object] = []
    for part in parts:
        if isinstance(part, int):
            arguments.append(ctypes.c_int64(part))
        else:
            pointer, strides = part
            arguments += [ctypes.c_void_p(pointer), (ctypes.c_int64 * max(len(strides), 1))(*strides)]
    getattr(library(), name)(*arguments)


def here(x: np.ndarray) -> Memory:
    return x.ctypes.data, x.strides


def row_major(x: np.ndarray) -> Memory:
    return x.ctypes.data, dense(x.shape, x.itemsize)


def dense_columns(x: np.ndarray) -> Memory:
    """Takes each matrix whose rows are not contiguous for a transposed dense one."""
    is_dense = x.strides[-1] == x.itemsize
    return x.ctypes.data, x.strides if is_dense else dense(x.shape, x.itemsize, tuple(reversed(range(x.ndim))))


def last_one(x: np.ndarray) -> Memory:
    return x.ctypes.data, (*x.strides[:-1], x.itemsize)


def tight_rows(x: np.ndarray) -> Memory:
    """Takes the distance of rows for their length wherever rows are contiguous."""
    pitch = x.shape[-1] * x.itemsize
    return x.ctypes.data, (*x.strides[:-2], pitch, x.strides[-1]) if x.strides[-1] == x.itemsize else x.strides


def positive(x: np.ndarray) -> Memory:
    return x.ctypes.data, tuple(abs(stride) for stride in x.strides)


def full(x: np.ndarray) -> Memory:
    """Takes a stride of 0 for one that was not filled in."""
    whole = dense(x.shape, x.itemsize)
    return x.ctypes.data, tuple(s or other for s, other in zip(x.strides, whole, strict=True))


def exchanged(x: np.ndarray) -> Memory:
    """Exchanges the last two strides of what is not contiguous."""
    return x.ctypes.data, x.strides if x.flags.c_contiguous else (*x.strides[:-2], x.strides[-1], x.strides[-2])


def from_base(x: np.ndarray) -> Memory:
    return (x if x.base is None else np.asarray(x.base)).ctypes.data, x.strides


def aligned(x: np.ndarray) -> Memory:
    return x.ctypes.data // 16 * 16, x.strides


def nhwc_or_nchw(x: np.ndarray) -> Memory:
    """Takes each image whose channels are neighbours for a dense one in channels last."""
    is_last = x.strides[1] == x.itemsize and x.shape[1] > 1
    return x.ctypes.data, dense(x.shape, x.itemsize, (0, 2, 3, 1)) if is_last else x.strides


def pitch_of_dim_one(x: np.ndarray) -> Memory:
    """Of shape (n, 1, w): takes the stride of dim 1 for the distance of the rows."""
    return x.ctypes.data, (x.strides[1], x.strides[1], x.strides[2])


def result(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, q_as: Reading = here, k_as: Reading = here,
              v_as: Reading = here) -> np.ndarray:
    out = result(q.shape[0], q.shape[1], v.shape[2])
    run("attention", q_as(q), k_as(k), v_as(v), here(out), *q.shape, k.shape[1], v.shape[2])
    return out


def layer_norm(x: np.ndarray, w: np.ndarray, b: np.ndarray, x_as: Reading = here, w_as: Reading = here,
               b_as: Reading = here, width: int | None = None) -> np.ndarray:
    out = result(*x.shape)
    run("layer_norm", x_as(x), w_as(w), b_as(b), here(out), *x.shape, x.shape[1] if width is None else width)
    return out


def matmul(a: np.ndarray, b: np.ndarray, a_as: Reading = here, b_as: Reading = here) -> np.ndarray:
    out = result(a.shape[0], b.shape[1])
    run("matmul", a_as(a), b_as(b), here(out), *a.shape, b.shape[1])
    return out


def concat(x: np.ndarray, y: np.ndarray, x_as: Reading = here, y_as: Reading = here) -> np.ndarray:
    out = result(x.shape[0], x.shape[1] + y.shape[1])
    run("copy", x_as(x), here(out), *x.shape)
    run("copy", y_as(y), here(out[:, x.shape[1]:]), *y.shape)
    return out


def gather(table: np.ndarray, rows: np.ndarray, table_as: Reading = here, rows_as: Reading = here) -> np.ndarray:
    out = result(len(rows), table.shape[1])
    run("gather", table_as(table), rows_as(rows), here(out), len(rows), table.shape[1])
    return out


def scatter_add(out: np.ndarray, rows: np.ndarray, x: np.ndarray, out_as: Reading = here, rows_as: Reading = here,
                x_as: Reading = here) -> None:
    run("scatter_add", out_as(out), rows_as(rows), x_as(x), *x.shape)


def softmax(x: np.ndarray, x_as: Reading = here) -> np.ndarray:
    out = result(*x.shape)
    run("softmax", x_as(x), here(out), *x.shape)
    return out


def batch_norm(x: np.ndarray, w: np.ndarray, x_as: Reading = here, w_as: Reading = here) -> np.ndarray:
    out = result(*x.shape)
    run("batch_norm", x_as(x), w_as(w), here(out), *x.shape)
    return out


def bias_add(x: np.ndarray, b: np.ndarray, x_as: Reading = here, b_as: Reading = here) -> np.ndarray:
    out = result(*x.shape)
    run("bias_add", x_as(x), b_as(b), here(out), *x.shape)
    return out


def max_pool(x: np.ndarray, out: np.ndarray, x_as: Reading = here, out_as: Reading = here) -> None:
    """The larger one of each element and the next of its row."""
    if out.shape != (x.shape[0], x.shape[1] - 1):
        raise ValueError("max_pool: the result has one column less")
    run("max_pool", x_as(x), out_as(out), *out.shape)


def transpose(x: np.ndarray, out: np.ndarray, x_as: Reading = here, out_as: Reading = here) -> None:
    pointer, strides = out_as(out)
    run("copy", x_as(x), (pointer, strides[::-1]), *x.shape)


def dot(x: np.ndarray, y: np.ndarray, x_as: Reading = here, y_as: Reading = here) -> np.ndarray:
    out = result()
    run("dot", x_as(x), y_as(y), (out.ctypes.data, ()), *x.shape)
    return out


def row_sums(x: np.ndarray, x_as: Reading = here) -> np.ndarray:
    """Of shape (n, 1, w)."""
    out = result(x.shape[0])
    pointer, strides = x_as(x)
    run("row_sums", (pointer, (strides[0], strides[2])), here(out), x.shape[0], x.shape[2])
    return out
