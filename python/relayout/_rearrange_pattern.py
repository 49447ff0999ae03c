"""Patterns of rearrange: what a text such as "b (h d) s -> b h s d" means for an array of a given shape.

`_parse` reads a text into the groups of both sides, once per text. `find_recipe` binds them to a shape and to sizes and
gives a `Recipe`, once per shape. For "b (h d) s -> b h s d", the shape (2, 12, 5) and h = 3 that is: split into
(2, 3, 4, 5), permute by (0, 1, 3, 2); nothing is merged then. All errors are ParseError and show the place in the text.
"""
import functools
import math
import operator
import re
from typing import NamedTuple

from ._errors import ParseError

_ELLIPSIS = "..."
# Everything that can stand in a pattern; the last alternative is a character that cannot.
_TOKEN = re.compile(r"->|\.\.\.|[()]|\w+|[^ ]")
# Arguments of rearrange itself: an axis may have such a name, but its size cannot be given by it.
_ARGUMENTS = frozenset(("copy", "threads", "out"))
# Patterns and shapes whose recipes are remembered. A program has few; one recipe takes less than 1 KiB.
_REMEMBERED = 4096


def _fail(message, pattern, position=None, length=1, *, field="pattern", value=None, limit=""):
    """Raises ParseError: the message and the pattern, with carets under `length` characters from `position` on. Its
    field is "pattern" and its value what stands over the carets, unless it is about a dim of the array or a size."""
    lines = [f"rearrange: {message}", f"  {pattern}"]
    if position is not None:
        lines.append("  " + " " * position + "^" * max(length, 1))
    if value is None:
        value = pattern if position is None else pattern[position:position + length]
    raise ParseError("\n".join(lines), field, str(value), str(limit))


class _Axis(NamedTuple):
    """A name, or "...", and where it stands in the pattern."""
    name: str
    position: int


class _Group(NamedTuple):
    """What stands for one dim: the axes of a pair of parentheses, one axis, none (extent 1), or a bare "..."."""
    axes: tuple
    position: int
    length: int
    parenthesized: bool

    @property
    def is_ellipsis(self):
        return not self.parenthesized and len(self.axes) == 1 and self.axes[0].name == _ELLIPSIS


class _Pattern(NamedTuple):
    text: str
    left: tuple
    right: tuple
    arrow: int  # the position of "->", where the left side ends


class Recipe(NamedTuple):
    """What to do with an array of one shape."""
    splits: bool        # whether the array must be split before its dims are permuted
    split: tuple        # the shape after splitting
    axes: tuple | None  # the permutation of these dims; None where it changes nothing
    permuted: tuple     # the shape after the permutation
    merges: bool        # whether what was permuted, or not even split, must still get the shape of the result
    final: tuple        # the shape of the result
    stacked: int        # how many dims of `split` come from the first dim of the array


# ---- Reading a pattern ----

def _check_name(name, pattern, position):
    """Refuses what is neither 1 nor the name of an axis."""
    if name.isdecimal():
        _fail(f"an axis without a name can only have the extent 1, not {name}: give it a name, and its size as an "
              "argument", pattern, position, len(name))
    if not name.isidentifier():
        _fail(f'"{name}" is not a name: a name of an axis has letters, digits and "_", and starts with a letter',
              pattern, position, len(name))
    if name[0] == "_" or name[-1] == "_":
        _fail(f'"{name}" starts or ends with "_", which names of axes do not', pattern, position, len(name))


def _add_axis(name, position, side, seen, pattern):
    """The axis as a tuple of _Axis, empty for the extent 1; remembers it in `seen`."""
    if name.isdecimal() and int(name) == 1:
        return ()
    if name != _ELLIPSIS:
        _check_name(name, pattern, position)
    if name in seen:
        what = '"..."' if name == _ELLIPSIS else f'the axis "{name}"'
        _fail(f'{what} stands twice on the {side} side of "->"', pattern, position, len(name))
    seen.add(name)
    return (_Axis(name, position),)


