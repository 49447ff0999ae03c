"""Arrays of zarr, versions 2 and 3, by the package zarr.

A new array's chunks are written to where they will stay, and its metadata last: until then no reader finds an array.
"""
from __future__ import annotations

import contextlib
import dataclasses
import importlib
import json
import math
import os
import shutil
from typing import Any, Dict, Iterator, Optional, Sequence

import numpy as np

from .._errors import FileError, InvalidArgumentError, UnsupportedError
from ._boxes import Box, Dims, cut, grouped, slices
from ._places import Place, check_unchanged, exists, missing, movable, naming


def package() -> Any:
    try:
        zarr: Any = importlib.import_module("zarr")
    except ImportError:
        raise UnsupportedError("arrays of zarr need the package zarr, which is not installed: pip install zarr",
                               "zarr") from None
    if int(zarr.__version__.partition(".")[0]) < 3:
        raise UnsupportedError(f"the package zarr has the version {zarr.__version__}; 3.1 or newer is needed", "zarr",
                               zarr.__version__, "3.1")
    return zarr


def is_array(x: Any) -> bool:
    return type(x).__module__.startswith("zarr.") and hasattr(x, "metadata") and hasattr(x, "store_path")


def sync(coroutine: Any) -> Any:
    return importlib.import_module("zarr.core.sync").sync(coroutine)


def store_path_of(path: Any, options: Optional[Dict[str, Any]]) -> Any:
    if "://" not in os.fspath(path):  # without the folder, which is made by what is written first
        storage = importlib.import_module("zarr.storage")
        return storage.StorePath(storage.LocalStore(os.fspath(path)))
    make_store_path = importlib.import_module("zarr.storage._common").make_store_path
    return sync(make_store_path(os.fspath(path), mode="a", storage_options=options))


def array_over(metadata: Any, store_path: Any, write_empty: bool) -> Any:
    """An array whose metadata need not be in the store."""
    zarr = package()
    return zarr.Array(zarr.AsyncArray(metadata=metadata, store_path=store_path, config={
        "order": "C", "write_empty_chunks": write_empty}))


def folder_of(store_path: Any) -> Optional[str]:
    """Of an array in a folder of this machine's file systems."""
    root = getattr(store_path.store, "root", None)
    if type(store_path.store).__name__ != "LocalStore" or root is None:
        return None
    return os.path.join(os.fspath(root), store_path.path) if store_path.path else os.fspath(root)


