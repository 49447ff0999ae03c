"""JAX's arrays, for the layouts that `relayout.testing` gives them.

Example: `Jax().supports(recipe, values)` is False for steps, because JAX's arrays are dense.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from .framework import Framework, Reader, named_dtype
from .recipe import Layout, Recipe

if TYPE_CHECKING:
    from .values import Values


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
        return self.jax.numpy.dtype(named_dtype(name))

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

    def between(self, values: Values, raw: np.ndarray, front: int) -> tuple[Any, Reader]:
        return self.contiguous(values), lambda: raw

    def whole(self, array: Any) -> tuple[np.ndarray, int] | None:
        return None

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
