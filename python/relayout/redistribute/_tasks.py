"""What a task does: its box is read from one place by pieces, put into order in memory, and written to another.

run_task() is a function of values that can be pickled. It may run twice, in any process and at any time: it writes
whole chunks, and the same ones.
"""
from __future__ import annotations

import dataclasses
from typing import Any, Tuple

import numpy as np

from .. import _native
from .._errors import CorruptError
from ._boxes import Box, Dims, slices
from ._places import Place, movable


@dataclasses.dataclass(frozen=True)
class PassOf:
    """Of a Pass what a task needs."""
    source: int
    target: int
    piece: Dims


@dataclasses.dataclass(frozen=True)
class Job:
    """All that a task needs beside its box. places: the source, the destination, what lies between."""
    places: Tuple[Place, ...]
    passes: Tuple[PassOf, ...]
    #: Bytes that are read or written by one call, where chunks are smaller.
    group: int
    threads: int = 0


def read_box(job: Job, step: PassOf, box: Box) -> np.ndarray:
    """A box in the source's order of dims, which lies in memory as the target has it."""
    place, target = job.places[step.source], job.places[step.target]
    own = np.empty(target.own(box[1]), movable(place.dtype))
    out = target.turned(own)
    with place.opened() as reader:
        for part in reader.parts(box, step.piece, job.group):
            _native.copy(out[slices(part, box[0])], reader.read(part), threads=job.threads)
    return out


def run_task(job: Job, number: int, box: Box) -> int:
    """Runs a task of pass `number`; the bytes that it wrote."""
    step = job.passes[number]
    target, values = job.places[step.target], read_box(job, step, box)
    with target.opened(writing=True) as writer:
        for part in writer.parts(box, box[1], job.group):
            writer.write(part, values[slices(part, box[0])])
    return values.nbytes


def verify_task(job: Job, number: int, box: Box) -> int:
    """Reads both sides of a task again. CorruptError names the chunk and the first element that differ."""
    step = job.passes[number]
    target, values = job.places[step.target], read_box(job, step, box)
    with target.opened() as reader:
        for part in reader.parts(box, box[1], job.group):
            want, got = bits_of(values[slices(part, box[0])]), bits_of(reader.read(part))
            if np.array_equal(want, got):
                continue
            at = np.argwhere(want != got)[0]
            index = target.own([int(a) + b for a, b in zip(at, part[0])])
            name = target.chunk_name((target.in_order(index), part[1]), target.unit) if target.unit else "the file"
            raise CorruptError(f"verify: element {index} in {name} of {target.name!r} is not the source's", "chunk",
                               name)
    return values.nbytes


def bits_of(x: np.ndarray) -> Any:
    """Values whose bits are compared, as NaN differs from itself."""
    size = x.dtype.itemsize
    return np.ascontiguousarray(x).view(f"u{size}" if size in (1, 2, 4, 8) else np.dtype((np.void, size)))
