"""Lines of code that name the function under test, so that a report can be run by itself.

A function that can be imported is imported. Of one that cannot, such as a lambda or a function within another one, the
text is taken from its file, with the modules, constants and functions that it refers to.

Example: `function_code(np.sum)` is `["from numpy import sum as fn"]`.
"""

from __future__ import annotations

import ast
import builtins
import functools
import linecache
import os
import site
import sys
import sysconfig
import textwrap
import types
from collections.abc import Callable, Iterator
from typing import Any

_MOST_DEFINITIONS = 12
_HOMES = ("numpy", "torch", "torch.nn.functional", "jax.numpy", "jax", "builtins")  # of functions that name no module


def function_code(fn: Callable[..., Any]) -> list[str] | None:
    """Lines that leave this function in the variable `fn`, or None where none were found."""
    try:
        return _Definitions().define("fn", fn)
    except (_NoCodeError, OSError, SyntaxError, ValueError):
        return None


def import_code(name: str, value: Any) -> list[str] | None:
    """Lines that import this function or class under a name, or None where no module has it."""
    path = str(getattr(value, "__qualname__", None) or getattr(value, "__name__", "")).split(".")
    if not all(part.isidentifier() for part in path):
        return None
    for home in (getattr(value, "__module__", None), *_HOMES):
        module = sys.modules.get(home) if isinstance(home, str) else None
        found: Any = module
        for part in path:
            found = getattr(found, part, None)
        home = home if home != "__main__" else _name_of_main(module)
        is_named = all(part.isidentifier() for part in (home or "").split("."))
        if module is not None and is_named and found is value:
            lines = [*_path_code(module), f"from {home} import {path[0]}" + (f" as {name}" if path[0] != name else "")]
            return lines if len(path) == 1 else [*lines, f"{name} = {'.'.join(path)}"]
    return None


def _name_of_main(module: types.ModuleType | None) -> str | None:
    """By which name the program itself can be imported, if it says what of it is only for running it."""
    file = getattr(module, "__file__", None)
    stem = os.path.splitext(os.path.basename(file or ""))[0]
    has_guard = any(line.startswith("if __name__ ==") for line in linecache.getlines(file or ""))
    return stem if has_guard and stem.isidentifier() else None


def _path_code(module: types.ModuleType) -> list[str]:
    """What a fresh interpreter must do to find this module: nothing where it is installed."""
    file = getattr(module, "__file__", None)
    if file is None:
        return []
    depth = module.__name__.count(".") + (os.path.basename(file) == "__init__.py")
    folder = os.path.dirname(os.path.abspath(file))
    for _ in range(depth if module.__name__ != "__main__" else 0):
        folder = os.path.dirname(folder)
    known = [*site.getsitepackages(), site.getusersitepackages(), *sysconfig.get_paths().values()]
    is_installed = "dist-packages" in folder or folder in {os.path.abspath(path) for path in known}
    return [] if is_installed else ["import sys", f"sys.path.insert(0, {folder!r})"]


class _NoCodeError(Exception):
    """Something has no lines of code that make it again."""


class _Definitions:
    """Lines that define what a function needs, each name once."""

    def __init__(self) -> None:
        self.known: dict[str, Any] = {}

    def define(self, name: str, value: Any) -> list[str]:
        """Lines that leave this value in a variable of this name."""
        if name in self.known:
            if self.known[name] is not value:
                raise _NoCodeError(name)
            return []
        if len(self.known) >= _MOST_DEFINITIONS:
            raise _NoCodeError(name)
        self.known[name] = value
        if isinstance(value, types.ModuleType):
            alias = f" as {name}" if value.__name__ != name else ""
            return [*_path_code(value), f"import {value.__name__}{alias}"]
        if isinstance(value, functools.partial):
            return self._partial(name, value)
        imported = import_code(name, value) if callable(value) else None
        if imported is not None:
            return imported
        if isinstance(value, types.FunctionType):
            return self._function(name, value)
        return [f"{name} = {literal(value)}"]

    def _partial(self, name: str, value: Any) -> list[str]:
        inner = f"{name}_of"
        lines = self.define(inner, value.func)
        given = [literal(one) for one in value.args] + [f"{key}={literal(one)}" for key, one in value.keywords.items()]
        return [*lines, "import functools", f"{name} = functools.partial({', '.join([inner, *given])})"]

    def _function(self, name: str, fn: types.FunctionType) -> list[str]:
        text, node = _text(fn)
        lines: list[str] = []
        cells = {} if fn.__closure__ is None else {
            free: cell.cell_contents for free, cell in zip(fn.__code__.co_freevars, fn.__closure__, strict=True)}
        for needed in _names(node):
            if needed in cells or needed in fn.__globals__:
                value = cells.get(needed, fn.__globals__.get(needed))
                if value is not fn:
                    lines += self.define(needed, value)
            elif not hasattr(builtins, needed) and needed in fn.__code__.co_freevars:
                raise _NoCodeError(needed)
        if isinstance(node, ast.Lambda):
            return [*lines, f"{name} = {text}"]
        return [*lines, *text.splitlines(), *([f"{name} = {node.name}"] if node.name != name else [])]


def _text(fn: types.FunctionType) -> tuple[str, ast.Lambda | ast.FunctionDef]:
    """The function's own text in its file."""
    source = "".join(linecache.getlines(fn.__code__.co_filename))
    kind = ast.Lambda if fn.__name__ == "<lambda>" else ast.FunctionDef
    found: dict[str, ast.Lambda | ast.FunctionDef] = {}
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, kind) or node.lineno != fn.__code__.co_firstlineno:
            continue
        segment = ast.get_source_segment(source, node)
        if isinstance(node, ast.Lambda):
            text = ast.unparse(node)
            if _reads(compile(text, "", "eval").co_consts[0]) == _reads(fn.__code__):
                found[text] = node
        elif segment is not None and not node.decorator_list:
            found[textwrap.dedent(" " * node.col_offset + segment)] = node
    if len(found) != 1:
        raise _NoCodeError(fn.__name__)
    return next(iter(found.items()))


def _reads(code: types.CodeType) -> tuple[object, ...]:
    """What tells one lambda from another on the same line, whatever the functions around it are."""
    names = {*code.co_names, *code.co_freevars, *code.co_cellvars}
    constants = [repr(one) for one in code.co_consts if not isinstance(one, (types.CodeType, str))]
    return code.co_varnames, sorted(names), constants


def _names(node: ast.AST) -> Iterator[str]:
    """The names that are read somewhere in this piece of code."""
    found = [one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)]
    return iter(dict.fromkeys(found))


def literal(value: Any) -> str:
    """The text of a constant."""
    text = repr(value)
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, TypeError):
        raise _NoCodeError(text) from None
    return text
