"""Files of tensors: load(), save(), and open() for what a file says beside its values.

    weights = relayout.load("model.safetensors")             # a dict of arrays
    x = relayout.load("x.npy")                               # an array, which the file's pages are
    relayout.save("blocked.safetensors", y, layout="nChw16c", dims=(2, 17, 5, 4))

.npy, .npz, .safetensors, .png, .jpeg and .bmp are read; any other file is one tensor of raw bytes. .npy, .npz,
.safetensors, .bin and .raw are written, whole or not at all.
"""
from __future__ import annotations

import os
from typing import Any, Dict, Iterator, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import _native
from ._arrays import _as_numpy, contiguous, host_view
from ._dtypes import name_of, numpy_dtype
from ._errors import InvalidArgumentError
from ._native import Layout

PathLike = Union[str, "os.PathLike[str]"]


class Tensor:
    """One tensor of a file: its array, and what the file says of its layout."""

    def __init__(self, file: "File", index: int, said: Mapping[str, Any]):
        self._file, self._index = file, index
        self.name: str = said["name"]
        #: relayout's name of the type of the elements; None for raw bytes.
        self.dtype: Optional[str] = said["dtype"]
        #: Of the array in the file.
        self.shape: Tuple[int, ...] = said["shape"]
        #: The layout expression and the tensor's own dims, where the file has them.
        self.layout: Optional[str] = said["layout"]
        self.dims: Optional[Tuple[int, ...]] = said["dims"]
        self._said = said

    def array(self) -> np.ndarray:
        """The values: a read-only array over the file's pages where it is mapped, of the shape that is in the file."""
        raw = np.asarray(self._file._native.bytes(self._index))
        if self.dtype is None or self.dtype in ("s4", "u4"):
            return raw
        dtype = numpy_dtype(self.dtype)
        if self._said["byte_swapped"]:
            dtype = dtype.newbyteorder()
        return raw.view(dtype).reshape(self.shape, order="F" if self._said["fortran_order"] else "C")

    def __repr__(self) -> str:
        layout = f", {self.layout} of {self.dims}" if self.layout else ""
        return f"<relayout.Tensor {self.name!r} {self.dtype or 'bytes'} {self.shape}{layout}>"


class File(Mapping[str, Tensor]):
    """The tensors of a file by their names, in the file's order. A format without names has one, called ''."""

    def __init__(self, path: PathLike):
        self._native = _native.TensorFile(path)
        self.format: str = self._native.format
        self._tensors: Dict[str, Tensor] = {said["name"]: Tensor(self, i, said)
                                            for i, said in enumerate(self._native.tensors())}

    def __getitem__(self, name: str) -> Tensor:
        return self._tensors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)


def open(path: PathLike) -> File:  # noqa: A001 - the name that fits, inside this package
    """The tensors of a file, whose values are read when they are asked for.

    Errors: FileError, CorruptError, LimitError, UnsupportedError.
    """
    return File(path)


def load(path: PathLike, name: Optional[str] = None) -> Union[np.ndarray, Dict[str, np.ndarray]]:
    """The array of a file, or a dict of arrays where its format has names. With a name that tensor alone.

    Arrays of mapped files are read-only and take no memory until they are read.
    """
    file = File(path)
    if name is not None:
        return file[name].array()
    if file.format in ("npz", "safetensors"):
        return {key: tensor.array() for key, tensor in file.items()}
    return next(iter(file.values())).array()


def save(path: PathLike, x: Any, *, name: str = "", layout: Optional[str] = None, dims: Optional[Sequence[int]] = None,
         overwrite: bool = False) -> None:
    """Writes an array, in the format that the path's extension names; it appears whole or not at all.

    x: an array of any library, or for .npz a dict of arrays. layout, dims: the layout expression that the array's shape
    is the physical array of, and the tensor's own dims; .safetensors keeps them.
    """
    if isinstance(x, Mapping):
        if not os.fsdecode(path).endswith(".npz"):
            raise InvalidArgumentError("several arrays go into an .npz", "path", repr(path), ".npz")
        ready = [(key, _plain(value)) for key, value in x.items()]
        _native.write_npz(path, [(key, array, name_of(array.dtype)) for key, array in ready], overwrite)
        return
    array = _plain(x)
    _native.write_tensor(path, name, array, name_of(array.dtype), array.shape, layout,
                         None if dims is None else tuple(dims), overwrite)


def _plain(x: Any) -> np.ndarray:
    view = _as_numpy(host_view(x))
    if not view.dtype.isnative:
        view = view.astype(view.dtype.newbyteorder("="))
    return contiguous(view)
