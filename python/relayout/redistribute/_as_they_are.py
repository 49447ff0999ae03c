"""Chunks that stay as they are: where the new array has the same chunks of elements, only in another order of axes, its
metadata says so by a `transpose` codec, and the encoded chunks are linked, or copied, under their new keys.
"""
from __future__ import annotations

import dataclasses
import importlib
import itertools
import os
import shutil
from typing import Any, Callable, Optional

from . import _zarr
from ._boxes import Dims
from ._places import Place, missing, naming


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
    if os.path.exists(to_path):
        return  # of a run that was ended
    try:
        os.link(from_path, to_path)
    except OSError:  # another file system, or one without links
        shutil.copyfile(from_path, to_path + ".partial")
        os.replace(to_path + ".partial", to_path)


def run(src: _zarr.ZarrPlace, dst: _zarr.ZarrPlace, tell: Optional[Callable[[int, int], Any]]) -> int:
    """Links or copies all chunks; how many there were."""
    counts = [-(-n // c) for n, c in zip(src.shape, src.unit or ())]
    from_folder, to_folder = (_zarr.folder_of(p.array.store_path) for p in (src, dst))
    total, done, found = _zarr.chunk_count(src), 0, 0
    for own in itertools.product(*map(range, counts)):
        key, new_key = _keys(src, dst, own)
        with naming(src, f"chunk {key!r}", "copy"):
            if from_folder is not None and to_folder is not None:
                there = os.path.exists(os.path.join(from_folder, key))
                if there:
                    _link(os.path.join(from_folder, key), os.path.join(to_folder, new_key))
            else:
                value = _zarr.sync((src.array.store_path / key).get())
                there = value is not None
                if there:
                    _zarr.sync((dst.array.store_path / new_key).set(value))
        if not there and src.complete:
            raise missing(src, f"chunk {key!r}")
        found += there
        done += 1
        if tell is not None:
            tell(done, total)
    return found


def _keys(src: _zarr.ZarrPlace, dst: _zarr.ZarrPlace, own: Dims) -> Any:
    return (src.array.metadata.encode_chunk_key(own),
            dst.array.metadata.encode_chunk_key(tuple(own[d] for d in dst.axes)))
