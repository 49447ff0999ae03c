"""permute_gates(): recurrent weights whose gates stand in the order of another system.

    W = numpy.load("onnx_lstm_W.npy")                     # (directions, 4 * hidden, input), gates i, o, f, c
    relayout.permute_gates(W, "iofc", "ifco", dim=1)      # the same shape, gates i, f, c, o
"""
from __future__ import annotations

import operator
from typing import Any, Optional

import numpy as np

from . import _native
from ._arrays import aligned_empty, check_same_type, host_view, is_torch, like_caller
from ._errors import InvalidArgumentError, OverlapError
from ._layout import overlaps
from ._progress import Progress, share


def _split(view: Any, dim: int, gates: int) -> Any:
    """The dim as two, gates and what each has; a view, because it only splits."""
    shape = tuple(view.shape)
    return view.reshape((*shape[:dim], gates, shape[dim] // gates, *shape[dim + 1:]))


def permute_gates(x: Any, order: str, to: str, dim: int, *, out: Any = None, threads: int = 0,
                  progress: Optional[Progress] = None) -> Any:
    """x with its gates, which stand in one order along a dim, in another order; the shape stays.

    x: an array of any library, with any strides. order, to: a letter a gate, the same letters twice: "iofc" is ONNX's
    LSTM and "ifco" that of oneDNN, PyTorch and Keras; "zrh" is the GRU of oneDNN, ONNX and Keras, and "rzh" PyTorch's
    (docs/layout-expressions.md has all). dim: that of the gates, 3 of "ldigo"; or one in which they stand outside the
    outputs, as in the (4 * units) of Keras, ONNX and PyTorch. out: an array of x's shape and type to write into, which
    shares no memory with x. progress: as for convert(). OverlapError where out does; InvalidArgumentError where the
    orders have other letters, or the dim's extent is no multiple of the gates.
    """
    places = _native.interop.gate_places(order, to)
    view = host_view(x)
    if isinstance(view, np.matrix):
        view = np.asarray(view)  # a matrix has two dims, whatever it is reshaped to
    shape = tuple(view.shape)
    at = operator.index(dim) + (len(shape) if dim < 0 else 0)
    if not 0 <= at < len(shape):
        raise InvalidArgumentError(f"dim={dim} of an array of {len(shape)} dims", "dim", str(dim), str(len(shape)))
    if shape[at] % len(places):
        raise InvalidArgumentError(f"dim {at} has extent {shape[at]}, no multiple of the {len(places)} gates of "
                                   f"{order!r}", f"dims[{at}]", str(shape[at]), f"a multiple of {len(places)}")
    wrap = None
    if out is not None:
        made = host_view(out)
        check_same_type(made, view)
        if tuple(made.shape) != shape:
            raise InvalidArgumentError(f"out is {tuple(made.shape)}, and x {shape}", "out", str(tuple(made.shape)),
                                       str(shape))
        if overlaps(made, view):
            raise OverlapError("x and out share memory", "out")
    elif is_torch(view):
        made = view.new_empty(shape)
    else:
        made = aligned_empty(shape, view.dtype)
        wrap = None if view is x else like_caller(x)
    source, destination = _split(view, at, len(places)), _split_in_place(made, at, len(places))
    for gate, place in enumerate(places):
        index = (slice(None),) * at
        _native.copy(destination[(*index, gate)], source[(*index, place)], threads=threads,
                     progress=share(progress, gate, len(places)))
    if out is not None:
        return out
    return wrap(made) if wrap else made


def _split_in_place(made: Any, dim: int, gates: int) -> Any:
    """As _split(), of the destination itself whatever its strides are."""
    if is_torch(made):
        return made.unflatten(dim, (gates, made.shape[dim] // gates))
    split = _split(made, dim, gates)
    if made.size and not np.shares_memory(split, made):
        raise InvalidArgumentError("out has strides that no view of its gates has; make it contiguous", "out")
    return split
