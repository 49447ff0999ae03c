"""`assert_as_if_contiguous`: one call with arrays as they are, compared with the call with contiguous copies.

It is the last line of what `assert_layout_invariant` prints: the lines before it rebuild the arrays of a failing call.

Example: `assert_as_if_contiguous(np.sum, x[::2])` is silent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import trees
from .calls import Subject
from .compare import Tolerance
from .errors import LayoutDifference
from .frameworks import framework_of
from .values import Values, element_offsets

_MOST_BYTES = 1 << 26  # of memory around an array that is watched


def assert_as_if_contiguous(fn: Callable[..., Any], *args: Any, rtol: float | None = None, atol: float | None = None,
                            **kwargs: Any) -> None:
    """Checks that `fn(*args, **kwargs)` gives what it gives for contiguous copies of the arrays.

    The arrays themselves are passed, so `fn` may change them; what lies around their elements in memory must stay as
    it is. Results and tolerances are as in `assert_layout_invariant`. Raises
    LayoutDifference, an AssertionError, with the first difference.
    """
    __tracebackhide__ = True
    subject = Subject(fn, args, kwargs, Tolerance(rtol, atol), ())
    arrays = [leaf for _, leaf in trees.walk((args, kwargs)) if framework_of(leaf) is not None]
    values = subject.start.values
    want = subject.contiguous(values)
    around = [_around(array, one) for array, one in zip(arrays, values, strict=True)]
    before = [None if one is None else one[0][one[1]].copy() for one in around]
    earlier = _taken_gradients(arrays)
    try:
        got = subject.call(arrays)
    except Exception as error:
        raise LayoutDifference(f"the function raises {type(error).__name__}: {error}") from error
    finally:
        for tensor, gradient in earlier:
            tensor.grad = gradient if tensor.grad is None else gradient + tensor.grad
    got.gaps = _changed(around, before, values)
    found = subject.difference(values, got, want)
    if found is not None:
        raise LayoutDifference(found.text)


def _taken_gradients(arrays: Sequence[Any]) -> list[tuple[Any, Any]]:
    """PyTorch's tensors that have gradients of earlier calls, to which this one would add, with these gradients, which
    they do not have any more."""
    found = [(array, array.grad) for array in arrays if getattr(array, "is_leaf", False) and array.grad is not None]
    for tensor, _ in found:
        tensor.grad = None
    return found


def _around(array: Any, values: Values) -> tuple[np.ndarray, np.ndarray] | None:
    """The bytes of the array's memory, and which of them are no element's."""
    framework = framework_of(array)
    whole = None if framework is None else framework.whole(array)
    if whole is None or whole[0].size > _MOST_BYTES or not len(values.data):
        return None
    memory, first = whole
    size = values.itemsize
    strides = array.stride() if values.framework.name == "torch" else array.strides
    scale = size if values.framework.name == "torch" else 1
    starts = first + element_offsets(values.shape, tuple(int(s) * scale for s in strides), 0).reshape(-1)
    is_free = np.ones(memory.size, bool)
    is_free[(starts[:, None] + np.arange(size)).reshape(-1)] = False
    return memory, is_free


def _changed(around: Sequence[Any], before: Sequence[Any], values: Sequence[Values]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for j, (one, old) in enumerate(zip(around, before, strict=True)):
        if one is not None:
            memory, is_free = one
            bytes_ = np.flatnonzero(is_free)[memory[is_free] != old]
            if len(bytes_):
                found[j] = sorted({int(k) // values[j].itemsize for k in bytes_})
    return found
