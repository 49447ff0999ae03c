"""Arguments and results are trees: arrays within lists, tuples and dicts. This takes them apart and builds them again.

Example: `flatten(([x, 2], {"k": y}))` finds the arrays x at "[0][0]" and y at "[1]['k']".
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any


def walk(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every leaf with its path, in order."""
    if isinstance(tree, (list, tuple)):
        for i, item in enumerate(tree):
            yield from walk(item, f"{path}[{i}]")
    elif isinstance(tree, dict):
        for key, item in tree.items():
            yield from walk(item, f"{path}[{key!r}]")
    else:
        yield path, tree


def rebuild(tree: Any, change: Callable[[Any], Any]) -> Any:
    """The tree with every leaf replaced by `change(leaf)`, called in the order of `walk`."""
    if isinstance(tree, tuple):
        return _tuple_like(tree, [rebuild(item, change) for item in tree])
    if isinstance(tree, list):
        # A class of the caller's may need other arguments than a list to be made, and may have attributes.
        made = copy.copy(tree)
        made[:] = [rebuild(item, change) for item in tree]
        return made
    if isinstance(tree, dict):
        replaced = copy.copy(tree)  # a defaultdict keeps what makes its values
        for key, item in tree.items():
            replaced[key] = rebuild(item, change)
        return replaced
    return change(tree)


def _tuple_like(tree: tuple[Any, ...], items: list[Any]) -> Any:
    """A tuple of the same class, which may be a namedtuple or have a constructor of its own."""
    try:
        made = tuple.__new__(type(tree), items)
    except TypeError:  # PyTorch's and Python's own results of several fields
        return type(tree)(items)
    if hasattr(tree, "__dict__"):
        made.__dict__.update(tree.__dict__)
    return made


def shape_of(tree: Any) -> Any:
    """The tree's containers, for comparison: two results must have the same."""
    if isinstance(tree, (list, tuple)):
        return type(tree).__name__, [shape_of(item) for item in tree]
    if isinstance(tree, dict):
        return type(tree).__name__, {key: shape_of(item) for key, item in tree.items()}
    return "leaf"
