"""Plans a redistribution and runs it, with the executor that is given: here, on Dask or on cubed."""
from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import math
import os
import re
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from typing import Any, Callable, Dict, Iterable, Optional, Sequence, Set, Tuple, Union

from .. import _native
from .._errors import InvalidArgumentError, LimitError, StoppedError, UnsupportedError
from .._progress import shown
from . import _as_they_are, _hdf5, _npy, _zarr
from ._boxes import GROUP_BYTES, Box, Dims
from ._journal import Journal, boot
from ._places import Place
from ._tasks import Job, PassOf, run_task, verify_task

#: What is called with a function of a box, numbered boxes, and a function that hears of each that is done.
Executor = Callable[[Callable[[Box], int], Iterable[Tuple[int, Box]], Callable[[int, int], None]], None]

#: (seconds for each chunk, bytes a second): of files of this machine, and of an object store.
LOCAL_SPEED, REMOTE_SPEED = (1e-3, 1e9), (3e-2, 1e9)
_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "kb": 10 ** 3, "mb": 10 ** 6,
          "gb": 10 ** 9, "tb": 10 ** 12, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}


def bytes_of(said: Union[int, float, str]) -> int:
    """512000000, "512MB", "488MiB"; a letter alone is a binary unit, as in the command."""
    if not isinstance(said, str):
        out = int(said)
    else:
        match = re.fullmatch(r"\s*([0-9.]+)\s*([a-zA-Z]*)\s*", said)
        if match is None or match[2].lower() not in _UNITS:
            raise InvalidArgumentError(f"max_memory: {said!r} is no number of bytes such as '512MB'", "max_memory",
                                       said)
        out = int(float(match[1]) * _UNITS[match[2].lower()])
    if out < 1:
        raise InvalidArgumentError(f"max_memory is {out} bytes", "max_memory", str(out))
    return out


@dataclasses.dataclass
class Redistribution:
    """A redistribution that is planned, and after run() what became of it.

    plan: a TaskPlan, or None where no element moves. tasks, done_before: how many there are, and how many of
    them an earlier run did. linked: chunks that are linked or copied as they are.
    """
    plan: Optional[Any]
    source: Place
    destination: Place
    #: Where the journal lies; None where there is none, so that every run begins anew.
    folder: Optional[str]
    #: The folder or URL where an intermediate store has a folder of its own.
    _scratch: str
    _options: Optional[Dict[str, Any]]
    _group: int = 0
    tasks: int = 0
    done_before: int = 0
    linked: int = 0
    seconds: float = 0.0

    def explain(self) -> str:
        """Some lines for people: passes, tasks, bytes and memory; or that no data moves, and why."""
        if self.plan is not None:
            return explained(self.plan)
        source: Any = self.source
        count = _zarr.chunk_count(source)
        how = "linked" if not self.source.remote and not self.destination.remote else "copied"
        why = "the order of axes is a transpose codec in the metadata" if self.source.axes != self.destination.axes \
            else "both arrays have the same chunks"
        return f"no data moves: {why}; {count} encoded chunks are {how} as they are"

    def job(self) -> Job:
        """Places and passes, as tasks are given them."""
        assert self.plan is not None
        places, dims = [self.source, self.destination], len(self.source.shape)
        if len(self.plan.stores) == 3:
            chunk = tuple(self.plan.stores[2].chunk[:dims])
            places.append(_zarr.intermediate(self._between(), self._options, self.source.dims, self.source.dtype,
                                             chunk))
        return Job(tuple(places), tuple(PassOf(p.from_store, p.to_store, tuple(p.piece[:dims]))
                                        for p in self.plan.passes), self._group)

    def boxes(self, number: int) -> Iterable[Tuple[int, Box]]:
        """The tasks of a pass, numbered."""
        assert self.plan is not None
        step, dims = self.plan.passes[number], len(self.source.shape)
        for i in range(len(step)):
            offsets, extents = step.box(i)
            yield i, (tuple(offsets[:dims]), tuple(extents[:dims]))

    def _described(self) -> Dict[str, Any]:
        """What this run is, for the journal."""
        parts: Any = "as they are" if self.plan is None else [
            (p.from_store, p.to_store, p.step, p.piece) for p in self.plan.passes]
        everything = [_absolute(self.source.name), self.source.described(), _absolute(self.destination.name),
                      self.destination.described(), parts, _absolute(self._scratch)]
        digest = hashlib.sha256(json.dumps(everything, sort_keys=True, default=str).encode()).hexdigest()
        return {"destination": self.destination.where, "digest": digest}

    def _between(self) -> str:
        """The intermediate store of this run and of no other one, whatever else is in the folder."""
        return f"{self._scratch.rstrip('/')}/intermediate-{self._described()['digest'][:32]}"

    # ---- Running ----

    def run(self, executor: Optional[Executor] = None, *, verify: bool = False, restart: bool = False,
            progress: Any = None, threads: int = 0) -> "Redistribution":
        begun = time.monotonic()
        through = self.plan is not None and len(self.plan.stores) == 3
        what = self._described()
        if through:
            what["intermediate"] = self._between()
        if not self.destination.remote or (through and not is_remote(self._scratch)):
            what["boot"] = boot()
        journal = Journal(self.folder, what, restart)
        try:
            self._take_place(journal)
            self.source = dataclasses.replace(self.source, since=journal.since)
            with shown(progress) as tell:
                if self.plan is None:
                    source, destination = self._zarr_sides()
                    self.linked = _as_they_are.run(source, destination, tell)
                    if verify:
                        _as_they_are.verify(source, destination)
                    self.destination.publish()
                else:
                    self._run_passes(journal, executor or serial, verify, tell, threads)
            journal.remove()
        finally:
            journal.close()
        self.seconds = time.monotonic() - begun
        return self

    def _take_place(self, journal: Journal) -> None:
        """FileError where something lies at the destination that no earlier run has left there."""
        before = journal.dropped
        if before is not None and before.get("alone"):
            self.destination.remove()
        if before is not None and before.get("intermediate"):
            _zarr.clear(_zarr.store_path_of(before["intermediate"], self._options))
        if not journal.resumed:
            self.destination.free()
            if self.folder is not None:
                journal.begin(alone=self.destination.empty())

    def _zarr_sides(self) -> Any:
        return self.source, self.destination

    def _run_passes(self, journal: Journal, executor: Executor, verify: bool, tell: Any, threads: int) -> None:
        assert self.plan is not None
        job = dataclasses.replace(self.job(), threads=threads)
        if not self.destination.create(journal.resumed):
            journal.forget(len(job.passes) - 1)
        self.tasks = self.plan.tasks
        self.done_before = sum(len(journal.done(number)) for number in range(len(job.passes)))
        total = int(sum(math.prod(self.source.shape) * self.source.dtype.itemsize for _ in job.passes))
        total *= 2 if verify else 1
        moved = 0

        def finished(number: Optional[int], task: int, size: int) -> None:
            nonlocal moved
            moved += size
            if number is not None:
                journal.add(number, task)
            if tell is not None and tell(moved, total) is False:
                raise StoppedError("progress ended the redistribution; the same call " + (
                    "goes on with it" if self.folder is not None else "begins anew, as there is no journal"))

        for number in range(len(job.passes)):
            left = []
            for task, box in self.boxes(number):
                if task in journal.done(number):
                    moved += math.prod(box[1]) * self.source.dtype.itemsize
                else:
                    left.append((task, box))
            executor(partial(run_task, job, number), left, partial(finished, number))
            if verify:
                executor(partial(verify_task, job, number), self.boxes(number), partial(finished, None))
        self.destination.publish()
        if len(job.places) == 3:
            job.places[2].remove()
            if not is_remote(self._scratch):
                with contextlib.suppress(OSError):  # where something else is in it
                    os.rmdir(self._scratch)


