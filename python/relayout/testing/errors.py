"""What `assert_layout_invariant` raises.

Example: `except LayoutError as error: exec(error.code)` rebuilds the arguments as `args` and `kwargs`, and
`exec(error.script, {})` fails by itself.
"""

from __future__ import annotations

from typing import Any


def _again(kind: type, args: tuple[Any, ...], fields: dict[str, Any]) -> BaseException:
    """An error from its parts, as pickle makes it in another process."""
    error = kind.__new__(kind, *args)
    error.__dict__.update(fields)
    return error


class NondeterministicError(AssertionError):
    """The function gives different results for the same contiguous arguments, so layouts cannot be judged."""

    def __init__(self, message: str) -> None:
        super().__init__(message)


class LayoutDifference(AssertionError):
    """Arrays as they are give something else than contiguous copies of them."""

    def __init__(self, message: str) -> None:
        super().__init__(message)


class LayoutError(AssertionError):
    """The result of a function depends on how an argument lies in memory."""

    def __init__(self, message: str, *, variant: str, argument: tuple[int | str, ...], code: str, script: str,
                 index: tuple[int, ...] | None, offset: int | None, got: Any, expected: Any, wrong: int, total: int,
                 explanation: str | None, notes: tuple[str, ...], kind: str) -> None:
        super().__init__(message)
        self.variant = variant  # names from VARIANTS joined by "+"; where two arguments are at fault, by ", "
        self.argument = argument  # positions or names of the arguments whose layout is at fault
        self.code = code  # lines that rebuild `args` and `kwargs`
        self.script = script  # the same with the function and a check: a program that fails by itself
        self.index = index  # of the first wrong element
        self.offset = offset  # of that element, in elements, in row-major order
        self.got = got
        self.expected = expected
        self.wrong = wrong
        self.total = total
        self.explanation = explanation  # which misreading gives these values, or None
        self.notes = notes
        self.kind = kind  # "values", "shape", "type", "raised" or "gaps"

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.args, dict(self.__dict__))
