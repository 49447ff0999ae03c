"""Checks that a function gives the same result in whatever way its arrays lie in memory.

The same values can lie in memory row by row, channels last, as every second element of a larger buffer, flipped, or all
at one address. A kernel that misreads strides is right on contiguous arrays, where it is usually tested, and silently
wrong elsewhere. `assert_layout_invariant` calls a function with the same values in many layouts and, where a result
differs, shrinks the case, prints lines that rebuild it, and says which misreading of the strides gives these values:

    >>> import ctypes
    >>> import numpy as np
    >>> from relayout.testing import assert_layout_invariant
    >>> def total(x):               # reads x.size elements from the pointer, whatever the strides are
    ...     flat = np.ctypeslib.as_array((ctypes.c_double * x.size).from_address(x.ctypes.data))
    ...     return flat.sum()
    >>> try:
    ...     assert_layout_invariant(total, np.arange(12.0).reshape(3, 4), layouts=["sliced"])
    ... except AssertionError as error:
    ...     print(error.explanation)
    argument 0 is read as if it were row-major (contiguous)

`layouts` iterates over the arrays alone, `relayout.testing.strategies` draws them with Hypothesis, and the fixture
`layout_invariant` of `relayout.testing.pytest_plugin` is `assert_layout_invariant` with a seed of the test's own.
PyTorch and JAX are used where the caller's arrays are theirs. Names are imported when they are first used: pytest,
which loads the plugin, so loads relayout itself and NumPy, but none of the modules here.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .. import _arguments

if TYPE_CHECKING:
    from . import pytest_plugin as pytest_plugin
    from . import strategies as strategies
    from .against import assert_as_if_contiguous
    from .arrays import Layouts, layouts, strided_array
    from .check import assert_layout_invariant
    from .errors import LayoutDifference, LayoutError, NondeterministicError
    from .misreadings import MISREADINGS
    from .recipe import Recipe
    from .variants import ALL, VARIANTS

_HOMES = {
    "assert_layout_invariant": "check",
    "assert_as_if_contiguous": "against",
    "layouts": "arrays",
    "Layouts": "arrays",
    "strided_array": "arrays",
    "LayoutDifference": "errors",
    "LayoutError": "errors",
    "NondeterministicError": "errors",
    "Recipe": "recipe",
    "VARIANTS": "variants",
    "ALL": "variants",
    "MISREADINGS": "misreadings",
}

__all__ = [
    "ALL",
    "MISREADINGS",
    "VARIANTS",
    "LayoutDifference",
    "LayoutError",
    "Layouts",
    "NondeterministicError",
    "Recipe",
    "assert_as_if_contiguous",
    "assert_layout_invariant",
    "layouts",
    "strided_array",
]


if not TYPE_CHECKING:  # for a type checker a module with __getattr__ has every name

    def __getattr__(name: str) -> Any:
        if name in ("strategies", "pytest_plugin"):  # they need Hypothesis and pytest
            return importlib.import_module("." + name, __name__)
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        home = importlib.import_module("." + _HOMES[name], __name__)
        _arguments.present(home.__name__, [name])
        return getattr(home, name)


def __dir__() -> list[str]:
    """What completion offers."""
    private = [name for name in globals() if name.startswith("_")]
    return sorted({*__all__, "strategies", "pytest_plugin", *private})