def _absolute(name: str) -> str:
    return name if is_remote(name) else os.path.abspath(name)


def explained(plan: Any) -> str:
    """What a plan says of itself, in the words of chunks; its time is for the speeds that it was made for."""
    words = (("an intermediate file", "an intermediate store"), ("the intermediate file has blocks of",
             "the intermediate store has chunks of"))
    out = str(plan.explain())
    for old, new in words:
        out = out.replace(old, new)
    return out


def serial(call: Callable[[Box], int], boxes: Iterable[Tuple[int, Box]],
           finished: Callable[[int, int], None]) -> None:
    """One task after the other."""
    for task, box in boxes:
        finished(task, call(box))


def in_threads(workers: int) -> Executor:
    """Several tasks at once, each of which has max_memory."""
    def executor(call: Callable[[Box], int], boxes: Iterable[Tuple[int, Box]],
                 finished: Callable[[int, int], None]) -> None:
        waiting = iter(boxes)
        under_way: Dict["Future[int]", int] = {}
        with ThreadPoolExecutor(workers) as pool:
            try:
                while True:
                    for task, box in waiting:
                        under_way[pool.submit(call, box)] = task
                        if len(under_way) >= workers:
                            break
                    if not under_way:
                        return
                    done: Set["Future[int]"] = wait(under_way, return_when=FIRST_COMPLETED).done
                    for future in done:
                        finished(under_way.pop(future), future.result())
            except BaseException:
                for future in under_way:
                    future.cancel()
                raise
    return executor


# ---- Planning ----

def _order_of(order: Optional[Sequence[int]], dims: int) -> Dims:
    out = tuple(range(dims)) if order is None else tuple(int(d) for d in order)
    if sorted(out) != list(range(dims)):
        raise InvalidArgumentError(f"order: {out} is no order of the {dims} dims of the source", "order", str(out),
                                   str(tuple(range(dims))))
    return out


def _extents(what: str, said: Optional[Sequence[int]], dims: int) -> Optional[Dims]:
    if said is None:
        return None
    out = tuple(int(n) for n in said)
    if len(out) != dims or any(n < 1 for n in out):
        raise InvalidArgumentError(f"{what}: {out} for an array of {dims} dims; each has one extent, 1 or more", what,
                                   str(out), str(dims))
    return out


