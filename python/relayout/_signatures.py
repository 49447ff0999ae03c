"""The signatures of functions in C++, for inspect.signature.

nanobind keeps the signature of a function as a text, which is read here when somebody asks for it.
"""
from __future__ import annotations

import ast
import collections.abc
import functools
import inspect
import re
import sys
import typing
from typing import Any

from . import _native

_EMPTY = inspect.Parameter.empty


def _default(node: Any, given: tuple) -> Any:
    """The value of a default: a literal, or __0, __1, ..., which stand for objects that nanobind holds."""
    if isinstance(node, ast.Name) and node.id.startswith("__"):
        return given[int(node.id[2:])]
    return ast.literal_eval(node)


def _type(node: Any) -> Any:
    """The type that an annotation names; its text where that is none."""
    if node is None:
        return _EMPTY
    text = ast.unparse(node)
    try:
        return eval(text, {"relayout": sys.modules["relayout"], "typing": typing, "collections": collections})
    except (AttributeError, NameError, TypeError):
        return text


def _read(text: str, given: tuple) -> inspect.Signature:
    function = ast.parse(re.sub(r"\\(\d+)", r"__\1", text) + ": ...").body[0]
    assert isinstance(function, ast.FunctionDef)
    args = function.args
    found = []

    def add(arg: ast.arg, kind: Any, default: Any = _EMPTY) -> None:
        found.append(inspect.Parameter(arg.arg, kind, default=default, annotation=_type(arg.annotation)))

    named = [*args.posonlyargs, *args.args]
    without = len(named) - len(args.defaults)
    for i, arg in enumerate(named):
        kind = (inspect.Parameter.POSITIONAL_ONLY if i < len(args.posonlyargs) else
                inspect.Parameter.POSITIONAL_OR_KEYWORD)
        add(arg, kind, _EMPTY if i < without else _default(args.defaults[i - without], given))
    if args.vararg:
        add(args.vararg, inspect.Parameter.VAR_POSITIONAL)
    for arg, default in zip(args.kwonlyargs, args.kw_defaults):
        add(arg, inspect.Parameter.KEYWORD_ONLY, _EMPTY if default is None else _default(default, given))
    if args.kwarg:
        add(args.kwarg, inspect.Parameter.VAR_KEYWORD)
    return inspect.Signature(found, return_annotation=_type(function.returns))


@functools.lru_cache(maxsize=None)
def signature_of(function: Any) -> inspect.Signature:
    """Of a function of nanobind, none of which has overloads, or of one of Python."""
    if inspect.isfunction(function):
        return inspect.signature(function)
    text, _, defaults = function.__nb_signature__[0]
    return _read(text, defaults or ())


def _constructor(kind: Any) -> inspect.Signature:
    whole = signature_of(kind.__init__)
    return whole.replace(parameters=list(whole.parameters.values())[1:])


# Of a class, inspect asks for the signature of nanobind's own __init__, which has none.
for _kind in [*vars(_native).values(), *vars(_native.opencl).values()]:
    if isinstance(_kind, type) and hasattr(_kind.__init__, "__nb_signature__"):
        _kind.__signature__ = _constructor(_kind)  # type: ignore[attr-defined]
