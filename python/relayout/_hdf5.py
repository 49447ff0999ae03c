"""HDF5 files, as Keras writes them, as checkpoints: by the package h5py, which need not be installed for all else.

Datasets are tensors, called by their paths ("dense/kernel:0"). Those that lie in the file in one piece are used where
they lie; chunks and what is compressed are read by h5py when they are asked for. What is recorded of a tensor is an
attribute `relayout` of its dataset, as the text that .safetensors has for it, and texts of the file's own attributes
are metadata.
"""
from __future__ import annotations

import errno
import json
import os
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple, Union

import numpy as np

from . import _native
from ._dtypes import name_of
from ._errors import CorruptError, FileError, InvalidArgumentError, UnsupportedError, of_code

PathLike = Union[str, "os.PathLike[str]"]

_MAGIC = b"\x89HDF\r\n\x1a\n"
_RECORD = "relayout"
#: Types of relayout's that NumPy and HDF5 have.
_HELD = ("f64", "f32", "f16", "s64", "s32", "s16", "s8", "u64", "u32", "u16", "u8", "bool")
#: HDF5 has an attribute's value in the header of an object, which has no more room.
_MOST_ATTRIBUTE_BYTES = 64000


def is_hdf5(path: Any) -> bool:
    """Whether a file that exists begins as HDF5 files do. A number is no path: open() would close what it names."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        return False
    try:
        with open(path, "rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except (OSError, ValueError):
        return False


def is_written_as_hdf5(path: Any) -> bool:
    """Whether the extension of a new file says so."""
    return isinstance(path, (str, bytes, os.PathLike)) and os.fsdecode(path).lower().endswith((".h5", ".hdf5"))


def _package(path: Any) -> Any:
    try:
        import h5py  # type: ignore[import-not-found]  # only who has such files needs it
    except ImportError:
        raise UnsupportedError(f"{os.fsdecode(path)!r} is an HDF5 file, and the package h5py, which reads and writes "
                               "these, is not installed", "h5py") from None
    return h5py


def _datasets(group: Any, h5py: Any) -> List[Tuple[str, Any]]:
    """Of a group and those in it, each once, in the order of their names."""
    out: List[Tuple[str, Any]] = []
    group.visititems(lambda name, item: out.append((name, item)) if isinstance(item, h5py.Dataset) else None)
    return out


def _text(value: Any) -> Optional[str]:
    """An attribute as a text: texts as they are, numbers and lists as JSON; None for all others."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, str):
        return value
    try:
        plain = value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
        return json.dumps(plain, default=lambda item: item.decode("utf-8", "replace"))
    except (TypeError, ValueError, AttributeError):
        return None


def _texts(pairs: Iterable[Tuple[str, Any]]) -> List[Tuple[str, str]]:
    """Names and values, those of which are left out that are no texts."""
    found = [(name, _text(value)) for name, value in pairs]
    return [(name, text) for name, text in found if text is not None]


def _place(dataset: Any, h5py: Any) -> Optional[int]:
    """Where the elements lie in the file; None where they are to be read by h5py, which also makes NumPy's types of
    floats that NumPy has not."""
    if dataset.id.get_type() != h5py.h5t.py_create(dataset.dtype):
        return None
    if dataset.chunks is not None or dataset.external or getattr(dataset, "is_virtual", False) or dataset.size == 0:
        return None
    if dataset.file.userblock_size:
        return None
    offset = dataset.id.get_offset()
    return None if offset is None else int(offset)


def _reader(dataset: Any) -> Any:
    return lambda: np.ascontiguousarray(dataset[...]).reshape(-1).view(np.uint8)


def _described(name: str, dataset: Any, h5py: Any) -> Tuple[Any, ...]:
    """What _native.described_checkpoint() is told of a dataset."""
    problem = None
    dtype = dataset.dtype
    if dataset.shape is None:
        problem = f"dataset {name!r} has no elements, not even their number"
    elif dtype.kind not in "fiubc":
        problem = f"dataset {name!r}: elements of {dtype} are no numbers"
    if problem is not None:
        return name, None, str(dtype), 0, False, (), None, None, problem
    try:
        known: Optional[str] = name_of(dtype.newbyteorder("="))
    except UnsupportedError:
        known = None
    place = _place(dataset, h5py)
    return (name, known, dtype.newbyteorder("<").str if known is None else dtype.str, dtype.itemsize * 8,
            dtype.itemsize > 1 and not dtype.isnative, dataset.shape, place,
            None if place is not None else _reader(dataset), None)


