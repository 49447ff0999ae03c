"""relayout.checkpoint: the tensors of a model's checkpoint as a mapping from names to arrays.

    import relayout.checkpoint

    model = relayout.checkpoint.open("model.safetensors.index.json")     # or .gguf, .npz, .pt, or a folder
    w = model["conv.weight"]                 # a NumPy array over the file's pages, read when it is asked for
    model.layout("conv.weight")              # "ohwi", as it is recorded in the file; None where nothing is
    model.torch("conv.weight")               # a tensor of PyTorch, with the strides that it was saved with
    relayout.checkpoint.open(path, framework="jax")["conv.weight"]       # or "torch", "mlx"
    model.metadata["general.architecture"]

Nothing in a file is run: of PyTorch's pickles only tensors and plain values are read. One bad tensor hides no other;
`problems` says which cannot be read, and why.
"""
from __future__ import annotations

import json
import os
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from . import _arguments, _native
from ._dtypes import PACKED
from . import _hdf5
from ._checkpoint_arrays import FRAMEWORKS, as_framework, saved_tensor
from ._errors import Error, InvalidArgumentError, MissingTensorError, UnsupportedError
from ._progress import Progress, Watcher, shown
from ._tensor import Tensor as _FileTensor
from ._transformers import transformers_rules

__all__ = ["Checkpoint", "CheckpointFile", "CheckpointTensor", "Converted", "Difference", "Evidence", "Finding",
           "compare", "convert", "open", "save", "transformers_rules", "which"]

PathLike = Union[str, "os.PathLike[str]"]


class CheckpointFile(NamedTuple):
    """One of the files of a checkpoint."""

    path: str
    #: "safetensors", "gguf", "npz", "pytorch" or "hdf5".
    format: str
    #: Why it cannot be read; None where it can.
    problem: Optional[str]


class CheckpointTensor(_FileTensor):
    """What a checkpoint says of one tensor; array() has its values, as NumPy's array over the file's pages."""

    def __init__(self, model: "Checkpoint", index: int, said: Mapping[str, Any]):
        super().__init__(model, index, said)  # type: ignore[arg-type]
        #: Of the array in the file, in elements.
        self.strides: Tuple[int, ...] = said["strides"]
        #: The layout that the tensor had before it was converted to `layout`, where that is recorded.
        self.from_layout: Optional[str] = said["from_layout"]
        #: The strides of the tensor that was saved, in elements, where they were not those of the file.
        self.saved_strides: Optional[Tuple[int, ...]] = said["saved_strides"]
        #: The packed format whose blocks the array's bytes are, such as "ggml:q4_0", and the shape of its values.
        self.packed: Optional[str] = said["packed"]
        self.packed_shape: Optional[Tuple[int, ...]] = said["packed_dims"]

    def _shaped(self, raw: np.ndarray, dtype: np.dtype) -> np.ndarray:
        if self._said["row_major"]:
            return super()._shaped(raw, dtype)
        if self._said["byte_swapped"]:
            dtype = dtype.newbyteorder()
        if 0 in self.shape:
            return np.empty(self.shape, dtype)
        strides = tuple(stride * dtype.itemsize for stride in self.strides)
        return np.lib.stride_tricks.as_strided(raw.view(dtype), self.shape, strides, writeable=False)

    def as_integers(self, dtype: str, progress: Optional[Progress] = None) -> np.ndarray:
        """The bits of the elements as integers of their width, which NumPy has without ml_dtypes too."""
        return self._shaped(self._raw(progress), np.dtype(dtype))

    def _as_itself(self, raw: np.ndarray, width: int) -> np.ndarray:
        """In NumPy's own type, if it has one: PyTorch's complex numbers may be views."""
        if self.type_name in ("<c8", "<c16"):
            return self._shaped(raw, np.dtype(self.type_name))
        return super()._as_itself(raw, width)

    def __repr__(self) -> str:
        return super().__repr__().replace("relayout.Tensor", "relayout.checkpoint.CheckpointTensor")


