"""Files of tensors: load(), save(), and open() for what a file says beside its values.

    weights = relayout.load("model.safetensors")             # a dict of arrays
    x = relayout.load("x.npy")                               # an array, which the file's pages are
    relayout.save("blocked.safetensors", y, layout="nChw16c", dims=(2, 17, 5, 4))
    relayout.save("model.safetensors", {"w": w, "b": b}, metadata={"format": "pt"})

.npy, .npz, .safetensors, .png, .jpeg and .bmp are read; any other file is one tensor of raw bytes. .npy, .npz,
.safetensors, .bin and .raw are written, whole or not at all.
"""
from __future__ import annotations

import copy
import os
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import _native
from ._arrays import _as_numpy, _known, contiguous, host_view, with_plain_elements
from ._dtypes import name_of
from ._errors import Error, InvalidArgumentError, MissingTensorError, UnsupportedError
from ._sub_byte import sub_byte_name, packed
from ._progress import Progress, behind
from ._tensor import Tensor

PathLike = Union[str, "os.PathLike[str]"]


class File(Mapping[str, Tensor]):
    """The tensors of a file by their names, in the file's order. A format without names has one, called ''."""

    def __init__(self, path: PathLike, wanted: str = ""):
        self._native = _native.TensorFile(path, wanted)
        self._path = os.fsdecode(path)
        self._made_of = os.path.abspath(path), wanted  # another process may have another folder
        self.format: str = self._native.format
        #: What .safetensors says beside the tensors, but for relayout's own key.
        self.metadata: Dict[str, str] = self._native.metadata()
        self._tensors: Dict[str, Tensor] = {said["name"]: Tensor(self, i, said)
                                            for i, said in enumerate(self._native.tensors())}

    @property
    def names(self) -> List[str]:
        """Of the tensors, in the file's order."""
        return list(self._tensors)

    def __getitem__(self, name: str) -> Tensor:
        try:
            return self._tensors[name]
        except KeyError:
            pass
        if not isinstance(name, str):
            raise MissingTensorError(f"tensors have names, and {name!r} is none; there are {self._listed()}", "tensor",
                                     repr(name))
        try:
            self._native.find(name)  # its error suggests names that are near
        except Error as error:
            raise MissingTensorError(str(error), error.field, error.value, error.limit) from None
        except TypeError:
            pass  # no UTF-8, as no name in the file is
        raise MissingTensorError(f"no tensor {name!r}; there are {self._listed()}", "tensor", repr(name))

    def __contains__(self, name: object) -> bool:
        return name in self._tensors

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> np.ndarray:
        if len(self) == 1:
            return next(iter(self.values())).__array__(dtype, copy)
        raise TypeError(f"{self!r} has no array of its own: name a tensor, as in file[{next(iter(self), '')!r}]")

    def __reduce__(self) -> Tuple[Any, ...]:
        """A file is pickled by its absolute path, and opened again where it is loaded."""
        path, wanted = self._made_of
        if os.path.exists(path) and not os.path.isfile(path) or os.fsdecode(path).startswith(("/dev/", "/proc/")):
            raise UnsupportedError(f"{self._path!r} is no regular file, so what was read from it cannot be read again; "
                                   "pickle the arrays of its tensors", "path", self._path, "a regular file")
        return type(self), (path, wanted)

    def __copy__(self) -> "File":
        made = type(self).__new__(type(self))
        vars(made).update(vars(self))
        return made

    def __deepcopy__(self, memo: Any) -> "File":
        """The bytes of a file never change, and so the same are used."""
        made = copy.copy(self)
        made.metadata = dict(self.metadata)
        return made

    def _listed(self) -> str:
        shown = [repr(name) for name in list(self._tensors)[:20]]
        return ", ".join(shown) + (f", ... ({len(self)} in all)" if len(self) > 20 else "") or "no tensors"

    def __repr__(self) -> str:
        shown = [f"{name!r} {tensor._type_and_shape()}" for name, tensor in list(self.items())[:4]]
        more = ["..."] if len(self) > 4 else []
        count = "1 tensor" if len(self) == 1 else f"{len(self)} tensors"
        return f"<relayout.File {self._path!r} {self.format}, {count}: {', '.join(shown + more)}>"


def open(path: PathLike) -> File:  # noqa: A001 - the name that fits, inside this package
    """The tensors of a file, whose values are read when they are asked for.

    What is wrong with one tensor is said when that one is read. Errors: FileError, CorruptError, LimitError,
    UnsupportedError.
    """
    return File(path)


def load(path: PathLike, name: Optional[str] = None, *, dtype: Any = None,
         progress: Optional[Progress] = None) -> Union[np.ndarray, Dict[str, np.ndarray]]:
    """The array of a file, or a dict of arrays where its format has names. With a name that tensor alone.

    dtype: what the elements are, where the file does not say it, as raw bytes and NumPy's void types do not; see
    open(path)[name].array(dtype). Arrays of mapped files are read-only and take no memory until they are read.
    MissingTensorError, which is a KeyError, suggests names that are near.
    progress: called as progress(done, total) while pictures and the members of an .npz are decoded, with bytes of the
    arrays; done == total in the last call. What it raises ends the work. Where nothing is decoded it is not called.
    """
    if name is not None:
        return File(path, name if isinstance(name, str) else "")[name].array(dtype, progress=progress)
    file = File(path)
    if file.format not in ("npz", "safetensors"):
        return next(iter(file.values())).array(dtype, progress=progress)
    out: Dict[str, np.ndarray] = {}
    done, total = 0, sum(tensor._said["byte_size"] for tensor in file.values())
    for key, tensor in file.items():
        try:
            out[key] = tensor.array(dtype, progress=behind(progress, done, total))
            done += tensor._said["byte_size"]
        except Error as error:
            if len(file) == 1:
                raise
            raise type(error)(f"{error}; load(path, name) and open(path) read the other tensors", error.field,
                              error.value, error.limit) from None
    return out


