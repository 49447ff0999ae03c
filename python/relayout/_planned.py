"""A planned conversion that is run: the arrays that it takes, and its result where none is given.

    plan_conversion(x, "nhwc", "nchw", dtype="f32").run(x)          # python/src/conversion.cc comes here
"""
from __future__ import annotations

from typing import Any, Optional

import numpy as np

from ._arrays import aligned_empty, host_view, is_torch, like_caller, with_plain_elements
from ._dtypes import PACKED, known_name, numpy_dtype, torch_dtype
from ._errors import InvalidArgumentError
from ._native import Conversion
from ._sub_byte import assign
from ._progress import Progress


def type_name(dtype: Any) -> str:
    """A name that equal types of all libraries share, relayout's own where it has one."""
    return known_name(dtype) or str(dtype)


def new_result(x: Any, view: Any, conversion: Conversion, threads: int, progress: Optional[Progress]) -> Any:
    """The result of a conversion as an array of x's library; view is x as NumPy or PyTorch has it."""
    if conversion._adds:
        raise InvalidArgumentError("beta adds to what out holds, and there is no out", "beta")
    shape, name, fills = conversion.shape, conversion.dtype, conversion.fills
    if view is x and is_torch(x):
        import torch
        made = (torch.empty if fills else torch.zeros)(shape, dtype=torch_dtype(name))
        conversion._run(view, made, threads, True, progress)
        return made
    if view is x:
        made = np.empty(shape, numpy_dtype(name)) if fills else np.zeros(shape, numpy_dtype(name))
        conversion._run(view, made, threads, False, progress)
        return made
    made = aligned_empty(shape, numpy_dtype(name))
    if not fills:
        made.view(np.uint8).fill(0)
    conversion._run(view, made, threads, False, progress)
    wrap = like_caller(x)
    return wrap(made) if wrap else made


def run_conversion(conversion: Conversion, x: Any, out: Any, threads: int, progress: Optional[Progress]) -> Any:
    """What Conversion.run() does."""
    view = host_view(x)
    plain = with_plain_elements(view)
    check_planned_type(conversion, plain.dtype)
    if out is None:
        return new_result(x if plain is view else plain, plain, conversion, threads, progress)
    to = host_view(out)
    if isinstance(to.dtype, np.dtype) and not to.dtype.isnative:
        check_type(to, conversion.dtype, to.dtype.newbyteorder("="))
        check_writable(to)
        made = np.empty(to.shape, to.dtype.newbyteorder("="))
        assign(made, to)
        conversion._run(plain, made, threads, False, progress)
        assign(to, made)
        return out
    check_type(to, conversion.dtype)
    conversion._run(plain, to, threads, False, progress)
    return out


def check_planned_type(conversion: Conversion, dtype: Any) -> None:
    """x has the type of the array that a conversion was planned for, or the one that this was said to hold."""
    name, own = type_name(dtype), conversion._own_dtype
    if name not in (own, conversion.src_dtype):
        raise InvalidArgumentError(f"x is an array of {dtype}, and this was planned for one of {own}", "x", name, own)


def check_writable(out: np.ndarray) -> None:
    if not out.flags.writeable:
        raise InvalidArgumentError("the destination is read-only", "out")


#: Types that a NumPy without the package ml_dtypes has no arrays of, and those that such arrays have then.
_STANDS_FOR = {"bf16": "u16", "f8_e5m2": "u8", "f8_e4m3": "u8", "f8_e8m0": "u8", **dict.fromkeys(PACKED, "u8")}


def check_type(out: Any, name: str, dtype: Any = None) -> None:
    """out has elements of this type, or what stands for them; or it is memory, bytes where an element has several.
    dtype: that of out in this machine's order of bytes."""
    given = type_name(out.dtype if dtype is None else dtype)
    if given in (name, _STANDS_FOR.get(name)) or given == "u8" and name not in ("s8", "bool"):
        return
    raise InvalidArgumentError(f"the result is of {name}, and out of {out.dtype}", "out", str(out.dtype), name)
