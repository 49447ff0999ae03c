"""The usual ways of misreading strides, each one function in the list `MISREADINGS`.

A misreading takes the `Memory` of one argument and yields what a kernel with that fault reads: words that end the
sentence "argument 0 is read ...", and for each element the byte of the buffer at which it starts. `explain` reads the
buffer so, calls the function with the values found, in a contiguous array, and compares with the wrong result.
Where several explain a result equally well, the one that stands first in the list is named, so narrow ones come first.

Example: for a buffer of float32 with strides (1, 3), `row_major` yields the bytes of strides (2, 1) for shape (3, 2).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from .recipe import Ints, Layout, Recipe, channels_last_order, contiguous_strides
from .values import element_offsets

Reading = tuple[str, np.ndarray]


@dataclass(frozen=True)
class Memory:
    """How one argument lies in its buffer, and the strides that the function's other arguments have."""

    recipe: Recipe
    layout: Layout
    itemsize: int
    others: tuple[tuple[str, Ints], ...] = ()

    def at(self, strides: Ints | None = None, offset: int | None = None, size: int | None = None) -> np.ndarray:
        """The first byte of each element if these were the strides and the offset; `size` scales the strides."""
        layout = self.layout
        size = self.itemsize if size is None else size
        start = (layout.offset if offset is None else offset) * self.itemsize
        strides = layout.strides if strides is None else strides
        return start + element_offsets(layout.shape, strides, 0) * size


Misreading = Callable[[Memory], Iterator[Reading]]


def not_broadcast(m: Memory) -> Iterator[Reading]:
    """A stride of 0 is replaced by the one that a full array would have."""
    if m.recipe.broadcast_dims:
        dense = m.layout.contiguous_strides
        strides = tuple(dense[d] if d in m.recipe.broadcast_dims else s for d, s in enumerate(m.layout.strides))
        yield "as if it were not broadcast", m.at(strides)


def negative_as_positive(m: Memory) -> Iterator[Reading]:
    """The sign of a stride is lost, by an unsigned type or abs()."""
    if m.recipe.has_negative:
        strides = tuple(abs(s) for s in m.layout.strides)
        yield "as if negative strides were positive", m.at(strides)
        lowest = m.layout.offset + sum(
            min(s, 0) * (n - 1) for n, s in zip(m.layout.shape, m.layout.strides, strict=True))
        yield "as if it were not flipped, from its lowest address", m.at(strides, lowest)


def aligned_down(m: Memory) -> Iterator[Reading]:
    """The address is rounded down to what a load of a vector wants."""
    address = m.layout.skew + m.layout.offset * m.itemsize
    for size in sorted({m.itemsize, 16, 32, 64}):
        if address % size:
            yield f"as if its address were a multiple of {size} bytes (rounded down)", m.at() - address % size


def offset_zero(m: Memory) -> Iterator[Reading]:
    """The pointer is the base of the buffer."""
    if m.layout.offset:
        yield "as if storage_offset were 0", m.at(offset=0)


def offset_scaled(m: Memory) -> Iterator[Reading]:
    """The offset is added to a pointer that has it already, or is taken in the wrong unit."""
    offset = m.layout.offset
    if offset:
        yield "as if storage_offset were added twice", m.at(offset=2 * offset)
        if m.itemsize > 1:
            yield "as if storage_offset counted bytes", m.at() - offset * (m.itemsize - 1)