class Checkpoint(Mapping[str, Any]):
    """The arrays of a checkpoint by their names, each read when it is asked for."""

    format = "checkpoint"

    def __init__(self, path: PathLike, framework: str = "numpy"):
        if framework not in FRAMEWORKS:
            raise InvalidArgumentError(f"framework is {framework!r}; there are {', '.join(FRAMEWORKS)}", "framework",
                                       repr(framework), " ".join(FRAMEWORKS))
        self._native = _hdf5.opened(path) if _hdf5.is_hdf5(path) else _native.Checkpoint(path)
        self._path = os.fsdecode(path)
        #: Whose arrays `model[name]` gives.
        self.framework = framework
        #: The files that have the tensors, in their order.
        self.files: List[CheckpointFile] = [CheckpointFile(*said) for said in self._native.files()]
        self._tensors: Dict[str, CheckpointTensor] = {
            said["name"]: CheckpointTensor(self, i, said) for i, said in enumerate(self._native.tensors())}
        self._metadata: Optional[Dict[str, Any]] = None

    @property
    def names(self) -> List[str]:
        """Of the tensors, in the order of the files."""
        return list(self._tensors)

    @property
    def metadata(self) -> Dict[str, Any]:
        """What the files say beside the tensors: texts of .safetensors, typed values of GGUF, numbers and texts that
        were saved by PyTorch. What records layouts is not part of it."""
        if self._metadata is None:
            self._metadata = {key: value if text else json.loads(value)
                              for key, value, text in self._native.metadata()}
        return self._metadata

    @property
    def problems(self) -> Dict[str, str]:
        """Why tensors cannot be read, by their names."""
        return {name: tensor.problem for name, tensor in self._tensors.items() if tensor.problem is not None}

    def tensor(self, name: str) -> CheckpointTensor:
        """What the checkpoint says of a tensor. MissingTensorError, which is a KeyError, suggests names that are
        near."""
        found = self._tensors.get(name) if isinstance(name, str) else None
        if found is not None:
            return found
        if not isinstance(name, str):
            raise MissingTensorError(f"tensors have names, and {name!r} is none", "tensor", repr(name))
        try:
            self._native.find(name)
        except Error as error:
            raise MissingTensorError(str(error), error.field, error.value, error.limit) from None
        except TypeError:
            pass  # no UTF-8, as no name in the file is
        raise MissingTensorError(f"no tensor {name!r}", "tensor", repr(name))

    def layout(self, name: str) -> Optional[str]:
        """The layout that is recorded for a tensor; None where none is."""
        return self.tensor(name).layout

    def array(self, name: str, dtype: Any = None, *, progress: Optional[Progress] = None) -> np.ndarray:
        """A tensor as NumPy's array: read-only, over the file's pages where they hold it as it is, with its strides.

        dtype: what the elements are, where the file does not say it. Blocks of a packed format are uint8;
        relayout.dequantize() has their values. Errors: CorruptError, LimitError, UnsupportedError; FileError where its
        file cannot be read.
        """
        return self.tensor(name).array(dtype, progress=progress)

    def torch(self, name: str, *, progress: Optional[Progress] = None) -> Any:
        """A tensor of PyTorch of its own memory, with the strides that it was saved with where the file has them.
        UnsupportedError for a type that PyTorch does not have."""
        import torch  # type: ignore[import-not-found]  # only who calls this needs it

        tensor = self.tensor(name)
        if tensor.dtype in PACKED:
            raise UnsupportedError(f"PyTorch has no type of elements as those of {name!r}, which are {tensor.dtype}",
                                   "dtype", str(tensor.dtype))
        theirs, held_as = _TORCH_TYPES.get(str(tensor.dtype), (None, None))
        if theirs is not None and not hasattr(torch, theirs):
            raise UnsupportedError(f"this PyTorch has no {theirs}, which {name!r} is of", "dtype", theirs)
        array = tensor.array(progress=progress) if held_as is None else tensor.as_integers(held_as, progress)
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        out = torch.from_numpy(np.array(array, order="K"))
        if theirs is not None:
            out = out.view(getattr(torch, theirs))
        strides = tensor.saved_strides
        if strides is None or any(step == 0 and extent > 1 for step, extent in zip(strides, tensor.shape)):
            return out  # of a view in which elements share memory, nothing but its values can be had
        return torch.empty_strided(tensor.shape, strides, dtype=out.dtype).copy_(out)

    def jax(self, name: str, *, progress: Optional[Progress] = None) -> Any:
        """A tensor as JAX's array, on its default device. UnsupportedError where JAX is not installed."""
        return as_framework("jax", self.tensor(name), progress)

    def mlx(self, name: str, *, progress: Optional[Progress] = None) -> Any:
        """A tensor as MLX's array. UnsupportedError where MLX is not installed, or has no such type."""
        return as_framework("mlx", self.tensor(name), progress)

    def save(self, path: PathLike, *, overwrite: bool = False, shard_bytes: Optional[int] = None,
             progress: Optional[Watcher] = None) -> List[str]:
        """Writes all tensors, as they are and with what is recorded of them, to another file or, with shard_bytes, to
        several with an index: convert() without rules. Returns the new files' paths."""
        return convert(self, path, overwrite=overwrite, shard_bytes=shard_bytes, progress=progress).files

    def __getitem__(self, name: str) -> Any:
        if self.framework == "numpy":
            return self.array(name)
        return self.torch(name) if self.framework == "torch" else as_framework(self.framework, self.tensor(name))

    def __contains__(self, name: object) -> bool:
        return name in self._tensors

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    def __reduce__(self) -> Tuple[Any, ...]:
        """A checkpoint is pickled by its absolute path, and opened again where it is loaded."""
        return type(self), (os.path.abspath(self._path), self.framework)

    def __repr__(self) -> str:
        files = "1 file" if len(self.files) == 1 else f"{len(self.files)} files"
        count = "1 tensor" if len(self) == 1 else f"{len(self)} tensors"
        bad = len(self.problems)
        return f"<relayout.checkpoint.Checkpoint {self._path!r}, {files}, {count}" + (
            f", {bad} of which cannot be read>" if bad else ">")