def save(path: Any, x: Any, *, name: str = "", layout: Optional[str] = None, dims: Optional[Sequence[int]] = None,
         metadata: Optional[Mapping[str, str]] = None, overwrite: bool = False,
         progress: Optional[Progress] = None) -> None:
    """Writes an array, in the format that the path's extension names; it appears whole or not at all.

    x: an array of any library, or for .npz and .safetensors a dict of arrays. layout, dims: the layout expression that
    the array's shape is the physical array of, and the tensor's own dims; .safetensors keeps them, and a dict's tensors
    of files keep theirs. Types that relayout does not convert are kept where the format has them: NumPy's in .npy and
    .npz, those of .safetensors and complex64 there. metadata: texts by keys that .safetensors keeps as well. As with
    torch.save and the package safetensors, the arrays may come first: save({"w": w}, path).
    progress: called as progress(done, total) with the bytes that the file has and will have; done == total in the last
    call, after which the system may still have to write them to the disk. What it raises, as Ctrl-C, ends the work: no
    new file is left then, and one that was there is as it was.
    """
    if isinstance(x, (str, bytes, os.PathLike)) and not isinstance(path, (str, bytes, os.PathLike)):
        path, x = x, path
    extension = os.path.splitext(os.fsdecode(path))[1].lower()
    if metadata is not None and extension != ".safetensors":
        raise InvalidArgumentError("only .safetensors has metadata", "path", repr(path), ".safetensors")
    if isinstance(x, Mapping):
        if extension not in (".npz", ".safetensors"):
            raise InvalidArgumentError("several arrays go into an .npz or a .safetensors file", "path", repr(path),
                                       ".npz .safetensors")
        if layout is not None or dims is not None or name:
            raise InvalidArgumentError("name, layout and dims are those of one array, and x is a dict", "layout",
                                       str(layout))
        named = [_item(key, value, extension) for key, value in x.items()]
    else:
        array, dtype, shape = _plain(x, extension)
        named = [(name, array, dtype, shape, layout, None if dims is None else tuple(dims))]
    if extension == ".npz" and isinstance(x, Mapping):
        _native.write_npz(path, named, overwrite, progress)
    elif isinstance(x, Mapping) or metadata is not None:
        _native.write_safetensors(path, named, _texts(metadata or {}), overwrite, progress)
    else:
        _native.write_tensor(path, *named[0], overwrite, progress)


def _texts(metadata: Mapping[str, str]) -> List[Tuple[str, str]]:
    for key, value in metadata.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise InvalidArgumentError(f"metadata has texts alone, and {key!r} is {value!r}", "metadata", repr(key))
    return list(metadata.items())


def _item(key: Any, value: Any, extension: str) -> tuple:
    if not isinstance(key, str):
        raise TypeError(f"names of tensors are texts, and {key!r} is none")
    try:
        array, dtype, shape = _plain(value, extension)
    except UnsupportedError as error:
        raise UnsupportedError(f"tensor {key!r}: {error}; its bits can be saved as numbers, x.view('u1')", error.field,
                               error.value, error.limit) from None
    if isinstance(value, Tensor) and value.layout is not None and value.shape == shape:
        return key, array, dtype, shape, value.layout, value.dims
    return key, array, dtype, shape, None, None


#: A name of relayout's; or of a type that is not converted the name that the file has for it, and bits of an element.
_Type = Union[str, Tuple[str, int]]
#: Types of ml_dtypes that .safetensors has and relayout does not convert.
_OF_SAFETENSORS = {"float8_e4m3fnuz": "F8_E4M3FNUZ", "float8_e5m2fnuz": "F8_E5M2FNUZ"}


def _plain(x: Any, extension: str) -> Tuple[np.ndarray, _Type, Tuple[int, ...]]:
    """Bytes as a file has them, their type, and the shape."""
    if isinstance(x, Tensor):
        kept = x._as_kept()
        if kept is not None:
            return kept
    view = _as_numpy(host_view(x))
    packed_name = sub_byte_name(view.dtype)
    if packed_name is None and not _known(view.dtype.newbyteorder("=")):
        kept_as = _type_in_files(view.dtype, extension)
        if kept_as is not None:
            array = np.ascontiguousarray(view)
            return array.reshape(-1).view(np.uint8), (kept_as, array.dtype.itemsize * 8), tuple(view.shape)
    array = contiguous(view if view.dtype.isnative else with_plain_elements(view))
    if packed_name is not None:
        return packed(array), packed_name, array.shape
    return array, name_of(array.dtype), array.shape


def _type_in_files(dtype: np.dtype, extension: str) -> Optional[str]:
    """The name in a file of a type that relayout does not convert; None where no file has it, as objects of Python."""
    if dtype.hasobject or not dtype.itemsize:
        return None
    if dtype.type.__module__ == "numpy" or dtype.names is not None:  # complex, text, times, records, bytes
        described = np.lib.format.dtype_to_descr(dtype)
        return described if isinstance(described, str) else repr(described)
    found = _OF_SAFETENSORS.get(dtype.name)
    if found is None or extension == ".safetensors":
        return found
    raise UnsupportedError(f"{extension} has no type {dtype.name}; .safetensors has it as {found}", "dtype", dtype.name,
                           ".safetensors")
