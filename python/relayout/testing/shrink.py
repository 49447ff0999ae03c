"""Makes a failing case as small as it gets while it still fails for the same reason.

Example: a tensor of 4 x 5 x 6 with step 2 in dims 1 and 2 that is misread as contiguous becomes one of 1 x 1 x 2 with
step 2 in dim 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from .calls import Case, Subject
from .explain import Failure, explanations
from .extents import Tie
from .values import Values

_MOST_CALLS = 1500


def failure_of(subject: Subject, case: Case) -> Failure | None:
    """The failure of this case, or None if it does not fail. Contiguous arrays are right by definition."""
    if case.is_contiguous:
        return None
    case = case.projected()
    found = subject.judge(case)
    return None if found is None else Failure(case, *found)


def shrink(subject: Subject, failure: Failure, key: str | None) -> Failure:
    """The smallest failure found that has the same kind and, if `key` is given, the explanation of this key."""
    limit = subject.calls + _MOST_CALLS
    is_smaller = True
    while is_smaller and subject.calls < limit:
        is_smaller = False
        for case in _smaller(failure.case, subject.ties):
            found = failure_of(subject, case)
            if found is not None and _same_reason(subject, found, failure, key):
                failure, is_smaller = found, True
                break
            if subject.calls >= limit:
                break
    return _with_plain_values(subject, failure, key)


def _same_reason(subject: Subject, found: Failure, failure: Failure, key: str | None) -> bool:
    if found.mismatch.kind != failure.mismatch.kind:
        return False
    if found.mismatch.kind == "raised" and type(found.got.error) is not type(failure.got.error):
        return False
    return key is None or any(True for _ in explanations(subject, found, key))


def _smaller(case: Case, together: Sequence[Tie]) -> Iterator[Case]:
    """Cases with one thing less, the boldest first: an argument's layout, a part of one, extents."""
    varied = case.varied
    if len(varied) > 1:
        yield from (case.with_recipe(j, case.recipes[j].plain(case.recipes[j].rank)) for j in varied)
    for j in varied:
        yield from (case.with_recipe(j, recipe) for recipe in case.recipes[j].simpler())
    yield from _cut(case, together)


def _cut(case: Case, together: Sequence[Tie]) -> Iterator[Case]:
    """Smaller extents, equal where they have to agree."""
    for group in together:
        j, d = group[0]
        n = case.values[j].shape[d]
        for small in sorted({1, 2, 3, n // 2, n - 1}):
            if 0 < small < n:
                yield _cut_to(case, group, small)


def _cut_to(case: Case, group: Tie, small: int) -> Case:
    for j in {j for j, _ in group}:
        shape = tuple(small if (j, d) in group else n for d, n in enumerate(case.values[j].shape))
        case = case.with_values(j, case.values[j].cut(shape))
    return case


def _with_plain_values(subject: Subject, failure: Failure, key: str | None) -> Failure:
    """With 0, 1, 2, ... in place of the caller's values, which makes shorter code, where the function allows it."""
    for j in range(len(failure.case.values)):
        plain = _plain(failure.case.values[j])
        if plain is None or failure.case.recipes[j].broadcast_dims:
            continue
        found = failure_of(subject, failure.case.with_values(j, plain))
        if found is not None and _same_reason(subject, found, failure, key):
            failure = found
    return failure


def _plain(values: Values) -> Values | None:
    """0, 1, 2, ... but no integers beyond the caller's."""
    try:
        plain = values.arange()
    except (TypeError, ValueError, RuntimeError):
        return None
    if not plain.within(values):
        return None
    return replace(plain, is_callers=False)