#: Types of PyTorch that NumPy has not, and integers of their width.
_TORCH_TYPES = {"bf16": ("bfloat16", "int16"), "f8_e5m2": ("float8_e5m2", "uint8"),
                "f8_e4m3": ("float8_e4m3fn", "uint8"), "f8_e8m0": ("float8_e8m0fnu", "uint8")}


def open(path: PathLike, framework: str = "numpy") -> Checkpoint:  # noqa: A001 - the name that fits in this module
    """Opens a checkpoint: a .safetensors, .gguf, .npz or PyTorch file, an HDF5 file of Keras (by the package h5py), an
    index of files, the first file of a GGUF model that was split, or a folder of one model. Only headers are read.

    framework: whose arrays model[name] gives: "numpy", which copies nothing, "torch", "jax" or "mlx". Errors:
    FileError, CorruptError, LimitError, UnsupportedError, also where a package that is needed is not installed."""
    return Checkpoint(path, framework)


def save(path: PathLike, tensors: Mapping[str, Any], *, metadata: Optional[Mapping[str, str]] = None,
         overwrite: bool = False, shard_bytes: Optional[int] = None, progress: Optional[Watcher] = None) -> List[str]:
    """Writes arrays of NumPy, PyTorch, JAX or MLX by their names as a checkpoint, in the format that the path's
    extension says: .safetensors, .gguf, .npz, .pt, .h5. Returns the paths of the files, which appear whole or not at
    all.

    Files are row-major. Of a tensor of PyTorch with other strides, as in channels_last, .safetensors and .gguf record
    them, and open(path).torch(name) gives them back. metadata: texts that .safetensors and .gguf keep. shard_bytes: the
    most bytes of tensors in a file. progress: as for convert(). Errors: InvalidArgumentError, UnsupportedError,
    FileError.
    """
    texts = [(key, value) for key, value in (metadata or {}).items()]
    to_hdf5 = _hdf5.is_written_as_hdf5(path)
    where: Any = _hdf5.intermediate(path, overwrite, shard_bytes) if to_hdf5 else path
    with shown(progress) as told:
        files = _native.save_checkpoint(where, [saved_tensor(name, value) for name, value in tensors.items()], texts,
                                        overwrite or to_hdf5, shard_bytes or 0, told)
    return _as_hdf5(where, path, overwrite) if to_hdf5 else list(files)


def _as_hdf5(made: str, path: PathLike, overwrite: bool, verify: bool = False) -> List[str]:
    """A .safetensors file becomes an HDF5 file, and goes."""
    try:
        _hdf5.write(made, path, overwrite, verify)
    finally:
        os.unlink(made)
    return [os.fsdecode(path)]


class Converted(NamedTuple):
    """What convert() did."""

    #: Of each new tensor, by its name: "converted", "copied", or "already" where it is recorded as what a rule makes.
    tensors: Dict[str, str]
    #: Sentences that a user should know: what was taken for granted, rules that match nothing, what was left out.
    notes: List[str]
    #: The new files; none of a dry run.
    files: List[str]
    #: How many tensors a run that was ended had written before.
    resumed: int


def _source(model: Union[PathLike, Checkpoint]) -> Any:
    """What _native opens: a path, or what is open already, as HDF5 files are."""
    if isinstance(model, Checkpoint):
        return model._native
    return _hdf5.opened(model) if _hdf5.is_hdf5(model) else model


def _maps(maps: Union[str, Sequence[str]]) -> List[str]:
    return [maps] if isinstance(maps, str) else list(maps)


