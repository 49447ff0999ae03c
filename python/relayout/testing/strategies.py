"""Strategies for Hypothesis: arrays of any shape and values in any layout. They need Hypothesis.

A failing example is printed as a call of `relayout.testing.strided_array`, which makes an array of these values and
strides when it is pasted; NumPy's own text has the values alone.

Example:

    @given(relayout.testing.strategies.arrays(shape=(3, 4)))
    def test_sum(x):
        assert my_sum(x) == pytest.approx(float(np.ascontiguousarray(x).sum()))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import note
from hypothesis import strategies as st

from .arrays import make_values, strided_code
from .frameworks import framework_named
from .recipe import Ints, Recipe

Shape = Ints | st.SearchStrategy


def shapes(min_dims: int = 0, max_dims: int = 4, max_side: int = 5) -> st.SearchStrategy[Ints]:
    """Shapes without extents of 0."""
    return st.lists(st.integers(1, max_side), min_size=min_dims, max_size=max_dims).map(tuple)


@st.composite
def recipes(draw: Any, rank: int, allow_negative: bool = True, allow_skew: bool = True,
            allow_broadcast: bool = True) -> Recipe:
    """Recipes of this rank, with any parts together. They shrink to the contiguous one."""
    lowest = -3 if allow_negative else 0 if allow_broadcast else 1
    steps = [1, 2, 3] + ([0] if allow_broadcast else []) + [step for step in range(-1, lowest - 1, -1) if step]
    plain = Recipe.plain(rank)

    def each(choices: list[int]) -> Ints:
        return tuple(draw(st.lists(st.sampled_from(choices), min_size=rank, max_size=rank)))

    return plain.but(
        order=tuple(draw(st.permutations(list(range(rank))))),
        steps=each(steps),
        pads=each([0, 1, 2, 3]),
        loose=each([0, 1, 7, 1021]),
        offset=draw(st.integers(0, 5)),
        skew=draw(st.integers(0, 3)) if allow_skew else 0)


@st.composite
def arrays(draw: Any, shape: Any = None, dtype: Any = "float32", framework: str = "numpy", elements: Any = None,
           allow_negative: bool = True, allow_misaligned: bool = True, allow_broadcast: bool = True) -> Any:
    """Arrays in any layout that the framework has.

    `shape` is a shape or a strategy of shapes (any of up to 4 dims by default); `elements` a strategy of numbers (0, 1,
    2, ... by default). Along a broadcast dim the values are equal. An array shrinks to a contiguous one.
    """
    if shape is None:
        shape = shapes()
    found = draw(shape) if isinstance(shape, st.SearchStrategy) else tuple(shape)
    values = make_values(found, dtype, framework)
    if elements is not None:
        drawn = draw(st.lists(elements, min_size=len(values.data), max_size=len(values.data)))
        values = values.with_numbers(np.array(drawn))
    recipe = draw(recipes(len(found), allow_negative, allow_misaligned, allow_broadcast))
    if framework == "jax":
        recipe = Recipe.plain(len(found)).but(order=recipe.order)
    elif framework == "torch":
        recipe = recipe.but(skew=0, steps=tuple(abs(step) for step in recipe.steps))
    if not framework_named(framework).supports(recipe, values):
        recipe = Recipe.plain(len(found))
    values = values.project(recipe.broadcast_dims)
    layout = recipe.apply(found)
    array = values.contiguous() if recipe.is_plain else values.place(layout).array
    _print_as(array, lambda: strided_code(values, layout))
    return array


def _print_as(value: Any, text: Callable[[], str]) -> None:
    """Lets Hypothesis print a drawn value as this text, and where it cannot, print the text besides the value."""
    try:
        from hypothesis.control import current_build_context
        from hypothesis.vendor.pretty import IDKey

        printers = current_build_context().known_object_printers
        printers[IDKey(value)].append(lambda _, printer, __: printer.text(text()))
    except (ImportError, AttributeError):  # no promise of Hypothesis
        note(f"drawn: {text()}")
