"""Arrays in chunks on a cluster of Dask: the same plans of tasks as relayout.redistribute's.

    client = dask.distributed.Client(...)
    relayout.dask.redistribute("s3://a/in.zarr", "s3://a/out.zarr", order=(2, 0, 1), chunks=(512, 64, 64))
    y = relayout.dask.rearrange(x, "t y x -> y x t", chunks=(64, 64, 512), scratch="/scratch/y")

Tasks are independent of each other and leave what they make in a store, so that no worker holds what another one waits
for: a worker that is lost costs the tasks that it had begun.
"""
from __future__ import annotations

import importlib
import os
import tempfile
from typing import Any, Callable, Dict, Iterable, Optional, Sequence, Tuple, Union

from ._errors import FileError, InvalidArgumentError, UnsupportedError
from ._rearrange_pattern import find_recipe
from .redistribute._boxes import Box
from .redistribute._run import Executor, Redistribution, check_distributed, prepare

#: Of a worker's memory a task may have this share; its libraries, and what zarr has under way, take the rest.
_SHARE = 0.25
#: How often a task may fail, as stores on a network do now and then.
_RETRIES = 3


def _package() -> Any:
    try:
        return importlib.import_module("distributed")
    except ImportError:
        raise UnsupportedError("clusters of Dask need the package distributed, which is not installed: "
                               "pip install distributed", "dask") from None


def connected(address: str) -> Any:
    """A client of the scheduler at an address. FileError where there is none."""
    try:
        return _package().Client(address, timeout="10s")
    except (OSError, ValueError) as error:
        raise FileError(f"no scheduler of Dask at {address!r}: {error}", "dask", address) from None


def _current(client: Any) -> Any:
    distributed = _package()
    if client is not None:
        return client
    try:
        return distributed.get_client()
    except ValueError:
        raise InvalidArgumentError("there is no client of Dask: make one by dask.distributed.Client(), or give "
                                   "client=", "client") from None


def _workers(client: Any) -> Tuple[int, Optional[int]]:
    """Tasks that run at once, and the bytes of memory of each; None where workers have no bound."""
    found = client.scheduler_info(n_workers=-1)["workers"].values()
    threads = sum(worker["nthreads"] for worker in found) or 1
    bounds = [worker["memory_limit"] // worker["nthreads"] for worker in found if worker.get("memory_limit")]
    return threads, min(bounds) if bounds else None


def executor_of(client: Any, made: Redistribution) -> Executor:
    """Runs tasks on the workers of a client, some more at a time than run at once. A task that fails is tried again."""
    check_distributed(made, "relayout.dask")
    as_completed = _package().as_completed

    def executor(call: Callable[[Box], int], boxes: Iterable[Tuple[int, Box]],
                 finished: Callable[[int, int], None]) -> None:
        waiting, tasks = iter(boxes), {}
        done = as_completed([])

        def submit(count: int) -> None:
            for _, (task, box) in zip(range(count), waiting):
                future = client.submit(call, box, pure=False, retries=_RETRIES)
                tasks[future.key] = task
                done.add(future)

        submit(4 * _workers(client)[0])
        try:
            for future in done:
                finished(tasks.pop(future.key), future.result())
                submit(1)
        except BaseException:
            client.cancel(list(done.futures))
            raise

    return executor


def redistribute(src: Any, dst: Any, *, order: Optional[Sequence[int]] = None, chunks: Optional[Sequence[int]] = None,
                 shards: Optional[Sequence[int]] = None, compression: Any = "keep",
                 max_memory: Optional[Union[int, float, str]] = None, client: Any = None, verify: bool = False,
                 restart: bool = False, missing: str = "error", rewrite: bool = False, scratch: Any = None,
                 storage_options: Optional[Dict[str, Any]] = None, chunk_seconds: Optional[float] = None,
                 progress: Any = None, journal: Any = None) -> Redistribution:
    """As relayout.redistribute.redistribute(), on the workers of `client` or of the current client.

    Every worker must reach both stores and have relayout installed. max_memory: bytes of one task, by default a quarter
    of a worker's for each of its threads. Lost workers are made up for by others: a task writes whole chunks, and so
    may run twice. HDF5 can be read and not written.
    """
    client = _current(client)
    if max_memory is None:
        bound = _workers(client)[1]
        max_memory = "256MB" if bound is None else bound * _SHARE
    made = prepare(src, dst, order=order, chunks=chunks, shards=shards, compression=compression,
                   max_memory=max_memory, missing=missing, rewrite=rewrite, scratch=scratch,
                   storage_options=storage_options, chunk_seconds=chunk_seconds, journal=journal)
    return made.run(executor_of(client, made), verify=verify, restart=restart, progress=progress, threads=1)


def rearrange(x: Any, pattern: str, *, chunks: Optional[Sequence[int]] = None, scratch: Any = None,
              max_memory: Optional[Union[int, float, str]] = None, client: Any = None,
              storage_options: Optional[Dict[str, Any]] = None) -> Any:
    """A dask array with its dims in the order of a pattern in einops' notation, "t y x -> y x t", and in other chunks.

    x is computed now, a chunk at a time, into a store, which redistribute() then brings into order; the result is a
    dask array that is read from there. Unlike x.transpose().rechunk(), no worker holds more than a task's memory.
    scratch: a folder or URL that all workers reach, in which the result stays until its user removes it; a folder for
    temporary files by default. chunks: of the result; those of x by default.
    """
    client = _current(client)
    recipe = find_recipe(pattern, tuple(x.shape))
    if recipe.splits or recipe.merges or len(recipe.final) != x.ndim:
        raise UnsupportedError(f"rearrange: {pattern!r} splits or merges dims; of dask arrays the order alone changes",
                               "pattern", pattern)
    order = recipe.axes or tuple(range(x.ndim))
    array = importlib.import_module("dask.array")
    place = tempfile.mkdtemp(prefix="relayout-") if scratch is None else os.fspath(scratch).rstrip("/")
    even = x.rechunk(tuple(sizes[0] for sizes in x.chunks))  # zarr's chunks are equal
    first, last = place + "/source.zarr", place + "/result.zarr"
    zarr = importlib.import_module("zarr")
    held = zarr.create_array(first, shape=x.shape, dtype=x.dtype, chunks=even.chunksize, compressors=None,
                             storage_options=storage_options, config={"write_empty_chunks": True})
    client.compute(array.store(even, held, lock=False, compute=False, return_stored=False)).result()
    wanted = tuple(even.chunksize[d] for d in order) if chunks is None else tuple(chunks)
    redistribute(held, last, order=order, chunks=wanted, max_memory=max_memory, client=client,
                 storage_options=storage_options)
    if "://" not in first:
        import shutil
        shutil.rmtree(first)
    return array.from_zarr(last, storage_options=storage_options)
