"""A recipe says how an array of any shape lies in a buffer; applied to a shape it gives strides and an offset.

The parts of a recipe are what a view can do to an array, each with a value that stands for "not done". Shrinking a
failing layout is therefore setting parts back one by one, and a recipe survives when the extents are cut.

Example: `Recipe.plain(2).but(steps=(1, 2), offset=1).apply((2, 3))` is `base[:, 1::2]` of a base of 2 x 6 elements:
strides (6, 2), offset 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

Ints = tuple[int, ...]


@dataclass(frozen=True)
class Layout:
    """Where the elements of one array lie. Strides, offset and size count elements; skew counts bytes."""

    shape: Ints
    strides: Ints
    offset: int
    size: int  # of the buffer, with a tail that is there so that a misreading reads known values
    skew: int = 0  # the buffer starts at an address that is `skew` more than a multiple of 64
    foreign: bool = False  # memory of another owner, which NumPy gets read-only
    sparse: bool = False  # the buffer is too large to be filled, and its gaps hold zeros

    @property
    def numel(self) -> int:
        return math.prod(self.shape)

    @property
    def contiguous_strides(self) -> Ints:
        return contiguous_strides(self.shape)


def contiguous_strides(shape: Ints, order: Ints | None = None) -> Ints:
    """Dense strides of `shape`, the dims lying in memory in `order`, outermost first (row-major by default)."""
    strides = [0] * len(shape)
    run = 1
    for d in reversed(order if order is not None else range(len(shape))):
        strides[d] = run
        run *= max(shape[d], 1)
    return tuple(strides)


def channels_last_order(rank: int) -> Ints:
    """Dims in memory order, outermost first, of channels last: (0, 2, 3, 1) for rank 4."""
    return (0, *range(2, rank), 1) if rank >= 3 else tuple(range(rank))


@dataclass(frozen=True)
class Recipe:
    """How an array lies in a buffer, for any shape of this rank."""

    order: Ints  # dims in memory order, outermost first
    steps: Ints  # of each dim: 2 = every second position, negative = flipped, 0 = broadcast
    pads: Ints  # of each dim: positions of the buffer after its last one
    loose: Ints  # of each dim: its stride where its extent is 1 (0 = the natural one)
    offset: int = 0  # elements of the buffer in front
    skew: int = 0
    foreign: bool = False
    far: bool = False  # strides so large that offsets pass 2^31 elements

    @staticmethod
    def plain(rank: int) -> Recipe:
        """The contiguous layout."""
        return Recipe(tuple(range(rank)), (1,) * rank, (0,) * rank, (0,) * rank)

    def but(self, **parts: Any) -> Recipe:
        """This recipe with some parts exchanged."""
        return replace(self, **parts)

    @property
    def rank(self) -> int:
        return len(self.order)

    @property
    def is_plain(self) -> bool:
        return self == Recipe.plain(self.rank)

    @property
    def broadcast_dims(self) -> Ints:
        return tuple(d for d, step in enumerate(self.steps) if step == 0)

    @property
    def has_negative(self) -> bool:
        return any(step < 0 for step in self.steps)

    def apply(self, shape: Ints) -> Layout:
        """Strides, offset and size of the buffer for an array of this shape."""
        strides = [0] * self.rank
        offset, run, last = self.offset, 1, 0
        for place, d in enumerate(reversed(self.order)):
            n, step = shape[d], self.steps[d]
            outermost = place == self.rank - 1
            if n == 1 and self.loose[d]:
                strides[d] = self.loose[d]
            elif step:
                strides[d] = run * step
            if self.far and outermost and n > 1:
                strides[d] = max(run, -(-(1 << 31) // (n - 1)) + 3)
            reach = max(n - 1, 0) * abs(strides[d])
            last += reach
            if step < 0:
                offset += reach
            if step:
                run *= max(n, 1) * abs(step) + self.pads[d]
        if self.far:
            offset += (1 << 31) + 5
        numel = math.prod(shape)
        tail = max(numel - last - 1, 0) + min(16 * (last + 1), 1 << 16) + 64
        size = self.offset + last + 1 + tail + (offset - self.offset if self.far else 0)
        return Layout(tuple(shape), tuple(strides), offset, size, self.skew, self.foreign, self.far)

    def parts(self) -> list[str]:
        """The names of the variants that this recipe is made of; empty if it is plain."""
        names = []
        if self.order != tuple(range(self.rank)):
            is_last = self.rank > 3 and self.order == channels_last_order(self.rank)
            names.append("channels_last" if is_last else "permuted")
        if any(abs(step) > 1 for step in self.steps):
            names.append("sliced")
        elif self.offset and not self.skew and not self.has_negative:
            names.append("offset")
        flags = {"padded": any(self.pads), "broadcast": 0 in self.steps, "size1": any(self.loose),
                 "negative": self.has_negative, "misaligned": self.skew > 0, "foreign": self.foreign, "far": self.far}
        return names + [name for name, is_set in flags.items() if is_set]

    def describe(self) -> str:
        """The recipe in words."""
        words = []
        if self.order != tuple(range(self.rank)):
            words.append(f"dims lie in memory in the order {self.order}, the last one innermost")
        for d, step in enumerate(self.steps):
            if step == 0:
                words.append(f"dim {d} is broadcast (stride 0)")
            elif step != 1:
                flipped = "flipped" if step == -1 else f"flipped with step {-step}" if step < 0 else f"has step {step}"
                words.append(f"dim {d} is {flipped}" if step < 0 else f"dim {d} {flipped}")
        words += [f"{_elements(pad)} of padding after dim {d}" for d, pad in enumerate(self.pads) if pad]
        words += [f"dim {d}, of extent 1, has stride {stride}" for d, stride in enumerate(self.loose) if stride]
        if self.offset:
            words.append(f"it starts {_elements(self.offset)} into its buffer")
        if self.skew:
            words.append(f"its address is {self.skew} bytes past a multiple of 64")
        if self.foreign:
            words.append("its memory belongs to another object")
        if self.far:
            words.append("its offsets pass 2^31 elements")
        return "; ".join(words) or "contiguous"

    def simpler(self) -> Iterator[Recipe]:
        """Recipes with one part set back or made smaller, the boldest first. Every chain of them ends."""
        rank = self.rank
        yield from (self.but(**{name: False}) for name in ("foreign", "far") if getattr(self, name))
        if self.skew:
            yield self.but(skew=0)
        if self.order != tuple(range(rank)):
            yield self.but(order=tuple(range(rank)))
            for i in range(rank - 1):
                if self.order[i] > self.order[i + 1]:
                    swapped = (*self.order[:i], self.order[i + 1], self.order[i], *self.order[i + 2 :])
                    yield self.but(order=swapped)
        for d in range(rank):
            yield from (self.but(steps=_with(self.steps, d, step)) for step in _smaller_steps(self.steps[d]))
            yield from (self.but(pads=_with(self.pads, d, pad)) for pad in (0, 1) if pad < self.pads[d])
            if self.loose[d]:
                yield self.but(loose=_with(self.loose, d, 0))
        yield from (self.but(offset=small) for small in (0, 1, self.offset // 2) if small < self.offset)


def _elements(count: int) -> str:
    return "1 element" if count == 1 else f"{count} elements"


def _with(values: Ints, d: int, value: int) -> Ints:
    return (*values[:d], value, *values[d + 1 :])


def _smaller_steps(step: int) -> Ints:
    """Steps that are simpler than `step`: 1 is the simplest, and a sign is kept until the size is 1."""
    if step == 1:
        return ()
    if step in (0, -1, 2):
        return (1,)
    return (1, -1, 2) if step < 0 else (1, 2)
