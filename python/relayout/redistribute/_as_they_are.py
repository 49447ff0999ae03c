"""Chunks that stay as they are: where the new array has the same chunks of elements, only in another order of axes, its
metadata says so by a `transpose` codec, and the encoded chunks are linked, or copied, under their new keys.
"""
from __future__ import annotations

import dataclasses
import importlib
import itertools
import math
import os
import shutil
from typing import Any, Callable, Optional

import numpy as np

from .._errors import CorruptError
from . import _zarr
from ._boxes import Box, Dims, cut
from ._places import Place, check_unchanged, missing, naming
from ._tasks import bits_of


def possible(src: Place, dst: Place, compression: Any) -> bool:
    if not isinstance(src, _zarr.ZarrPlace) or not isinstance(dst, _zarr.ZarrPlace) or compression != "keep":
        return False
    if src.array.metadata.zarr_format != dst.array.metadata.zarr_format:
        return False
    same = dst.in_order(dst.chunk) == src.chunk and dst.in_order(dst.unit) == src.unit
    if dst.axes == src.axes:
        return same
    # In front of a codec of shards a transposition would let readers read whole shards.
    return same and src.array.metadata.zarr_format == 3 and src.chunk == src.unit


def with_transposition(src: _zarr.ZarrPlace, dst: _zarr.ZarrPlace) -> _zarr.ZarrPlace:
    """The destination, whose chunks are encoded to the bytes of the source's."""
    ArrayV3Metadata = importlib.import_module("zarr.core.metadata").ArrayV3Metadata
    if dst.axes == src.axes and src.array.metadata.zarr_format == 2:
        return dataclasses.replace(dst, array=_zarr.array_over(src.array.metadata, dst.array.store_path, True))
    described = dst.array.metadata.to_dict()
    codecs = list(src.array.metadata.to_dict()["codecs"])
    # Dim j of the source is dim inverse[j] of the destination.
    order = [dst.axes.index(d) for d in range(len(dst.axes))]
    if codecs and codecs[0]["name"] == "transpose":
        order = [order[d] for d in codecs.pop(0)["configuration"]["order"]]
    if order != sorted(order):
        codecs.insert(0, {"name": "transpose", "configuration": {"order": tuple(order)}})
    described["codecs"] = tuple(codecs)
    metadata = ArrayV3Metadata.from_dict(described)
    return dataclasses.replace(dst, array=_zarr.array_over(metadata, dst.array.store_path, True))


def _link(from_path: str, to_path: str) -> None:
    os.makedirs(os.path.dirname(to_path), exist_ok=True)
    if os.path.exists(to_path):  # of a run that was ended
        if os.path.samefile(from_path, to_path):
            return
        os.unlink(to_path)  # the source's was replaced since, or it is a copy
    try:
        os.link(from_path, to_path)
    except OSError:  # another file system, or one without links
        shutil.copyfile(from_path, to_path + ".partial")
        os.replace(to_path + ".partial", to_path)


def _encoded_bytes(src: _zarr.ZarrPlace) -> Optional[int]:
    """How long each encoded chunk must be; None where its codecs decide that."""
    metadata = src.array.metadata
    if metadata.zarr_format == 2:
        plain = metadata.compressor is None and not metadata.filters
    else:
        plain = all(codec["name"] in ("bytes", "transpose") for codec in metadata.to_dict()["codecs"])
    return math.prod(src.unit or ()) * src.dtype.itemsize if plain else None


def _check_chunk(src: _zarr.ZarrPlace, key: str, size: int, expected: Optional[int]) -> None:
    if expected is not None and size != expected:
        raise CorruptError(f"copy chunk {key!r} of {src.name!r}: it has {size} bytes, and a chunk has {expected}",
                           "chunk", f"chunk {key!r}", str(expected))


def run(src: _zarr.ZarrPlace, dst: _zarr.ZarrPlace, tell: Optional[Callable[[int, int], Any]]) -> int:
    """Links or copies all chunks; how many there were. CorruptError: one that is not there, whose length cannot be
    right, or that was written after the run began."""
    counts = [-(-n // c) for n, c in zip(src.shape, src.unit or ())]
    from_folder, to_folder = (_zarr.folder_of(p.array.store_path) for p in (src, dst))
    total, done, found, expected = _zarr.chunk_count(src), 0, 0, _encoded_bytes(src)
    for own in itertools.product(*map(range, counts)):
        key, new_key = _keys(src, dst, own)
        with naming(src, f"chunk {key!r}", "copy"):
            if from_folder is not None and to_folder is not None:
                path = os.path.join(from_folder, key)
                there = os.path.exists(path)
                if there:
                    _link(path, os.path.join(to_folder, new_key))
                    status = os.stat(path)
                    _check_chunk(src, key, status.st_size, expected)
                    check_unchanged(src, f"chunk {key!r}", status.st_mtime_ns)
            else:
                value = _zarr.sync((src.array.store_path / key).get())
                there = value is not None
                if there:
                    _check_chunk(src, key, len(value), expected)
                    _zarr.sync((dst.array.store_path / new_key).set(value))
        if not there and src.complete:
            raise missing(src, f"chunk {key!r}")
        found += there
        done += 1
        if tell is not None:
            tell(done, total)
    return found


def verify(src: _zarr.ZarrPlace, dst: _zarr.ZarrPlace) -> None:
    """Decodes each chunk of both sides and compares them. CorruptError names the chunk."""
    whole: Box = ((0,) * len(src.shape), src.dims)
    with src.opened() as reader, dst.opened() as again:
        for box in cut(whole, src.in_order(src.unit)):
            if not np.array_equal(bits_of(reader.read(box)), bits_of(again.read(box))):
                name = dst.chunk_name(box, dst.unit or ())
                raise CorruptError(f"verify: {name} of {dst.name!r} has not the source's elements", "chunk", name)


def _keys(src: _zarr.ZarrPlace, dst: _zarr.ZarrPlace, own: Dims) -> Any:
    return (src.array.metadata.encode_chunk_key(own),
            dst.array.metadata.encode_chunk_key(tuple(own[d] for d in dst.axes)))
