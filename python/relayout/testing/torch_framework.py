"""PyTorch's tensors, for the layouts that `relayout.testing` gives them.

Example: `Torch().dtype("bf16")` is torch.bfloat16.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _dtypes
from .framework import Framework, Reader
from .recipe import Layout, Recipe

if TYPE_CHECKING:
    from .values import Values


class Torch(Framework):
    """PyTorch: no negative strides, addresses are multiples of the element, buffers on the caller's device."""

    name = "torch"
    imports = "import torch"

    @property
    def torch(self) -> Any:
        return importlib.import_module("torch")

    def owns(self, value: Any) -> bool:
        torch = sys.modules.get("torch")
        if torch is None or not isinstance(value, torch.Tensor):
            return False
        return value.layout == torch.strided and not value.is_quantized and value.device.type != "meta"

    def dtype(self, name: Any) -> Any:
        if not isinstance(name, str):
            return name
        found = getattr(self.torch, name, None)
        if not isinstance(found, self.torch.dtype):
            found = _dtypes.torch_dtype(_dtypes.name_of(name))
        return found

    def supports(self, recipe: Recipe, values: Values) -> bool:
        on_cpu = values.like is None or values.like.device.type == "cpu"
        return not (recipe.has_negative or recipe.skew or ((recipe.foreign or recipe.far) and not on_cpu))

    def itemsize(self, dtype: Any) -> int:
        return int(self.torch.empty(0, dtype=dtype).element_size())

    def to_bytes(self, array: Any) -> np.ndarray:
        flat = array.detach().resolve_conj().resolve_neg().contiguous().reshape(-1)
        return flat.view(self.torch.uint8).cpu().numpy().copy()

    def to_numpy(self, array: Any) -> np.ndarray:
        torch = self.torch
        array = array.detach()
        if array.layout != torch.strided:
            array = array.to_dense()
        if array.is_quantized:
            array = array.dequantize()
        array = array.cpu().resolve_conj().resolve_neg()
        try:
            return np.array(array.numpy())
        except TypeError:  # NumPy lacks the type
            return np.array((array.to(torch.complex64) if array.is_complex() else array.float()).numpy())

    def cast(self, array: np.ndarray, dtype: Any) -> Any:
        return self.torch.from_numpy(array).to(dtype)

    def evaluate(self, text: str, dtype: Any) -> Any:
        return eval(text, {"torch": self.torch}).to(dtype)

    def contiguous(self, values: Values) -> Any:
        return self._finish(self._buffer(values, values.data.reshape(-1)).reshape(values.shape), values)

    def between(self, values: Values, raw: np.ndarray, front: int) -> tuple[Any, Reader]:
        if values.like is not None and values.like.device.type != "cpu":
            return self.contiguous(values), lambda: raw
        after = self.torch.from_numpy(np.frombuffer(raw.data[front:], np.uint8)).view(values.dtype)
        return self._finish(after[: len(values.data)].reshape(values.shape), values), lambda: raw

    def whole(self, array: Any) -> tuple[np.ndarray, int] | None:
        if array.device.type != "cpu":
            return None
        size = array.element_size()
        storage = array.untyped_storage() if hasattr(array, "untyped_storage") else array.storage()
        count = storage.nbytes() // size
        flat = array.detach().resolve_conj().resolve_neg().as_strided((count,), (1,), 0)
        return flat.view(self.torch.uint8).numpy(), array.storage_offset() * size

    def place(self, values: Values, layout: Layout, raw: np.ndarray) -> tuple[Any, Reader]:
        if layout.foreign or layout.sparse:
            buffer = self.torch.from_numpy(raw).view(values.dtype)
        else:
            buffer = self._buffer(values, raw)
        array = buffer.as_strided(layout.shape, layout.strides, layout.offset)
        return self._finish(array, values), lambda: buffer.view(self.torch.uint8).cpu().numpy()

    def _buffer(self, values: Values, raw: np.ndarray) -> Any:
        device = "cpu" if values.like is None else values.like.device
        count = raw.size // values.itemsize
        buffer = self.torch.empty(count, dtype=values.dtype, device=device)
        if count:
            buffer.view(self.torch.uint8).copy_(self.torch.from_numpy(np.array(raw)))
        return buffer

    def _finish(self, array: Any, values: Values) -> Any:
        needs_grad = values.like is not None and values.like.requires_grad
        return array.detach().requires_grad_() if needs_grad else array

    def dtype_name(self, dtype: Any) -> Any:
        return str(dtype).replace("torch.", "")

    def dtype_code(self, dtype: Any) -> str:
        return str(dtype)

    def extra_imports(self, dtype: Any) -> list[str]:
        return []

    def place_code(self, name: str, values: Values, layout: Layout, gap: str, content: str,
                   aligned: bool = False) -> list[str]:
        dtype, where = self.dtype_code(values.dtype), self._device_code(values)
        make = f"torch.zeros({layout.size}, dtype={dtype}{where})"
        if gap:
            make = f"({gap}).to({dtype}){self._to_code(values)}"
        if layout.foreign:
            make = f"torch.from_numpy({make}.view(torch.uint8).numpy().copy()).view({dtype})"
        narrow = tuple(1 if stride == 0 else n for n, stride in zip(layout.shape, layout.strides, strict=True))
        index = "".join(f"[{', '.join(f':{n}' for n in narrow)}]" for _ in range(1) if narrow != layout.shape)
        target = f"{name}_base.as_strided({narrow}, {layout.strides}, {layout.offset})"
        lines = [f"{name}_base = {make}", f"{target}.copy_(({content}){index})",
                 f"{name} = {name}_base.as_strided({layout.shape}, {layout.strides}, {layout.offset})"]
        return lines + self._grad_code(name, values)

    def plain_code(self, name: str, values: Values, content: str) -> list[str]:
        return [f"{name} = {content}{self._to_code(values)}", *self._grad_code(name, values)]

    def _grad_code(self, name: str, values: Values) -> list[str]:
        needs_grad = values.like is not None and values.like.requires_grad
        return [f"{name} = {name}.detach().requires_grad_()"] if needs_grad else []

    def _device_code(self, values: Values) -> str:
        is_cpu = values.like is None or values.like.device.type == "cpu"
        return "" if is_cpu else f", device='{values.like.device}'"

    def _to_code(self, values: Values) -> str:
        is_cpu = values.like is None or values.like.device.type == "cpu"
        return "" if is_cpu else f".to('{values.like.device}')"
