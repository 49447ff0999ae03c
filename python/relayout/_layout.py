"""Layouts: relayout.layout(), relayout.layout_of(), and how a notebook shows them."""
from __future__ import annotations

from typing import Any, Optional, Tuple

from . import _native
from ._arrays import _item_bytes, host_view, is_torch
from ._convert import _strides_bytes
from ._errors import InvalidArgumentError, UnsupportedError
from ._native import Layout, layout

__all__ = ["Layout", "is_channels_last", "layout", "layout_of", "overlaps"]

# layout[0], layout[1], ... would be a sequence to Python, of as many layouts as the first dim has indices.
Layout.__iter__ = None


def restored(expression: str, dims: Tuple[int, ...], based: Optional[bool] = None) -> Layout:
    """A layout that was pickled. based: whether layout_of() made it with a base; None where it did not make it. Which
    layouts counted from the same array's address is not kept."""
    made = layout(expression, dims)
    return made if based is None else made._of_array(based)


def _address(view: Any) -> int:
    """Of the element (0, 0, ...)."""
    return view.data_ptr() if is_torch(view) else view.__array_interface__["data"][0]


def _lowest(view: Any) -> int:
    """The lowest address that an array reaches."""
    steps = zip(view.shape, _strides_bytes(view))
    return _address(view) + sum(min(stride, 0) * (extent - 1) for extent, stride in steps if extent > 0)


def layout_of(x: Any, *, base: Any = None) -> Layout:
    """Where the elements of an array lie: its shape and strides, from the lowest address on that they reach.

    base: an array in whose memory x lies, from whose lowest address offsets count then. Layouts of two arrays without a
    common base say nothing of whether the arrays meet: overlaps(x, y) does.
    Errors: UnsupportedError (a stride or the distance from base that is no whole number of elements),
    InvalidArgumentError (x begins before base).
    """
    if isinstance(x, _native.Buffer) and base is None:
        return x.layout._of_array(False)
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
    if base is not None:
        distance = _lowest(view) - _lowest(host_view(base))
        if distance < 0:
            raise InvalidArgumentError(f"x begins {-distance} bytes before base", "base", str(distance))
        if distance % item:
            raise UnsupportedError(f"x begins {distance} bytes after base, no whole number of elements of {item}",
                                   "base", str(distance), str(item))
        offset0 += distance // item
    elif not shape:
        return _native.interop.from_pytorch((), ())._of_array(False)
    if not shape:
        return _native.interop.from_pytorch((), (), offset0)._of_array(True)
    made = layout("strides:" + ",".join(map(str, strides)) + (f"@{offset0}" if offset0 else ""), shape)
    return made._of_array(base is not None)


def overlaps(x: Any, y: Any) -> bool:
    """Whether two arrays of any library share memory: whether some element of x and some element of y have a byte in
    common. The answer is exact, as numpy.shares_memory's; a swizzled Buffer counts as all memory from its first element
    to its last.

    LimitError where contrived strides would take minutes to decide.
    """
    return _native.overlaps(_memory_view(x), _memory_view(y))


def _memory_view(x: Any) -> Any:
    if isinstance(x, _native.Buffer):
        return x
    view = host_view(x)
    return view.detach() if is_torch(view) else view


#: The dims of three, four and five from the innermost in memory to the outermost.
_CHANNELS_INNERMOST = {3: (1, 2, 0), 4: (1, 3, 2, 0), 5: (1, 4, 3, 2, 0)}


def is_channels_last(x: Any) -> bool:
    """Whether the elements of an array of 3, 4 or 5 dims (n, c, spatial dims) lie channels-last without gaps.

    It is what PyTorch's x.is_contiguous(memory_format=torch.channels_last) answers for 4 dims, and with
    channels_last_3d for 5: strides of dims of extent 1 do not count, so that an array of one channel, or of one pixel,
    is channels-last and row-major at once. The shape is that of the tensor, (N, C, H, W): one of shape (N, H, W, C) is
    none before transpose(0, 3, 1, 2). False for any other number of dims. x may be a Layout.
    """
    if isinstance(x, Layout):
        if x.padded:
            return False
        try:
            shape, strides, expected = x.dims, x.strides_elements, 1
        except UnsupportedError:  # blocks
            return False
    elif isinstance(x, _native.Buffer):
        return is_channels_last(x.layout)
    else:
        view = host_view(x)
        shape, strides, expected = tuple(view.shape), _strides_bytes(view), _item_bytes(view)
    for d in _CHANNELS_INNERMOST.get(len(shape), ()):
        if shape[d] != 1 and strides[d] != expected:
            return False
        expected *= shape[d] if shape[d] != 1 else 1
    return len(shape) in _CHANNELS_INNERMOST
