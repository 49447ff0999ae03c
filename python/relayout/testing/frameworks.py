"""What NumPy, PyTorch and JAX each need: which recipes they can have, arrays from bytes, bytes from arrays, and code.

A framework is imported only when one of its arrays was met. To add one, write a class with these methods and put it
into `FRAMEWORKS`.

Example: `framework_of(torch.zeros(3)).name` is "torch"; `framework_of("text")` is None.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .recipe import Layout, Recipe

if TYPE_CHECKING:
    from .values import Values

Reader = Callable[[], np.ndarray]


def empty_bytes(count: int, skew: int = 0) -> np.ndarray:
    """`count` zero bytes that start `skew` bytes after a multiple of 64; pages are not touched before they are used.

    The array stands for a whole allocation: the slack that aligns it is not part of what its views have as their base.
    """
    raw = np.zeros(count + 128, np.uint8)
    start = -raw.ctypes.data % 64 + skew
    return np.frombuffer(raw.data[start : start + count], np.uint8) if count else raw[:0]


class Framework:
    """NumPy, and what the others have in common with it."""

    name = "numpy"
    imports = "import numpy as np"

    def owns(self, value: Any) -> bool:
        """Whether `value` is an array of this framework whose layout can be chosen."""
        return type(value) in (np.ndarray, np.memmap) and not value.dtype.hasobject and value.dtype.itemsize > 0

    def dtype(self, name: Any) -> Any:
        """The element type of this name."""
        return np.dtype(name)

    def supports(self, recipe: Recipe, values: Values) -> bool:
        """Whether the framework has arrays of this recipe."""
        return True

    def itemsize(self, dtype: Any) -> int:
        return int(np.dtype(dtype).itemsize)

    def to_bytes(self, array: Any) -> np.ndarray:
        """The elements in row-major order, as bytes of their own."""
        return np.frombuffer(np.asarray(array).tobytes(), np.uint8)

    def to_numpy(self, array: Any) -> np.ndarray:
        """The values in a type that NumPy can compare."""
        return np.array(array)

    def cast(self, array: np.ndarray, dtype: Any) -> Any:
        """A NumPy array of small integers in this type."""
        if np.dtype(dtype).kind in "SUVMm" and np.dtype(dtype).names is not None:
            raise ValueError("a structured type has no numbers")
        return array.astype(dtype)

    def evaluate(self, text: str, dtype: Any) -> Any:
        """The array that an expression denotes, in this type."""
        return eval(text, {"np": np}).astype(dtype)

    def contiguous(self, values: Values) -> Any:
        raw = empty_bytes(values.data.size)
        raw[:] = values.data.reshape(-1)
        return np.ndarray(values.shape, values.dtype, raw)

    def place(self, values: Values, layout: Layout, raw: np.ndarray) -> tuple[Any, Reader]:
        """An array over the bytes `raw`, and a function that reads them again after a call."""
        strides = tuple(stride * values.itemsize for stride in layout.strides)
        buffer = raw.data.toreadonly() if layout.foreign else raw.data
        offset = layout.offset * values.itemsize
        array = np.ndarray(values.shape, values.dtype, buffer, offset, strides)
        return array, lambda: raw

    def dtype_code(self, dtype: Any) -> str:
        name = str(np.dtype(dtype))
        is_structured = np.dtype(dtype).names is not None
        return f"np.dtype({np.dtype(dtype).descr})" if is_structured else repr(name)

    def extra_imports(self, dtype: Any) -> list[str]:
        return ["import ml_dtypes"] if np.dtype(dtype).type.__module__.startswith("ml_dtypes") else []

    def place_code(self, name: str, values: Values, layout: Layout, gap: str, content: str,
                   aligned: bool = False) -> list[str]:
        """Lines that rebuild the array; `content` is an expression for a contiguous array of the values.

        With `aligned` the buffer's address is a multiple of 64 where the framework does not see to that itself.
        """
        dtype = self.dtype_code(values.dtype)
        bytes_ = layout.size * values.itemsize
        strides = tuple(stride * values.itemsize for stride in layout.strides)
        lines = []
        skew = f" + {layout.skew}" if layout.skew else ""
        if aligned or layout.skew:
            lines += [f"{name}_bytes = np.zeros({bytes_ + 128}, np.uint8)",
                      f"{name}_start = -{name}_bytes.ctypes.data % 64{skew}",
                      f"{name}_base = {name}_bytes[{name}_start:{name}_start + {bytes_}].view({dtype})"]
            if gap:
                lines.append(f"{name}_base[:] = {gap}")
        elif gap:
            lines.append(f"{name}_base = ({gap}).astype({dtype})")
        else:
            lines.append(f"{name}_base = np.zeros({layout.size}, {dtype})")
        rest = f"{layout.offset * values.itemsize}, {strides})"
        has_buffer = np.dtype(values.dtype).kind in "fiubc"  # NumPy does not lend memory of other types
        base = f"{name}_base" if has_buffer else f"{name}_base.view(np.uint8)"
        lines += [f"{name} = np.ndarray({layout.shape}, {dtype}, {base}, {rest}", f"{name}[...] = {content}"]
        if layout.foreign:
            lines.append(f"{name} = np.ndarray({layout.shape}, {dtype}, memoryview({base}).toreadonly(), {rest}")
        return lines

    def plain_code(self, name: str, values: Values, content: str) -> list[str]:
        return [f"{name} = {content}"]

    def content_code(self, values: Values, content: str) -> str:
        return content


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
        return getattr(self.torch, name) if isinstance(name, str) else name

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


class Jax(Framework):
    """JAX: arrays are dense, in any order of dims, and may share memory with NumPy."""

    name = "jax"
    imports = "import jax\nimport numpy as np"

    @property
    def jax(self) -> Any:
        return importlib.import_module("jax")

    def owns(self, value: Any) -> bool:
        jax = sys.modules.get("jax")
        if jax is None or not isinstance(value, jax.Array) or isinstance(value, jax.core.Tracer):
            return False
        return isinstance(value.dtype, np.dtype)  # random keys have types of their own

    def dtype(self, name: Any) -> Any:
        return self.jax.numpy.dtype(name)

    def supports(self, recipe: Recipe, values: Values) -> bool:
        dense = Recipe.plain(recipe.rank).but(order=recipe.order)
        if recipe.foreign:
            is_cpu = values.like is None or next(iter(values.like.devices())).platform == "cpu"
            is_plain = recipe == Recipe.plain(recipe.rank).but(foreign=True)
            return is_cpu and is_plain and np.dtype(values.dtype).kind in "fiuc"
        return recipe == dense and recipe.rank > 1 and self._has_formats()

    def _has_formats(self) -> bool:
        try:
            return hasattr(importlib.import_module("jax.experimental.layout"), "Format")
        except ImportError:
            return False

    def cast(self, array: np.ndarray, dtype: Any) -> Any:
        return array.astype(dtype)

    def _device(self, values: Values) -> Any:
        return None if values.like is None else values.like.sharding

    def contiguous(self, values: Values) -> Any:
        host = np.frombuffer(values.data.tobytes(), values.dtype).reshape(values.shape)
        return self.jax.numpy.array(self.jax.device_put(host, self._device(values)), copy=True)

    def place(self, values: Values, layout: Layout, raw: np.ndarray) -> tuple[Any, Reader]:
        if layout.foreign:
            flat = raw.view(values.dtype)[: layout.numel].reshape(layout.shape)
            return self.jax.numpy.from_dlpack(flat), lambda: raw
        formats = importlib.import_module("jax.experimental.layout")
        array = self.contiguous(values)
        order = _order_of(layout)
        return self.jax.device_put(array, formats.Format(formats.Layout(order), array.sharding)), lambda: raw

    def place_code(self, name: str, values: Values, layout: Layout, gap: str, content: str,
                   aligned: bool = False) -> list[str]:
        if layout.foreign:
            dtype, bytes_ = self.dtype_code(values.dtype), layout.numel * values.itemsize
            return [f"{name}_bytes = np.zeros({bytes_ + 64}, np.uint8)",
                    f"{name}_start = -{name}_bytes.ctypes.data % 64",
                    f"{name}_host = {name}_bytes[{name}_start:{name}_start + {bytes_}].view({dtype})",
                    f"{name}_host = {name}_host.reshape({layout.shape})",
                    f"{name}_host[...] = {content}", f"{name} = jax.numpy.from_dlpack({name}_host)"]
        return ["from jax.experimental import layout as jax_layout", f"{name} = jax.numpy.asarray({content})",
                f"{name}_format = jax_layout.Format(jax_layout.Layout({_order_of(layout)}), {name}.sharding)",
                f"{name} = jax.device_put({name}, {name}_format)"]

    def plain_code(self, name: str, values: Values, content: str) -> list[str]:
        return [f"{name} = jax.numpy.asarray({content})"]


def _order_of(layout: Layout) -> tuple[int, ...]:
    """Dims of a dense layout, outermost first; dims of extent 1 stay among their neighbours."""
    return tuple(sorted(range(len(layout.shape)), key=lambda d: (-layout.strides[d], layout.shape[d] != 1, d)))


FRAMEWORKS: list[Framework] = [Framework(), Torch(), Jax()]


def framework_of(value: Any) -> Framework | None:
    """The framework whose array `value` is, or None."""
    return next((framework for framework in FRAMEWORKS if framework.owns(value)), None)


def framework_named(name: str) -> Framework:
    """The framework of this name, imported."""
    found = next((framework for framework in FRAMEWORKS if framework.name == name), None)
    if found is None:
        raise ValueError(f"framework: {name!r} unknown; known are {[framework.name for framework in FRAMEWORKS]}")
    importlib.import_module(name)
    return found