def convert(src: Union[PathLike, Checkpoint], dst: PathLike, rules: Optional[PathLike] = None, *,
            maps: Union[str, Sequence[str]] = (), invert: bool = False, strict: bool = False, record: bool = True,
            dry_run: bool = False, overwrite: bool = False, shard_bytes: Optional[int] = None,
            max_memory: Optional[int] = None, threads: int = 0, verify: bool = False,
            progress: Optional[Watcher] = None) -> Converted:
    """Converts a checkpoint by rules into new files, as `relayout checkpoint convert` does.

    rules: the path of a rule file, in TOML or, of a table of transformers, in JSON (transformers_rules()); or the name
    of rules that come with relayout, such as "pytorch-mlx" (docs/checkpoints.md). maps: rules in one line each,
    "*.conv.weight: oihw -> ohwi", which come first. invert: the rules that lead back. strict: tensors without a
    recorded layout, and rules that match nothing, are errors. record: whether the new files record layouts and rules.
    shard_bytes: the most bytes of tensors in a file. max_memory: bytes, at least 16 MiB. verify: what was written is
    read again and compared, an HDF5 file before it appears. progress: as for relayout.convert(), or True for a bar of
    tqdm, where that is installed, or a class of such bars. src and dst may be HDF5 files of Keras, where h5py is
    installed; dst is then first written beside its path as .safetensors, which takes its size once more on the disk.

    Nothing is guessed from shapes. All is checked before a byte is written, and the files appear when they are
    complete; what is ended by Ctrl-C or a kill goes on where it stopped when it is called again. Errors: ParseError,
    InvalidArgumentError, UnsupportedError, FileError, CorruptError, LimitError.
    """
    to_hdf5 = _hdf5.is_written_as_hdf5(dst)
    where: Any = _hdf5.intermediate(dst, overwrite, shard_bytes) if to_hdf5 else dst
    with shown(progress) as told:
        tensors, notes, files, resumed = _native.convert_checkpoint(
            _source(src), where, "" if rules is None else os.fspath(rules), _maps(maps), invert, strict, record,
            dry_run, overwrite or to_hdf5, shard_bytes or 0, max_memory or 0, threads, verify, told)
    if to_hdf5 and not dry_run:
        files = _as_hdf5(where, dst, overwrite, verify)
    return Converted(dict(tensors), notes, files, resumed)


class Difference(NamedTuple):
    """A tensor in which two checkpoints differ."""

    name: str
    #: "missing", "left over", "shape 2x3 and 3x2", "type f32 and f16", or "12 of 4096 elements".
    difference: str
    #: How many elements differ, and the largest difference of two finite ones.
    differ: int
    most: float


def compare(a: Union[PathLike, Checkpoint], b: Union[PathLike, Checkpoint], rules: Optional[PathLike] = None, *,
            maps: Union[str, Sequence[str]] = (),
            invert: bool = False, max_memory: Optional[int] = None, threads: int = 0,
            progress: Optional[Watcher] = None) -> List[Difference]:
    """The tensors in which what rules make of checkpoint `a` differs from checkpoint `b`; [] where none does. The other
    arguments are those of convert()."""
    with shown(progress) as told:
        return [Difference(*one) for one in _native.compare_checkpoints(
            _source(a), _source(b), "" if rules is None else os.fspath(rules), _maps(maps), invert, max_memory or 0,
            threads, told)]


class Evidence(NamedTuple):
    """Something that a checkpoint shows of a weight's layout."""

    #: "record", "bias", "shape", "values", "name", or "other" of another checkpoint.
    kind: str
    text: str
    #: Those that it allows; [] where it decides nothing.
    layouts: List[str]


class Finding(NamedTuple):
    """What a checkpoint shows of a weight's layout, and how sure that is."""

    name: str
    #: "certain", "probably" or "cannot tell".
    certainty: str
    #: The layout, such as "oihw", or those among which nothing decides. Against another checkpoint, orders of dims:
    #: "acdb" where dim 1 of the other one's tensor is dim 2 here; [] where none makes both equal.
    layouts: List[str]
    evidence: List[Evidence]


def which(path: Union[PathLike, Checkpoint], against: Optional[Union[PathLike, Checkpoint]] = None, *,
          progress: Optional[Watcher] = None) -> List[Finding]:
    """Which layout each weight probably has, with the evidence: what is recorded, the bias of its layer, small and
    equal extents, neighbours that are alike, and names. With another checkpoint, in which orders of its dims each
    tensor has the values of one there, which is certain. Nothing acts on it: rules say which layout a tensor has."""
    with shown(progress) as told:
        found = _native.which_layouts(_source(path), None if against is None else _source(against), told)
    return [Finding(name, certainty, layouts, [Evidence(*one) for one in evidence])
            for name, certainty, layouts, evidence in found]


_arguments.present(__name__, __all__)
