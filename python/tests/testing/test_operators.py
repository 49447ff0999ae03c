"""Operators of NumPy and PyTorch, which handle strides rightly, pass without a false alarm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from relayout.testing import assert_layout_invariant

_random = np.random.default_rng(11)
A = _random.standard_normal((3, 4, 5))
B = _random.standard_normal((3, 4, 5))
M = _random.standard_normal((4, 6)).astype(np.float32)
N = _random.standard_normal((6, 3)).astype(np.float32)
S = _random.standard_normal((4, 4)) + 4 * np.eye(4)
V = _random.standard_normal(12)
I = _random.integers(0, 9, (5, 6))  # noqa: E741
T = _random.standard_normal((2, 1, 4, 1))

Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]

NUMPY: dict[str, Call] = {
    "add": (np.add, (A, B), {}),
    "multiply_broadcasting": (np.multiply, (A, _random.standard_normal(5)), {}),
    "exp_half": (np.exp, (A.astype(np.float16),), {}),
    "sum": (np.sum, (A,), {"axis": 1}),
    "sum_of_all": (np.sum, (A.astype(np.float32),), {}),
    "mean": (np.mean, (A,), {"axis": (0, 2)}),
    "max": (np.max, (A,), {"axis": -1}),
    "argmax": (np.argmax, (A,), {"axis": 0}),
    "cumsum": (np.cumsum, (A,), {"axis": 1}),
    "diff": (np.diff, (A,), {}),
    "sort": (np.sort, (A,), {"axis": 0}),
    "argsort": (np.argsort, (V,), {"kind": "stable"}),
    "unique": (np.unique, (I,), {"return_counts": True}),
    "matmul": (np.matmul, (M, N), {}),
    "batched_matmul": (np.matmul, (A, B.transpose(0, 2, 1)), {}),
    "dot": (np.dot, (M, N), {}),
    "einsum": (lambda a, b: np.einsum("ijk,ijl->kl", a, b), (A, B), {}),
    "tensordot": (np.tensordot, (A, B), {"axes": ([0, 1], [0, 1])}),
    "outer": (np.outer, (V, V), {}),
    "kron": (np.kron, (M, N), {}),
    "solve": (np.linalg.solve, (S, S[:, :2]), {}),
    "inv": (np.linalg.inv, (S,), {}),
    "det": (np.linalg.det, (S,), {}),
    "svdvals": (lambda s: np.linalg.svd(s, compute_uv=False), (S,), {}),
    "norm": (np.linalg.norm, (A,), {}),
    "fft": (np.fft.fft, (A,), {"axis": 1}),
    "rfft2": (np.fft.rfft2, (A,), {}),
    "concatenate": (lambda *arrays: np.concatenate(arrays, axis=1), (A, B), {}),
    "stack_of_list": (np.stack, ([A, B],), {"axis": 2}),
    "reshape": (np.reshape, (A, (5, 12)), {}),
    "ravel": (np.ravel, (A,), {}),
    "transpose": (np.transpose, (A, (2, 0, 1)), {}),
    "where": (np.where, (A > 0, A, B), {}),
    "take": (np.take, (A, I % 4), {"axis": 1}),
    "fancy": (lambda a, i: a[:, i], (A, np.array([0, 2, 1])), {}),
    "boolean": (lambda a, m: a[m], (A, B > 0), {}),
    "bincount": (lambda i: np.bincount(i.reshape(-1)), (I,), {}),
    "histogram": (np.histogram, (V,), {"bins": 4, "range": (-3.0, 3.0)}),
    "searchsorted": (np.searchsorted, (np.sort(V), V), {}),
    "interp": (np.interp, (V, np.arange(5.0), np.arange(5.0) ** 2), {}),
    "convolve": (np.convolve, (V, V[:3]), {}),
    "packbits": (np.packbits, (I.astype(np.uint8),), {"axis": 1}),
    "clip_complex_parts": (lambda z: (z.real, z.imag, np.abs(z)), (A + 1j * B,), {}),
    "pad": (np.pad, (A, 2), {"mode": "reflect"}),
    "roll_size_one": (np.roll, (T, 1), {"axis": 2}),
    "tobytes": (lambda a: a.tobytes(), (A,), {}),
    "copyto": (lambda out, a: np.copyto(out, a), (np.zeros_like(A), A), {}),
    "in_place": (lambda a, b: a.__iadd__(b), (A, B), {}),
    "out": (lambda a, out: np.negative(a, out=out), (A, np.zeros_like(A)), {}),
    "add_at": (lambda a, i, v: np.add.at(a, i, v), (np.zeros(9), I[0], V[:6]), {}),
    "dict_of_arrays": (lambda d: {"sum": d["a"] + d["b"], "rows": [d["a"][0], 3, None]}, ({"a": A, "b": B},), {}),
    "uint8": (lambda a: a // 3 + (a << 1), (I.astype(np.uint8),), {}),
    "datetime": (lambda t: t + np.timedelta64(1, "D"), (np.arange(6).astype("datetime64[D]").reshape(2, 3),), {}),
    "scalar_argument": (lambda a: a * 2, (np.array(3.5),), {}),
    "empty": (np.sum, (np.zeros((3, 0)),), {}),
}


@pytest.mark.parametrize("name", NUMPY)
def test_numpy(name: str) -> None:
    fn, args, kwargs = NUMPY[name]
    count = assert_layout_invariant(fn, *args, **kwargs)
    assert count >= (0 if name == "empty" else 4)


def _tensors(torch: Any, *shapes: tuple[int, ...]) -> tuple[Any, ...]:
    generator = torch.Generator().manual_seed(5)
    return tuple(torch.randn(shape, generator=generator) for shape in shapes)


def _gradient(torch: Any) -> Call:
    x, w = _tensors(torch, (3, 4), (4, 2))
    return (lambda x, w: (x @ w).tanh().sum().backward()), (x.requires_grad_(), w.requires_grad_()), {}


def _bfloat(torch: Any) -> Call:
    return torch.mul, tuple(t.to(torch.bfloat16) for t in _tensors(torch, (3, 4), (3, 4))), {}


def _index(torch: Any) -> Call:
    x, = _tensors(torch, (5, 4))
    return torch.index_select, (x, 0, torch.tensor([0, 3, 1])), {}


def _embedding(torch: Any) -> Call:
    w, = _tensors(torch, (9, 4))
    return torch.nn.functional.embedding, (torch.arange(6).reshape(2, 3), w), {}


def _scatter(torch: Any) -> Call:
    x, y = _tensors(torch, (4, 5), (4, 5))
    return (lambda x, i, y: x.scatter_add_(0, i, y)), (x, torch.arange(20).reshape(4, 5) % 4, y), {}


def torch_calls() -> dict[str, Callable[[Any], Call]]:
    """Name -> what makes the call from the module torch."""
    image, weight = (2, 4, 6, 5), (3, 4, 3, 3)

    def of(find: Callable[[Any], Callable[..., Any]], *shapes: tuple[int, ...], **kwargs: Any) -> Callable[[Any], Call]:
        return lambda torch: (find(torch), _tensors(torch, *shapes), kwargs)

    return {
        "add": of(lambda t: t.add, (3, 4, 5), (3, 4, 5)),
        "mul_broadcasting": of(lambda t: t.mul, (3, 4, 5), (5,)),
        "exp": of(lambda t: t.exp, (3, 4, 5)),
        "sum": of(lambda t: t.sum, (3, 4, 5), dim=1),
        "mean": of(lambda t: t.mean, (3, 4, 5), dim=(0, 2)),
        "max": of(lambda t: lambda x: tuple(x.max(dim=1)), (3, 4, 5)),
        "cumsum": of(lambda t: t.cumsum, (3, 4, 5), dim=0),
        "sort": of(lambda t: lambda x: tuple(t.sort(x, dim=1)), (3, 4)),
        "topk": of(lambda t: lambda x: tuple(t.topk(x, 2)), (3, 4)),
        "matmul": of(lambda t: t.matmul, (3, 4), (4, 5)),
        "bmm": of(lambda t: t.bmm, (2, 3, 4), (2, 4, 5)),
        "addmm": of(lambda t: t.addmm, (3, 5), (3, 4), (4, 5)),
        "einsum": of(lambda t: lambda a, b: t.einsum("bij,bjk->ik", a, b), (2, 3, 4), (2, 4, 5)),
        "linear": of(lambda t: t.nn.functional.linear, (3, 4), (5, 4), (5,)),
        "conv1d": of(lambda t: t.nn.functional.conv1d, (2, 4, 8), (3, 4, 3), padding=1),
        "conv2d": of(lambda t: t.nn.functional.conv2d, image, weight, (3,), padding=1),
        "conv2d_groups": of(lambda t: t.nn.functional.conv2d, image, (4, 1, 3, 3), groups=4, stride=2),
        "conv_transpose2d": of(lambda t: t.nn.functional.conv_transpose2d, image, (4, 3, 3, 3)),
        "max_pool2d": of(lambda t: lambda x: t.nn.functional.max_pool2d(x, 2), image),
        "avg_pool2d": of(lambda t: lambda x: t.nn.functional.avg_pool2d(x, 2), image),
        "interpolate": of(lambda t: lambda x: t.nn.functional.interpolate(x, scale_factor=2, mode="bilinear"), image),
        "softmax": of(lambda t: t.softmax, (3, 4, 5), dim=1),
        "layer_norm": of(lambda t: lambda x, w, b: t.nn.functional.layer_norm(x, (5,), w, b), (3, 4, 5), (5,), (5,)),
        "batch_norm": of(lambda t: lambda x, w, b: t.nn.functional.batch_norm(x, None, None, w, b, True),
                         image, (4,), (4,)),
        "group_norm": of(lambda t: lambda x: t.nn.functional.group_norm(x, 2), image),
        "cat": of(lambda t: lambda *x: t.cat(x, 1), (3, 4, 5), (3, 4, 5)),
        "reshape": of(lambda t: lambda x: x.reshape(5, 12), (3, 4, 5)),
        "permute": of(lambda t: lambda x: x.permute(2, 0, 1), (3, 4, 5)),
        "flip": of(lambda t: lambda x: t.flip(x, (0, 2)), (3, 4, 5)),
        "where": of(lambda t: lambda a, b: t.where(a > 0, a, b), (3, 4), (3, 4)),
        "copy": of(lambda t: lambda out, x: out.copy_(x), (3, 4), (3, 4)),
        "out": of(lambda t: lambda x, out: t.neg(x, out=out), (3, 4), (3, 4)),
        "relu_in_place": of(lambda t: t.relu_, (3, 4, 5)),
        "norm": of(lambda t: t.linalg.norm, (3, 4)),
        "fft": of(lambda t: lambda x: t.fft.fft(x, dim=1), (3, 4, 5)),
        "cdist": of(lambda t: t.cdist, (3, 4), (5, 4)),
        "size_one": of(lambda t: t.nn.functional.conv2d, (1, 4, 5, 1), (3, 4, 1, 1)),
        "unfold": of(lambda t: lambda x: t.nn.functional.unfold(x, 2), image),
        "gradient": _gradient,
        "bfloat16": _bfloat,
        "index_select": _index,
        "embedding": _embedding,
        "scatter_add": _scatter,
    }


@pytest.mark.parametrize("name", torch_calls())
def test_torch(name: str) -> None:
    torch = pytest.importorskip("torch")
    fn, args, kwargs = torch_calls()[name](torch)
    assert assert_layout_invariant(fn, *args, **kwargs) >= 8


@pytest.mark.parametrize("name", ["sum", "matmul", "where", "fft", "jit"])
def test_jax(name: str) -> None:
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    a, b = jnp.asarray(A, jnp.float32), jnp.asarray(B, jnp.float32)
    calls: dict[str, Call] = {
        "sum": (jnp.sum, (a,), {"axis": 1}),
        "matmul": (jnp.matmul, (a, b.transpose(0, 2, 1)), {}),
        "where": (jnp.where, (a > 0, a, b), {}),
        "fft": (jnp.fft.fft, (a,), {}),
        "jit": (jax.jit(lambda x, y: {"s": x + y, "t": x.T}), (a, b), {}),
    }
    fn, args, kwargs = calls[name]
    assert assert_layout_invariant(fn, *args, **kwargs) >= 1
