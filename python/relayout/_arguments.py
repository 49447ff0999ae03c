"""Which argument of a call has the wrong type, in words.

    relayout.copy(x, y, threads="2")    # TypeError: copy(): threads must be an integer, not '2' (str)

After a call of a public function has failed with a TypeError, explained() compares its arguments with the annotations
of the function, or, where these say `object` or `Any`, with what the parameter's name says. Calls that succeed pay
nothing for it. present() has the functions of a module called so.
"""
from __future__ import annotations

import collections.abc
import inspect
import operator
import os
import sys
import typing
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple, Union

from . import _native
from ._signatures import signature_of

#: How nanobind begins the error of a call whose arguments it cannot convert, behind the function's name.
_NANOBIND = "(): incompatible function arguments"
_LONGEST = 60
_MOST_ELEMENTS = 1000
_SIMPLE = {int: "an integer", float: "a number", bool: "True or False", str: "a text", bytes: "bytes", dict: "a dict",
           type(None): "None"}
_PLURALS = {"an integer": "integers", "a number": "numbers", "a text": "texts", "a layout expression or a Layout":
            "layout expressions and Layouts"}


class _Kind:
    """What may be given: how it is called, and the test of a value."""

    def __init__(self, words: str, fits: Callable[[Any], bool]):
        self.words = words
        self.fits = fits


def _is_index(value: Any) -> bool:
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


def _is_number(value: Any) -> bool:
    return not isinstance(value, (str, bytes)) and (hasattr(value, "__float__") or hasattr(value, "__index__"))


def _is_array(value: Any) -> bool:
    if isinstance(value, type):
        return False
    protocols = ("__dlpack__", "__array_interface__", "__array__", "__buffer__", "__torch_function__")
    if any(hasattr(value, name) for name in protocols):
        return True
    try:
        memoryview(value)
    except TypeError:
        return False
    return True


def _is_type_of_elements(value: Any) -> bool:
    import numpy as np
    if isinstance(value, str) or str(value).startswith("torch."):
        return True
    try:
        np.dtype(value)
    except (TypeError, ValueError):
        return False
    return True


def _are_indices(value: Any) -> bool:
    if _is_index(value):
        return True
    return not isinstance(value, (str, bytes)) and isinstance(value, collections.abc.Iterable) and all(
        _is_index(v) for v in _elements(value))


_INTEGER = _Kind("an integer", _is_index)
_ARRAY = _Kind("an array", _is_array)
_DTYPE = _Kind("a type of elements such as 'f32' or numpy.float32", _is_type_of_elements)
_LAYOUT = _Kind("a layout expression or a Layout", lambda v: isinstance(v, (str, _native.Layout)))
_INTEGERS = _Kind("a sequence of integers", _are_indices)
_TABLE = _Kind("an array or a sequence of integers", lambda v: _is_array(v) or _are_indices(v))
_NUMBERS = _Kind("a number or an array of numbers", lambda v: _is_number(v) or not isinstance(v, (str, bytes)) and
                 isinstance(v, collections.abc.Iterable))
_PATH = _Kind("a path: a text, bytes or an os.PathLike", lambda v: isinstance(v, (str, bytes, os.PathLike)))
_CALLABLE = _Kind("a function", callable)

#: What the parameters of these names are in every function whose annotations leave it open.
_BY_NAME: Dict[str, _Kind] = {
    **dict.fromkeys(("table", "starts"), _TABLE),
    **dict.fromkeys(("x", "y", "out", "like", "base", "buffer"), _ARRAY),
    "buffers": _Kind("an array, or a dict of arrays", lambda v: isinstance(v, Mapping) or _is_array(v)),
    **dict.fromkeys(("dtype", "src_dtype"), _DTYPE),
    **dict.fromkeys(("src", "dst"), _LAYOUT),
    **dict.fromkeys(("dims", "sizes", "shape", "strides_elements", "strides_bytes", "offsets", "parts", "dimensions"),
                    _INTEGERS),
    **dict.fromkeys(("scale", "dst_scale", "zero_point", "dst_zero_point", "mean", "std"), _NUMBERS),
    "order": _Kind("'C', 'F', a layout expression or a sequence of integers",
                   lambda v: isinstance(v, str) or _are_indices(v)),
    "key": _Kind("an integer, a slice, None, ... or a tuple of these", lambda v: all(
        k is None or k is ... or isinstance(k, slice) or _is_index(k) for k in (v if isinstance(v, tuple) else (v,)))),
    "padding": _Kind("a number or None", lambda v: v is None or _is_number(v)),
    "path": _PATH,
    "progress": _CALLABLE,
}
#: Those that have another meaning in one function.
_BY_FUNCTION: Dict[Tuple[str, str], _Kind] = {
    ("show", "what"): _Kind("a Layout or an array", lambda v: isinstance(v, _native.Layout) or _is_array(v)),
    ("show", "other"): _Kind("a Layout, an array or None",
                             lambda v: v is None or isinstance(v, _native.Layout) or _is_array(v)),
    ("sparse_rows_index", "indices"): _TABLE,
    ("copy", "dst"): _ARRAY, ("copy", "src"): _ARRAY,
    ("save", "x"): _Kind("an array, or a dict of arrays", lambda v: isinstance(v, Mapping) or _is_array(v)),
}


