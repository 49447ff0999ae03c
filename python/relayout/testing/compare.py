"""Compares what two calls gave: the first difference is a `Mismatch`.

NaN equals NaN, integers and booleans must be equal, and floating numbers may differ by the tolerances that PyTorch's
own tests use for their type. The order of a sum may depend on the layout, so exact equality would be a false alarm.

Example: `difference("the result", np.array([1.0, 2.5]), np.array([1.0, 2.0]), Tolerance())` has the index (1,).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

_TOLERANCES: dict[str, tuple[float, float]] = {  # relative, absolute
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "longdouble": (1e-7, 1e-7),
    "complex32": (1e-3, 1e-5),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}


LAST_BIT = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52,
            "complex64": 2.0**-23, "complex128": 2.0**-52}


def _of_dtype(dtype: Any) -> tuple[float, float]:
    name = str(dtype).replace("torch.", "")
    if name.startswith("float8"):
        return 1.3e-1, 1e-5
    return _TOLERANCES.get(name, (1e-7, 1e-7))


@dataclass(frozen=True)
class Tolerance:
    """The caller's tolerances, or the defaults of a type; a scalar is judged by the loosest type of the arguments."""

    rtol: float | None = None
    atol: float | None = None
    of_arguments: tuple[Any, ...] = ()

    def of(self, dtype: Any, is_scalar: bool) -> tuple[float, float]:
        found = [_of_dtype(dtype)]
        if is_scalar:
            found += [_of_dtype(other) for other in self.of_arguments]
        rtol, atol = max(pair[0] for pair in found), max(pair[1] for pair in found)
        return (rtol if self.rtol is None else self.rtol), (atol if self.atol is None else self.atol)


@dataclass(frozen=True)
class Leaf:
    """One array or scalar of a result, copied, with the name of its type and the strides that it had, in elements."""

    value: Any
    dtype: Any = None
    strides: tuple[int, ...] | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Mismatch:
    """The first difference between what a layout gave and what the contiguous one gave."""

    kind: str  # "values", "shape", "type", "raised", "gaps"
    where: str  # "the result", "the result[1]", "argument 0 after the call"
    text: str
    index: tuple[int, ...] | None = None
    offset: int | None = None  # of the element in the output, counted in elements in row-major order
    got: Any = None
    expected: Any = None
    wrong: int = 0
    total: int = 0


def difference(where: str, got: Leaf, want: Leaf, tolerance: Tolerance) -> Mismatch | None:
    """What is first different between two leaves."""
    if type(got.value) is not type(want.value) or got.dtype != want.dtype:
        text = f"{where} is {_kind(got)}, expected {_kind(want)}"
        return Mismatch("type", where, text, got=_kind(got), expected=_kind(want))
    if not isinstance(want.value, np.ndarray):
        return _plain_difference(where, got.value, want.value)
    if got.value.shape != want.value.shape:
        text = f"{where} has shape {got.value.shape}, expected {want.value.shape}"
        return Mismatch("shape", where, text, got=got.value.shape, expected=want.value.shape)
    bad = ~close(got.value, want.value, *tolerance.of(want.dtype, want.value.ndim == 0))
    if not bad.any():
        return None
    offset = int(np.flatnonzero(bad)[0])
    index = tuple(int(i) for i in np.unravel_index(offset, bad.shape)) if bad.ndim else ()
    wrong, total = int(bad.sum()), int(bad.size)
    one, other = got.value[index], want.value[index]
    place = f", first at {list(index)}, which is its element {offset}" if index else ""
    text = f"{wrong} of {total} elements of {where} are wrong{place}: got {one}, expected {other}"
    return Mismatch("values", where, text, index, offset, one, other, wrong, total)


def close(got: np.ndarray, want: np.ndarray, rtol: float, atol: float) -> np.ndarray:
    """Element by element whether two arrays of one shape agree."""
    kind = np.result_type(got, want).kind if got.dtype != want.dtype else got.dtype.kind
    if kind == "V" and got.dtype.names is None:  # a small floating type that NumPy does not know by itself
        try:
            got, want, kind = got.astype(np.float32), want.astype(np.float32), "f"
        except (TypeError, ValueError):
            pass
    same = np.asarray(got == want)
    if kind not in "fcmM":
        return same
    same = same | ((got != got) & (want != want))
    if kind in "fc":
        with np.errstate(all="ignore"):
            near = np.abs(got - want) <= atol + rtol * np.abs(want)
        same = same | (near & np.isfinite(want))
    return np.asarray(same)


def is_rounding(got: Leaf, want: Leaf, nudged: Sequence[Leaf], tolerance: Tolerance) -> bool:
    """Whether a difference is no larger than what the last bit of the arguments makes.

    `nudged` are the results for arguments that were changed in their last bit. A variance of equal numbers, or which of
    two equal numbers a sort puts first, says nothing about layouts.
    """
    leaves = [got, want, *nudged]
    if not all(isinstance(leaf.value, np.ndarray) and leaf.value.shape == want.value.shape for leaf in leaves):
        return difference("", got, want, tolerance) is None
    excused = close(got.value, want.value, *tolerance.of(want.dtype, want.value.ndim == 0))
    for leaf in nudged:
        if want.value.dtype.kind in "fc":
            with np.errstate(all="ignore"):
                excused = excused | (np.abs(got.value - want.value) <= 16 * np.abs(leaf.value - want.value))
        elif want.value.dtype.kind in "biu":
            excused = excused | (leaf.value != want.value)
    return bool(np.all(excused))


def _plain_difference(where: str, got: Any, want: Any) -> Mismatch | None:
    try:
        same = bool(got == want) or (got != got and want != want)
    except Exception:  # objects that cannot be compared are taken to be equal where their types are
        same = True
    if same:
        return None
    return Mismatch("values", where, f"{where} is {got!r}, expected {want!r}", None, None, got, want, 1, 1)


def _kind(leaf: Leaf) -> str:
    if leaf.dtype is not None:
        return f"an array of {leaf.dtype}"
    return "None" if leaf.value is None else type(leaf.value).__name__
