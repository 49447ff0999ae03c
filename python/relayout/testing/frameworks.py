"""The libraries whose arrays `relayout.testing` lays out: NumPy, PyTorch and JAX.

A framework is imported only when one of its arrays was met. To add one, write a class with the methods of
`framework.Framework` and put it into `FRAMEWORKS`.

Example: `framework_of(torch.zeros(3)).name` is "torch"; `framework_of("text")` is None.
"""

from __future__ import annotations

import importlib
from typing import Any

from .framework import Framework
from .jax_framework import Jax
from .torch_framework import Torch

FRAMEWORKS: list[Framework] = [Framework(), Torch(), Jax()]


def framework_of(value: Any) -> Framework | None:
    """The framework whose array `value` is, or None."""
    return next((framework for framework in FRAMEWORKS if framework.owns(value)), None)


def framework_named(name: str) -> Framework:
    """The framework of this name, imported."""
    if not isinstance(name, str):
        raise TypeError("framework must be a text")
    found = next((framework for framework in FRAMEWORKS if framework.name == name), None)
    if found is None:
        raise ValueError(f"framework: {name!r} unknown; known are {[framework.name for framework in FRAMEWORKS]}")
    importlib.import_module(name)
    return found
