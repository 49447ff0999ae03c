"""Layouts: relayout.layout(), relayout.layout_of(), and how a notebook shows them."""
from __future__ import annotations

from typing import Any, Tuple

from . import _native
from ._arrays import _item_bytes, host_view
from ._convert import _strides_bytes
from ._errors import UnsupportedError
from ._native import Layout, layout
from ._picture import svg

__all__ = ["Layout", "layout", "layout_of"]

Layout._repr_html_ = svg  # type: ignore[attr-defined]
# layout[0], layout[1], ... would be a sequence to Python, of as many layouts as the first dim has indices.
Layout.__iter__ = None


def restored(expression: str, dims: Tuple[int, ...]) -> Layout:
    """A layout that was pickled."""
    return layout(expression, dims)


def layout_of(x: Any) -> Layout:
    """Where the elements of an array lie: its shape and strides, from the lowest address on that they reach.

    UnsupportedError where a stride is no whole number of elements.
    """
    if isinstance(x, _native.Buffer):
        return x.layout
    view = host_view(x)
    item = _item_bytes(view)
    if item == 0:
        raise UnsupportedError("the elements have no bytes", "dtype", str(view.dtype))
    strides, offset0 = [], 0
    for d, (extent, stride) in enumerate(zip(view.shape, _strides_bytes(view))):
        if extent > 1 and stride % item:
            raise UnsupportedError(f"strides[{d}] is {stride} bytes, no whole number of elements of {item}", "strides",
                                   str(stride), str(item))
        strides.append(stride // item if extent > 1 else 0)
        if strides[-1] < 0 and extent > 0:
            offset0 -= strides[-1] * (extent - 1)
    shape = tuple(view.shape)
    if not shape:
        return _native.interop.from_pytorch((), ())
    return layout("strides:" + ",".join(map(str, strides)) + (f"@{offset0}" if offset0 else ""), shape)