def _elements(value: Any) -> List[Any]:
    """Of a container that is short enough to be the dims of something; of all else none are looked at."""
    return list(value) if isinstance(value, collections.abc.Sized) and len(value) <= _MOST_ELEMENTS else []


def _many(words: str) -> str:
    return _PLURALS.get(words, f"values that are each {words}")


def _given(value: Any) -> str:
    kind = type(value).__name__
    if value is None or value is ...:
        return repr(value)
    if not isinstance(value, (str, bytes, bool, int, float, complex, tuple, list)):
        return f"a value of the type {kind}"
    try:
        text = repr(value)
    except ValueError:  # an integer of thousands of digits
        text = "a number"
    return f"{text if len(text) <= _LONGEST else text[:_LONGEST - 3] + '...'} ({kind})"


class _Wrong(Exception):
    """The part of an argument that does not fit: its name, what it must be, and what it is."""

    def __init__(self, name: str, words: str, value: Any):
        super().__init__(name)
        self.text = f"{name} must be {words}, not {_given(value)}"


def _kind_of(hint: Any) -> Optional[_Kind]:
    """Of annotations that have a name in sentences: paths, and what layouts are said by."""
    args = typing.get_args(hint)
    if any(typing.get_origin(one) is os.PathLike for one in args):
        return _PATH
    return _LAYOUT if {str, _native.Layout} <= set(args) else None


def _is_union(hint: Any) -> bool:
    return typing.get_origin(hint) is Union or type(hint).__name__ == "UnionType"


def _words_of(hint: Any) -> str:
    """How an annotation is called in a sentence; empty where anything fits."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return ""
    if _is_union(hint):
        kind = _kind_of(hint)
        named = {str, _native.Layout} | {one for one in args if typing.get_origin(one) is os.PathLike}
        parts = [kind.words] if kind else []
        parts += [_words_of(one) for one in args if not (kind and one in named)]
        return "" if "" in parts else " or ".join(dict.fromkeys(parts))
    if origin is None and hint in _SIMPLE:
        return _SIMPLE[hint]
    if origin is tuple and args[-1] is not ...:
        return f"a tuple of {len(args)} {_many(_words_of(args[0]))}"
    if origin is collections.abc.Callable:
        return "a function"
    if isinstance(origin, type) and issubclass(origin, collections.abc.Mapping):
        return "a dict"
    if _is_sequence(origin):
        return f"a sequence of {_many(_words_of(args[0]))}" if _words_of(args[0]) else "a sequence"
    kind = origin or hint
    if isinstance(kind, type) and kind is not object and not getattr(kind, "_is_protocol", False):
        if kind.__name__.startswith("_"):
            return " or ".join(_words_of(derived) for derived in kind.__subclasses__())
        home = kind.__module__ if kind.__module__ == "relayout.opencl" else kind.__module__.split(".")[0]
        return f"a {home}.{kind.__name__}"
    return ""


def _is_sequence(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, collections.abc.Iterable) and not issubclass(
        kind, collections.abc.Iterator)


def _check(name: str, value: Any, hint: Any) -> None:
    """Raises _Wrong where a value, or an element of it, is none that an annotation names."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    elements, fits = [], True
    if _is_union(hint):
        _check_union(name, value, hint)
    elif hint is int or hint is float:
        fits = (_is_index if hint is int else _is_number)(value)
    elif origin is collections.abc.Callable:
        fits = callable(value)
    elif isinstance(origin, type) and issubclass(origin, collections.abc.Mapping):
        fits = isinstance(value, collections.abc.Mapping)
        for key, item in value.items() if fits else ():
            _check(f"a key of {name}", key, args[0])
            elements.append((f"{name}[{key!r}]", item, args[1]))
    elif _is_sequence(origin):
        fixed = origin is tuple and args[-1] is not ...
        fits = isinstance(value, collections.abc.Iterable) and not isinstance(value, (str, bytes))
        fits = fits and not (fixed and len(_elements(value)) != len(args))
        elements = [(f"{name}[{i}]", item, args[i if fixed else 0]) for i, item in enumerate(_elements(value))
                    ] if fits else []
    elif _words_of(hint):
        fits = isinstance(value, origin or hint)
    if not fits:
        raise _Wrong(name, _words_of(hint), value)
    for part, item, expected in elements:
        _check(part, item, expected)


def _check_union(name: str, value: Any, hint: Any) -> None:
    kind, wrong = _kind_of(hint), []
    if kind is not None and kind.fits(value):
        return
    for one in typing.get_args(hint):
        try:
            return _check(name, value, one)
        except _Wrong as error:
            wrong.append(error)
    # What is wrong inside a container is said, where the parts of the union that take containers agree about it.
    inside = {error.text: error for error in wrong if str(error) != name}
    raise list(inside.values())[0] if len(inside) == 1 else _Wrong(name, _words_of(hint), value)


