"""Tensors of checkpoints as arrays of a framework, and arrays of a framework as tensors to be saved."""
from __future__ import annotations

import importlib
import math
from typing import TYPE_CHECKING, Any, Optional, Tuple

import numpy as np

from ._arrays import is_torch
from ._errors import UnsupportedError
from ._files import _plain
from ._progress import Progress

if TYPE_CHECKING:
    from .checkpoint import CheckpointTensor

FRAMEWORKS = ("numpy", "torch", "jax", "mlx")

#: Types that NumPy has by ml_dtypes alone: integers of their width, and the types of JAX and MLX.
_OF_FRAMEWORKS = {"bf16": ("uint16", "bfloat16", "bfloat16"), "f8_e5m2": ("uint8", "float8_e5m2", None),
                  "f8_e4m3": ("uint8", "float8_e4m3fn", None), "f8_e8m0": ("uint8", "float8_e8m0fnu", None)}


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise UnsupportedError(f"the package {name.split('.')[0]} is not installed", "framework", name) from None


def as_framework(framework: str, tensor: "CheckpointTensor", progress: Optional[Progress] = None) -> Any:
    """An array of JAX or MLX, of memory of its own. UnsupportedError."""
    numpy = _module({"jax": "jax.numpy", "mlx": "mlx.core"}[framework])
    held, of_jax, of_mlx = _OF_FRAMEWORKS.get(str(tensor.dtype), (None, None, None))
    theirs = (of_jax if framework == "jax" else of_mlx) or ""
    if held is not None and not hasattr(numpy, theirs or "no type"):
        raise UnsupportedError(f"{framework} has no type of elements as those of {tensor.name!r}, which are "
                               f"{tensor.dtype}", "dtype", str(tensor.dtype))
    array = tensor.array(progress=progress) if held is None else tensor.as_integers(held, progress)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if framework == "jax":
        if held is not None:
            return numpy.asarray(np.array(array)).view(getattr(numpy, theirs))
        made = numpy.asarray(np.array(array))
        if made.dtype != array.dtype:
            raise UnsupportedError(f"JAX makes {made.dtype} of the elements of {tensor.name!r}, which are "
                                   f"{array.dtype}, unless jax_enable_x64 is set", "dtype", str(array.dtype))
        return made
    if held is None and str(array.dtype) not in _MLX_TYPES:
        raise UnsupportedError(f"mlx has no type of elements as those of {tensor.name!r}, which are {array.dtype}",
                               "dtype", str(array.dtype))
    made = numpy.array(np.array(array, order="C"))
    return made if held is None else made.view(getattr(numpy, theirs))


_MLX_TYPES = ("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32",
              "float64", "complex64")


def _torch_plain(tensor: Any) -> Tuple[np.ndarray, Any, Tuple[int, ...], Optional[Tuple[int, ...]]]:
    """Bytes, type and shape of a tensor of PyTorch, row-major, and its strides where they are others."""
    import torch  # type: ignore[import-not-found]

    shape, strides = tuple(tensor.shape), tuple(tensor.stride())
    # Nothing is made of a gradient here: what is saved are values.
    rows = tensor.detach().cpu().contiguous()
    # Strides of dims of extent 1 count here, as PyTorch tells memory formats by them.
    row_major = tuple(math.prod(shape[d + 1:]) for d in range(len(shape)))
    other = None if strides == row_major or 0 in shape else strides
    if rows.dtype == torch.bfloat16:
        return rows.view(torch.int16).numpy().reshape(-1).view(np.uint8), "bf16", shape, other
    name = {"float8_e5m2": "f8_e5m2", "float8_e4m3fn": "f8_e4m3", "float8_e8m0fnu": "f8_e8m0"}.get(
        str(rows.dtype).replace("torch.", ""))
    if name is not None:
        return rows.view(torch.uint8).numpy().reshape(-1), name, shape, other
    array, dtype, _ = _plain(rows.numpy(), ".safetensors")
    return array, dtype, shape, other


def saved_tensor(name: Any, value: Any) -> tuple:
    """What _native.save_checkpoint() is told of an array, or of a tensor of a file, whose records stay."""
    if not isinstance(name, str):
        raise TypeError(f"names of tensors are texts, and {name!r} is none")
    layout = dims = strides = None
    try:
        if is_torch(value):
            array, dtype, shape, strides = _torch_plain(value)
        else:
            array, dtype, shape = _plain(value, ".safetensors")
            if getattr(value, "layout", None) is not None and getattr(value, "dims", None) is not None:
                layout, dims = value.layout, value.dims
            strides = getattr(value, "saved_strides", None)
    except UnsupportedError as error:
        raise UnsupportedError(f"tensor {name!r}: {error}", error.field, error.value, error.limit) from None
    return name, array, dtype, shape, layout, dims, strides
