"""Arrays in chunks, larger than memory, into other chunks and another order of axes: zarr, HDF5 and .npy.

    from relayout.redistribute import redistribute
    redistribute("in.zarr", "out.zarr", order=(2, 0, 1), chunks=(512, 64, 64), max_memory="512MB")

    python -m relayout.redistribute in.zarr out.zarr --order 2,0,1 --chunks 512,64,64

The work is a plan of tasks under a bound of memory, which relayout.dask and relayout.cubed run on many machines.
"""
from __future__ import annotations

from typing import Any, Dict, Optional, Sequence, Union

from .._native import Pass, Store, TaskPlan, chunked_store, file_store, make_task_plan
from ._run import Executor, Redistribution, bytes_of, explained, in_threads, prepare, serial

__all__ = ["Executor", "Pass", "Redistribution", "Store", "TaskPlan", "bytes_of", "chunked_store", "explained",
           "file_store", "in_threads", "make_task_plan", "prepare", "redistribute", "serial"]


def redistribute(src: Any, dst: Any, *, order: Optional[Sequence[int]] = None, chunks: Optional[Sequence[int]] = None,
                 shards: Optional[Sequence[int]] = None, compression: Any = "keep",
                 max_memory: Union[int, float, str] = "256MB", workers: int = 1, verify: bool = False,
                 restart: bool = False, missing: str = "error", rewrite: bool = False, scratch: Any = None,
                 storage_options: Optional[Dict[str, Any]] = None, chunk_seconds: Optional[float] = None,
                 progress: Any = None, journal: Any = None) -> Redistribution:
    """Writes an array in other chunks, and in another order of axes, on this machine.

    src: an array of zarr or its path or URL, a dataset of h5py or "file.h5::name", or the path of an .npy file. dst:
    the path of what is made, by its extension .h5 (or .hdf5, .nc), .npy, or else zarr; of zarr a URL of fsspec's too,
    for which storage_options are.
    order: the source's dims as the new array has them, as for numpy.transpose. chunks, shards: of the new array; by
    default the source's. compression: "keep", or what zarr.create_array() takes as compressors, or h5py as compression.
    max_memory: bytes of all `workers` together, beside what the program and its libraries take.
    scratch: a folder or URL for the intermediate store; beside the output by default.
    missing: "fill" lets chunks that are not there be the fill value. rewrite: elements are moved even where metadata
    could say the order. chunk_seconds: what a chunk costs to read or write beside its bytes; a plan depends on it.

    journal: a folder of this machine's for the journal; beside the output by default, and of an output at a URL none.

    No reader finds the output before all of it is written. A run that ended early and has a journal goes on when the
    same call is made again; restart=True drops what it did. verify: both sides of every task are read once more and
    compared. progress: as for relayout.checkpoint.convert(). Errors name the chunk.
    """
    made = prepare(src, dst, order=order, chunks=chunks, shards=shards, compression=compression,
                   max_memory=bytes_of(max_memory) // max(1, workers), missing=missing, rewrite=rewrite,
                   scratch=scratch, storage_options=storage_options, chunk_seconds=chunk_seconds,
                   journal=journal)
    if workers > 1 and isinstance(getattr(made.destination, "final", None), str) and hasattr(made.destination,
                                                                                             "dataset"):
        workers = 1  # HDF5 is written by one thread
    return made.run(serial if workers <= 1 else in_threads(workers), verify=verify, restart=restart,
                    progress=progress)
