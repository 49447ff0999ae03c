"""Arrays to test with: `layouts` has one array's values in every layout, `strided_array` makes a single array.

Example: `for name, x in layouts((2, 3)): assert my_sum(x) == 15` sees "contiguous" first, then some forty others.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np

from .frameworks import framework_named
from .recipe import Ints, Layout, Recipe
from .values import Values
from .variants import chosen, recipes


class Layouts:
    """The layouts of one array. Iterating gives pairs of a name and a fresh array.

    `cases()` gives pairs of a name and a recipe without making arrays, `build(recipe)` the array of one, and
    `strategy()` a Hypothesis strategy that draws arrays of any layout (it needs Hypothesis).
    """

    def __init__(self, values: Values, names: list[str], seed: int) -> None:
        self.values = values
        self.names = names
        self.seed = seed

    def cases(self) -> Iterator[tuple[str, Recipe]]:
        """Names and recipes, the contiguous one first. The names are distinct."""
        values = self.values
        yield "contiguous", Recipe.plain(len(values.shape))
        count: dict[str, int] = {}
        for name, recipe in recipes(self.names, values.shape, values.itemsize, Random(self.seed)):
            if values.framework.supports(recipe, values):
                count[name] = count.get(name, 0) + 1
                yield f"{name}-{count[name]}", recipe

    def build(self, recipe: Recipe) -> Any:
        """A fresh array with these values in this layout."""
        values = self.values.project(recipe.broadcast_dims)
        return values.contiguous() if recipe.is_plain else values.place(recipe.apply(values.shape)).array

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return ((name, self.build(recipe)) for name, recipe in self.cases())

    def __len__(self) -> int:
        return sum(1 for _ in self.cases())

    def strategy(self) -> Any:
        """A Hypothesis strategy of arrays of this shape in any layout, which shrinks to the contiguous one."""
        from . import strategies

        return strategies.arrays(self.values.shape, self.values.dtype, self.values.framework.name)


def layouts(shape: Ints | list[int], dtype: Any = "float32", framework: str = "numpy",
            layouts: str | list[str] | tuple[str, ...] = "all", seed: int = 0) -> Layouts:
    """Arrays of one shape in every layout, each holding 0, 1, 2, ... (modulo 100) in row-major order.

    `dtype` is a name or the framework's own type, `framework` is "numpy", "torch" or "jax", and `layouts` are names
    of variants, as for `assert_layout_invariant`.
    The result iterates over pairs of a name and an array, has a `len()`, and its `strategy()` is a Hypothesis strategy;
    `relayout.testing.strategies.arrays` is one for drawn shapes and values.
    """
    return Layouts(make_values(tuple(operator.index(n) for n in shape), dtype, framework), chosen(layouts), seed)


def make_values(shape: Ints, dtype: Any = "float32", framework: str = "numpy") -> Values:
    """0, 1, 2, ... in this shape and type."""
    found = framework_named(framework)
    kind = found.dtype(dtype)
    return Values(found, kind, shape, np.zeros((0, found.itemsize(kind)), np.uint8), None).arange()


def strided_array(values: Any = None, *, shape: Ints | list[int] | None = None, strides: Ints | list[int],
                  offset: int = 0, dtype: Any = "float32", framework: str = "numpy", skew: int = 0) -> Any:
    """An array with these strides, whose first element lies `offset` elements into its buffer.

    `values` are nested lists, or None for 0, 1, 2, ... (modulo 100) in the given shape. Strides and the offset count
    elements; the buffer starts `skew` bytes after a multiple of 64. Along a stride of 0 the first value is the one of
    all positions. Infinities and NaN may be written as text ("nan"). Example: `strided_array([[1, 2], [3, 4]],
    strides=(1, 2))` is a matrix whose columns are contiguous.
    """
    made: Values
    given = None if values is None else np.asarray(values)
    if shape is not None:
        found = tuple(operator.index(n) for n in shape)
    elif given is not None:
        found = given.shape
    else:
        raise TypeError("strided_array: neither values nor a shape")
    made = make_values(found, dtype, framework)
    if given is not None:
        if given.size != math.prod(found):
            raise ValueError(f"values: {given.size} elements are no array of shape {found}")
        made = made.with_numbers(given.astype(np.float64) if given.dtype.kind == "U" and _is_float(made) else given)
    made = made.project(tuple(d for d, stride in enumerate(strides) if stride == 0 and found[d] > 1))
    return made.place(_layout(found, tuple(operator.index(s) for s in strides), offset, skew)).array


def _layout(shape: Ints, strides: Ints, offset: int, skew: int) -> Layout:
    if len(strides) != len(shape):
        raise ValueError(f"strides: {len(strides)} of them for an array of {len(shape)} dims")
    reach = [stride * max(n - 1, 0) for n, stride in zip(shape, strides, strict=True)]
    first, last = offset + sum(min(r, 0) for r in reach), offset + sum(max(r, 0) for r in reach)
    if first < 0:
        raise ValueError(f"offset: {offset} is too small, because an element would lie at {first}")
    return Layout(shape, strides, offset, last + 1 + math.prod(shape) + 64, skew)


def _is_float(values: Values) -> bool:
    return values.framework.to_numpy(values.contiguous()).dtype.kind not in "US"


def strided_code(values: Values, layout: Layout) -> str:
    """An expression that makes an array of these values and this layout."""
    name, dtype = values.framework.name, values.framework.dtype_name(values.dtype)
    parts = [f"shape={layout.shape}"] if values.is_arange else [_literal(values)]
    if 0 in layout.shape and not values.is_arange:
        parts.append(f"shape={layout.shape}")
    parts.append(f"strides={layout.strides}")
    parts += [f"{key}={value}" for key, value in (("offset", layout.offset), ("skew", layout.skew)) if value]
    parts.append(f"dtype={dtype!r}")
    parts += [f"framework={name!r}"] if name != "numpy" else []
    return f"relayout.testing.strided_array({', '.join(parts)})"


def _literal(values: Values) -> str:
    """The values as nested lists of literals."""
    array = values.framework.to_numpy(values.contiguous())
    if array.dtype.kind in "mM":
        array = array.view(np.int64)
    elif array.dtype.kind == "V" and array.dtype.names is None:
        array = array.astype(np.float64)

    def plain(item: Any) -> Any:
        if isinstance(item, list):
            return [plain(one) for one in item]
        return str(item) if isinstance(item, float) and not math.isfinite(item) else item

    return repr(plain(array.tolist()))
