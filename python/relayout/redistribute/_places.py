"""Places: where the arrays of a redistribution lie. One class for each kind of store, in files of their own.

A place is asked for boxes of indices in the order of the source's dims, and turns them into its own. It can be pickled,
so that a task runs in any process that reaches the store:

    with place.opened() as store:
        store.read(box)               # an array, whose dims have the source's order
        store.write(box, values)      # whole chunks
"""
from __future__ import annotations

import contextlib
import dataclasses
import os
from typing import Any, Iterator, Optional, Tuple

import numpy as np

from .. import _native
from .._errors import CorruptError, Error, UnsupportedError, of_code
from ._boxes import Box, Dims

#: Types by their size, as plans only count bytes.
_BY_SIZE = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}


def movable(dtype: np.dtype) -> np.dtype:
    """A type of the same size whose elements relayout moves: dates and structures are bytes to it."""
    if dtype.kind in "biufc" and dtype.itemsize <= 16:
        return dtype.newbyteorder("=")
    return np.dtype(f"u{dtype.itemsize}") if dtype.itemsize in _BY_SIZE else np.dtype((np.void, dtype.itemsize))


@dataclasses.dataclass(frozen=True)
class Place:
    """shape, chunk: in the array's own order; chunk is what is read at once, unit what writers share out whole, and
    both are None where any range can be had. axes: dim k of the array is dim axes[k] of the source."""
    name: str
    shape: Dims
    dtype: np.dtype
    chunk: Optional[Dims]
    unit: Optional[Dims]
    axes: Dims
    #: The time in nanoseconds after which nobody else may write to it; 0 where that is not watched.
    since: int = 0
    #: Chunks that are not there are errors, and not the fill value.
    complete: bool = True
    #: An intermediate store of the run's own.
    between: bool = False
    #: Of a source that is one file: which one was planned with, as version_of() says it.
    version: Optional[Tuple[int, int, int]] = None

    def in_order(self, own: Any) -> Dims:
        """Numbers of the array's dims in the source's order."""
        out = [0] * len(self.axes)
        for k, d in enumerate(self.axes):
            out[d] = int(own[k])
        return tuple(out)

    def own(self, numbers: Any) -> Dims:
        """The other way."""
        return tuple(int(numbers[d]) for d in self.axes)

    @property
    def dims(self) -> Dims:
        return self.in_order(self.shape)

    @property
    def remote(self) -> bool:
        return False

    @property
    def where(self) -> str:
        """The same text for two places in one store, and with "/" between the parts of their paths."""
        return os.path.realpath(self.name)

    def turned(self, array: np.ndarray) -> np.ndarray:
        """An array of the place as a view in the source's order."""
        return array.transpose(self.in_order(range(len(self.axes))))

    def store(self, writing: bool) -> Any:
        """What the planner knows of it."""
        chunk = self.unit if writing else self.chunk
        size, parts = self.dtype.itemsize, tuple[int, ...]()
        if size not in _BY_SIZE:  # elements of several numbers, as complex128, are a dim more
            size, parts = (8, (size // 8,)) if size % 8 == 0 and chunk is not None else (0, ())
        if not size:
            raise UnsupportedError(f"{self.name}: elements of {self.dtype} have {self.dtype.itemsize} bytes", "dtype",
                                   str(self.dtype), "1, 2, 4 or 8 bytes; in chunks a multiple of 8 too")
        if chunk is None:
            return _native.file_store(self.layout(), _BY_SIZE[size])
        return _native.chunked_store((*self.dims, *parts), _BY_SIZE[size], (*self.in_order(chunk), *parts))

    def layout(self) -> Any:
        """Of a place without chunks: row-major in the array's own order."""
        strides, step = [0] * len(self.shape), 1
        for k in reversed(range(len(self.shape))):
            strides[k], step = step, step * max(1, self.shape[k])
        text = ",".join(str(s) for s in self.in_order(strides))
        return _native.layout("strides:" + text if text else "contiguous", self.dims)

    def chunk_name(self, box: Box, unit: Dims) -> str:
        """The chunk that a box, which lies in one, belongs to."""
        return "chunk " + str(tuple(a // n for a, n in zip(self.own(box[0]), unit)))

    def described(self) -> Any:
        """What a run that goes on must find unchanged, as JSON."""
        return {"shape": self.shape, "dtype": self.dtype.str, "chunk": self.chunk, "unit": self.unit,
                "axes": self.axes, **({"version": self.version} if self.version else {})}

    # ---- Each kind of store has these. ----

    @contextlib.contextmanager
    def opened(self, writing: bool = False) -> Iterator[Any]:
        raise NotImplementedError
        yield

    def create(self, resumed: bool) -> bool:
        """Makes what is there before the first task: nothing that a reader would take for the whole. Whether what an
        earlier run wrote, if this one goes on with it, is there."""
        return True

    def publish(self) -> None:
        """All is written: readers find it."""

    def free(self) -> None:
        """FileError where something is there already."""
        if os.path.lexists(self.name):
            raise exists(self.name)

    def empty(self) -> bool:
        """Of a place that is free: whether remove() would take nothing that is not the run's."""
        return True

    def remove(self) -> None:
        """What a run wrote that is not gone on with."""
        raise NotImplementedError


class OneFile(Place):
    """A place that is one file: a new one has the name `file` until it is whole, and `final` from then on."""
    file: str
    final: str

    @property
    def where(self) -> str:
        return os.path.realpath(self.final or self.file)

    def publish(self) -> None:
        """All of it is on the disk before it has its name, also where the power fails; and a file that appeared there
        meanwhile stays."""
        folder = os.path.dirname(os.path.abspath(self.final))
        with naming(self, "the file", "publish"):
            flush(self.file)
            try:
                os.link(self.file, self.final)
            except FileExistsError:
                if not os.path.samefile(self.file, self.final):  # else a run ended between these lines
                    raise exists(self.final) from None
            except OSError:  # a file system without links
                self.free()
                os.rename(self.file, self.final)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.file)
            with contextlib.suppress(OSError):  # of a file system that has no such thing; the file has its name
                flush(folder)
            with contextlib.suppress(OSError):  # where the file was: not if something else is in it
                os.rmdir(os.path.dirname(self.file))

    def free(self) -> None:
        if os.path.lexists(self.final):
            raise exists(self.final)

    def remove(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.file)

    @contextlib.contextmanager
    def same(self) -> Iterator[None]:
        """Around a read of a source: CorruptError where the file is not the one that was planned with."""
        self._check_version()
        yield
        self._check_version()

    def _check_version(self) -> None:
        with naming(self, "the file", "read"):
            if self.version is None or version_of(self.file) == self.version:
                return
        raise CorruptError(f"read {self.name!r}: it was written after the redistribution began, or another file has "
                           "its name, so that a part of what is made would be old and a part new: begin anew", "src",
                           self.name)


def version_of(path: str) -> Tuple[int, int, int]:
    """Another one when a file is written or another file gets its name. Without the number of the device, which is
    another one on each machine that reaches a file over a network, and may be after a start."""
    status = os.stat(path)
    return status.st_ino, status.st_size, status.st_mtime_ns


def flush(path: str) -> None:
    """Returns when a file, or a folder's list of names, is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def exists(name: str) -> Error:
    import errno
    return of_code("io", f"create {name!r}: there is something already", "dst", name, number=errno.EEXIST)


@contextlib.contextmanager
def naming(place: Place, what: str, doing: str) -> Iterator[None]:
    """Errors of a store's library name the place and the chunk."""
    try:
        yield
    except Error:
        raise
    except MemoryError:
        raise
    except OSError as error:
        if error.errno is None and doing == "read":  # of h5py: a filter that fails
            raise CorruptError(f"{doing} {what} of {place.name!r}: {error}", "chunk", what) from error
        raise of_code("io", f"{doing} {what} of {place.name!r}: {error}", "chunk", what,
                      number=error.errno or 0) from error
    except Exception as error:
        raise CorruptError(f"{doing} {what} of {place.name!r}: {error or type(error).__name__}", "chunk",
                           what) from error


def check_unchanged(place: Place, what: str, written_ns: int) -> None:
    if place.since and written_ns > place.since:
        raise CorruptError(f"read {what} of {place.name!r}: it was written after the redistribution began, so that a "
                           "part of what is made would be old and a part new: begin anew", "chunk", what)


def missing(place: Place, what: str) -> Error:
    if place.between:
        return CorruptError(f"read {what} of {place.name!r}, an intermediate store of this run: it was removed; begin "
                            "anew by restart=True", "chunk", what)
    return CorruptError(f"read {what} of {place.name!r}: it is not there, and stands for the fill value if nobody lost "
                        "it: allow that by missing=\"fill\"", "chunk", what)


def split_name(path: str) -> Tuple[str, str]:
    """A file and what stands behind "::" in it."""
    file, _, inside = path.partition("::")
    return file, inside