def step_one(m: Memory) -> Iterator[Reading]:
    """Every position is read instead of every second one."""
    steps = m.recipe.steps
    if any(abs(step) > 1 for step in steps):
        strides = tuple(s // abs(k) if k else s for s, k in zip(m.layout.strides, steps, strict=True))
        yield "as if the step were 1", m.at(strides)


def pitch_tight(m: Memory) -> Iterator[Reading]:
    """Rows are taken to follow each other without padding."""
    if any(m.recipe.pads):
        yield "as if there were no padding between rows", m.at(m.recipe.but(pads=(0,) * m.recipe.rank)
                                                               .apply(m.layout.shape).strides)


def last_stride_one(m: Memory) -> Iterator[Reading]:
    """Only the outer strides are used."""
    if m.layout.strides:
        yield "as if stride[-1] were 1", m.at((*m.layout.strides[:-1], 1))


def dims_exchanged(m: Memory) -> Iterator[Reading]:
    """Two strides are mixed up."""
    for i, j in itertools.combinations(range(m.recipe.rank), 2):
        strides = list(m.layout.strides)
        strides[i], strides[j] = strides[j], strides[i]
        yield f"as if dims {i} and {j} were exchanged", m.at(tuple(strides))


def size1_counts(m: Memory) -> Iterator[Reading]:
    """The stride of a dim of extent 1, which means nothing, is taken as another dim's."""
    for d, n in enumerate(m.layout.shape):
        if n == 1:
            for e in range(m.recipe.rank):
                strides = list(m.layout.strides)
                strides[e] = strides[d]
                yield f"as if dim {e} had the stride of dim {d}, whose extent is 1", m.at(tuple(strides))


def wrong_unit(m: Memory) -> Iterator[Reading]:
    """Bytes and elements are mixed up, or the element is taken for one of another size."""
    if m.itemsize > 1:
        yield "as if strides in elements counted bytes", m.at(size=1)
        yield "as if strides in bytes counted elements", m.at(size=m.itemsize * m.itemsize)
    for size in (2, 4, 8, 16):
        if size != m.itemsize:
            yield f"as if its elements had {size} bytes instead of {m.itemsize}", m.at(size=size)


def offsets_wrap(m: Memory) -> Iterator[Reading]:
    """Offsets are computed in 32 bits."""
    apart = m.at() - m.layout.offset * m.itemsize
    if apart.size and int(np.abs(apart).max()) >= 1 << 31:
        elements = apart // m.itemsize
        start = m.layout.offset * m.itemsize
        for name, kind in (("a signed", np.int32), ("an unsigned", np.uint32)):
            yield (f"as if offsets in elements were computed in {name} integer of 32 bits",
                   start + elements.astype(kind).astype(np.int64) * m.itemsize)
            yield (f"as if offsets in bytes were computed in {name} integer of 32 bits",
                   start + apart.astype(kind).astype(np.int64))


def strides_of_another(m: Memory) -> Iterator[Reading]:
    """The strides of another argument are used for this one."""
    for name, strides in m.others:
        if len(strides) == len(m.layout.shape):
            yield f"as if it had the strides of {name}", m.at(strides)


def row_major(m: Memory) -> Iterator[Reading]:
    """Strides are not looked at."""
    dense = m.layout.contiguous_strides
    yield "as if it were row-major (contiguous)", m.at(dense)
    if m.layout.offset:
        yield "as if it were row-major (contiguous) and storage_offset were 0", m.at(dense, 0)


def another_dense_order(m: Memory) -> Iterator[Reading]:
    """The array is taken for one of another well-known layout."""
    rank = m.recipe.rank
    if rank >= 3:
        yield "as if it were channels last", m.at(contiguous_strides(m.layout.shape, channels_last_order(rank)))
    if rank >= 2:
        order = tuple(reversed(range(rank)))
        yield "as if it were column-major", m.at(contiguous_strides(m.layout.shape, order))


MISREADINGS: list[Misreading] = [
    not_broadcast,
    negative_as_positive,
    offset_zero,
    aligned_down,
    offset_scaled,
    offsets_wrap,
    step_one,
    pitch_tight,
    last_stride_one,
    size1_counts,
    wrong_unit,
    row_major,
    strides_of_another,
    another_dense_order,
    dims_exchanged,
]


def readings(m: Memory) -> Iterator[Reading]:
    """Every misreading that stays within the buffer and reads something else than the right elements."""
    right = m.at()
    last = m.layout.size * m.itemsize - m.itemsize
    for misreading in MISREADINGS:
        for words, bytes_ in misreading(m):
            if bytes_.size and bytes_.min() >= 0 and bytes_.max() <= last and not np.array_equal(bytes_, right):
                yield words, bytes_
