"""Arrays in chunks on cubed's executors: the same plans of tasks as relayout.redistribute's.

    spec = cubed.Spec("/scratch", allowed_mem="512MB", executor_name="processes")
    relayout.cubed.redistribute("in.zarr", "out.zarr", order=(2, 0, 1), chunks=(512, 64, 64), spec=spec)

cubed runs a function for each entry of a list, on threads, processes or a cloud's functions: each pass of a plan is one
such operation, and its entries are tasks.
"""
from __future__ import annotations

import importlib
from typing import Any, Callable, Dict, Iterable, Optional, Sequence, Tuple, Union

from ._errors import UnsupportedError
from .redistribute._boxes import Box
from .redistribute._run import Executor, Redistribution, check_distributed, prepare


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise UnsupportedError(f"cubed is the package {name.partition('.')[0]}, which is not installed",
                               "cubed") from None


class _Task:
    """What cubed calls for an entry. A class, so that it is pickled with what it calls."""

    def __init__(self, call: Callable[[Box], int]):
        self.call = call

    def __call__(self, entry: Tuple[int, Box], config: Any = None) -> Tuple[int, int]:
        return entry[0], self.call(entry[1])


def executor_of(spec: Any, made: Redistribution) -> Executor:
    """Runs tasks by the executor of a cubed.Spec; on threads where it names none, as cubed does."""
    types, networkx = _module("cubed.runtime.types"), _module("networkx")
    runs = spec.executor or _module("cubed.runtime.create").create_executor("threads", spec.executor_options)
    if runs.name not in ("single-threaded", "threads"):
        check_distributed(made, "relayout.cubed")

    def executor(call: Callable[[Box], int], boxes: Iterable[Tuple[int, Box]],
                 finished: Callable[[int, int], None]) -> None:
        entries = list(boxes)
        if not entries:
            return

        class Watch(types.Callback):  # type: ignore[misc,name-defined]
            def on_task_end(self, event: Any) -> None:
                if event.result is not None:
                    finished(*event.result)

        graph = networkx.MultiDiGraph()
        graph.add_node("redistribute", pipeline=types.CubedPipeline(_Task(call), "redistribute", entries, None))
        runs.execute_dag(graph, callbacks=[Watch()], spec=spec, compute_id="relayout")

    return executor


def redistribute(src: Any, dst: Any, *, spec: Any, order: Optional[Sequence[int]] = None,
                 chunks: Optional[Sequence[int]] = None, shards: Optional[Sequence[int]] = None,
                 compression: Any = "keep", max_memory: Optional[Union[int, float, str]] = None, verify: bool = False,
                 restart: bool = False, missing: str = "error", rewrite: bool = False, scratch: Any = None,
                 storage_options: Optional[Dict[str, Any]] = None, chunk_seconds: Optional[float] = None,
                 progress: Any = None, journal: Any = None) -> Redistribution:
    """As relayout.redistribute.redistribute(), by the executor of `spec`, a cubed.Spec. max_memory: bytes of one task,
    by default half of what the spec allows and does not reserve."""
    if max_memory is None:
        max_memory = max(1, spec.allowed_mem - (spec.reserved_mem or 0)) // 2
    made = prepare(src, dst, order=order, chunks=chunks, shards=shards, compression=compression,
                   max_memory=max_memory, missing=missing, rewrite=rewrite, scratch=scratch,
                   storage_options=storage_options, chunk_seconds=chunk_seconds, journal=journal)
    return made.run(executor_of(spec, made), verify=verify, restart=restart, progress=progress, threads=1)
