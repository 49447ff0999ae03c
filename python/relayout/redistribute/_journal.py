"""The journal of a redistribution: which tasks are done, so that a run that was killed goes on.

A file of JSON lines in the folder beside the output. The first line is a digest of all that must be the same when a run
goes on: both arrays' metadata and the plan. Each other line is a task that is done. Whoever holds the file's lock runs.
"""
from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import time
from typing import Any, Iterator, List, Optional, Set

from .._errors import CorruptError, FileError, InvalidArgumentError, of_code


class Journal:
    """folder: where it lies; None where nothing is written down, so that every run begins anew."""

    def __init__(self, folder: Optional[str], described: Any, restart: bool):
        self.since = time.time_ns()
        self.resumed = False
        self._done: List[Set[int]] = []
        self._file: Any = None
        if folder is None:
            return
        self.path = os.path.join(folder, "journal")
        with self._written():
            os.makedirs(folder, exist_ok=True)
            self._file = open(self.path, "a+", encoding="utf-8")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise FileError(f"{self.path!r} is locked: another process writes the same output", "dst",
                            self.path) from None
        self._file.seek(0)
        lines = self._file.read().splitlines()
        if lines and not restart:
            self._read(lines, _digest(described))
        else:
            self._file.truncate(0)
            self._write({"digest": _digest(described), "since": self.since})

    def _read(self, lines: List[str], digest: str) -> None:
        try:
            head = json.loads(lines[0])
            self.since = int(head["since"])
            same = head["digest"] == digest
        except (ValueError, KeyError, TypeError):
            raise CorruptError(f"{self.path!r} is no journal of a redistribution", "journal", self.path) from None
        if not same:
            self._file.close()
            raise InvalidArgumentError(
                f"{self.path!r} is of a run with another source, other chunks, another order or another bound of "
                "memory: give the same, or restart=True, which drops what that run did", "restart", "False", "True")
        self.resumed = True
        for line in lines[1:]:
            try:
                number, task = json.loads(line)
            except ValueError:
                continue  # the last line of a run that was killed
            self._of(number).add(task)
        self._file.write("\n")

    def _of(self, number: int) -> Set[int]:
        while len(self._done) <= number:
            self._done.append(set())
        return self._done[number]

    def done(self, number: int) -> Set[int]:
        """Tasks of a pass that are done."""
        return self._of(number)

    def forget(self, number: int) -> None:
        """What is written anew in any case."""
        self._of(number).clear()

    def add(self, number: int, task: int) -> None:
        self._of(number).add(task)
        self._write([number, task])

    def _write(self, value: Any) -> None:
        if self._file is not None:
            with self._written():
                self._file.write(json.dumps(value) + "\n")
                self._file.flush()

    @contextlib.contextmanager
    def _written(self) -> Iterator[None]:
        """Errors of the system name the journal, as where a disk has no room."""
        try:
            yield
        except OSError as error:
            raise of_code("io", f"write {self.path!r}: {error}", "journal", self.path,
                          number=error.errno or 0) from error

    def close(self) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):  # what could not be written was said by then
                self._file.close()


def _digest(described: Any) -> str:
    return hashlib.sha256(json.dumps(described, sort_keys=True, default=str).encode()).hexdigest()
