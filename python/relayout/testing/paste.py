"""Writes the lines of code that rebuild the arguments of a failing call.

Example: the code of a transposed argument has `x0 = np.ndarray((2, 3), 'float64', x0_base, 0, (8, 16))`, and
`args = (x0, 1)` and `kwargs = {}` at its end, so that `fn(*args, **kwargs)` is the failing call.
"""

from __future__ import annotations

import ast
import base64
import zlib
from dataclasses import replace
from typing import Any

import numpy as np

from . import trees
from .calls import Case, Subject
from .explain import Failure
from .frameworks import framework_of
from .recipe import Recipe
from .values import Values

_MOST_LITERALS = 64


def verified_code(subject: Subject, failure: Failure) -> tuple[str, bool]:
    """Lines that rebuild a failing call, and whether they did so when they were executed here."""
    code = code_for(subject, failure.case)
    for aligned in (False, True):
        candidate = code_for(subject, failure.case, aligned)
        if _reproduces(subject, failure, candidate):
            return candidate, True
    return code, False


def _reproduces(subject: Subject, failure: Failure, code: str) -> bool:
    names: dict[str, Any] = {}
    try:
        exec(code, names)
        arrays = [names[f"x{j}"] for j in range(len(failure.case.values))]
        outcome = subject.call(arrays)
    except Exception as error:
        return failure.got.error is not None and type(error) is type(failure.got.error)
    if failure.got.error is not None:
        return False
    if failure.mismatch.kind == "gaps":  # what lies around an argument is seen by no comparison of results
        return True
    return subject.compare(replace(outcome, gaps={}), replace(failure.got, gaps={})) is None


def code_for(subject: Subject, case: Case, aligned: bool = False) -> str:
    """Lines that, executed, leave the call's arguments in `args` and `kwargs`."""
    imports: dict[str, None] = {"import numpy as np": None}
    lines: list[str] = []
    names = [f"x{j}" for j in range(len(case.values))]
    for name, values, recipe in zip(names, case.values, case.recipes, strict=True):
        framework = values.framework
        imports.update(dict.fromkeys(framework.imports.splitlines() + framework.extra_imports(values.dtype)))
        lines += _array_code(name, values, recipe, imports, aligned)
    rest = iter(names)
    unknown: list[str] = []
    args, kwargs = trees.rebuild(subject.tree, lambda leaf: _Raw(_leaf_code(leaf, rest, unknown, imports)))
    lines += unknown
    lines += [f"args = {args!r}", f"kwargs = {kwargs!r}"]
    return "\n".join([*imports, *lines])


class _Raw:
    """Prints as the text itself within the repr of a container."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _leaf_code(leaf: Any, rest: Any, unknown: list[str], imports: dict[str, None]) -> str:
    if framework_of(leaf) is not None:
        return next(rest)
    text = repr(leaf)
    try:
        ast.literal_eval(text)
        return text
    except (ValueError, SyntaxError, MemoryError, TypeError):
        pass
    if type(leaf).__module__ == "torch":  # a type, a device, a memory format
        imports["import torch"] = None
        return text if text.startswith("torch.") else f"torch.{text}"
    if isinstance(leaf, (np.dtype, np.generic)):
        return f"np.dtype({str(leaf)!r})" if isinstance(leaf, np.dtype) else f"np.{type(leaf).__name__}({leaf})"
    name = f"given{len(unknown)}"
    unknown.append(f"{name} = ...  # put your {type(leaf).__name__} here")
    return name


def _array_code(name: str, values: Values, recipe: Recipe, imports: dict[str, None],
                aligned: bool) -> list[str]:
    content = _content(values, imports)
    if recipe.is_plain:
        return values.framework.plain_code(name, values, content)
    layout = recipe.apply(values.shape)
    gaps = "" if layout.sparse else values.gaps(layout.size)[0]
    return values.framework.place_code(name, values, layout, gaps, content, aligned)


def _content(values: Values, imports: dict[str, None]) -> str:
    """An expression for a contiguous array of the values: NumPy's, or PyTorch's for one of its tensors."""
    is_torch = values.framework.name == "torch"
    module = "torch" if is_torch else "np"
    dtype = values.framework.dtype_code(values.dtype)
    reshape = f".reshape({values.shape})" if len(values.shape) != 1 else ""
    cast = f".to({dtype})" if is_torch else f".astype({dtype})"
    if values.is_arange:
        many = len(values.data) > 100
        return f"({module}.arange({len(values.data)}) % 100){cast}{reshape}" if many else (
            f"{module}.arange({len(values.data)}){cast}{reshape}")
    numbers = _numbers(values)
    if numbers is not None:
        made = f"torch.tensor({numbers}, dtype={dtype})" if is_torch else f"np.array({numbers}, {dtype})"
        return made + reshape
    imports["import base64, zlib"] = None
    packed = base64.b85encode(zlib.compress(values.data.tobytes())).decode()
    raw = f"zlib.decompress(base64.b85decode({packed!r}))"
    if is_torch:
        return f"torch.frombuffer(bytearray({raw}), dtype={dtype}){reshape}"
    return f"np.frombuffer({raw}, {dtype}){reshape}"


def _numbers(values: Values) -> str | None:
    """The values as a list of literals, if they are few and have exact ones."""
    if len(values.data) > _MOST_LITERALS or not len(values.data):
        return None
    array = values.framework.to_numpy(values.contiguous())
    if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
        return None
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        return None
    return str(array.reshape(-1).tolist())
