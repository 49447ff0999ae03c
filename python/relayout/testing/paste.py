"""Writes the lines of code that rebuild the arguments of a failing call.

Example: the code of a transposed argument has `x0 = np.ndarray((2, 3), 'float64', x0_base, 0, (8, 16))`, and
`args = (x0, 1)` and `kwargs = {}` at its end, so that `fn(*args, **kwargs)` is the failing call. The script has the
function and a check as well, so that it fails when it is run by itself.
"""

from __future__ import annotations

import ast
import base64
import itertools
import pickle
import sys
import zlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .calls import Case, Subject
from .errors import LayoutDifference
from .explain import Failure
from .frameworks import framework_of
from .recipe import Recipe
from .source import function_code, import_code
from .values import Values

_MOST_LITERALS = 64
_MOST_PICKLED = 1000  # bytes


@dataclass(frozen=True)
class Pasted:
    """What a report shows."""

    code: str  # leaves the call's arguments in `args` and `kwargs`
    script: str  # the same with the function, the call and a check, which fails
    is_verified: bool  # whether both did so when they were executed here


PLACE_OF_FUNCTION = "# fn = ...  # put your function here"


def verified_code(subject: Subject, failure: Failure) -> Pasted:
    """Lines that rebuild a failing call, executed before they are shown."""
    definition = function_code(subject.fn)
    definitions = [None] if definition is None else [definition, None]
    tried: list[Pasted] = []
    alignments = (True,) if failure.got.has_left else (False, True)
    for is_strict, lines, is_aligned in itertools.product((True, False), definitions, alignments):
        imports, rest = _parts(subject, failure.case, is_aligned)
        code, script = "\n".join([*imports, *rest]), _script(subject, imports, rest, lines)
        if (not is_strict or _reproduces(subject, failure, code)) and _fails(subject, script, lines is None):
            return Pasted(code, script, True)
        tried.append(Pasted(code, script, False))
    return tried[0]


def _script(subject: Subject, imports: dict[str, None], lines: list[str], definition: Sequence[str] | None) -> str:
    """A whole program that fails."""
    if definition is None:
        name = getattr(subject.fn, "__qualname__", type(subject.fn).__name__)
        definition = [f"{PLACE_OF_FUNCTION}, {name}"]
    given = {"rtol": subject.tolerance.rtol, "atol": subject.tolerance.atol}
    options = "".join(f"{key}={value!r}, " for key, value in given.items() if value is not None)
    imports = {**imports, "from relayout.testing import assert_as_if_contiguous": None}
    rest = [line for line in definition if line not in imports]
    check = f"assert_as_if_contiguous(fn, *args, {options}**kwargs)  # fn(*args, **kwargs), and with contiguous copies"
    return "\n".join([*imports, *rest, *lines, check])


def _fails(subject: Subject, script: str, needs_function: bool) -> bool:
    """Whether the program ends in its last line's AssertionError, in a namespace of its own."""
    names: dict[str, Any] = {"fn": subject.fn} if needs_function else {}
    path = list(sys.path)
    try:
        exec(script, names)
    except AssertionError as error:
        return isinstance(error, LayoutDifference)
    except Exception:
        return False
    finally:
        sys.path[:] = path
    return False


def _reproduces(subject: Subject, failure: Failure, code: str) -> bool:
    """Whether the rebuilt arguments give just what the failing ones gave."""
    names: dict[str, Any] = {}
    path = list(sys.path)
    try:
        exec(code, names)
        arrays = [names[f"x{j}"] for j in range(len(failure.case.values))]
        outcome = subject.call(arrays)
    except Exception as error:
        return failure.got.error is not None and type(error) is type(failure.got.error)
    finally:
        sys.path[:] = path
    if failure.got.error is not None:
        return False
    if failure.mismatch.kind == "gaps":  # what lies around an argument is seen by no comparison of results
        return True
    return subject.compare(replace(outcome, gaps={}), replace(failure.got, gaps={})) is None


def code_for(subject: Subject, case: Case, aligned: bool = False) -> str:
    """Lines that, executed, leave the call's arguments in `args` and `kwargs`."""
    imports, lines = _parts(subject, case, aligned)
    return "\n".join([*imports, *lines])


def _parts(subject: Subject, case: Case, aligned: bool) -> tuple[dict[str, None], list[str]]:
    """The imports and the other lines of the code."""
    imports: dict[str, None] = {"import numpy as np": None}
    lines: list[str] = []
    names = [f"x{j}" for j in range(len(case.values))]
    for name, values, recipe in zip(names, case.values, case.recipes, strict=True):
        framework = values.framework
        imports.update(dict.fromkeys(framework.imports.splitlines() + framework.extra_imports(values.dtype)))
        lines += _array_code(name, values, recipe, imports, aligned)
    rest = iter(names)
    unknown: list[str] = []
    args, kwargs = (_tree_code(tree, lambda leaf: _leaf_code(leaf, rest, unknown, imports), unknown)
                    for tree in subject.tree)
    lines += unknown
    lines += [f"args = {args}", f"kwargs = {kwargs}"]
    return imports, lines


def _tree_code(tree: Any, leaf_code: Callable[[Any], str], unknown: list[str]) -> str:
    """An expression for a container; of one whose class cannot be imported for a plain one."""
    if isinstance(tree, dict):
        pairs = [f"{key!r}: {_tree_code(item, leaf_code, unknown)}" for key, item in tree.items()]
        plain = "{" + ", ".join(pairs) + "}"
    elif isinstance(tree, (list, tuple)):
        items = ", ".join([_tree_code(item, leaf_code, unknown) for item in tree])
        plain = f"[{items}]" if isinstance(tree, list) else f"({items}{',' if len(tree) == 1 else ''})"
    else:
        return leaf_code(tree)
    if type(tree) in (list, tuple, dict):
        return plain
    name = f"given{len(unknown)}"
    found = import_code(name, type(tree))
    if found is None:
        return plain
    unknown.append("\n".join(found))
    if isinstance(tree, defaultdict):
        return f"{name}({leaf_code(tree.default_factory)}, {plain})"
    return f"{name}._make({plain})" if hasattr(tree, "_make") else f"{name}({plain})"


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
    found = import_code(name, leaf) if callable(leaf) else _pickled(name, leaf)
    unknown.append("\n".join(found) if found else f"{name} = ...  # put your {type(leaf).__name__} here")
    return name


def _pickled(name: str, leaf: Any) -> list[str] | None:
    """Lines that make an object of the caller's again, if it is small and its class can be imported."""
    if type(leaf).__module__ == "__main__":
        return None
    try:
        text = pickle.dumps(leaf)
    except Exception:
        return None
    return None if len(text) > _MOST_PICKLED else ["import pickle", f"{name} = pickle.loads({text!r})"]


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