def opened(path: PathLike) -> Any:
    """An open checkpoint of _native over an HDF5 file. FileError, UnsupportedError, CorruptError."""
    h5py = _package(path)
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise FileError(f"{os.fsdecode(path)!r}: {error}", "path", os.fsdecode(path)) from None
    datasets = _datasets(file, h5py)
    recorded = _texts((name, item.attrs[_RECORD]) for name, item in datasets if _RECORD in item.attrs)
    return _native.described_checkpoint(path, [_described(name, item, h5py) for name, item in datasets], recorded,
                                        _texts(file.attrs.items()))


def check_free(path: PathLike, overwrite: bool) -> None:
    """FileError where a file is there and not to be replaced."""
    if os.path.lexists(path) and not overwrite:
        place = os.fsdecode(path)
        raise of_code("io", f"create {place!r}: the file exists and is not to be overwritten", "overwrite", place,
                      number=errno.EEXIST)


def intermediate(path: PathLike, overwrite: bool, shard_bytes: Optional[int]) -> str:
    """The .safetensors file that becomes an HDF5 file; it lies beside that one's path until then. FileError where a
    file is there and not to be replaced, UnsupportedError for shards."""
    check_free(path, overwrite)
    if shard_bytes:
        raise UnsupportedError("HDF5 is written to one file; only safetensors has an index of several", "shard_bytes",
                               str(shard_bytes))
    folder, name = os.path.split(os.fsdecode(path))
    return os.path.join(folder, f".{name}.relayout-h5.safetensors")


def _header(path: str) -> Tuple[Dict[str, Any], Dict[str, str], Dict[str, Any]]:
    """Of a .safetensors file: its tensors, its metadata, and what is recorded of tensors."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    metadata = header.pop("__metadata__", {})
    records = json.loads(metadata.pop(_RECORD, "{}")).get("tensors", {})
    return header, metadata, records


def _check(names: List[str], path: str) -> None:
    """HDF5's names are paths of groups."""
    known = set(names)
    for name in names:
        parts = name.split("/")
        if any(part in ("", ".", "..") for part in parts):
            raise InvalidArgumentError(f"{path!r}: a tensor of the name {name!r} cannot be stored in HDF5, where / "
                                       "divides the names of groups", "name", name)
        for count in range(1, len(parts)):
            inner = "/".join(parts[:count])
            if inner in known:
                raise InvalidArgumentError(f"{path!r}: {inner!r} would be a tensor and the group of {name!r}", "name",
                                           name, inner)


def _check_written(h5py: Any, written: str, model: Mapping[str, Any], path: str) -> None:
    """Reads a new file again. CorruptError where a tensor is not what it was made of."""
    with h5py.File(written, "r") as file:
        for name, array in model.items():
            again = file[name][...]
            if again.dtype != array.dtype or again.shape != array.shape or again.tobytes() != array.tobytes():
                raise CorruptError(f"verify: tensor {name!r} of {path!r} is not what it was made of", "tensor", name)


def write(source: str, path: PathLike, overwrite: bool, verify: bool = False) -> None:
    """The tensors of a .safetensors file as a new HDF5 file, which appears whole or not at all. verify: it is read
    again before it appears."""
    from . import checkpoint  # it imports this module

    h5py = _package(path)
    place = os.fsdecode(path)
    tensors, metadata, records = _header(source)
    model = checkpoint.open(source)
    _check(list(tensors), place)
    for name in tensors:
        tensor = model.tensor(name)
        if tensor.dtype not in _HELD and tensor.type_name != "<c8":
            raise UnsupportedError(f"{place!r}: HDF5 has no type of elements as those of {name!r}, which are "
                                   f"{tensor.dtype}; a rule converts them, {name}: f32", "dtype", str(tensor.dtype))
    temporary = os.path.splitext(source)[0]
    try:
        # Larger attributes are kept by newer versions of the format alone.
        large = any(len(value.encode()) > _MOST_ATTRIBUTE_BYTES for value in metadata.values())
        with h5py.File(temporary, "w", libver="latest" if large else None) as file:
            for name in tensors:
                dataset = file.create_dataset(name, data=model[name])
                if name in records:
                    dataset.attrs[_RECORD] = json.dumps(records[name])
            for key, value in metadata.items():
                file.attrs[key] = value
        with open(temporary, "rb") as written:
            os.fsync(written.fileno())
        if verify:
            _check_written(h5py, temporary, model, place)
        check_free(path, overwrite)
        os.replace(temporary, path)
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{place!r}: {error}", "path", place) from None
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)
