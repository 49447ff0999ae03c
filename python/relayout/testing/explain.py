"""Finds which misreading of strides explains a wrong result: what would a kernel with that fault have given?

Example: an argument of strides (2,) is misread as contiguous. The function, called with a contiguous array of what lies
in the first elements of the buffer, gives the same wrong result, so the explanation is "argument 0 is read as if ...".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .calls import Case, Outcome, Subject, leaf_of
from .compare import Leaf, Mismatch, Tolerance, difference
from .misreadings import Memory, readings
from .values import Values


@dataclass(frozen=True)
class Explanation:
    """A cause that gives just the wrong values. Two cases have one cause if `key` is equal."""

    key: str
    text: str
    misread: tuple[int, ...] = ()  # the arguments that are read wrongly, which may be others than those that vary


@dataclass(frozen=True)
class Failure:
    """A case with what was wrong in it. The values of the case are projected."""

    case: Case
    mismatch: Mismatch
    got: Outcome


def explanations(subject: Subject, failure: Failure, key: str | None = None) -> Iterator[Explanation]:
    """All explanations of a failure, or only those with this key."""
    want = subject.baseline(failure.case.values)
    if want is None or failure.got.error is not None:
        return
    for found in (*_of_writes(subject, failure, want), *_of_the_result(failure, want),
                  *_of_the_gradients(subject, failure, want)):
        if key in (None, found.key):
            yield found
    wanted = None if key is None else key.split(": ", 1)[-1]
    yield from (found for found in _of_readings(subject, failure, want, wanted) if key in (None, found.key))


def _of_readings(subject: Subject, failure: Failure, want: Outcome, wanted: str | None) -> Iterator[Explanation]:
    case = failure.case
    mutated = _changed(subject, want, case.values)
    if _same_results(subject, failure.got, want) and _same_after(subject, failure.got, want.after, mutated):
        return  # what is wrong is not a value that was read
    strides = [r.apply(v.shape).strides for v, r in zip(case.values, case.recipes, strict=True)]
    by_words: dict[str, list[tuple[int, np.ndarray]]] = {}
    for j, (values, recipe) in enumerate(zip(case.values, case.recipes, strict=True)):
        others = tuple((subject.names[i], strides[i]) for i in range(len(strides)) if i != j)
        memory = Memory(recipe, recipe.apply(values.shape), values.itemsize, others)
        for words, bytes_ in readings(memory):
            # A contiguous array is misread only by the strides of another one.
            if j in case.varied or "strides of argument" in words:
                by_words.setdefault(words, []).append((j, bytes_))
    raws: dict[int, np.ndarray] = {}
    for words, found in by_words.items():
        if wanted is not None and words != wanted:
            continue
        groups = [[one] for one in found] + ([found] if len(found) > 1 else [])
        for group in groups:
            yield from _of_one_reading(subject, failure, want, words, group, raws)


def _of_one_reading(subject: Subject, failure: Failure, want: Outcome, words: str,
                    group: Sequence[tuple[int, np.ndarray]], raws: dict[int, np.ndarray]) -> Iterator[Explanation]:
    """Whether the wrong result comes about if these arguments are misread in this way."""
    case = failure.case
    values = list(case.values)
    for j, bytes_ in group:
        if j not in raws:
            raws[j] = case.values[j].fill(case.recipes[j].apply(case.values[j].shape))
        values[j] = values[j].with_data(_gather(raws[j], bytes_, values[j].itemsize))
        if not values[j].within(case.values[j]):
            return
    mutated = _changed(subject, want, case.values)
    at_fault = tuple(j for j, _ in group)
    names = " and ".join(subject.names[j] for j in at_fault)
    verb = "are" if len(group) > 1 else "is"
    if len(group) == 1 and _same_results(subject, failure.got, want):
        j, bytes_ = group[0]
        if j in mutated:
            predicted = list(want.after)
            predicted[j] = _scattered(raws[j], bytes_, want.after[j], case, j)
            if _same_after(subject, failure.got, predicted, mutated):
                yield Explanation("written: " + words, f"{names} is written {words}", at_fault)
    try:
        misread = subject.contiguous(values)
    except Exception:
        misread = None
    if misread is not None and _same_results(subject, failure.got, misread):
        if not mutated & {j for j, _ in group}:
            if _same_after(subject, failure.got, misread.after, mutated):
                yield Explanation(words, f"{names} {verb} read {words}", at_fault)
        else:
            after = {j: _scattered(raws[j], bytes_, misread.after[j], case, j) for j, bytes_ in group if j in mutated}
            predicted = [after.get(j, leaf) for j, leaf in enumerate(misread.after)]
            if _same_after(subject, failure.got, predicted, mutated):
                yield Explanation("read and written: " + words, f"{names} {verb} read and written {words}", at_fault)


def _gather(raw: np.ndarray, bytes_: np.ndarray, itemsize: int) -> np.ndarray:
    return raw[bytes_.reshape(-1)[:, None] + np.arange(itemsize)]


def _scattered(raw: np.ndarray, bytes_: np.ndarray, after: Leaf, case: Case, j: int) -> Leaf:
    """What the argument holds after the elements of `after` were written to these bytes of its buffer."""
    values = case.values[j]
    try:
        written = values.framework.to_bytes(values.framework.cast(np.array(after.value), values.dtype))
    except (TypeError, ValueError):
        return after
    raw = raw.copy()
    raw[bytes_.reshape(-1)[:, None] + np.arange(values.itemsize)] = written.reshape(-1, values.itemsize)
    layout = case.recipes[j].apply(values.shape)
    right = Memory(case.recipes[j], layout, values.itemsize).at()
    return leaf_of(values.with_data(_gather(raw, right, values.itemsize)).contiguous())


def _of_writes(subject: Subject, failure: Failure, want: Outcome) -> Iterator[Explanation]:
    """An argument was changed in one of the layouts only, or memory around it."""
    before = _changed(subject, want, failure.case.values)
    now = _changed(subject, failure.got, failure.case.values)
    for j, name in enumerate(subject.names):
        was_changed, is_changed = j in before, j in now
        if was_changed and not is_changed:
            yield Explanation("copy", f"{name} is not written to in this layout: the function writes to a copy of it "
                                      "that it does not make of a contiguous array")
        if is_changed and not was_changed:
            yield Explanation("scribble", f"{name} is written to in this layout, although it is not in the contiguous "
                                          "one")
    if failure.mismatch.kind == "gaps":
        yield Explanation("gaps", f"{failure.mismatch.where} is written to outside its elements")


def _of_the_result(failure: Failure, want: Outcome) -> Iterator[Explanation]:
    """The right values were written to the wrong places of the result."""
    if failure.mismatch.kind != "values":
        return
    for (path, got), (_, expected) in zip(failure.got.results, want.results, strict=True):
        if failure.mismatch.where != f"the result{path}" or not isinstance(got.value, np.ndarray):
            continue
        strides = got.strides or (0,) * got.value.ndim
        order = tuple(sorted(range(got.value.ndim), key=[-stride for stride in strides].__getitem__))
        if order != tuple(range(got.value.ndim)):
            flat = got.value.transpose(order).reshape(-1)
            if _equal(flat, expected.value.reshape(-1)):
                yield Explanation("result row-major", f"the result{path} is written as if it were row-major "
                                                      f"(contiguous), but it has the strides {got.strides}")
        for i in range(got.value.ndim):
            for j in range(i + 1, got.value.ndim):
                swapped = expected.value.swapaxes(i, j)
                if swapped.shape == got.value.shape and _equal(got.value, swapped):
                    yield Explanation(f"result {i} {j}", f"dims {i} and {j} of the result{path} are exchanged")


def _of_the_gradients(subject: Subject, failure: Failure, want: Outcome) -> Iterator[Explanation]:
    """The result is right, and what autograd makes of it is not."""
    where = failure.mismatch.where
    if failure.got.backward and where.startswith("the gradient of") and _same_results(subject, failure.got, want):
        yield Explanation("backward", "only the backward pass depends on the layout; the result itself is right")


def _equal(got: np.ndarray, want: np.ndarray) -> bool:
    leaves = Leaf(got, str(got.dtype)), Leaf(want, str(want.dtype))
    return difference("", *leaves, Tolerance()) is None


def _changed(subject: Subject, outcome: Outcome, values: Sequence[Values]) -> set[int]:
    """The arguments that a call changed."""
    before = [leaf_of(one.contiguous()) for one in values]
    return {j for j, leaf in enumerate(outcome.after) if difference("", leaf, before[j], subject.tolerance) is not None}


def _same_results(subject: Subject, got: Outcome, other: Outcome) -> bool:
    if got.structure != other.structure:
        return False
    pairs = zip(got.results, other.results, strict=True)
    return all(difference("", leaf, wanted, subject.tolerance) is None for (_, leaf), (_, wanted) in pairs)


def _same_after(subject: Subject, got: Outcome, after: Sequence[Leaf], mutated: set[int]) -> bool:
    return all(difference("", got.after[j], after[j], subject.tolerance) is None for j in mutated)


def most_common(subject: Subject, failures: Sequence[Failure]) -> str | None:
    """The key of the explanation that holds for most of the failures, the first one included."""
    first = [found.key for found in explanations(subject, failures[0])]
    if len(first) < 2 or len(failures) == 1:
        return first[0] if first else None
    keys = list(dict.fromkeys(first))
    votes = {key: sum(any(True for _ in explanations(subject, failure, key)) for failure in failures[1:])
             for key in keys}
    return max(keys, key=lambda key: votes[key])
