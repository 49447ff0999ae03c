"""convert_into(): an array, or the tensor of a file, becomes a part of a tensor that another file has.

    relayout.convert_into("part.npy", "whole.npy", at=(0, 8, 0, 0))
    relayout.convert_into(rows, "model.safetensors", at=(1024, 0), dst_name="embed.weight")
"""
from __future__ import annotations

import os
from typing import Any, Optional, Sequence, Union

import numpy as np

from . import _native
from ._arrays import _as_numpy, host_view, with_plain_elements
from ._convert import LayoutLike
from ._dtypes import name_of
from ._errors import Error, InvalidArgumentError
from ._files import File
from ._progress import Progress
from ._sub_byte import packed, sub_byte_name
from ._tensor import Tensor

PathLike = Union[str, "os.PathLike[str]"]


def _file_of_tensor(path: PathLike, name: str) -> PathLike:
    """That file of a checkpoint of several which has the tensor; the path itself where it is no such checkpoint, or has
    no such tensor, which the write then says."""
    try:
        model = _native.Checkpoint(path)
        tensors = model.tensors()
        if not name and len(tensors) != 1:
            return path
        return str(model.files()[tensors[model.find(name) if name else 0]["file"]][0])
    except (Error, TypeError):
        return path


def _file_of_array(x: Any) -> Optional[str]:
    """The file whose pages a tensor of a file, or NumPy's memmap, has its elements in; None where none is known."""
    if isinstance(x, Tensor):
        files = getattr(x._file, "files", None)  # a checkpoint's
        return str(x._file._path if files is None else files[x._said["file"]].path)
    if isinstance(x, File):
        return x._path
    while x is not None:
        if isinstance(x, np.memmap) and x.filename is not None:
            return os.fsdecode(x.filename)
        x = x.base if isinstance(x, np.ndarray) else None
    return None


def _check_other_file(source: Optional[str], path: PathLike, name: str) -> None:
    """InvalidArgumentError where a part would be read from the file that it is written to."""
    if source is None or not os.path.exists(source) or not os.path.exists(path):
        return
    if os.path.samefile(source, _file_of_tensor(path, name)):
        raise InvalidArgumentError(f"{source!r} and {os.fsdecode(path)!r} are one file, and a part is written from "
                                   "another one", "x", source)


def convert_into(x: Any, path: PathLike, at: Sequence[int], src: Optional[LayoutLike] = None,
                 dst: Optional[str] = None, *, dims: Optional[Sequence[int]] = None, src_dtype: Any = None,
                 dst_dims: Optional[Sequence[int]] = None, dtype: Any = None, name: str = "",
                 dst_name: Optional[str] = None, threads: int = 0, progress: Optional[Progress] = None) -> None:
    """Writes x into the part of a file's tensor that begins at the index `at`, where it lies, as `relayout convert
    --into` does. What it costs follows from the part; the rest of the file, with its padding, stays as it is.

    x: an array of any library, or the path of a file that has one; name: of the tensor in that file. It must be another
    file than the one that is written, as must be that of a relayout.Tensor and of NumPy's memmap. src, dims, src_dtype:
    as for convert(); None is row-major, or what the file records.
    dst_name: of the tensor in the file at `path`; that of `name` unless given. dst, dst_dims, dtype: its layout, its
    own dims and its type, where the file does not say them. With dtype, which must then be the file's, values are
    rounded to it; without, a type that does not hold all of x's values is an error.
    progress: as for convert().

    All is checked before a byte is written. Where the work is ended, by Ctrl-C or by what progress raises, the part has
    new elements in some places and old ones in others; the same call writes all of it. Errors: InvalidArgumentError,
    UnsupportedError for what is compressed, big-endian, packed or a picture, FileError.
    """
    if not isinstance(name, str):
        raise TypeError(f"name is the name of a tensor, not {name!r}")
    dst_name = name if dst_name is None else dst_name
    if isinstance(x, (str, bytes, os.PathLike)):
        _check_other_file(os.fsdecode(x), path, dst_name)
        file = File(os.fsdecode(x), name)
        tensor = file[name] if name in file.names or len(file) > 1 else next(iter(file.values()))
        if src is None and tensor.layout is not None:
            src, dims = tensor.layout, tensor.dims if dims is None else dims
        x = tensor.array(src_dtype)
    else:
        _check_other_file(_file_of_array(x), path, dst_name)
    view = host_view(x)
    held = sub_byte_name(view.dtype) if hasattr(view, "dtype") else None
    shape = tuple(view.shape)
    if held is not None:
        view, src_dtype = packed(_as_numpy(view)), held
        src, dims = "contiguous" if src is None else src, shape if dims is None else tuple(dims)
    _native.write_part(with_plain_elements(view), "contiguous" if src is None else src,
                       None if dims is None else tuple(dims), name_of(view.dtype if src_dtype is None else src_dtype),
                       path, tuple(at), dst_name, dst, None if dst_dims is None else tuple(dst_dims),
                       None if dtype is None else name_of(dtype), threads, progress)