def _hints(function: Any, signature: inspect.Signature) -> Dict[str, Any]:
    """What the annotations stand for, which is a text in most functions of Python."""
    found = {name: p.annotation for name, p in signature.parameters.items()}
    if any(isinstance(hint, str) for hint in found.values()):
        try:
            found.update(typing.get_type_hints(function))
        except (NameError, TypeError, AttributeError):  # names that only type checkers know
            pass
    return found


def _name_of(function: Any) -> str:
    qualified = str(function.__qualname__)
    return qualified[:-len(".__init__")] if qualified.endswith(".__init__") else qualified


def _named(parameter: inspect.Parameter, value: Any, hint: Any) -> Iterator[Tuple[str, Any, Any]]:
    """(name, value, annotation) of each value of a parameter."""
    if parameter.kind is parameter.VAR_POSITIONAL:
        if len(value) == 1 and not _is_index(value[0]):  # offset((1, 2)) is offset(1, 2)
            yield "the argument", value[0], typing.Sequence[int]
        else:
            yield from ((f"argument {i + 1}", v, int) for i, v in enumerate(value))
    elif parameter.kind is parameter.VAR_KEYWORD:
        yield from ((key, v, hint) for key, v in value.items())
    else:
        yield parameter.name, value, hint


def _check_one(function: str, parameter: inspect.Parameter, value: Any, hint: Any) -> None:
    open_to_all = hint in (Any, object, inspect.Parameter.empty) or hint == Optional[object]
    kind = _BY_FUNCTION.get((function, parameter.name), _BY_NAME.get(parameter.name))
    if not open_to_all or kind is None:
        if parameter.kind is not parameter.VAR_POSITIONAL or function.startswith("Layout."):
            for name, part, expected in _named(parameter, value, hint):
                _check(name, part, expected)
        return
    if value is None and (parameter.default is None or hint == Optional[object]):
        return
    if kind is _INTEGERS and not isinstance(value, (str, bytes)) and isinstance(value, collections.abc.Iterable):
        _check(parameter.name, value, typing.Sequence[int])
    if not kind.fits(value):
        raise _Wrong(parameter.name, kind.words, value)


def _too_large(bound: inspect.BoundArguments, hints: Mapping[str, Any]) -> Optional[str]:
    """The integer that is the farthest from 0 of those that do not fit 32 bits."""
    found: List[Tuple[int, str]] = []
    for name, value in bound.arguments.items():
        if hints.get(name) in (int, Optional[int]) and _is_index(value) and not -2**31 <= operator.index(value) < 2**31:
            found.append((abs(operator.index(value)), name))
    if not found:
        return None
    name = max(found)[1]
    return f"{name} is out of range: {_given(operator.index(bound.arguments[name]))}"


def explained(function: Any, args: Tuple[Any, ...], keywords: Dict[str, Any], raised: str) -> Optional[str]:
    """What is wrong with the arguments of a call that raised a TypeError with this text; None where that is not known,
    and where the text begins with the function's name, as its own words do.

    For python/src/functions.cc.
    """
    name, signature = _name_of(function), signature_of(function)
    unread = _NANOBIND in raised
    if not unread and raised.startswith((f"{name}: ", f"{name}(): ")):
        return None  # the function's own words
    try:
        bound = signature.bind(*args, **keywords)
    except TypeError as error:
        return f"{name}(): {error}" if unread else None
    hints = _hints(function, signature)
    try:
        for key, value in bound.arguments.items():
            _check_one(name, signature.parameters[key], value, hints[key])
    except _Wrong as wrong:
        return f"{name}(): {wrong.text}"
    if not unread:
        return None
    return f"{name}(): {_too_large(bound, hints) or f'the arguments are not those of {name}{signature}'}"


def present(module: str, names: Iterable[str]) -> None:
    """Puts in the place of each of these functions of a module, and of the methods of its classes, an object that calls
    it, and that calls explained() where it raises a TypeError. What is no function of Python stays."""
    for name in names:
        thing = getattr(sys.modules[module], name)
        if inspect.isfunction(thing):
            made = _native.with_named_arguments(thing)
            setattr(sys.modules[module], name, made)
            setattr(sys.modules[thing.__module__], name, made)  # where pickle looks it up
        elif isinstance(thing, type) and not issubclass(thing, BaseException):
            _present_methods(thing)


def _present_methods(kind: type) -> None:
    for owner in kind.__mro__:
        if not owner.__module__.startswith("relayout.") or owner.__module__.startswith("relayout._native"):
            continue
        for key, member in list(vars(owner).items()):
            if key.startswith("_") and key not in ("__init__", "__getitem__"):
                continue
            if inspect.isfunction(member):
                setattr(owner, key, _native.with_named_arguments_of_method(member))
            elif isinstance(member, classmethod) and inspect.isfunction(member.__func__):
                setattr(owner, key, classmethod(_native.with_named_arguments_of_method(member.__func__)))
            elif isinstance(member, staticmethod) and inspect.isfunction(member.__func__):
                setattr(owner, key, staticmethod(_native.with_named_arguments(member.__func__)))
