"""python -m relayout.redistribute IN OUT: an array in other chunks and another order of axes.

`relayout redistribute` runs it for arrays of zarr and HDF5; the exit codes are the command's.
"""
from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any, List, Optional, Sequence

from .._errors import Error
from . import Redistribution, bytes_of, in_threads, prepare, serial
from ._run import is_remote


def _numbers(text: str) -> List[int]:
    return [int(part) for part in text.replace("x", ",").split(",")]


#: Exit codes of errors by their kind; 2 is wrong usage, of arguments or a bound.
_EXIT = {"corrupt": 3, "io": 4, "unsupported": 5, "internal": 70, "interrupted": 130}


def _parser(program: str) -> argparse.ArgumentParser:
    description = "An array in other chunks and another order of axes."
    out = argparse.ArgumentParser(program, description=description)
    out.add_argument("input", metavar="IN", help="an array of zarr (a folder or a URL), file.h5::dataset, or file.npy")
    out.add_argument("output", metavar="OUT", help="what is made: .h5, .npy, or else zarr")
    out.add_argument("--order", type=_numbers, help="the input's dims as the output has them: 2,0,1")
    out.add_argument("--chunks", type=_numbers, help="the output's: 512,64,64; by default the input's")
    out.add_argument("--shards", type=_numbers, help="the output's; of zarr alone")
    out.add_argument("--max-memory", default="256MB", help="of all tasks at a time; with --dask of one (256MB)")
    out.add_argument("--workers", type=int, default=1, help="tasks at a time")
    out.add_argument("--dask", metavar="ADDRESS", help="runs on the cluster whose scheduler has this address")
    out.add_argument("--scratch", help="a folder or URL for an intermediate store; beside OUT by default")
    out.add_argument("--journal", help="a folder for the journal; beside OUT by default, and of a URL none")
    out.add_argument("--missing", choices=("error", "fill"), default="error",
                     help="what a chunk is that is not there (error)")
    out.add_argument("--rewrite", action="store_true", help="moves elements even where metadata could say the order")
    out.add_argument("--restart", action="store_true", help="drops what a run did that ended early")
    out.add_argument("--dry-run", action="store_true", help="says what would be done")
    out.add_argument("--verify", action="store_true", help="reads both sides again and compares them")
    out.add_argument("--json", action="store_true", help="prints JSON, errors too")
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


def main(arguments: Optional[Sequence[str]] = None, program: str = "") -> int:
    """Runs the command; the number that it exits with. program: what it is called by another one that runs it."""
    parser = _parser(f"{program} redistribute" if program else "python -m relayout.redistribute")
    try:
        said = parser.parse_args(arguments)
    except SystemExit as ended:  # argparse has printed why
        return int(ended.code or 0)
    name = program or "relayout.redistribute"
    if is_remote(said.output) and not said.journal:
        left = "no journal was kept: the same command begins anew"
    else:
        left = "the same command goes on"
    try:
        if said.dask is None:
            return _run(said, None)
        from ..dask import connected
        with connected(said.dask) as client:
            return _run(said, client)
    except Error as error:
        if said.json:
            print(json.dumps({"error": {"code": error.code, "message": str(error), "field": error.field,
                                        "value": error.value, "limit": error.limit}}), file=sys.stderr)
        else:
            print(f"{name}: {error}", file=sys.stderr)
        return _EXIT.get(error.code, 2)
    except BrokenPipeError:  # who read the output has ended, as in `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return _EXIT["io"]
    except KeyboardInterrupt:
        print(f"{name}: ended; {left}", file=sys.stderr)
        return 130


def _run(said: argparse.Namespace, client: Any) -> int:
    workers = max(1, said.workers if client is None else 1)
    made = prepare(said.input, said.output, order=said.order, chunks=said.chunks, shards=said.shards,
                   max_memory=bytes_of(said.max_memory) // workers, missing=said.missing, rewrite=said.rewrite,
                   scratch=said.scratch, journal=said.journal)
    if not said.json:
        print(made.explain(), flush=True)
    if not said.dry_run:
        executor, threads = serial if workers == 1 else in_threads(workers), 0
        if client is not None:
            from ..dask import executor_of
            executor, threads = executor_of(client, made), 1
        made.run(executor, verify=said.verify, restart=said.restart, progress=_Line(), threads=threads)
    _report(said, made)
    return 0


def _report(said: argparse.Namespace, made: Redistribution) -> None:
    """What was done, or with --json what would be."""
    moves = made.plan is not None
    if said.json:
        tasks = made.plan.tasks if made.plan is not None else 0
        print(json.dumps({"input": said.input, "output": said.output, "done": not said.dry_run, "moves": moves,
                          "tasks": tasks, "tasks_before": made.done_before, "chunks_linked": made.linked,
                          "verified": bool(said.verify and not said.dry_run), "seconds": made.seconds,
                          "plan": made.explain()}, indent=2))
        return
    if said.dry_run:
        return
    before = f", {made.done_before} of them before" if made.done_before else ""
    print(f"{said.output}: {made.tasks} tasks{before}" if moves else said.output)
    if said.verify:
        print("verified: every element is the source's")


if __name__ == "__main__":
    sys.exit(main())