def _parse_side(tokens, side, pattern):
    """The groups of one side, from its tokens and their positions."""
    groups, seen = [], set()
    opened, inside = None, []
    for token, position in tokens:
        if token == "(":
            if opened is not None:
                _fail("parentheses stand inside parentheses", pattern, position)
            opened, inside = position, []
        elif token == ")":
            if opened is None:
                _fail('")" has no "(" before it', pattern, position)
            groups.append(_Group(tuple(inside), opened, position + 1 - opened, True))
            opened = None
        elif token == _ELLIPSIS or token[0].isalnum() or token[0] == "_":
            axes = _add_axis(token, position, side, seen, pattern)
            if opened is not None:
                inside += axes
            else:
                groups.append(_Group(axes, position, len(token), False))
        elif token[0] == ".":
            _fail('dots stand only in threes, as in "..."', pattern, position, len(token))
        else:
            _fail(f"the character {token!r} has no meaning in a pattern", pattern, position, len(token))
    if opened is not None:
        _fail('"(" has no ")" after it', pattern, opened)
    return tuple(groups)


def _check_ellipsis(left, right, text):
    """Ellipses stand on both sides or on none, and on the left not in parentheses."""
    in_left = {axis.name: (axis, group) for group in left for axis in group.axes}.get(_ELLIPSIS)
    in_right = {axis.name: (axis, group) for group in right for axis in group.axes}.get(_ELLIPSIS)
    if in_left and in_left[1].parenthesized:
        _fail('"..." stands in parentheses on the left side, where it may only stand alone: how many dims it has '
              "follows from the array", text, in_left[0].position, len(_ELLIPSIS))
    if in_left and not in_right:
        _fail('"..." stands only on the left side of "->"; rearrange keeps all dims', text, in_left[0].position,
              len(_ELLIPSIS))
    if in_right and not in_left:
        _fail('"..." stands only on the right side of "->", so that it is not known which dims it means', text,
              in_right[0].position, len(_ELLIPSIS))


def _check_sides(left, right, text):
    """Both sides have the same axes."""
    _check_ellipsis(left, right, text)
    on_left = {axis.name for group in left for axis in group.axes}
    on_right = {axis.name for group in right for axis in group.axes}
    for name, position in (axis for group in left for axis in group.axes):
        if name not in on_right:
            _fail(f'the axis "{name}" stands only on the left side of "->"; rearrange keeps every axis and reduces '
                  "none", text, position, len(name))
    for name, position in (axis for group in right for axis in group.axes):
        if name not in on_left:
            _fail(f'the axis "{name}" stands only on the right side of "->"; rearrange does not repeat elements along '
                  "a new axis, and one of extent 1 is written 1", text, position, len(name))


@functools.lru_cache(maxsize=_REMEMBERED)
def _parse(text):
    """The pattern of a text; ParseError says where it is wrong."""
    tokens = [(match.group(), match.start()) for match in _TOKEN.finditer(text)]
    arrows = [index for index, (token, _) in enumerate(tokens) if token == "->"]
    if not arrows:
        _fail('the pattern has no "->" between its two sides', text, len(text))
    if len(arrows) > 1:
        _fail('the pattern has a second "->"', text, tokens[arrows[1]][1], 2)
    left = _parse_side(tokens[:arrows[0]], "left", text)
    right = _parse_side(tokens[arrows[0] + 1:], "right", text)
    _check_sides(left, right, text)
    return _Pattern(text, left, right, tokens[arrows[0]][1])


# ---- Binding it to a shape ----

def _check_sizes(pattern, sizes):
    """Sizes are whole numbers, not below 0, of axes that the pattern has."""
    positions = {axis.name: axis.position for group in pattern.left for axis in group.axes if axis.name != _ELLIPSIS}
    for name, size in sizes.items():
        if name not in positions:
            known = ", ".join(positions) or "none"
            _fail(f'a size is given for "{name}", which is no axis of the pattern; its axes: {known}', pattern.text,
                  field=name, value=size, limit=known)
        try:
            number = operator.index(size)
        except TypeError:
            raise TypeError(f'rearrange: the size of "{name}" is {size!r}, which is not a whole number') from None
        if number < 0:
            _fail(f'the size of "{name}" is {number}, which is below 0', pattern.text, positions[name], len(name),
                  field=name, value=number, limit="0 or more")


def check_pattern(text, sizes):
    """Raises what is wrong with a pattern or with sizes before any shape is known."""
    _check_sizes(_parse(text), sizes)


