"""Datasets of HDF5 files, by the package h5py: "file.h5::group/dataset".

A new file has another name until it is whole. Only one process can write it.
"""
from __future__ import annotations

import contextlib
import dataclasses
import importlib
import os
from typing import Any, Dict, Iterator, Optional, Sequence

import numpy as np

from .._errors import FileError, InvalidArgumentError, UnsupportedError
from ._boxes import Box, Dims, cut, grouped, slices
from ._places import OneFile, Place, missing, movable, naming, split_name, version_of


def package() -> Any:
    try:
        return importlib.import_module("h5py")
    except ImportError:
        raise UnsupportedError("HDF5 is read and written by the package h5py, which is not installed: pip install h5py",
                               "h5py") from None


def is_dataset(x: Any) -> bool:
    return type(x).__module__.startswith("h5py.") and hasattr(x, "chunks") and hasattr(x, "file")


def is_path(path: str) -> bool:
    return split_name(path)[0].lower().endswith((".h5", ".hdf5", ".nc", ".hdf"))


class _Opened:
    def __init__(self, place: "Hdf5Place", dataset: Any, writing: bool):
        self.place, self.dataset = place, dataset
        own = place.unit if writing else place.chunk
        self.own_unit = own
        self.unit = None if own is None else place.in_order(own)

    def parts(self, box: Box, most: Sequence[int], group: int) -> Iterator[Box]:
        if self.unit is None:
            return cut(box, most)
        return cut(box, grouped(self.unit, most, group // self.place.dtype.itemsize))

    def read(self, box: Box) -> np.ndarray:
        try:
            out = self.dataset[slices((self.place.own(box[0]), self.place.own(box[1])))]
        except Exception:
            for one in self._chunks(box):
                with naming(self.place, self._name(one), "read"):
                    self.dataset[slices((self.place.own(one[0]), self.place.own(one[1])))]
            raise
        self._check(box)
        out = np.asarray(out)
        return self.place.turned(out.view(movable(out.dtype)))

    def write(self, box: Box, values: np.ndarray) -> None:
        own = np.ascontiguousarray(values.transpose(self.place.axes)).view(self.place.dtype)
        with naming(self.place, self._name(box), "write"):
            self.dataset[slices((self.place.own(box[0]), self.place.own(box[1])))] = own

    def _chunks(self, box: Box) -> Iterator[Box]:
        return iter([box]) if self.unit is None else cut(box, self.unit)

    def _name(self, box: Box) -> str:
        if self.own_unit is None:
            return "elements " + str(list(zip(*(self.place.own(part) for part in box))))
        return self.place.chunk_name(box, self.own_unit)

    def _check(self, box: Box) -> None:
        if not self.place.complete or self.unit is None:
            return
        for one in cut(box, self.unit):
            begin = self.place.own([a // n * n for a, n in zip(one[0], self.unit)])
            if self.dataset.id.get_chunk_info_by_coord(begin).byte_offset is None:
                raise missing(self.place, self._name(one))


@dataclasses.dataclass(frozen=True)
class Hdf5Place(OneFile):
    file: str = ""
    dataset: str = ""
    #: Of a new file: what h5py's create_dataset() is told, and where the file is until it is whole.
    options: Optional[Dict[str, Any]] = None
    #: The path that the new file gets.
    final: str = ""

    @contextlib.contextmanager
    def opened(self, writing: bool = False) -> Iterator[_Opened]:
        h5py = package()
        with naming(self, "the file", "open"):
            # No cache of chunks: each is written by the call that is to blame where the disk takes no more.
            file = h5py.File(self.file, "r+", rdcc_nbytes=0) if writing else h5py.File(self.file, "r")
        try:
            with self.same():
                yield _Opened(self, file[self.dataset], writing)
        finally:
            with naming(self, "the file", "close"):
                file.close()

    def create(self, resumed: bool) -> bool:
        os.makedirs(os.path.dirname(self.file), exist_ok=True)
        with naming(self, "the file", "write"), package().File(self.file, "w") as file:
            file.create_dataset(self.dataset, shape=self.shape, dtype=self.dtype, **(self.options or {}))
        return False  # a file that was not closed may be no file


def source(x: Any, since: int, complete: bool) -> Hdf5Place:
    h5py = package()
    if is_dataset(x):
        path, name = x.file.filename, x.name
    else:
        path, name = split_name(os.fspath(x))
    try:
        version = version_of(path)
        with h5py.File(path, "r") as file:
            if not name:
                found = [key for key, item in file.items() if isinstance(item, h5py.Dataset)]
                if len(found) != 1:
                    raise InvalidArgumentError(f"{path!r} has {len(found)} datasets in its root: name one behind "
                                               f"'::', as in {path + '::temperature'!r}", "src", path,
                                               ", ".join(found))
                name = found[0]
            if not isinstance(file.get(name), h5py.Dataset):
                raise FileError(f"{path!r} has no dataset {name!r}", "src", name)
            data = file[name]
            dtype, chunk = np.dtype(data.dtype), data.chunks
            if dtype.hasobject:
                raise UnsupportedError(f"{path!r}: elements of {dtype} have no fixed size", "dtype", str(dtype))
            unit = None if chunk is None else tuple(int(n) for n in chunk)
            kept = {key: getattr(data, key) for key in ("compression", "compression_opts", "shuffle", "fletcher32",
                                                        "fillvalue")}
            return Hdf5Place(f"{path}::{name}", tuple(data.shape), dtype, unit, unit, tuple(range(data.ndim)), since,
                             complete, version=version, file=path, dataset=name, options=kept)
    except OSError as error:
        raise FileError(f"{path!r}: {error}", "src", path) from None


def destination(src: Place, path: str, order: Dims, chunks: Optional[Dims], compression: Any,
                beside: str) -> Hdf5Place:
    file, name = split_name(path)
    kept: Dict[str, Any] = {}
    if isinstance(src, Hdf5Place):
        kept = dict(src.options or {})
        name = name or src.dataset
    if compression != "keep":
        kept = {"compression": compression, "fillvalue": kept.get("fillvalue")}
    if chunks is None and src.chunk is not None:
        chunks = tuple(src.chunk[d] for d in order)
    shape = tuple(src.dims[d] for d in order)
    if chunks is not None:
        chunks = tuple(min(c, max(1, n)) for c, n in zip(chunks, shape))
    else:
        kept = {"fillvalue": kept.get("fillvalue")}
    return Hdf5Place(path, shape, src.dtype, chunks, chunks, order, file=os.path.join(beside, "array.h5"),
                     dataset=name or "data", options={**kept, "chunks": chunks}, final=file)
