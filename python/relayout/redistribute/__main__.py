"""python -m relayout.redistribute IN OUT: an array in other chunks and another order of axes."""
from __future__ import annotations

import argparse
import sys
from typing import Any, List, Optional, Sequence

from .._errors import Error
from . import bytes_of, in_threads, prepare, serial


def _numbers(text: str) -> List[int]:
    return [int(part) for part in text.replace("x", ",").split(",")]


def _parser() -> argparse.ArgumentParser:
    out = argparse.ArgumentParser("python -m relayout.redistribute", description=__doc__)
    out.add_argument("input", metavar="IN", help="an array of zarr (a folder or a URL), file.h5::dataset, or file.npy")
    out.add_argument("output", metavar="OUT", help="what is made: .h5, .npy, or else zarr")
    out.add_argument("--order", type=_numbers, help="the input's dims as the output has them: 2,0,1")
    out.add_argument("--chunks", type=_numbers, help="the output's: 512,64,64; by default the input's")
    out.add_argument("--shards", type=_numbers, help="the output's; of zarr alone")
    out.add_argument("--max-memory", default="256MB", help="of all tasks at a time; with --dask of one (256MB)")
    out.add_argument("--workers", type=int, default=1, help="tasks at a time")
    out.add_argument("--dask", metavar="ADDRESS", help="runs on the cluster whose scheduler has this address")
    out.add_argument("--scratch", help="a folder or URL for an intermediate store; beside OUT by default")
    out.add_argument("--missing", choices=("error", "fill"), default="error",
                     help="what a chunk is that is not there (error)")
    out.add_argument("--rewrite", action="store_true", help="moves elements even where metadata could say the order")
    out.add_argument("--restart", action="store_true", help="drops what a run did that ended early")
    out.add_argument("--dry-run", action="store_true", help="says what would be done")
    out.add_argument("--verify", action="store_true", help="reads both sides again and compares them")
    return out


class _Line:
    """A line of progress on standard error, where that is a terminal."""

    def __init__(self) -> None:
        self.shown = -1

    def __call__(self, done: int, total: int) -> None:
        now = 100 * done // max(1, total)
        if now != self.shown and sys.stderr.isatty():
            print(f"\r{now} %", end="\n" if done == total else "", file=sys.stderr, flush=True)
        self.shown = now


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Runs the command; the number that it exits with."""
    said = _parser().parse_args(arguments)
    try:
        if said.dask is None:
            return _run(said, None)
        from ..dask import connected
        with connected(said.dask) as client:
            return _run(said, client)
    except Error as error:
        print(f"relayout.redistribute: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("relayout.redistribute: ended; the same command goes on", file=sys.stderr)
        return 130


def _run(said: argparse.Namespace, client: Any) -> int:
    workers = max(1, said.workers if client is None else 1)
    made = prepare(said.input, said.output, order=said.order, chunks=said.chunks, shards=said.shards,
                   max_memory=bytes_of(said.max_memory) // workers, missing=said.missing, rewrite=said.rewrite,
                   scratch=said.scratch)
    print(made.explain())
    if said.dry_run:
        return 0
    executor, threads = serial if workers == 1 else in_threads(workers), 0
    if client is not None:
        from ..dask import executor_of
        executor, threads = executor_of(client, made), 1
    made.run(executor, verify=said.verify, restart=said.restart, progress=_Line(), threads=threads)
    before = f", {made.done_before} of them before" if made.done_before else ""
    print(f"{said.output}: {made.tasks} tasks{before}" if made.plan is not None else said.output)
    if said.verify and made.plan is not None:
        print("verified: every element is the source's")
    return 0


if __name__ == "__main__":
    sys.exit(main())
