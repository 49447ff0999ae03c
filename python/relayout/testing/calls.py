"""A `Subject` is the caller's function with its arguments; it is called with the arrays of a `Case` and judged.

Example: `Subject(np.sum, (x,), {}, ...).judge(case)` is None where the layout makes no difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from . import trees
from .compare import Leaf, Mismatch, Tolerance, difference, is_rounding
from .errors import NondeterministicError
from .extents import ties
from .frameworks import framework_of
from .gradients import PASSES, backward
from .recipe import Layout, Recipe
from .values import Placed, Values


@dataclass(frozen=True, eq=False)
class Case:
    """For every array among the arguments its values and its layout."""

    values: tuple[Values, ...]
    recipes: tuple[Recipe, ...]

    def projected(self) -> Case:
        """With the values made equal along the dims that are broadcast."""
        pairs = zip(self.values, self.recipes, strict=True)
        return replace(self, values=tuple(v.project(r.broadcast_dims) for v, r in pairs))

    def numbered(self) -> Case:
        """With numbers that differ in the gaps of the buffers."""
        return replace(self, values=tuple(replace(values, numbered=True) for values in self.values))

    @property
    def varied(self) -> list[int]:
        """The arrays that are not contiguous."""
        return [j for j, recipe in enumerate(self.recipes) if not recipe.is_plain]

    @property
    def is_contiguous(self) -> bool:
        """Whether no array lies otherwise than a contiguous one, though a recipe may say how it would."""
        return all(_is_contiguous(r.apply(v.shape)) for v, r in zip(self.values, self.recipes, strict=True))

    def with_recipe(self, j: int, recipe: Recipe) -> Case:
        return replace(self, recipes=(*self.recipes[:j], recipe, *self.recipes[j + 1 :]))

    def with_values(self, j: int, values: Values) -> Case:
        return replace(self, values=(*self.values[:j], values, *self.values[j + 1 :]))


def _is_contiguous(layout: Layout) -> bool:
    is_plain = layout.strides == layout.contiguous_strides and layout.offset == 0
    return is_plain and not (layout.skew or layout.foreign or layout.sparse)


Gradients = list["Leaf | None"]  # of each array among the arguments; None of those that need none


@dataclass(eq=False)
class Outcome:
    """What a call left behind."""

    results: list[tuple[str, Leaf]] = field(default_factory=list)
    structure: Any = None
    after: list[Leaf] = field(default_factory=list)  # each array argument after the call
    gradients: list[Leaf | None] = field(default_factory=list)  # of each; None where PyTorch keeps none
    backward: list[Gradients] = field(default_factory=list)  # of the results, by gradients.py
    backward_error: Exception | None = None  # of that pass
    gaps: dict[int, list[int]] = field(default_factory=dict)  # argument -> elements changed outside of it
    has_left: bool = False  # something was written in front of a buffer, which may be another object's memory
    error: Exception | None = None

    def of_first_pass(self) -> Outcome:
        """With the gradients of the first backward pass as those of all."""
        return replace(self, backward=self.backward[:1] * len(self.backward))


def leaf_of(value: Any) -> Leaf:
    """A copy of one leaf of a result, for comparison."""
    framework = framework_of(value)
    if framework is not None and framework.name == "jax" and value.is_deleted():
        return Leaf("an array that was given away")
    if framework is not None:
        strides = value.stride() if framework.name == "torch" else getattr(value, "strides", None)
        if framework.name == "numpy":
            strides = tuple(stride // value.itemsize for stride in value.strides)
        return Leaf(framework.to_numpy(value), str(value.dtype), strides)
    if isinstance(value, (np.ndarray, np.generic)):
        return Leaf(np.array(value), str(value.dtype))
    if isinstance(value, (float, complex)):
        return Leaf(np.array(value), "float64" if isinstance(value, float) else "complex128")
    if hasattr(value, "is_sparse") and hasattr(value, "to_dense"):
        return Leaf(np.array(value.to_dense().detach().cpu()), str(value.dtype))
    return Leaf(value)


def _gradient_of(array: Any) -> Leaf | None:
    """Leaf(None) for an array that has no gradient; None for a tensor of which PyTorch keeps none, because it was
    computed from another one."""
    if not hasattr(array, "requires_grad"):
        return Leaf(None)
    if not (array.is_leaf or getattr(array, "retains_grad", False)):
        return None
    return Leaf(None) if array.grad is None else leaf_of(array.grad)


class Subject:
    """The function under test with the caller's arguments."""

    def __init__(self, fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], tolerance: Tolerance,
                 allow_errors: tuple[type[BaseException], ...], shapes: str | Sequence[str] | None = None) -> None:
        self.fn = fn
        self.tree = (tuple(args), dict(kwargs))
        self.allow_errors = allow_errors
        self.names: list[str] = []
        self.owners: list[int | str] = []
        arrays = []
        for path, leaf in trees.walk(self.tree):
            if framework_of(leaf) is not None:
                arrays.append(Values.take(leaf))
                name, owner = _argument_name(path)
                self.names.append(name)
                self.owners.append(owner)
        self.start = Case(tuple(arrays), tuple(Recipe.plain(len(values.shape)) for values in arrays))
        self.tolerance = replace(tolerance, of_arguments=tuple(values.dtype for values in arrays))
        self.ties = ties([values.shape for values in arrays], self.names, shapes)
        self.calls = 0
        self.agreed = 0  # cases whose outcome was compared, and found to be the same
        self._baselines: dict[Any, Outcome | None] = {}

    def arguments(self, arrays: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The caller's arguments with these arrays in place of theirs."""
        rest = iter(arrays)
        return trees.rebuild(self.tree, lambda leaf: leaf if framework_of(leaf) is None else next(rest))

    def call(self, arrays: Sequence[Any]) -> Outcome:
        """One call. The function's exceptions pass."""
        self.calls += 1
        args, kwargs = self.arguments(arrays)
        result = self.fn(*args, **kwargs)
        outcome = Outcome(structure=trees.shape_of(result))
        kept = [_gradient_of(array) for array in arrays]
        outcome.results = [(path, leaf_of(leaf)) for path, leaf in trees.walk(result)]
        outcome.after = [leaf_of(array) for array in arrays]
        outcome.gradients = kept
        if not any(leaf is not None and leaf.value is not None for leaf in kept):  # else fn itself goes backward
            try:
                passes = backward([leaf for _, leaf in trees.walk(result)], arrays)
                outcome.backward = [[None if one is None else leaf_of(one) for one in row] for row in passes]
            except Exception as error:
                outcome.backward_error = error
        return outcome

    def contiguous(self, values: Sequence[Values]) -> Outcome:
        """The call with contiguous arrays."""
        return self.call([one.contiguous() for one in values])

    def run(self, case: Case) -> Outcome:
        """The call with the layouts of a case; an exception becomes part of the outcome."""
        placed = [v.place(r.apply(v.shape)) for v, r in zip(case.values, case.recipes, strict=True)]
        try:
            outcome = self.call([one.array for one in placed])
        except Exception as error:
            outcome = Outcome(error=error)
        outcome.gaps = _changed_gaps(placed, case)
        outcome.has_left = any(one.is_left for one in placed)
        return outcome

    def baseline(self, values: Sequence[Values]) -> Outcome | None:
        """What the contiguous layout gives for these values, remembered; None if the function does not take them."""
        key = tuple(one.key for one in values)
        if key not in self._baselines:
            if len(self._baselines) > 64:
                self._baselines.clear()
            are_callers = all(one.is_callers for one in values)
            alone = None if are_callers else self._undisturbed(values)
            try:
                found = self.contiguous(values) if are_callers or alone is not None else None
            except Exception:
                found = None
            if found is not None and alone is not None and self.compare(alone, found) is not None:
                found = None
            self._baselines[key] = found
        return self._baselines[key]

    def _undisturbed(self, values: Sequence[Values]) -> Outcome | None:
        """What the function gives for contiguous arguments in the midst of other numbers, if it looks at none of those.

        Extents and numbers that the caller did not choose may not fit each other, as where one of two equal extents was
        cut or indices pass an end. Some functions raise then; a compiled kernel reads whatever lies there.
        """
        room = max(len(one.data) for one in self.start.values) + 64
        found: list[Outcome] = []
        for is_reversed in (False, True):
            placed = [one.between(room, is_reversed) for one in values]
            try:
                outcome = self.call([one.array for one in placed])
            except Exception:
                return None
            if any(one.is_left or one.changed_gaps(v.itemsize) for one, v in zip(placed, values, strict=True)):
                return None
            found.append(outcome)
        return found[0] if self.compare(found[1], found[0]) is None else None

    def check_baseline(self) -> set[int]:
        """Calls the function twice as it is meant. Says which arrays it writes to."""
        first = self.contiguous(self.start.values)
        self.require_deterministic(first, self.start.values)
        self._baselines[tuple(one.key for one in self.start.values)] = first
        before = [leaf_of(values.contiguous()) for values in self.start.values]
        pairs = enumerate(zip(first.after, before, strict=True))
        return {j for j, (after, leaf) in pairs if difference("", after, leaf, Tolerance(0.0, 0.0)) is not None}

    def require_deterministic(self, first: Outcome, values: Sequence[Values]) -> None:
        """Raises NondeterministicError if the contiguous layout gives something else this time."""
        found = self.compare(self.contiguous(values), first)
        if found is not None:
            raise NondeterministicError(
                "the function gives different results for the same contiguous arguments, so nothing can be said about "
                f"layouts: in a second call {found.text}. Seed its random numbers, or make it set its state anew.")

    def judge(self, case: Case) -> tuple[Mismatch, Outcome] | None:
        """What is different in this layout; None if nothing is, or if the function refuses the layout or the values."""
        case = case.projected()
        want = self.baseline(case.values)
        if want is None:
            return None
        got = self.run(case)
        if got.error is not None:
            if isinstance(got.error, self.allow_errors):
                return None
            text = f"the function raises {type(got.error).__name__}: {got.error}"
            return Mismatch("raised", "the call", text, got=got.error), got
        if got.backward_error is not None and isinstance(got.backward_error, self.allow_errors):
            return None
        found = self.difference(case.values, got, want)
        self.agreed += found is None
        return None if found is None else (found, got)

    def difference(self, values: Sequence[Values], got: Outcome, want: Outcome) -> Mismatch | None:
        """The first difference that is more than rounding."""
        found = self.compare(got, want.of_first_pass())
        if found is not None and found.kind == "values" and self._is_rounding(values, got, want):
            return None
        return found

    def _is_rounding(self, values: Sequence[Values], got: Outcome, want: Outcome) -> bool:
        """Whether contiguous arguments that differ in the last bit make as large a difference."""
        if got.gaps:
            return False
        others = [self.baseline([one.nudged(4 * j + k) for j, one in enumerate(values)]) for k in range(4)]
        nudged = [other for other in others if other is not None and other.structure == want.structure]
        rows = [_all_leaves(one) for one in (got, *(other.of_first_pass() for other in (want, *nudged)))]
        is_excused = len({len(row) for row in rows}) == 1 and all(
            is_rounding(leaf, wanted, others, self.tolerance) for leaf, wanted, *others in zip(*rows, strict=True))
        if is_excused:
            self.require_deterministic(want, values)
        return is_excused

    def gradients(self, got: list[Gradients], want: list[Gradients]) -> Iterator[tuple[str, Leaf, Leaf]]:
        """Pairs of gradients to be compared, and what they are."""
        for row, wanted, where in zip(got, want, PASSES):
            for name, leaf, other in zip(self.names, row, wanted, strict=True):
                if leaf is not None or other is not None:
                    yield f"the gradient of {name}{where}", leaf or Leaf(None), other or Leaf(None)

    def check_backward(self) -> Mismatch | None:
        """Whether the gradients for contiguous arguments depend on how those of the results lie in memory."""
        want = self.baseline(self.start.values)
        assert want is not None
        return self.difference(self.start.values, want, want)

    def compare(self, got: Outcome, want: Outcome) -> Mismatch | None:
        """The first difference: in the results, in the arguments after the call, in gradients, or in memory around
        them."""
        if got.structure != want.structure:
            text = f"the result is built as {got.structure}, expected {want.structure}"
            return Mismatch("type", "the result", text, got=got.structure, expected=want.structure)
        pairs = [(f"the result{path}", leaf, other)
                 for (path, leaf), (_, other) in zip(got.results, want.results, strict=True)]
        pairs += [(f"{self.names[j]} after the call", leaf, want.after[j]) for j, leaf in enumerate(got.after)]
        for j, (leaf, other) in enumerate(zip(got.gradients, want.gradients, strict=True)):
            if leaf is not None and other is not None:
                pairs.append((f"the gradient of {self.names[j]}", leaf, other))
        if type(got.backward_error) is not type(want.backward_error):
            return _backward_mismatch(got.backward_error, want.backward_error)
        pairs += self.gradients(got.backward, want.backward)
        for where, leaf, other in pairs:
            found = difference(where, leaf, other, self.tolerance)
            if found is not None:
                return found
        for j, elements in got.gaps.items():
            text = (f"the function writes to {len(elements)} elements of the buffer of {self.names[j]} that are not "
                    f"the argument's, first to element {elements[0]} of the buffer")
            return Mismatch("gaps", self.names[j], text, None, elements[0], None, None, len(elements), 0)
        return None


def _all_leaves(outcome: Outcome) -> list[Leaf]:
    gradients = [leaf for row in (outcome.gradients, *outcome.backward) for leaf in row if leaf is not None]
    return [leaf for _, leaf in outcome.results] + outcome.after + gradients


def _backward_mismatch(got: Exception | None, want: Exception | None) -> Mismatch:
    says = [f"raises {type(one).__name__}: {one}" if one is not None else "works" for one in (got, want)]
    text = f"the backward pass {says[0]}, and for contiguous arrays it {says[1]}"
    return Mismatch("raised", "the backward pass", text, got=got, expected=want)


def _changed_gaps(placed: Sequence[Placed], case: Case) -> dict[int, list[int]]:
    found = {j: one.changed_gaps(case.values[j].itemsize) for j, one in enumerate(placed)}
    return {j: elements for j, elements in found.items() if elements}


def _argument_name(path: str) -> tuple[str, int | str]:
    """ "[0][2]['w']" is argument 2['w'], "[1]['out']" is argument out."""
    rest = path[3:]
    end = rest.index("]")
    owner: int | str = int(rest[1:end]) if path.startswith("[0]") else rest[2 : end - 1]
    return f"argument {owner}{rest[end + 1 :]}", owner
