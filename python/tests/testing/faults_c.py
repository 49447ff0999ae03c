"""Faults in what callers of the C kernels say about one of the arguments' layouts.

`FAULTS` has a row for every one: the faulty kernel, the right one, which argument is misread, and how.
Example: `attention_k` passes its second argument to C as if it were contiguous.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import c_kernels as c
import numpy as np


class Fault(NamedTuple):
    """A faulty kernel beside the right one, and its arguments' shapes or the arguments themselves."""

    wrong: Any
    right: Any
    arguments: tuple[Any, ...]  # shapes; an integer array is taken as it is
    at: int | str = 0  # the argument that is to blame
    explanation: str = ""  # how the report's explanation ends, if it has to


def attention_k(q, k, v):
    return c.attention(q, k, v, k_as=c.row_major)


def attention_v(q, k, v):
    """Reads v by the strides of k, which has the same shape."""
    return c.attention(q, k, v, v_as=lambda v: (v.ctypes.data, k.strides))


def attention_q(q, k, v):
    return c.attention(q, k, v, q_as=c.exchanged)


def layer_norm_x(x, w, b):
    return c.layer_norm(x, w, b, x_as=c.last_one)


def layer_norm_w(x, w, b):
    return c.layer_norm(x, w, b, w_as=c.row_major)


def layer_norm_b(x, w, b):
    return c.layer_norm(x, w, b, b_as=c.positive)


