"""What each system does for a case: relayout, NumPy, PyTorch, and einops on top of both.

A system gives functions in two variants: "new" allocates its result, "out" writes into memory that was there before.
NumPy and PyTorch work on the same memory. Where a library knows several ways, all are given, and the fastest counts.
Each result is compared with NumPy's once before anything is timed.
"""
import importlib

import numpy as np

NUMPY_TYPES = {"u8": np.uint8, "f16": np.float16, "f32": np.float32, "f64": np.float64}
VARIANTS = ("new", "out")
# What the systems are called in tables. Those of relayout differ in whose arrays they are given.
NAMES = {"relayout": "relayout", "relayout_tensors": "relayout on tensors", "numpy": "NumPy", "torch": "PyTorch",
         "einops_numpy": "einops on NumPy", "einops_torch": "einops on PyTorch"}
RIVALS = ("numpy", "torch", "einops_numpy", "einops_torch")


def installed(name):
    """The module of that name, or None."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


torch = installed("torch")
einops = installed("einops")
relayout = installed("relayout")


class Arrays:
    """The memory of one case: source and destination, as NumPy arrays and as tensors, and the two sides of the copy."""

    def __init__(self, case):
        self.case = case
        rng = np.random.default_rng(1)
        self.x = _random(rng, case.elements, case.dtype).reshape(case.shape)
        self.out = np.zeros(case.result_shape, NUMPY_TYPES[case.result_dtype])
        if self.out.nbytes == self.x.nbytes:
            self.copy_src, self.copy_dst = self.x.reshape(-1).view(np.uint8), self.out.reshape(-1).view(np.uint8)
        else:
            self.copy_src, self.copy_dst = np.ones(case.bytes // 2, np.uint8), np.ones(case.bytes // 2, np.uint8)
        for name in ("x", "out", "copy_src", "copy_dst") if torch else ():
            setattr(self, f"{name}_tensor", torch.from_numpy(getattr(self, name)))


def _random(rng, elements, dtype):
    kind = NUMPY_TYPES[dtype]
    if kind is np.uint8:
        return rng.integers(0, 256, elements, dtype=np.uint8)
    return rng.standard_normal(elements, dtype=np.float32).astype(kind, copy=False)


def _view(case, x, permute):
    """A function that gives the source in its permuted dims, by the `permute` of its class: always a view."""
    axes, split = case.axes, case.split
    return (lambda: permute(x, axes)) if split is None else (lambda: permute(x.reshape(split), axes))


def copies(arrays):
    """The yardstick in both variants, by each library that can copy."""
    src, dst = arrays.copy_src, arrays.copy_dst
    found = {"new": {"numpy": src.copy}, "out": {"numpy": lambda: np.copyto(dst, src)}}
    if torch:
        src_tensor, dst_tensor = arrays.copy_src_tensor, arrays.copy_dst_tensor
        found["new"]["torch"] = src_tensor.clone
        found["out"]["torch"] = lambda: dst_tensor.copy_(src_tensor)
    return found


def _relayout_calls(case, x, out, permute, threads):
    if case.layouts:
        src, dst = case.layouts
        how = {"threads": threads}
        if case.to_dtype:
            how.update(dtype=case.to_dtype, scale=case.scale)
        return {"new": {"convert": lambda: relayout.convert(x, src, dst, **how)},
                "out": {"convert": lambda: relayout.convert(x, src, dst, out=out, **how)}}
    if case.pattern:
        pattern, sizes = case.pattern, case.sizes
        return {"new": {"rearrange": lambda: relayout.rearrange(pattern, x, threads=threads, **sizes)},
                "out": {"rearrange": lambda: relayout.rearrange(pattern, x, out=out, threads=threads, **sizes)}}
    axes = case.axes
    return {"new": {"contiguous": lambda: relayout.contiguous(permute(x, axes), threads=threads)},
            "out": {"copy": lambda: relayout.copy(out, permute(x, axes), threads=threads)}}


def _numpy_calls(case, x, out):
    view = _view(case, x, np.ndarray.transpose)
    place = out.reshape(case.permuted)
    if case.to_dtype:
        kind, scale = NUMPY_TYPES[case.to_dtype], NUMPY_TYPES[case.to_dtype](case.scale)

        def dense_then_scaled():
            result = np.ascontiguousarray(view()).astype(kind)
            result *= scale
            return result
        return {"new": {"transpose, astype, /": lambda: np.ascontiguousarray(view()).astype(kind) / kind(255),
                        "transpose, astype, *=": dense_then_scaled,
                        "transpose, multiply": lambda: np.multiply(np.ascontiguousarray(view()), scale, dtype=kind),
                        "multiply of a view": lambda: np.multiply(view(), scale, dtype=kind, order="C")},
                "out": {"multiply of a view": lambda: np.multiply(view(), scale, out=place, dtype=kind),
                        "transpose, multiply": lambda: np.multiply(np.ascontiguousarray(view()), scale, out=place,
                                                                   dtype=kind)}}
    merged = case.merged
    new = (lambda: np.ascontiguousarray(view()).reshape(merged)) if merged else lambda: np.ascontiguousarray(view())
    return {"new": {"ascontiguousarray": new}, "out": {"copyto": lambda: np.copyto(place, view())}}


def _torch_calls(case, x, out):
    view = _view(case, x, torch.Tensor.permute)
    place = out.reshape(case.permuted)
    if case.to_dtype:
        kind, dense = torch.float32, torch.contiguous_format
        return {"new": {"permute, to, div_": lambda: view().to(kind).div_(255).contiguous(),
                        "permute, contiguous, to, div_": lambda: view().contiguous().to(kind).div_(255),
                        "permute, to a dense one, div_": lambda: view().to(kind, memory_format=dense).div_(255)},
                "out": {"div of a view": lambda: torch.div(view(), 255, out=place),
                        "copy_, div_": lambda: place.copy_(view()).div_(255),
                        "contiguous, div": lambda: torch.div(view().contiguous(), 255, out=place)}}
    merged = case.merged
    new = (lambda: view().contiguous().reshape(merged)) if merged else lambda: view().contiguous()
    return {"new": {"contiguous": new}, "out": {"copy_": lambda: place.copy_(view())}}


def _einops_calls(case, x, out, dense, write):
    pattern, sizes = case.pattern, case.sizes
    return {"new": {"rearrange": lambda: dense(einops.rearrange(x, pattern, **sizes))},
            "out": {"rearrange": lambda: write(out, einops.rearrange(x, pattern, **sizes))}}


def _torch_write(out, values):
    return out.copy_(values)


def _torch_dense(x):
    return x.contiguous()


def all_calls(arrays, threads):
    """Functions by system, variant and way: calls[system][variant][way]."""
    case, x, out = arrays.case, arrays.x, arrays.out
    calls = {"relayout": _relayout_calls(case, x, out, np.ndarray.transpose, threads),
             "numpy": _numpy_calls(case, x, out)}
    if torch:
        tensor, out_tensor = arrays.x_tensor, arrays.out_tensor
        calls["relayout_tensors"] = _relayout_calls(case, tensor, out_tensor, torch.Tensor.permute, threads)
        calls["torch"] = _torch_calls(case, tensor, out_tensor)
    if einops and case.pattern:
        calls["einops_numpy"] = _einops_calls(case, x, out, np.ascontiguousarray, np.copyto)
        if torch:
            calls["einops_torch"] = _einops_calls(case, arrays.x_tensor, arrays.out_tensor, _torch_dense, _torch_write)
    return calls


def expected_result(case, x):
    """The result by the plainest means of NumPy."""
    view = (x if case.split is None else x.reshape(case.split)).transpose(case.axes)
    result = np.ascontiguousarray(view).reshape(case.result_shape)
    return result if not case.to_dtype else result.astype(NUMPY_TYPES[case.to_dtype]) * np.float32(case.scale)


def fault(case, variant, call, arrays, expected):
    """Why the function may not be timed: an error or a wrong result; None where it is right."""
    try:
        arrays.out[...] = 0
        result = call()
    except Exception as error:  # any error of a library is a line of the report, not the end of the run
        return f"{type(error).__name__}: {error}".splitlines()[0]
    found = np.asarray(arrays.out if variant == "out" else result)
    if found.shape != expected.shape or found.dtype != expected.dtype or not found.flags.c_contiguous:
        return f"wrong result: {found.dtype} {found.shape}"
    same = np.allclose(found, expected, rtol=1e-6, atol=0) if case.to_dtype else np.array_equal(found, expected)
    return None if same else "wrong result"
