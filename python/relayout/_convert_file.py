"""convert_file(): a tensor of one file into another file, in another layout, type or format.

    relayout.convert_file("weights.npy", "blocked.npy", "oihw", "OIhw16i16o")
    relayout.convert_file("photo.png", "photo.npy", None, "nchw", dtype="f32", scale=1 / 255)
"""
from __future__ import annotations

import operator
import os
from typing import Any, Optional, Sequence, Union

from . import _native
from ._convert import LayoutLike, Numbers, _attributes
from ._dtypes import name_of
from ._errors import InvalidArgumentError
from ._progress import Progress

PathLike = Union[str, "os.PathLike[str]"]


def convert_file(src_path: PathLike, dst_path: PathLike, src: Optional[LayoutLike], dst: LayoutLike, *,
                 dims: Optional[Sequence[int]] = None, src_dtype: Any = None, dtype: Any = None, scale: Numbers = None,
                 dst_scale: Numbers = None, zero_point: Numbers = None, dst_zero_point: Numbers = None,
                 mean: Numbers = None, std: Numbers = None, padding: Optional[float] = 0, name: str = "",
                 overwrite: bool = False, threads: int = 0, max_memory: Optional[int] = None,
                 progress: Optional[Progress] = None) -> None:
    """Converts the tensor of a file to another file, whose format its extension names, as `relayout convert` does.

    src: the layout of the file's array; None for the one that the file records, and else row-major. dst, dims,
    src_dtype, dtype, scale, ..., padding: as for convert(). name: of the tensor, in the source and in an .npz or
    .safetensors destination.
    max_memory: bytes. The conversion then goes in parts whose pages of both files, with scratch memory, take no more;
    what is decoded, as pictures are, must fit as a whole. LimitError where the smallest part takes more.
    progress: as for convert(); with max_memory it counts elements, of both passes where there are two, and for files
    of big-endian elements parts.

    The destination appears when it is complete. Where the work fails or is ended, by Ctrl-C or by what progress raises,
    nothing is left of it, and a file that was there is as it was.
    """
    if max_memory is not None:
        max_memory = operator.index(max_memory)
        if max_memory < 1:
            raise InvalidArgumentError(f"max_memory is {max_memory} bytes", "max_memory", str(max_memory))
    if dst is None:
        raise TypeError("dst is a layout expression or a Layout, not None")
    attributes = _attributes(scale, dst_scale, zero_point, dst_zero_point, mean, std, 0.0, padding)
    _native.convert_file(src_path, dst_path, src, dst, None if dims is None else tuple(dims),
                         None if src_dtype is None else name_of(src_dtype), None if dtype is None else name_of(dtype),
                         attributes, name, overwrite, threads, max_memory, progress)
