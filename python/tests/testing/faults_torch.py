"""Kernels in PyTorch with a fault each, beside right ones. PyTorch is imported by those that are called."""

from __future__ import annotations

from typing import Any

import numpy as np
from faults_c import Fault


def rows_of(x: Any) -> Any:
    """The memory from where x starts, as if x were contiguous."""
    strides, run = [], 1
    for n in reversed(x.shape):
        strides.insert(0, run)
        run *= n
    return x.as_strided(x.shape, strides, x.storage_offset())


def attention(q, k, v):
    return (q @ k.transpose(1, 2)) @ v


def attention_k(q, k, v):
    return attention(q, rows_of(k), v)


def layer_norm(x, w, b):
    import torch

    return torch.nn.functional.layer_norm(x, (x.shape[1],), w, b)


def layer_norm_without_offset(x, w, b):
    return layer_norm(x.as_strided(x.shape, x.stride(), 0), w, b)


def layer_norm_b(x, w, b):
    return layer_norm(x, w, rows_of(b))


def batch_norm(x, w):
    return (x - x.mean((0, 2, 3), keepdim=True)) * w[:, None, None]


def batch_norm_channels_last(x, w):
    n, c, height, width = x.shape
    if x.stride(1) == 1 and c > 1:
        x = x.as_strided(x.shape, (c * height * width, 1, c * width, c), x.storage_offset())
    return batch_norm(x, w)


def matmul(a, b):
    return a @ b


def matmul_transposed(a, b):
    """Takes what is not contiguous for a transposed matrix."""
    return a @ (b if b.is_contiguous() else b.as_strided(b.shape, (1, b.shape[0]), b.storage_offset()))


def softmax(x):
    return x.softmax(1)


def softmax_expanded(x):
    """Fills in strides of 0."""
    strides = [s if s else w for s, w in zip(x.stride(), (x.shape[1], 1), strict=True)]
    return softmax(x.as_strided(x.shape, strides, x.storage_offset()))


def gather(table, rows):
    return table[rows]


def gather_rows(table, rows):
    return table[rows_of(rows)]


def bias_add(x, b):
    return x + b


def bias_add_like(x, b):
    """Fills a result that has the memory order of the input as if it had rows."""
    import torch

    out = torch.empty_like(x)
    out.as_strided((x.numel(),), (1,)).copy_((x + b).reshape(-1))
    return out


def relu(x):
    return x.relu()


def relu_in_place(x):
    return x.relu() if x.is_contiguous() else x.relu_()


def concat(x, y):
    import torch

    return torch.cat([x, y], 1)


def concat_y(x, y):
    return concat(x, y.as_strided(y.shape, x.stride(), y.storage_offset()))


IMAGES, Q = (2, 3, 2, 4), (2, 4, 3)
FAULTS = {
    "torch_attention_k": Fault(attention_k, attention, (Q, Q, Q), 1, "as if it were row-major (contiguous)"),
    "torch_layer_norm_without_offset": Fault(layer_norm_without_offset, layer_norm, ((3, 5), (5,), (5,)), 0,
                                             "as if storage_offset were 0"),
    "torch_layer_norm_b": Fault(layer_norm_b, layer_norm, ((3, 5), (5,), (5,)), 2),
    "torch_batch_norm_channels_last": Fault(batch_norm_channels_last, batch_norm, (IMAGES, (3,)), 0,
                                            "as if it were channels last"),
    "torch_matmul_transposed": Fault(matmul_transposed, matmul, ((3, 4), (4, 5)), 1, "as if it were column-major"),
    "torch_softmax_expanded": Fault(softmax_expanded, softmax, ((3, 5),), 0, "as if it were not broadcast"),
    "torch_gather_rows": Fault(gather_rows, gather, ((6, 3), np.array([4, 0, 2, 5])), 1),
    "torch_bias_add_like": Fault(bias_add_like, bias_add, ((3, 5), (5,))),
    "torch_relu_in_place": Fault(relu_in_place, relu, ((3, 5),)),
    "torch_concat_y": Fault(concat_y, concat, ((3, 4), (3, 4)), 1, "as if it had the strides of argument 0"),
}
