"""relayout: the memory layouts of tensors, described, converted and tested.

    import numpy, relayout
    x = numpy.zeros((8, 3, 224, 224), numpy.float32)
    y = relayout.contiguous(x.transpose(0, 2, 3, 1))              # NHWC, materialised
    z = relayout.convert(x, "nchw", "nChw16c", dtype="bf16")      # the blocks that a CPU's convolutions want
    relayout.layout("nChw16c", (8, 3, 224, 224)).offset(0, 2, 5, 7)

`relayout.testing` finds the kernel that is wrong for one layout, `relayout.checkpoint` has the tensors of models'
files, `relayout.opencl` images and buffers of GPUs, and `relayout.redistribute`, `relayout.dask` and `relayout.cubed`
arrays in chunks that are larger than memory; each is imported when it is first used. Sizes called strides_elements
count elements, those called strides_bytes bytes.
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._arrays import empty, reorder_in_place, transpose
from ._convert import convert, plan_conversion
from ._convert_file import convert_file
from ._convert_into import convert_into
from ._errors import (BufferTooSmallError, CorruptError, Error, FileError, InternalError, InvalidArgumentError,
                      LimitError, MissingFileError, MissingTensorError, NeedsCopyError, NotInjectiveError, OverlapError,
                      ParseError, SizeOverflowError, StoppedError, UnsupportedError)
from ._explain import Explanation, SourceExplanation, explain
from ._files import File, load, open, save
from ._gates import permute_gates
from ._gather import gather, ragged_index, scatter, sparse_rows_index
from ._layout import Layout, is_channels_last, layout, layout_of, overlaps
from ._model import Model, plan, run
from ._native import (SYSTEMS, Buffer, Conversion, available_isas, bank_conflicts, clear_plan_cache,
                      contiguous, copy, default_threads, find_swizzle, generated_code_problem, interop, isa,
                      plan_cache, set_isa)
from ._placement import Placement, PlacementDifference
from ._rearrange import rearrange
from ._record import Record, RecordField, Repacked, dequantize, repack
from ._show import Page, show
from . import _arguments, _signatures  # noqa: F401 - classes get their signatures

if TYPE_CHECKING:
    from . import (checkpoint as checkpoint, cubed as cubed, dask as dask, mpi as mpi, opencl as opencl,
                   redistribute as redistribute, testing as testing)

__version__ = "0.1.0"
__all__ = [
    "Buffer", "BufferTooSmallError", "Conversion", "CorruptError", "Error", "Explanation", "File", "FileError",
    "InternalError", "InvalidArgumentError", "Layout", "LimitError", "MissingFileError", "MissingTensorError", "Model",
    "NeedsCopyError", "NotInjectiveError", "OverlapError", "Page", "ParseError", "Placement", "PlacementDifference",
    "Record", "RecordField", "Repacked", "SYSTEMS", "SizeOverflowError", "SourceExplanation", "StoppedError",
    "UnsupportedError", "available_isas", "bank_conflicts", "clear_plan_cache", "contiguous", "convert",
    "convert_file", "convert_into", "copy", "default_threads", "dequantize", "empty", "explain", "find_swizzle",
    "gather", "generated_code_problem", "interop", "is_channels_last", "isa", "layout", "layout_of", "load", "open",
    "overlaps", "permute_gates", "plan", "plan_cache", "plan_conversion", "ragged_index", "rearrange",
    "reorder_in_place", "repack", "run", "save", "scatter", "set_isa", "show", "sparse_rows_index", "transpose",
]

_SUBMODULES = ("checkpoint", "cubed", "dask", "mpi", "opencl", "redistribute", "testing")
_arguments.present(__name__, __all__)

if not TYPE_CHECKING:  # for a type checker a module with __getattr__ has every name

    def __getattr__(name: str) -> Any:
        """The modules of this package that are imported when they are first used."""
        if name not in _SUBMODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return importlib.import_module("." + name, __name__)


def __dir__() -> list[str]:
    """What completion offers."""
    private = [name for name in globals() if name.startswith("_")]
    return sorted({*__all__, *_SUBMODULES, *private})
