"""Tensors in a function that is traced, compiled or transformed: what is recorded there is not what relayout does.

    torch.jit.trace(relayout.contiguous, x)     # UnsupportedError: the tensor is in a function that torch.jit.trace ...

A trace records the operations of PyTorch alone, so that a traced function would return memory that nothing has written
to, or the values of the arrays that it was traced with. python/src/arrays.cc asks here where PyTorch is in a state in
which this may be so, and host_view() asks of the arrays of JAX and of torch.fx.
"""
from __future__ import annotations

import sys
from typing import Any, Iterator

from ._errors import InvalidArgumentError, UnsupportedError

#: Modes of PyTorch in which operations are recorded or not carried out, and what enters them.
_MODES = {
    "ProxyTorchDispatchMode": "make_fx",
    "FakeTensorMode": "torch.export, torch.compile or FakeTensorMode",
    "FunctionalTensorMode": "torch.export or torch.compile",
}


_OUTSIDE = "call relayout outside of it, and give the function the result"


def _traced(what: str, by: str) -> UnsupportedError:
    return UnsupportedError(f"{what} in a function that {by} traces, where what relayout does would not be recorded; "
                            f"{_OUTSIDE}", "x", by)


def _modes(torch: Any) -> Iterator[Any]:
    if hasattr(torch._C, "_len_torch_dispatch_stack"):
        for i in range(torch._C._len_torch_dispatch_stack()):
            yield torch._C._get_dispatch_stack_at(i)


def _transformed(torch: Any, tensor: Any) -> bool:
    """Whether it stands for the tensors of torch.vmap, torch.func.grad and their like."""
    functorch = getattr(torch._C, "_functorch", None)
    if hasattr(functorch, "is_functorch_wrapped_tensor"):
        return bool(functorch.is_functorch_wrapped_tensor(tensor))
    return hasattr(functorch, "maybe_get_level") and functorch.maybe_get_level(tensor) not in (None, -1)


def _has_tangent(torch: Any, tensor: Any) -> bool:
    forward_ad = torch.autograd.forward_ad
    return forward_ad._current_level >= 0 and forward_ad.unpack_dual(tensor).tangent is not None


def check_torch(tensor: Any) -> None:
    """Refuses a tensor of PyTorch whose values are not there, or into whose result nothing would flow."""
    torch = sys.modules["torch"]
    if torch._C._get_tracing_state() is not None:
        raise _traced("the tensor is", "torch.onnx.export" if torch.onnx.is_in_onnx_export() else "torch.jit.trace")
    if any(kind.__name__ == "FakeTensor" for kind in type(tensor).__mro__):
        raise _traced("the tensor is fake, without memory,", "torch.export, torch.compile or FakeTensorMode")
    for mode in _modes(torch):
        for kind in type(mode).__mro__:
            if kind.__name__ in _MODES:
                raise _traced("the tensor is", _MODES[kind.__name__])
    if _transformed(torch, tensor) or getattr(torch, "_is_functional_tensor", lambda _: False)(tensor):
        raise UnsupportedError("the tensor stands for those that torch.vmap, torch.func or functorch transform a "
                               f"function of, and has no memory itself; {_OUTSIDE}", "x", "torch.func")
    if _has_tangent(torch, tensor):
        raise InvalidArgumentError("the tensor has a tangent, a gradient in forward mode, which would not flow through "
                                   "relayout; give it torch.autograd.forward_ad.unpack_dual(tensor).primal", "x",
                                   "tangent")


def check_object(x: Any) -> None:
    """Refuses what stands for the arrays of JAX and torch.fx in functions that these trace."""
    jax, fx = sys.modules.get("jax"), sys.modules.get("torch.fx")
    if jax is not None and isinstance(x, jax.core.Tracer):
        raise UnsupportedError("the array is in a function that jax.jit, jax.grad, jax.vmap or the like traces, and "
                               f"has no values; {_OUTSIDE}, or call it by jax.pure_callback", "x", "jax.jit")
    if jax is not None and isinstance(x, jax.ShapeDtypeStruct):
        raise UnsupportedError("a jax.ShapeDtypeStruct has no values", "x", "jax.ShapeDtypeStruct")
    if fx is not None and isinstance(x, fx.Proxy):
        raise _traced("the value is", "torch.fx.symbolic_trace")