class _Opened:
    def __init__(self, place: "ZarrPlace", writing: bool):
        self.place, self.array = place, place.array
        unit = place.unit if writing else place.chunk
        self.unit = place.in_order(unit)
        self.own_unit = unit
        self.objects = place.in_order(place.unit)  # what has a key of its own
        self.folder = folder_of(self.array.store_path)

    def parts(self, box: Box, most: Sequence[int], group: int) -> Iterator[Box]:
        """What is read or written by one call: some whole chunks, of `group` bytes where they are smaller."""
        return cut(box, grouped(self.unit, most, group // self.place.dtype.itemsize))

    def read(self, box: Box) -> np.ndarray:
        try:
            out = self.array[slices((self.place.own(box[0]), self.place.own(box[1])))]
        except Exception:
            for one in cut(box, self.unit):  # the one that is to blame is named
                with naming(self.place, self._name(one), "read"):
                    self.array[slices((self.place.own(one[0]), self.place.own(one[1])))]
            raise
        self._check(box)
        out = np.asarray(out)
        return self.place.turned(out.view(movable(out.dtype)))

    def write(self, box: Box, values: np.ndarray) -> None:
        own = np.ascontiguousarray(values.transpose(self.place.axes)).view(self.place.dtype)
        at = slices((self.place.own(box[0]), self.place.own(box[1])))
        with naming(self.place, self._name(box), "write"):
            self.array[at] = own

    def _key(self, box: Box) -> str:
        own = self.place.own([a // n for a, n in zip(box[0], self.objects)])
        return str(self.array.metadata.encode_chunk_key(own))

    def _name(self, box: Box) -> str:
        inside = tuple(a // n for a, n in zip(self.place.own(box[0]), self.own_unit))
        sharded = self.place.unit != self.own_unit
        return f"chunk {self._key(box)!r}" + (f", inner chunk {inside}," if sharded else "")

    def _check(self, box: Box) -> None:
        """That the chunks of a box are there, and are as old as they should be."""
        if not self.place.complete and not self.place.since:
            return
        for one in cut(box, self.objects):
            key = self._key(one)
            if self.folder is not None:
                try:
                    status = os.stat(os.path.join(self.folder, key))
                except FileNotFoundError:
                    if self.place.complete:
                        raise missing(self.place, f"chunk {key!r}") from None
                    continue
                check_unchanged(self.place, f"chunk {key!r}", status.st_mtime_ns)
            elif self.place.complete and not sync((self.array.store_path / key).exists()):
                raise missing(self.place, f"chunk {key!r}")


@dataclasses.dataclass(frozen=True)
class ZarrPlace(Place):
    array: Any = None

    @property
    def remote(self) -> bool:
        return folder_of(self.array.store_path) is None

    @property
    def where(self) -> str:
        at = self.array.store_path
        folder, system = folder_of(at), getattr(at.store, "fs", None)
        if folder is not None:
            return os.path.realpath(folder)
        return str(at) if system is None else f"{type(system).__name__}:{at.store.path}/{at.path}".rstrip("/")

    def described(self) -> Any:
        return {**super().described(), "metadata": _plain(self.array.metadata)}

    @contextlib.contextmanager
    def opened(self, writing: bool = False) -> Iterator[_Opened]:
        yield _Opened(self, writing)

    def publish(self) -> None:
        default_buffer_prototype = importlib.import_module("zarr.core.buffer").default_buffer_prototype
        self._check_free_of_metadata()
        texts = self.array.metadata.to_buffer_dict(default_buffer_prototype())
        for key in sorted(texts, key=lambda key: key.endswith((".zarray", "zarr.json"))):
            with naming(self, f"metadata {key!r}", "write"):
                sync((self.array.store_path / key).set(texts[key]))

    def _check_free_of_metadata(self) -> None:
        for key in ("zarr.json", ".zarray", ".zgroup"):
            if sync((self.array.store_path / key).exists()):
                raise exists(self.name)

    def free(self) -> None:
        folder = folder_of(self.array.store_path)
        if folder is not None and os.path.lexists(folder) and (not os.path.isdir(folder) or os.listdir(folder)):
            raise exists(self.name)
        self._check_free_of_metadata()

    def empty(self) -> bool:
        at = self.array.store_path

        async def nothing() -> bool:
            async for _ in at.store.list_dir(at.path):
                return False
            return True

        return not self.remote or bool(sync(nothing()))

    def create(self, resumed: bool) -> bool:
        folder = folder_of(self.array.store_path)
        return folder is None or os.path.isdir(folder)

    def remove(self) -> None:
        if not self.between:
            self._check_free_of_metadata()
        clear(self.array.store_path)


def clear(store_path: Any) -> None:
    folder = folder_of(store_path)
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        sync(store_path.store.delete_dir(store_path.path))


def _plain(metadata: Any) -> Any:
    default_buffer_prototype = importlib.import_module("zarr.core.buffer").default_buffer_prototype
    texts = metadata.to_buffer_dict(default_buffer_prototype())
    return {key: json.loads(texts[key].to_bytes()) for key in sorted(texts)}


def source(x: Any, since: int, complete: bool, options: Optional[Dict[str, Any]]) -> ZarrPlace:
    """Of an array, or of the path or URL of one."""
    zarr = package()
    if is_array(x):
        array = x if isinstance(x, zarr.Array) else zarr.Array(x)
    else:
        try:
            array = zarr.open_array(os.fspath(x), mode="r", storage_options=options)
        except (FileNotFoundError, KeyError, ValueError) as error:
            raise FileError(f"{os.fspath(x)!r}: no array of zarr ({error})", "src", os.fspath(x)) from None
    dtype = np.dtype(array.dtype)
    if dtype.hasobject or dtype.kind == "T":
        raise UnsupportedError(f"{_name(array)!r}: elements of {dtype} have no fixed size", "dtype", str(dtype))
    chunk = tuple(int(n) for n in array.chunks)
    unit = tuple(int(n) for n in array.shards or chunk)
    return ZarrPlace(_name(array), tuple(array.shape), dtype, chunk, unit, tuple(range(len(array.shape))), since,
                     complete, array=array)


def _name(array: Any) -> str:
    return folder_of(array.store_path) or str(array.store_path)


def destination(src: Place, path: Any, order: Dims, chunks: Optional[Dims], shards: Optional[Dims], compression: Any,
                options: Optional[Dict[str, Any]], complete: bool) -> ZarrPlace:
    """A new array beside no metadata yet."""
    zarr = package()
    shape = tuple(src.dims[d] for d in order)
    chosen: Dict[str, Any] = {"zarr_format": 3}
    if isinstance(src, ZarrPlace):
        chosen = _as_source(src.array, order)
        if shards is None and chunks is None and src.array.shards:
            shards = tuple(src.array.shards[d] for d in order)
    if chunks is None:
        if src.chunk is None:
            raise InvalidArgumentError("chunks= is needed where the source has none", "chunks")
        chunks = tuple(src.chunk[d] for d in order)
    if shards is not None:
        if chosen["zarr_format"] != 3:
            raise UnsupportedError("zarr: arrays of format 2, as the source, have no shards", "shards", str(shards))
        if len(shards) != len(chunks) or any(shard % chunk for shard, chunk in zip(shards, chunks)):
            raise InvalidArgumentError(f"shards of {shards} do not consist of whole chunks of {chunks}", "shards",
                                       str(shards))
    if compression != "keep":
        chosen["compressors"] = compression
    metadata = zarr.create_array({}, shape=shape, dtype=src.dtype, chunks=chunks, shards=shards, **chosen).metadata
    array = array_over(metadata, store_path_of(path, options), write_empty=complete)
    return ZarrPlace(_name(array), shape, src.dtype, chunks, shards or chunks, order, array=array)


def _as_source(array: Any, order: Dims) -> Dict[str, Any]:
    """What a new array has as another one: how its chunks are encoded, and what it says of itself."""
    metadata = array.metadata
    attributes = dict(array.attrs)
    if isinstance(attributes.get("_ARRAY_DIMENSIONS"), list):
        attributes["_ARRAY_DIMENSIONS"] = [attributes["_ARRAY_DIMENSIONS"][d] for d in order]
    out = {"fill_value": array.fill_value, "attributes": attributes, "zarr_format": metadata.zarr_format,
           "compressors": array.compressors or None}
    # A transposition of the source's own is left out: the order of axes is asked for anew.
    out["filters"] = [codec for codec in array.filters if type(codec).__name__ != "TransposeCodec"] or None
    if metadata.zarr_format == 3:
        names = metadata.dimension_names
        out["dimension_names"] = None if names is None else [names[d] for d in order]
        out["serializer"] = array.serializer
    return out


def intermediate(dst_path: Any, options: Optional[Dict[str, Any]], dims: Dims, dtype: np.dtype,
                 chunk: Dims) -> ZarrPlace:
    """Between two passes: in the source's order, not compressed."""
    zarr = package()
    metadata = zarr.create_array({}, shape=dims, dtype=movable(dtype), chunks=chunk, compressors=None,
                                 filters=None).metadata
    array = array_over(metadata, store_path_of(dst_path, options), write_empty=True)
    return ZarrPlace(_name(array), dims, movable(dtype), chunk, chunk, tuple(range(len(dims))), between=True,
                     array=array)


def chunk_count(place: ZarrPlace) -> int:
    return math.prod(-(-n // c) for n, c in zip(place.shape, place.unit or ()))
