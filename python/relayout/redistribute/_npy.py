"""Files of NumPy, .npy: of these any range of elements can be read, so they have no chunks."""
from __future__ import annotations

import contextlib
import dataclasses
import os
from typing import Any, Iterator, Optional, Sequence

import numpy as np

from .. import _native
from .._errors import FileError, InvalidArgumentError
from ._boxes import Box, Dims, cut, slices
from ._places import OneFile, Place, movable, naming, version_of


def is_path(path: str) -> bool:
    return path.lower().endswith(".npy")


class _Opened:
    def __init__(self, place: "NpyPlace", array: np.ndarray):
        self.place, self.array = place, place.turned(array.view(movable(array.dtype)))

    def parts(self, box: Box, most: Sequence[int], group: int) -> Iterator[Box]:
        return cut(box, most)

    def read(self, box: Box) -> np.ndarray:
        return self.array[slices(box)]

    def write(self, box: Box, values: np.ndarray) -> None:
        _native.copy(self.array[slices(box)], values)


@dataclasses.dataclass(frozen=True)
class NpyPlace(OneFile):
    file: str = ""
    fortran: bool = False
    final: str = ""

    def layout(self) -> Any:
        if not self.fortran:
            return super().layout()
        turned = dataclasses.replace(self, fortran=False, shape=self.shape[::-1], axes=self.axes[::-1])
        return turned.layout()

    @contextlib.contextmanager
    def opened(self, writing: bool = False) -> Iterator[_Opened]:
        with naming(self, "the file", "open"):
            array = np.load(self.file, mmap_mode="r+" if writing else "r")
        if array.shape != self.shape or array.dtype != self.dtype:
            raise FileError(f"{self.file!r} has another shape or type than before", "src", self.file)
        with self.same():  # what is read is mapped, and not in memory before it was copied
            yield _Opened(self, array)

    def _is_there(self) -> bool:
        try:
            array = np.load(self.file, mmap_mode="r")
        except (OSError, ValueError):  # of a run that was ended while it made the file
            return False
        return bool(array.shape == self.shape and array.dtype == self.dtype)

    def create(self, resumed: bool) -> bool:
        kept = resumed and self._is_there()
        with naming(self, "the file", "make room for"):
            if not kept:
                os.makedirs(os.path.dirname(self.file), exist_ok=True)
                made = np.lib.format.open_memmap(self.file, mode="w+", dtype=self.dtype, shape=self.shape)
                del made
            # All of it, so that a disk that is full says so here: also of a file whose run ended for that reason.
            descriptor = os.open(self.file, os.O_RDWR)
            try:
                os.posix_fallocate(descriptor, 0, max(1, os.path.getsize(self.file)))
            finally:
                os.close(descriptor)
        return kept


def source(path: str, since: int) -> NpyPlace:
    try:
        with open(path, "rb") as file:
            if file.read(6) != b"\x93NUMPY":
                raise ValueError("it does not begin as a file of NumPy does")
        version = version_of(path)
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise FileError(f"{path!r}: {error}", "src", path) from None
    return NpyPlace(path, array.shape, array.dtype, None, None, tuple(range(array.ndim)), since,
                    version=version, file=path,
                    fortran=array.flags.f_contiguous and not array.flags.c_contiguous)


def destination(src: Place, path: str, order: Dims, chunks: Optional[Dims], beside: str) -> NpyPlace:
    if chunks is not None:
        raise InvalidArgumentError("a file of NumPy has no chunks", "chunks", str(chunks))
    shape = tuple(src.dims[d] for d in order)
    return NpyPlace(path, shape, src.dtype, None, None, order, file=os.path.join(beside, "array.npy"), final=path)
