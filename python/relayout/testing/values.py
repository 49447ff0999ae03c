"""The values of one array argument, apart from any layout, and the buffers that hold them.

Everything here is bytes in NumPy, one row of `data` for an element, so that one piece of code serves all frameworks and
element types, those included that NumPy does not have.

Example: `Values.take(x).fill(recipe.apply(x.shape))` is the memory of `x` as the recipe lays it out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .compare import LAST_BIT
from .framework import Framework, empty_bytes, in_front
from .frameworks import framework_of
from .recipe import Ints, Layout, contiguous_strides

Bytes = np.ndarray  # of uint8


def element_offsets(shape: Ints, strides: Ints, offset: int) -> np.ndarray:
    """The offset of each element, as an int64 array of this shape."""
    result = np.full((), offset, np.int64)
    for n, stride in zip(shape, strides, strict=True):
        result = result[..., None] + np.arange(n, dtype=np.int64) * stride
    return result


@dataclass(frozen=True, eq=False)
class Values:
    """What an array holds: row-major bytes, and what is needed to make such an array again."""

    framework: Framework
    dtype: Any
    shape: Ints
    data: Bytes  # (numel, itemsize)
    like: Any = field(repr=False)  # the caller's array, for its device and whether it needs gradients
    is_arange: bool = False
    numbered: bool = False  # what the gaps of buffers hold, see `gaps`
    is_callers: bool = True  # False where the harness chose the extents or the numbers

    @staticmethod
    def take(array: Any) -> Values:
        """The values of a framework's array."""
        framework = framework_of(array)
        assert framework is not None, "the caller has asked framework_of before"
        data = framework.to_bytes(array)
        shape = tuple(int(n) for n in array.shape)
        itemsize = framework.itemsize(array.dtype)
        return Values(framework, array.dtype, shape, data.reshape(math.prod(shape), itemsize), array)

    @property
    def itemsize(self) -> int:
        return self.framework.itemsize(self.dtype)

    @property
    def key(self) -> tuple[Ints, bytes]:
        return self.shape, self.data.tobytes()

    def with_data(self, data: Bytes) -> Values:
        return replace(self, data=np.ascontiguousarray(data), is_arange=False)

    def cut(self, shape: Ints) -> Values:
        """The leading part of this shape."""
        if self.is_arange:
            return replace(self, shape=shape, is_callers=False).arange()
        box = self.data.reshape(*self.shape, self.itemsize)[tuple(slice(n) for n in shape)]
        return replace(self.with_data(box.reshape(-1, self.itemsize)), shape=shape, is_callers=False)

    def project(self, dims: Ints) -> Values:
        """All positions along each of `dims` get the value of the first one."""
        if not dims:
            return self
        box = self.data.reshape(*self.shape, self.itemsize)
        first = box[tuple(slice(1) if d in dims else slice(None) for d in range(len(self.shape)))]
        return self.with_data(np.broadcast_to(first, box.shape).reshape(-1, self.itemsize))

    @property
    def is_integer(self) -> bool:
        """Whether the elements may be indices or lengths."""
        return self.framework.to_numpy(self.framework.contiguous(self)).dtype.kind in "iu"

    def within(self, other: Values) -> bool:
        """Whether these are no integers beyond the others. Integers may be indices or lengths, which have limits."""
        if not other.is_integer or not len(self.data):
            return True
        now, then = (one.framework.to_numpy(one.contiguous()) for one in (self, other))
        return bool(then.size and then.min() <= now.min() and now.max() <= then.max())

    def arange(self) -> Values:
        """0, 1, 2, ... in this type and shape, or ValueError where the type has no such numbers."""
        small = np.arange(math.prod(self.shape)) % 100
        data = self.framework.to_bytes(self.framework.cast(small, self.dtype))
        return replace(self, data=data.reshape(len(small), self.itemsize), is_arange=True)

    def with_numbers(self, numbers: np.ndarray) -> Values:
        """These numbers, converted to the type."""
        cast = self.framework.cast(numbers.reshape(-1), self.dtype)
        return self.with_data(self.framework.to_bytes(cast).reshape(len(self.data), self.itemsize))

    def nudged(self, seed: int) -> Values:
        """Floating values changed in about their last bit, up or down at random."""
        last_bit = LAST_BIT.get(str(self.dtype).replace("torch.", ""))
        if last_bit is None:
            return self
        exact = self.framework.to_numpy(self.contiguous())
        wide = exact.astype(np.complex128 if exact.dtype.kind == "c" else np.float64).reshape(-1)
        pattern = np.random.default_rng(seed).choice([-1, 1], wide.size)
        moved = self.framework.cast(wide * (1 + last_bit * pattern), self.dtype)
        return self.with_data(self.framework.to_bytes(moved).reshape(self.data.shape))

    def gaps(self, size: int) -> tuple[str, Bytes]:
        """What a buffer of this size holds besides the values, as an expression and as bytes.

        At first that is NaN, which spoils whatever it meets. To find out where a kernel reads, it is numbers that
        differ (`numbered`). Integers may be indices, so their gaps hold numbers between the values' least and greatest.
        """
        module = "torch" if self.framework.name == "torch" else "np"
        array = self.framework.to_numpy(self.contiguous())
        mixed = f"{module}.arange({size}) * 7919 % 10007"
        if array.dtype.kind in "biu":
            low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
            if low == high:
                low, high = (0, 0) if low else (1, 1)
            text = f"{mixed} % {high - low + 1} + {low}"
        elif self.numbered:
            text = f"{mixed} / 8 + 101"
        else:
            text = f"np.full({size}, float('nan'))" if module == "np" else f"torch.full(({size},), float('nan'))"
        try:
            data = self.framework.to_bytes(self.framework.evaluate(text, self.dtype))
        except (TypeError, ValueError, RuntimeError, OverflowError):
            return "", np.zeros((size, self.itemsize), np.uint8)
        return text, data.reshape(size, self.itemsize)

    def fill(self, layout: Layout) -> Bytes:
        """A buffer of `layout.size` elements with these values where the layout says."""
        itemsize = self.itemsize
        raw = empty_bytes(layout.size * itemsize, layout.skew)
        elements = raw.reshape(layout.size, itemsize)
        if not layout.sparse:
            elements[:] = self.gaps(layout.size)[1]
        elements[element_offsets(layout.shape, layout.strides, layout.offset).reshape(-1)] = self.data
        return raw

    def contiguous(self) -> Any:
        """A fresh contiguous array of the framework that owns its memory."""
        return self.framework.contiguous(self)

    def between(self, room: int, is_reversed: bool) -> Placed:
        """A fresh contiguous array with `room` elements of other numbers on both sides, in one of two orders."""
        front = -(-room // 64) * 64  # whole multiples of 64 bytes
        count = front + len(self.data) + room
        around = replace(self, numbered=True).gaps(count)[1]
        if is_reversed:
            around = around[::-1]
            if len(self.data) and (around == around[0]).all():
                around = np.broadcast_to(self.data[0], around.shape)
        raw = empty_bytes(count * self.itemsize)
        elements = raw.reshape(count, self.itemsize)
        elements[:] = around
        elements[front : front + len(self.data)] = self.data
        array, read = self.framework.between(self, raw, front * self.itemsize)
        layout = Layout(self.shape, contiguous_strides(self.shape), front, count)
        return Placed(array, layout, raw.copy(), read, in_front(raw))

    def place(self, layout: Layout) -> Placed:
        """A fresh array with this layout."""
        raw = self.fill(layout)
        array, read = self.framework.place(self, layout, raw)
        return Placed(array, layout, None if layout.sparse else raw.copy(), read, in_front(raw))


@dataclass(frozen=True, eq=False)
class Placed:
    """An array in a buffer, with the bytes that the buffer held at first (None: too many to keep)."""

    array: Any
    layout: Layout
    before: Bytes | None
    read: Any  # () -> the bytes that the buffer holds now
    front: Bytes  # what lies in front of the buffer, zeros at first

    @property
    def is_left(self) -> bool:
        """Whether something was written in front of the buffer."""
        return bool(self.front.any())

    def changed_gaps(self, itemsize: int) -> list[int]:
        """Elements of the buffer outside the array that were written to."""
        if self.before is None:
            return []
        changed = (self.before != self.read()).reshape(self.layout.size, itemsize).any(axis=1)
        changed[element_offsets(self.layout.shape, self.layout.strides, self.layout.offset).reshape(-1)] = False
        return [int(k) for k in np.flatnonzero(changed)]