def _source_of(src: Any, complete: bool, options: Optional[Dict[str, Any]]) -> Place:
    if _zarr.is_array(src):
        return _zarr.source(src, 0, complete, options)
    if _hdf5.is_dataset(src):
        return _hdf5.source(src, 0, complete)
    path = os.fspath(src)
    if _npy.is_path(path):
        return _npy.source(path, 0)
    if _hdf5.is_path(path):
        return _hdf5.source(path, 0, complete)
    return _zarr.source(path, 0, complete, options)


def is_remote(path: str) -> bool:
    return "://" in path and not path.startswith(("file://", "local://"))


def _local(path: str) -> str:
    """A URL of a file of this machine as its path."""
    return path if is_remote(path) else re.sub("^(file|local)://", "", path)


def _check_apart(source: Place, destination: Place) -> None:
    here, there = source.where, destination.where
    if here == there or there.startswith(here + "/") or here.startswith(there + "/"):
        raise InvalidArgumentError(f"dst is {destination.name!r}, which is the source {source.name!r}, lies in it or "
                                   "contains it: give another path", "dst", destination.name)


def _destination_of(src: Place, path: str, order: Dims, chunks: Optional[Dims], shards: Optional[Dims],
                    compression: Any, options: Optional[Dict[str, Any]], beside: str) -> Place:
    if _npy.is_path(path) or _hdf5.is_path(path):
        if shards is not None:
            raise InvalidArgumentError("only arrays of zarr have shards", "shards", str(shards))
        if _npy.is_path(path):
            return _npy.destination(src, path, order, chunks, beside)
        return _hdf5.destination(src, path, order, chunks, compression, beside)
    return _zarr.destination(src, path, order, chunks, shards, compression, options, src.complete)


def prepare(src: Any, dst: Any, *, order: Optional[Sequence[int]] = None, chunks: Optional[Sequence[int]] = None,
            shards: Optional[Sequence[int]] = None, compression: Any = "keep",
            max_memory: Union[int, float, str] = "256MB", missing: str = "error", rewrite: bool = False,
            scratch: Any = None, storage_options: Optional[Dict[str, Any]] = None,
            chunk_seconds: Optional[float] = None, journal: Any = None) -> Redistribution:
    """Plans what redistribute() does, and writes nothing."""
    if missing not in ("error", "fill"):
        raise InvalidArgumentError(f"missing is 'error' or 'fill', not {missing!r}", "missing", str(missing))
    source = _source_of(src, missing == "error", storage_options)
    dims = len(source.shape)
    path = _local(os.fspath(dst))
    file = path.partition("::")[0] if not is_remote(path) else path
    folder = None if is_remote(path) else file.rstrip("/") + ".relayout"
    destination = _destination_of(source, path, _order_of(order, dims), _extents("chunks", chunks, dims),
                                  _extents("shards", shards, dims), compression, storage_options, folder or "")
    _check_apart(source, destination)
    between = _local(os.fspath(scratch)) if scratch is not None else path.rstrip("/") + ".relayout" if folder is None \
        else folder
    kept = folder if journal is None else os.fspath(journal)
    out = Redistribution(None, source, destination, kept, between, storage_options)
    if not rewrite and _as_they_are.possible(source, destination, compression):
        out.destination = _as_they_are.with_transposition(*out._zarr_sides())
        return out
    out.plan, out._group = _planned(source, destination, bytes_of(max_memory), chunk_seconds)
    if len(out.plan.stores) == 3:
        _zarr.package()
    return out


def _planned(source: Place, destination: Place, memory: int, chunk_seconds: Optional[float]) -> Tuple[Any, int]:
    """The plan, and the bytes that calls move at once, of which zarr holds three times as many."""
    def speed(place: Place) -> Tuple[float, float]:
        usual = REMOTE_SPEED if place.remote else LOCAL_SPEED
        return usual if chunk_seconds is None else (chunk_seconds, usual[1])

    def plan(most: int) -> Any:
        return _native.make_task_plan(source.store(False), destination.store(True), max_memory=most,
                                      read=speed(source), write=speed(destination), chunked_intermediate=True)

    group = min(GROUP_BYTES, memory // 32)
    try:
        return plan(memory - 3 * group), group
    except LimitError:
        return plan(memory), 0


def check_distributed(made: Redistribution, what: str) -> None:
    """That every process reaches both sides."""
    if made.plan is None:
        return
    if isinstance(made.destination, _hdf5.Hdf5Place):
        raise UnsupportedError(f"{what}: an HDF5 file is written by one process alone; write an array of zarr", "dst",
                               made.destination.name)
    for place in (made.source, made.destination):
        array = getattr(place, "array", None)
        if array is not None and type(array.store_path.store).__name__ == "MemoryStore":
            raise UnsupportedError(f"{what}: other processes do not reach an array in memory", "src", place.name)
