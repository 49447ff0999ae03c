"""`assert_layout_invariant`: one function, the same values, every layout.

Example: `assert_layout_invariant(np.cumsum, x, axis=1)` is silent and returns how many layouts gave the same result.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from .calls import Case, Outcome, Subject
from .compare import Mismatch, Tolerance
from .errors import LayoutError
from .explain import Explanation, Failure, explanations, most_common
from .paste import PLACE_OF_FUNCTION, Pasted, verified_code
from .recipe import Recipe
from .shrink import failure_of, shrink
from .variants import chosen, recipes

_MOST_PAIR_CASES = 24  # of one pair of arguments
_MOST_PAIRS = 10
_MOST_EVIDENCE_CALLS = 300
_MOST_EVIDENCE = 20
_WIDTH = 300  # of a line of code in the message; the exception has the whole one


def assert_layout_invariant(fn: Callable[..., Any], *args: Any, rtol: float | None = None, atol: float | None = None,
                            layouts: str | list[str] | tuple[str, ...] = "all",
                            allow_errors: tuple[type[BaseException], ...] = (), seed: int = 0,
                            shapes: str | Sequence[str] | None = None, **kwargs: Any) -> int:
    """Checks that `fn(*args, **kwargs)` gives the same in whatever way its arrays lie in memory.

    `fn` is called with the caller's values in contiguous arrays, twice, and then in every layout that the arrays'
    framework has: one argument at a time, then two at once. Arrays may stand within lists, tuples and dicts, and are
    of NumPy, PyTorch (on their device) or JAX; everything else is passed as it is. Results, the arguments as they are
    after the call, gradients of PyTorch's tensors that need them (also where `fn` does not compute them itself) and the
    memory around the arguments are compared with what the contiguous arrays gave; NaN fills the gaps between the
    elements. Where a dim is broadcast, the values along it are made equal for both calls. Arguments that `fn` writes to
    get no broadcast and no read-only layouts.

    rtol, atol     tolerances for floating results; by default those of `torch.testing` for the result's type
    layouts        "all", or names from `VARIANTS`; "far" (beyond 2^31 elements) is not part of "all"
    allow_errors   exceptions by which `fn` may refuse a layout; others are failures
    seed           for the choice of permutations and pairs where not all are tried
    shapes         which extents have to be equal when a failing case is made smaller: a letter for each dim of each
                   array, as in "bqd bkd", and a dot for a dim that keeps its extent. By default those that are equal

    Returns the number of layouts in which the result was the same; those that `fn` refused, or whose values it does not
    take, do not count. Raises `LayoutError` (an AssertionError) for the smallest layout in which it was not,
    `NondeterministicError` if contiguous arrays do not always give the same, and whatever `fn` raises for contiguous
    arrays. Wrap `fn` in a lambda if it has arguments of these names itself.
    """
    __tracebackhide__ = True  # pytest shows the caller's line
    names = chosen(layouts)
    subject = Subject(fn, args, kwargs, Tolerance(rtol, atol), allow_errors, shapes)
    if not subject.start.values:
        raise TypeError("assert_layout_invariant: there is no array of NumPy, PyTorch or JAX among the arguments")
    mutated = subject.check_baseline()
    found = subject.check_backward()
    if found is not None:
        raise _backward_error(subject, found)
    cases = _cases(subject, names, mutated, Random(seed))
    for case in cases:
        failure = failure_of(subject, case)
        if failure is not None:
            raise _error(subject, failure, cases)
    return subject.agreed


def _cases(subject: Subject, names: list[str], mutated: set[int], random: Random) -> Iterator[Case]:
    """Every layout of one argument, then layouts of two at once."""
    start = subject.start
    possible: list[dict[str, list[Recipe]]] = []
    for j, values in enumerate(start.values):
        found: dict[str, list[Recipe]] = {}
        for name, recipe in recipes(names, values.shape, values.itemsize, random):
            is_useless = j in mutated and (recipe.broadcast_dims or recipe.foreign)
            if not is_useless and values.framework.supports(recipe, values):
                found.setdefault(name, []).append(recipe)
        possible.append(found)
        for family in found.values():
            yield from (start.with_recipe(j, recipe) for recipe in family)
    pairs = list(itertools.combinations(range(len(possible)), 2))
    for i, j in random.sample(pairs, min(len(pairs), _MOST_PAIRS)):
        both = [(possible[i][name][0], possible[j][name][0])
                for name in possible[i] if name in possible[j] and name != "far"]
        lasts = [[family[-1] for name, family in possible[k].items() if name != "far"] for k in (i, j)]
        mixed = list(itertools.product(lasts[0], lasts[1]))
        both += random.sample(mixed, max(0, min(len(mixed), _MOST_PAIR_CASES - len(both))))
        yield from (start.with_recipe(i, one).with_recipe(j, other) for one, other in both)


def _error(subject: Subject, failure: Failure, rest: Iterator[Case]) -> LayoutError:
    """Everything that can be found out about a failure."""
    first = failure
    want = subject.baseline(failure.case.values)
    assert want is not None
    for _ in range(2):
        subject.require_deterministic(want, failure.case.values)
    failure, found, pasted = _pasted(subject, first, *_explained(subject, failure, rest))
    notes = [*_notes(subject, failure, first, found)]
    if not pasted.is_verified:
        notes.append("the lines below did not fail when they were tried")
    mismatch = failure.mismatch
    varied = failure.case.varied
    return LayoutError(
        _message(subject, first, failure, found, tuple(notes), pasted.script),
        variant=", ".join("+".join(failure.case.recipes[j].parts()) for j in varied),
        argument=tuple(subject.owners[j] for j in varied), code=pasted.code, script=pasted.script,
        index=mismatch.index, offset=mismatch.offset,
        got=mismatch.got, expected=mismatch.expected, wrong=mismatch.wrong, total=mismatch.total,
        explanation=None if found is None else found.text, notes=tuple(notes), kind=mismatch.kind)


def _backward_error(subject: Subject, found: Mismatch) -> LayoutError:
    """Of gradients that depend on how the gradient of the result lies in memory, with contiguous arguments."""
    want = subject.baseline(subject.start.values)
    assert want is not None
    subject.require_deterministic(want, subject.start.values)
    pasted = verified_code(subject, Failure(subject.start, found, want))
    explanation = "the backward pass depends on the layout of the result's gradient"
    lines = ["the gradients depend on the layout of the result's gradient", "", f"  wrong: {found.text}",
             f"  explanation: {explanation}", "", _heading(pasted.script), "", *_shown(pasted.script)]
    return LayoutError("\n".join(lines), variant="", argument=(), code=pasted.code, script=pasted.script,
                       index=found.index, offset=found.offset, got=found.got, expected=found.expected,
                       wrong=found.wrong, total=found.total, explanation=explanation, notes=(), kind=found.kind)


def _pasted(subject: Subject, first: Failure, failure: Failure,
            found: Explanation | None) -> tuple[Failure, Explanation | None, Pasted]:
    """The smallest failure that fails when it is rebuilt from lines of code: this one, or else the first."""
    pasted = verified_code(subject, failure)
    if not pasted.is_verified:
        for other in (failure_of(subject, first.case.numbered()), first):
            whole = None if other is None else verified_code(subject, other)
            if other is not None and whole is not None and whole.is_verified:
                return other, next(explanations(subject, other), None), whole
    return failure, found, pasted


def _explained(subject: Subject, failure: Failure, rest: Iterator[Case]) -> tuple[Failure, Explanation | None]:
    """The smallest failure, and its explanation."""
    numbered = failure_of(subject, failure.case.numbered())
    if numbered is None or numbered.mismatch.kind != failure.mismatch.kind:
        failure = shrink(subject, failure, None)
        if numbered is not None or failure.mismatch.kind != "values":
            return failure, None
        names = " and ".join(subject.names[j] for j in failure.case.varied)
        return failure, Explanation("nan", f"memory around the elements of {names} reaches the result where it holds "
                                           "NaN, though not where it holds numbers, as if it were multiplied by 0")
    key = most_common(subject, [numbered, *_more_failures(subject, numbered, rest)])
    failure = shrink(subject, numbered, key)
    found = None if key is None else _of_same_arguments(subject, numbered, failure, key)
    return _at_fault(subject, failure, found), found


def _of_same_arguments(subject: Subject, first: Failure, failure: Failure, key: str) -> Explanation | None:
    """The explanation of the smallest failure that blames the arguments which the first one's does. In the smallest one
    several arguments may hold the same values, and each of them may explain it."""
    wanted = next(explanations(subject, first, key), None)
    found = list(explanations(subject, failure, key))
    same = (one for one in found if wanted is not None and one.misread == wanted.misread)
    return next(same, found[0] if found else None)


def _at_fault(subject: Subject, failure: Failure, found: Explanation | None) -> Failure:
    """Where one argument is read by the strides of another, the case in which the misread one has the odd layout."""
    varied = failure.case.varied
    if found is None or len(varied) != 1 or len(found.misread) != 1 or found.misread == tuple(varied):
        return failure
    (i,), (j,) = varied, found.misread
    recipe = failure.case.recipes[i]
    if recipe.rank != failure.case.recipes[j].rank or not failure.case.values[j].framework.supports(
            recipe, failure.case.values[j]):
        return failure
    other = failure_of(subject, failure.case.with_recipe(i, Recipe.plain(recipe.rank)).with_recipe(j, recipe))
    is_same = other is not None and any(True for _ in explanations(subject, other, found.key))
    return other if other is not None and is_same else failure


def _more_failures(subject: Subject, failure: Failure, rest: Iterator[Case]) -> Iterator[Failure]:
    """Other failing layouts, of other kinds first of all, which tell explanations apart."""
    limit, count = subject.calls + _MOST_EVIDENCE_CALLS, 0
    seen: dict[tuple[Any, ...], int] = {}
    for case in rest:
        if subject.calls > limit or count >= _MOST_EVIDENCE:
            return
        kind = tuple((j, *case.recipes[j].parts()) for j in case.varied)
        if seen.get(kind, 0) < 2 and not any(_is_risky(case, j) for j in case.varied):
            found = failure_of(subject, case.numbered())
            if found is not None and found.mismatch.kind == failure.mismatch.kind:
                seen[kind] = seen.get(kind, 0) + 1
                count += 1
                yield found


def _is_risky(case: Case, j: int) -> bool:
    """Whether a misread integer may consist of parts of two, which is a wild index for a compiled kernel."""
    return case.recipes[j].skew > 0 and case.values[j].is_integer


def _notes(subject: Subject, failure: Failure, first: Failure, found: Explanation | None) -> Iterator[str]:
    """Facts that hold besides the explanation."""
    varied = failure.case.varied
    error = failure.got.error
    if error is not None and "read-only" in str(error).lower():
        yield "it asks for memory that can be written, though it writes nothing to the contiguous array"
    again = subject.run(failure.case)
    if (again.error is None) != (error is None) or (error is None and not _same(subject, again, failure.got)):
        yield "it gives something else each time in this layout, as what reads memory of others does"
    if len(varied) > 1:
        names = " and ".join(subject.names[j] for j in varied)
        yield f"it is right where only one of {names} has its layout"
    elif first.case.varied == varied and error is None and (found is None or "strides of argument" not in found.key):
        j = varied[0]
        recipe = first.case.recipes[j]
        for i, values in enumerate(first.case.values):
            if i != j and values.shape == first.case.values[j].shape and not recipe.broadcast_dims:
                if subject.judge(first.case.with_recipe(i, recipe)) is None:
                    yield (f"it is right where {subject.names[i]} has this layout too, so the layout of "
                           f"{subject.names[j]} is probably not looked at")


def _same(subject: Subject, one: Outcome, other: Outcome) -> bool:
    return subject.compare(replace(one, gaps={}), replace(other, gaps={})) is None


def _message(subject: Subject, first: Failure, failure: Failure, found: Explanation | None, notes: tuple[str, ...],
             script: str) -> str:
    names = " and ".join(subject.names[j] for j in failure.case.varied)
    lines = [f"the result depends on the layout of {names}", ""]
    for j in failure.case.varied:
        layout = failure.case.recipes[j].apply(failure.case.values[j].shape)
        variant = "+".join(failure.case.recipes[j].parts())
        lines += [f"  {subject.names[j]}: {variant}: {failure.case.recipes[j].describe()}",
                  f"      shape {layout.shape}, strides {layout.strides} and offset {layout.offset} in elements"]
    lines += [f"  wrong: {failure.mismatch.text}"]
    explanation = found.text if found else "none of the usual misreadings gives these values"
    lines += [f"  explanation: {explanation}"]
    lines += [f"  note: {note}" for note in notes]
    lines += [f"  first seen: {_where(subject, first)}", "", _heading(script), ""]
    return "\n".join([*lines, *_shown(script)])


def _heading(script: str) -> str:
    if PLACE_OF_FUNCTION not in script:
        return "  These lines fail by themselves:"
    return "  These lines fail by themselves once fn is your function, which is not found by its name:"


def _shown(script: str) -> list[str]:
    """The lines of a script, of which long ones are cut."""
    shown = [line if len(line) <= _WIDTH else line[:_WIDTH] + " ...  # the whole line is in the exception's `script`"
             for line in script.splitlines()]
    return ["    " + line for line in shown]


def _where(subject: Subject, first: Failure) -> str:
    parts = []
    for j in first.case.varied:
        recipe, values = first.case.recipes[j], first.case.values[j]
        parts.append(f"{subject.names[j]} of shape {values.shape}, {recipe.describe()}")
    return "; and ".join(parts)