def layer_norm_padding(x, w, b):
    """Takes the mean of all that lies between the starts of two rows."""
    return c.layer_norm(x, w, b, width=max(x.strides[0] // 4, 1) if x.strides[1] == 4 else None)


def matmul_b(a, b):
    return c.matmul(a, b, b_as=c.row_major)


def matmul_a(a, b):
    return c.matmul(a, b, a_as=c.dense_columns)


def matmul_both(a, b):
    """Looks at the strides of both, or at none."""
    is_plain = a.flags.c_contiguous or b.flags.c_contiguous
    return c.matmul(a, b) if is_plain else c.matmul(a, b, b_as=c.row_major)


def concat_y(x, y):
    """Reads the second one by the strides of the first."""
    return c.concat(x, y, y_as=lambda y: (y.ctypes.data, x.strides))


def concat_rows(x, y):
    return c.concat(x, y, x_as=c.tight_rows)


def gather_table(table, rows):
    return c.gather(table, rows, table_as=c.tight_rows)


def gather_rows(table, rows):
    return c.gather(table, rows, rows_as=c.row_major)


def gather_aligned(table, rows):
    return c.gather(table, rows, rows_as=c.aligned)


def scatter_add_rows(out, rows, x):
    """Starts at the start of the buffer, which for negative strides is read from before it."""
    c.scatter_add(out, rows, x, rows_as=c.from_base)


def scatter_add_out(out, rows, x):
    c.scatter_add(out, rows, x, out_as=c.from_base)


def scatter_add_x(out, rows, x):
    c.scatter_add(out, rows, x, x_as=c.last_one)


def softmax_in_place(x):
    """Works in its input where that is not contiguous."""
    if x.flags.c_contiguous or not x.flags.writeable:
        return c.softmax(x)
    x[...] = x - x.max(axis=1, keepdims=True)
    return c.softmax(x)


def softmax_columns(x):
    return c.softmax(x, x_as=c.exchanged)


def batch_norm_x(x, w):
    return c.batch_norm(x, w, x_as=c.nhwc_or_nchw)


def bias_add_b(x, b):
    return c.bias_add(x, b, b_as=c.full)


def bias_add_x(x, b):
    return c.bias_add(x, b, x_as=c.aligned)


def max_pool_out(x, out):
    """Clears whole rows of the result before it is written."""
    pitch = out.strides[0]
    if out.strides[1] == 4 and pitch > 0:
        zero = np.zeros(1, np.float32)
        c.run("copy", (zero.ctypes.data, (0, 0)), (out.ctypes.data, (pitch, 4)), len(out), pitch // 4)
    c.max_pool(x, out)


def transpose_out(x, out):
    c.transpose(x, out, out_as=c.row_major)


def dot_y(x, y):
    return c.dot(x, y, y_as=c.positive)


def row_sums_of_one(x):
    return c.row_sums(x, x_as=c.pitch_of_dim_one)


Q, W = (2, 4, 3), (5,)
ROWS = np.array([4, 0, 2, 5])
ROW = "as if it were row-major (contiguous)"

FAULTS = {
    "attention_k": Fault(attention_k, c.attention, (Q, Q, Q), 1, ROW),
    "attention_v": Fault(attention_v, c.attention, (Q, Q, Q), 2, "as if it had the strides of argument 1"),
    "attention_q": Fault(attention_q, c.attention, (Q, Q, Q), 0, "as if dims 1 and 2 were exchanged"),
    "layer_norm_x": Fault(layer_norm_x, c.layer_norm, ((3, 5), W, W), 0, "as if stride[-1] were 1"),
    "layer_norm_w": Fault(layer_norm_w, c.layer_norm, ((3, 5), W, W), 1),
    "layer_norm_b": Fault(layer_norm_b, c.layer_norm, ((3, 5), W, W), 2, "as if negative strides were positive"),
    "layer_norm_padding": Fault(layer_norm_padding, c.layer_norm, ((3, 5), W, W), 0),
    "matmul_b": Fault(matmul_b, c.matmul, ((3, 4), (4, 5)), 1, ROW),
    "matmul_a": Fault(matmul_a, c.matmul, ((3, 4), (4, 5)), 0, "as if it were column-major"),
    "matmul_both": Fault(matmul_both, c.matmul, ((4, 4), (4, 4)), "both"),
    "concat_y": Fault(concat_y, c.concat, ((3, 4), (3, 4)), 1, "as if it had the strides of argument 0"),
    "concat_rows": Fault(concat_rows, c.concat, ((3, 4), (3, 2)), 0),
    "gather_table": Fault(gather_table, c.gather, ((6, 3), ROWS), 0),
    "gather_rows": Fault(gather_rows, c.gather, ((6, 3), ROWS), 1),
    "gather_aligned": Fault(gather_aligned, c.gather, ((6, 3), ROWS), 1,
                            "as if its address were a multiple of 16 bytes (rounded down)"),
    "scatter_add_rows": Fault(scatter_add_rows, c.scatter_add, ((6, 3), ROWS, (4, 3)), 1,
                              "as if storage_offset were 0"),
    "scatter_add_out": Fault(scatter_add_out, c.scatter_add, ((6, 3), ROWS, (4, 3)), 0, "as if storage_offset were 0"),
    "scatter_add_x": Fault(scatter_add_x, c.scatter_add, ((6, 3), ROWS, (4, 3)), 2, "as if stride[-1] were 1"),
    "softmax_in_place": Fault(softmax_in_place, c.softmax, ((3, 5),), 0),
    "softmax_columns": Fault(softmax_columns, c.softmax, ((3, 5),), 0, "as if dims 0 and 1 were exchanged"),
    "batch_norm_x": Fault(batch_norm_x, c.batch_norm, ((2, 3, 2, 4), (3,)), 0, "as if it were channels last"),
    "bias_add_b": Fault(bias_add_b, c.bias_add, ((3, 5), W), 1, "as if it were not broadcast"),
    "bias_add_x": Fault(bias_add_x, c.bias_add, ((3, 5), W), 0,
                        "as if its address were a multiple of 16 bytes (rounded down)"),
    "max_pool_out": Fault(max_pool_out, c.max_pool, ((3, 5), (3, 4)), 1),
    "transpose_out": Fault(transpose_out, c.transpose, ((3, 5), (5, 3)), 1, ROW),
    "dot_y": Fault(dot_y, c.dot, ((7,), (7,)), 1, "as if negative strides were positive"),
    "row_sums_of_one": Fault(row_sums_of_one, c.row_sums, ((3, 1, 5),), 0,
                             "as if dim 0 had the stride of dim 1, whose extent is 1"),
}