def _expand_left(pattern, shape):
    """The left side with an _Axis for each dim of "...", named ...0, ...1; a group for each dim of the shape."""
    groups = []
    ellipsis = any(group.is_ellipsis for group in pattern.left)
    hidden = len(shape) - len(pattern.left) + 1 if ellipsis else 0
    if hidden < 0 or not ellipsis and len(shape) != len(pattern.left):
        wanted = f"{len(pattern.left) - 1} or more dims" if ellipsis else _count(len(pattern.left), "dim")
        position, length = 0, len(pattern.text[:pattern.arrow].rstrip())
        if not ellipsis and len(shape) < len(pattern.left):
            position, length = pattern.left[len(shape)].position, pattern.left[len(shape)].length
        _fail(f"the left side describes {wanted}, but the array has {len(shape)}: its shape is {tuple(shape)}",
              pattern.text, position, length, field="shape", value=tuple(shape), limit=wanted)
    for group in pattern.left:
        if group.is_ellipsis:
            groups += [group._replace(axes=(axis,)) for axis in _hidden_axes(hidden, group.position)]
        else:
            groups.append(group)
    return groups, hidden


def _hidden_axes(count, position):
    return tuple(_Axis(f"{_ELLIPSIS}{index}", position) for index in range(count))


def _expand_right(pattern, hidden):
    groups = []
    for group in pattern.right:
        if group.is_ellipsis:
            groups += [group._replace(axes=(axis,)) for axis in _hidden_axes(hidden, group.position)]
            continue
        axes = []
        for axis in group.axes:
            axes += _hidden_axes(hidden, axis.position) if axis.name == _ELLIPSIS else (axis,)
        groups.append(group._replace(axes=tuple(axes)))
    return groups


def _count(number, what):
    return f"{number} {what}" + ("" if number == 1 else "s")


def _solve_group(group, dim, extent, sizes, text):
    """Sets the extents of a group's axes in `sizes`: at most one is not known, and follows from the dim's extent."""
    unknown = [axis for axis in group.axes if axis.name not in sizes]
    known = [axis.name for axis in group.axes if axis.name in sizes]
    if len(unknown) > 1:
        reserved = next((axis.name for axis in unknown if axis.name in _ARGUMENTS), None)
        hint = f'; "{reserved}=" is an argument of rearrange itself, so the axis needs another name' if reserved else ""
        names = " and ".join(f'"{axis.name}"' for axis in unknown)
        _fail(f"the sizes of {names} are not known; {len(unknown) - 1} of them must be given, because only their "
              f"product follows from dim {dim}, which has the extent {extent}{hint}",
              text, group.position, group.length, field=unknown[0].name, value="")
    product = math.prod(sizes[name] for name in known)
    given = " * ".join(f"{name} = {sizes[name]}" for name in known) or "the extent 1"
    if not unknown:
        if product != extent:
            total = f", which is {product}" if len(known) > 1 else ""
            _fail(f"dim {dim} of the array has the extent {extent}, but the pattern says {given}{total}",
                  text, group.position, group.length, field=f"dims[{dim}]", value=extent, limit=product)
        return
    if product == 0:
        _fail(f'the size of "{unknown[0].name}" does not follow from dim {dim} of extent {extent}, because {given}',
              text, group.position, group.length, field=unknown[0].name, value="", limit=given)
    if extent % product:
        total = f" (in all {product})" if len(known) > 1 else ""
        _fail(f"dim {dim} of the array has the extent {extent}, which is not a multiple of {given}{total}",
              text, group.position, group.length, field=f"dims[{dim}]", value=extent,
              limit=f"a multiple of {product}")
    sizes[unknown[0].name] = extent // product


# typed: otherwise 2.0, which is refused, would be taken for a 2 that was seen before.
@functools.lru_cache(maxsize=_REMEMBERED, typed=True)
def find_recipe(text, shape, /, **sizes):
    """How to rearrange an array of this shape; the slow part of a call, which is remembered."""
    pattern = _parse(text)
    _check_sizes(pattern, sizes)
    left, hidden = _expand_left(pattern, shape)
    extents = {name: operator.index(size) for name, size in sizes.items()}
    for dim, (group, extent) in enumerate(zip(left, shape)):
        _solve_group(group, dim, extent, extents, text)
    right = _expand_right(pattern, hidden)
    before = [axis.name for group in left for axis in group.axes]
    place = {name: index for index, name in enumerate(before)}
    axes = tuple(place[axis.name] for group in right for axis in group.axes)
    split = tuple(extents[name] for name in before)
    permuted = tuple(split[axis] for axis in axes)
    final = tuple(math.prod(extents[axis.name] for axis in group.axes) for group in right)
    moves = axes != tuple(range(len(axes)))
    return Recipe(splits=moves and split != tuple(shape), split=split, axes=axes if moves else None, permuted=permuted,
                   merges=final != (permuted if moves else tuple(shape)), final=final,
                   stacked=len(left[0].axes) if left else 0)
