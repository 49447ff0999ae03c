"""Boxes of indices: (offsets, dims), in the order of the source's dims."""
from __future__ import annotations

import itertools
import math
from typing import Iterator, Sequence, Tuple

Dims = Tuple[int, ...]
Box = Tuple[Dims, Dims]

#: Small chunks are read and written together up to so many bytes, as a call takes longer than such a chunk.
GROUP_BYTES = 2 << 20


def cut(box: Box, extents: Sequence[int]) -> Iterator[Box]:
    """The parts of a box between the borders of a grid, which begins at index 0, of such extents."""
    ranges = []
    for offset, dim, extent in zip(*box, extents):
        borders = [offset, *range((offset // extent + 1) * extent, offset + dim, extent), offset + dim]
        ranges.append(list(zip(borders[:-1], borders[1:])) if dim else [])
    for sides in itertools.product(*ranges):
        yield tuple(a for a, _ in sides), tuple(b - a for a, b in sides)


def grouped(chunk: Sequence[int], most: Sequence[int], elements: int) -> Dims:
    """Extents of whole chunks that are moved together, of so many elements: the last dims first, and no more than
    `most`."""
    out = list(chunk)
    for d in reversed(range(len(out))):
        times = elements // math.prod(out)
        out[d] *= max(1, min(times, most[d] // out[d]))
    return tuple(out)


def slices(box: Box, origin: Sequence[int] = ()) -> Tuple[slice, ...]:
    """Of an array whose first element has the index `origin`, else the tensor's first."""
    begins = [a - b for a, b in zip(box[0], origin)] if origin else box[0]
    return tuple(slice(begin, begin + dim) for begin, dim in zip(begins, box[1]))


def text(box: Box) -> str:
    """As NumPy writes it: [0:4, 8:16]."""
    return "[" + ", ".join(f"{a}:{a + n}" for a, n in zip(*box)) + "]"
