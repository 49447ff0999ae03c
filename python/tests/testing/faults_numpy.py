"""Kernels in NumPy with a fault each, beside right ones.

NumPy's own calls handle strides rightly. What goes wrong in practice is memory order: `ravel("K")`, `reshape` with
order "A", `empty_like`, `as_strided` with strides that were computed from the shape, `base`, and flags.
"""

from __future__ import annotations

import numpy as np
from faults_c import Fault
from kernels import dense
from numpy.lib.stride_tricks import as_strided


def softmax(x):
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def softmax_in_memory_order(x):
    return softmax(x.ravel("K").reshape(x.shape))


def softmax_of_fortran(x):
    """Transposes what is in the order of Fortran, and forgets to transpose it back."""
    is_fortran = x.flags.f_contiguous and not x.flags.c_contiguous
    return softmax(x.T.reshape(x.shape) if is_fortran else x)


def layer_norm(x, w, b):
    mean, variance = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1) * w + b


def layer_norm_in_order_a(x, w, b):
    return layer_norm(x.reshape(-1, order="A").reshape(x.shape), w, b)


def layer_norm_w(x, w, b):
    """Reads the weights from where they start, one after the other."""
    return layer_norm(x, as_strided(w, w.shape, (w.itemsize,)), b)


def batch_norm(x, w):
    return (x - x.mean(axis=(0, 2, 3), keepdims=True)) * w[:, None, None]


def batch_norm_flipped(x, w):
    return batch_norm(as_strided(x, x.shape, tuple(abs(stride) for stride in x.strides)), w)


def batch_norm_w(x, w):
    step = w.strides[0] or w.itemsize
    return batch_norm(x, as_strided(w, w.shape, (step,)))


def matmul(a, b):
    return a @ b


def matmul_swapped(a, b):
    """Takes what is not contiguous for a transposed matrix."""
    if b.flags.c_contiguous:
        return a @ b
    return a @ as_strided(b, b.shape, dense(b.shape, b.itemsize, (1, 0)))


def concat(x, y):
    return np.concatenate([x, y], axis=0)


def concat_of_memory(x, y):
    return np.concatenate([x.ravel("C"), y.ravel("K")]).reshape(-1, x.shape[1])


def gather(table, rows):
    return table[rows]


def gather_from_base(table, rows):
    """Starts at the start of the buffer."""
    if table.base is None or min(table.strides) < 0:
        return table[rows]
    base = np.asarray(table.base).reshape(-1).view(np.uint8)
    return np.ndarray(table.shape, table.dtype, base.data, 0, table.strides)[rows]


def attention(q, k, v):
    return np.einsum("bqd,bkd,bke->bqe", q, k, v)


def attention_in_memory_order(q, k, v):
    return attention(q, k, np.ascontiguousarray(v.ravel("K").reshape(v.shape)))


def attention_shares_strides(q, k, v):
    return attention(q, as_strided(k, k.shape, q.strides), v)


def bias_add(x, b):
    return x + b


def bias_add_like(x, b):
    """Fills a result that has the memory order of the input as if it had rows."""
    out = np.empty_like(x)
    out.ravel("K")[...] = 0
    memory = out.T if out.flags.f_contiguous and not out.flags.c_contiguous else out
    memory.reshape(-1)[...] = (x + b).ravel()
    return out


def max_pool(x):
    return np.maximum(x[:, :-1], x[:, 1:])


def max_pool_windows(x):
    shape, strides = (x.shape[0], x.shape[1] - 1, 2), dense(x.shape, x.itemsize)
    return as_strided(x, shape, (*strides, x.itemsize)).max(axis=2)


def relu(x):
    return np.maximum(x, 0)


def relu_in_place(x):
    return relu(x) if x.flags.c_contiguous or not x.flags.writeable else np.maximum(x, 0, out=x)


def sum_of_longest_stride(x):
    """Sums over the outermost dim, and takes the one with the largest stride for that."""
    return x.sum(axis=int(np.argmax(np.abs(x.strides))))


def sum_of_first(x):
    return x.sum(axis=0)


def norm(x):
    return np.sqrt((x * x).sum())


def norm_in_two_types(x):
    return norm(x) if x.flags.c_contiguous else norm(x.astype(np.float64))


Q = (2, 4, 3)
FAULTS = {
    "numpy_softmax_in_memory_order": Fault(softmax_in_memory_order, softmax, ((3, 5),)),
    "numpy_softmax_of_fortran": Fault(softmax_of_fortran, softmax, ((3, 5),)),
    "numpy_layer_norm_in_order_a": Fault(layer_norm_in_order_a, layer_norm, ((3, 5), (5,), (5,))),
    "numpy_layer_norm_w": Fault(layer_norm_w, layer_norm, ((3, 5), (5,), (5,)), 1),
    "numpy_batch_norm_flipped": Fault(batch_norm_flipped, batch_norm, ((2, 3, 2, 4), (3,)), 0,
                                      "as if negative strides were positive"),
    "numpy_batch_norm_w": Fault(batch_norm_w, batch_norm, ((2, 3, 2, 4), (3,)), 1, "as if it were not broadcast"),
    "numpy_matmul_swapped": Fault(matmul_swapped, matmul, ((3, 4), (4, 5)), 1, "as if it were column-major"),
    "numpy_concat_of_memory": Fault(concat_of_memory, concat, ((2, 4), (3, 4)), 1),
    "numpy_gather_from_base": Fault(gather_from_base, gather, ((6, 3), np.array([4, 0, 2, 5])), 0,
                                    "as if storage_offset were 0"),
    "numpy_attention_in_memory_order": Fault(attention_in_memory_order, attention, (Q, Q, Q), 2),
    "numpy_attention_shares_strides": Fault(attention_shares_strides, attention, (Q, Q, (2, 4, 5)), 1,
                                            "as if it had the strides of argument 0"),
    "numpy_bias_add_like": Fault(bias_add_like, bias_add, ((3, 5), (5,))),
    "numpy_max_pool_windows": Fault(max_pool_windows, max_pool, ((3, 5),)),
    "numpy_relu_in_place": Fault(relu_in_place, relu, ((3, 5),)),
    "numpy_sum_of_longest_stride": Fault(sum_of_longest_stride, sum_of_first, ((4, 4),)),
    "numpy_norm_in_two_types": Fault(norm_in_two_types, norm, ((3, 5),)),
}
