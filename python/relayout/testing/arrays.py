"""`layouts`: one array's values in every layout, to iterate over, to parametrise a test with, or to draw from.

Example: `for name, x in layouts((2, 3)): assert my_sum(x) == 15` sees "contiguous" first, then some forty others.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np

from .frameworks import framework_named
from .recipe import Ints, Recipe
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
    return Layouts(make_values(tuple(int(n) for n in shape), dtype, framework), chosen(layouts), seed)


def make_values(shape: Ints, dtype: Any = "float32", framework: str = "numpy") -> Values:
    """0, 1, 2, ... in this shape and type."""
    found = framework_named(framework)
    kind = found.dtype(dtype)
    return Values(found, kind, shape, np.zeros((0, found.itemsize(kind)), np.uint8), None).arange()
