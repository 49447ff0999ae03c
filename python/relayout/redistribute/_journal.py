"""The journal of a redistribution: which tasks are done, so that a run that was killed goes on.

A file of JSON lines. The first says what the run is: where it writes, a digest of all that must be the same when it
goes on (both arrays' metadata and the plan), and since when. Each other line is a task that is done. Whoever holds the
file's lock runs.
"""
from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from typing import Any, Dict, Iterator, List, Optional, Set, TextIO

from .._errors import CorruptError, FileError, InvalidArgumentError, of_code


def boot() -> str:
    """Another text each time that the system starts; where it has none, the empty one."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


class Journal:
    """folder: where it lies; None where nothing is written down, so that every run begins anew.

    run: what this run is: "destination", "digest", and whatever else an heir must know. dropped: what an earlier run of
    the same destination was, if it is not gone on with; else None. A run that is not resumed writes nothing before
    begin().
    """

    def __init__(self, folder: Optional[str], run: Dict[str, Any], restart: bool):
        self.since = time.time_ns()
        self.resumed = False
        self.dropped: Optional[Dict[str, Any]] = None
        self._run, self._done = run, list[Set[int]]()
        self._file: Any = None
        self._begun = False
        if folder is None:
            return
        self._folder, self.path = folder, os.path.join(folder, "journal")
        self._file = file = self._locked()
        try:
            file.seek(0)
            lines = file.read().splitlines()
            if lines:
                self._read(lines, restart)
        except BaseException:
            file.close()
            raise

    def _locked(self) -> TextIO:
        while True:
            with self._written():
                os.makedirs(self._folder, exist_ok=True)
                file = open(self.path, "a+", encoding="utf-8")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                file.close()
                raise FileError(f"{self.path!r} is locked: another process writes the same output", "dst",
                                self.path) from None
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.stat(self.path), os.fstat(file.fileno())):
                    return file
            file.close()  # whoever had the lock was done in the meantime, and removed the file

    def _read(self, lines: List[str], restart: bool) -> None:
        head: Dict[str, Any] = {}
        try:
            head = json.loads(lines[0])
            since, same = int(head["since"]), head["digest"] == self._run["digest"]
            before = head["destination"]
        except (ValueError, KeyError, TypeError):
            if restart:
                return  # whose output lies there is not known, so that nothing of it is dropped
            raise CorruptError(f"{self.path!r} is no journal of a redistribution", "journal", self.path) from None
        if before != self._run["destination"]:
            raise InvalidArgumentError(f"{self.path!r} is of a run that makes {before!r}: give each output a journal "
                                       "of its own", "journal", self.path)
        if restart:
            self.dropped = head
            return
        if not same:
            raise InvalidArgumentError(
                f"{self.path!r} is of a run with another source, other chunks, another order, another scratch or "
                "another bound of memory: give the same, or restart=True, which drops what that run did", "restart",
                "False", "True")
        if head.get("boot") != self._run.get("boot"):
            self.dropped = head  # what was done then may not have reached the disk before the system stopped
            return
        self.since, self.resumed, self._begun = since, True, True
        for line in lines[1:]:
            try:
                number, task = json.loads(line)
            except ValueError:
                continue  # the last line of a run that was killed
            self._of(number).add(task)
        self._file.write("\n")

    def begin(self, **more: Any) -> None:
        """The place is free: from here on, what lies there is this run's. more: what this run's heir must know."""
        if not self._begun and self._file is not None:
            self._file.truncate(0)
            self._write({**self._run, **more, "since": self.since})
        self._begun = True

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

    def remove(self) -> None:
        """The run is done, or never began: the file goes, and its folder if nothing else is in it."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                os.unlink(self.path)
            with contextlib.suppress(OSError):
                os.rmdir(self._folder)

    def close(self) -> None:
        if self._file is None:
            return
        if not self._begun and self.dropped is None:
            with contextlib.suppress(OSError):
                if os.fstat(self._file.fileno()).st_size == 0:
                    self.remove()
        with contextlib.suppress(OSError):  # what could not be written was said by then
            self._file.close()
