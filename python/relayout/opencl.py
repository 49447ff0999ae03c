"""relayout.opencl: arrays as images and buffers in the memory of an OpenCL device, and back.

    import relayout.opencl

    if relayout.opencl.devices():
        image = relayout.opencl.Image.from_array(x, "mace:in_out_channel", channel="f16")    # x: n, c, h, w
        image.width, image.height, image.waste                   # texels of four channels, and what is padding
        y = image.to_array()                                     # f16, with the shape of x

OpenCL is loaded when a device is first asked for; without it devices() is empty and problem() says why. An image is a
layout with a row break, such as "nh|Cw4c" or one of MACE's names; a buffer has any layout. Lanes and padding that hold
no element hold 0.
"""
from __future__ import annotations

from typing import Any, Optional, Sequence, Tuple, TypeVar, Union

import numpy as np

from . import _arguments, _native
from ._arrays import host_view, with_plain_elements
from ._dtypes import PACKED, name_of, numpy_dtype
from ._errors import InvalidArgumentError, UnsupportedError
from ._native import Layout, opencl as _opencl
from ._opencl_runtime import Device, Runtime, devices, handle_of, problem, runtime_of
from ._progress import Progress

__all__ = ["Buffer", "Device", "Image", "Runtime", "copy", "devices", "problem"]

LayoutLike = Union[str, Layout]
_Made = TypeVar("_Made", bound="_Tensor")


def _host(x: Any) -> Any:
    """An array as the extension module reads it, over the same memory. A Buffer may have blocks."""
    return x if isinstance(x, _native.Buffer) else host_view(x)


def _source(x: Any) -> Any:
    """Likewise of an array that is read alone: elements in another order of bytes, or sub-byte ones, are copied
    first."""
    return x if isinstance(x, _native.Buffer) else with_plain_elements(host_view(x))


class _Tensor:
    """What images and buffers have in common."""

    _native: Any
    _runtime: Runtime
    _shape: Tuple[int, ...]

    def __init__(self) -> None:
        raise TypeError(f"a {type(self).__name__} is made by from_array(), empty() or wrap()")

    @classmethod
    def _of(cls: type[_Made], native: Any, runtime: Runtime, shape: Sequence[int]) -> _Made:
        made = cls.__new__(cls)
        made._native, made._runtime, made._shape = native, runtime, tuple(shape)
        return made

    @property
    def runtime(self) -> Runtime:
        return self._runtime

    @property
    def shape(self) -> Tuple[int, ...]:
        """The tensor's dims as they were given: the shape of to_array()."""
        return self._shape

    @property
    def dims(self) -> Tuple[int, ...]:
        """The tensor's dims; fewer than an image of MACE has were promoted as MACE does it: (c) is (1, c, 1, 1)."""
        return self._native.dims

    @property
    def dtype(self) -> str:
        """The type of the elements on the device: "f16"."""
        return self._native.dtype

    @property
    def layout(self) -> Layout:
        """Where each element lies, in elements; of an image in lanes, with rows that follow each other."""
        return self._native.layout

    @property
    def bytes(self) -> int:
        """Bytes of memory, with padding."""
        return self._native.bytes

    @property
    def is_image(self) -> bool:
        """Whether it is an OpenCL image, and no buffer."""
        return self._native.is_image

    @property
    def int_ptr(self) -> int:
        """The cl_mem, which lives as long as this object."""
        return self._native.memory

    def to_pyopencl(self) -> Any:
        """The same memory as a pyopencl.Image or pyopencl.Buffer, which holds it as well."""
        import pyopencl
        kind = pyopencl.Image if self.is_image else pyopencl.Buffer
        return kind.from_int_ptr(self.int_ptr, retain=True)

    def upload(self, x: Any, *, src: Optional[LayoutLike] = None, way: str = "automatic", threads: int = 0,
               progress: Optional[Progress] = None) -> str:
        """Writes an array of this shape into the device's memory, and waits. See from_array() for arguments and errors.

        Returns the way that was taken.
        """
        view = _source(x)
        return self._native.upload(view, name_of(view.dtype), src, self._shape, way, threads, progress)

    def to_array(self, dtype: Any = None, layout: Optional[LayoutLike] = None, out: Any = None, *,
                 way: str = "automatic", threads: int = 0, progress: Optional[Progress] = None) -> Any:
        """The tensor as a NumPy array of `shape`, after all that is in the queue.

        dtype: of the array; the device's own unless given. layout: in which the elements shall lie, as for
        relayout.convert(): "nhwc" gives (N, H, W, C), "nChw4c" (N, C/4, H, W, 4) with zeros as padding.
        out: an array to write into and to return; of any strides, but contiguous with `layout`. Its own type counts.
        progress: as for from_array().
        Errors: InvalidArgumentError (another shape; read-only), UnsupportedError (a type that the image does not hold),
        NotInjectiveError (elements of out share memory), FileError (OpenCL's own).
        """
        if out is not None:
            view = _host(out)
            name = name_of(view.dtype)
            if dtype is not None and name_of(dtype) != name:
                raise InvalidArgumentError(f"out is of {name}, and dtype={dtype!r}", "dtype", name_of(dtype), name)
            self._native.download(view, name, layout, self._shape, way, threads, progress)
            return out
        name = name_of(self.dtype if dtype is None else dtype)
        if name in PACKED:
            raise UnsupportedError("NumPy has no elements of fewer than 8 bits: give another dtype, such as 's8'",
                                   "dtype", name)
        if layout is None:
            made = np.empty(self._shape, numpy_dtype(name))
        else:
            made = np.zeros(_opencl.physical_shape(layout, self._shape, name), numpy_dtype(name))
        self._native.download(made, name, layout, self._shape, way, threads, progress)
        return made

    def copy_to(self, other: "_Tensor", way: str = "automatic") -> None:
        """Copies on the device: see copy()."""
        copy(self, other, way)


class Image(_Tensor):
    """A tensor as a two-dimensional OpenCL image of RGBA texels: a row of texels after the other, four lanes each."""

    _format: str

    @classmethod
    def empty(cls, layout: str, dims: Sequence[int], channel: str = "f32", *, runtime: Optional[Runtime] = None,
              fallback: str = "error") -> "Image":
        """A new image, which holds anything. See from_array() for the arguments and errors."""
        runtime = runtime_of(runtime)
        native = _opencl.Tensor.make_image(runtime._native, layout, dims, channel, fallback)
        return cls._of(native, runtime, dims)._named(layout)

    @classmethod
    def from_array(cls, x: Any, layout: str, *, channel: Optional[str] = None, src: Optional[LayoutLike] = None,
                   dims: Optional[Sequence[int]] = None, runtime: Optional[Runtime] = None, way: str = "automatic",
                   fallback: str = "error", threads: int = 0, progress: Optional[Progress] = None) -> "Image":
        """A new image with the elements of an array of any library on the CPU, which is not copied on the way.

        x: its shape is the tensor's dims, in MACE's images n, c, h, w of activations (an array of N, H, W, C is given
        as `x.transpose(0, 3, 1, 2)`), o, i, h, w and m, i, h, w of filters and w of an argument; any strides.
        layout: a tag with a row break, "nh|Cw4c", or an image of MACE, "mace:in_out_channel".
        channel: "f32", "f16", "s32", "u32", "unorm8" or "snorm8", or as MACE and OpenCL call them; by the type of x
        without it: u8 goes into u32, as in MACE. f32 is rounded to f16.
        src, dims: where x is a tensor in another layout, its layout and dims as in relayout.convert().
        runtime: of the device; without it the one that all such calls share.
        way: "mapped" (the CPU writes the image's memory), "kernel" or "staged" (the device does); "automatic" takes
        what was the fastest for such arrays so far.
        fallback: "buffer" makes a buffer of the same lanes where the device has no such image.
        threads: of the CPU, at most; 0 stands for all.
        progress: called as progress(done, total) with the bytes that were moved and with all of them; done == total in
        the last call. What it raises ends the transfer, as Ctrl-C does, once the device is ready with what it has
        begun. Memory that was there before holds new elements in some places then.

        Waits for the device; other threads of Python run meanwhile. Errors: ParseError, LimitError (too large for the
        device), UnsupportedError (no device; a layout that is no image; a type that the channels do not hold; an image
        without elements), InvalidArgumentError, FileError (OpenCL's own).
        """
        view = _source(x)
        name = name_of(view.dtype)
        extents = _opencl.source_dims(view, name, src, dims)
        made = cls.empty(layout, extents, _opencl.default_channel(name) if channel is None else channel,
                         runtime=runtime, fallback=fallback)
        made.upload(view, src=src, way=way, threads=threads, progress=progress)
        return made

    @classmethod
    def wrap(cls, runtime: Runtime, image: Any, layout: str, dims: Sequence[int], channel: str = "f32") -> "Image":
        """An image that is there already: a pyopencl.Image or a cl_mem as an integer, which must be valid.

        It is retained. InvalidArgumentError where it is no two-dimensional image, or has another size or other channels
        than this layout, dims and channel mean.
        """
        native = _opencl.Tensor.wrap_image(runtime_of(runtime)._native, handle_of(image, "image"), layout, dims,
                                           channel)
        return cls._of(native, runtime, dims)._named(layout)

    def _named(self, layout: str) -> "Image":
        self._format = layout
        return self

    @property
    def format(self) -> str:
        """The layout expression that it was made of."""
        return self._format

    @property
    def width(self) -> int:
        """Texels of a row."""
        return self._native.width

    @property
    def height(self) -> int:
        """Rows."""
        return self._native.height

    @property
    def channel(self) -> str:
        """What a lane is: "f32", "f16", "s32", "u32", "unorm8" or "snorm8"."""
        return self._native.channel

    @property
    def row_bytes(self) -> int:
        """Bytes of the texels of a row. A device may keep rows further apart, which only a mapping tells."""
        return self._native.row_bytes

    @property
    def unused_lanes(self) -> int:
        """Lanes that hold no element, but 0."""
        return self._native.unused_lanes

    @property
    def waste(self) -> float:
        """The part of the memory that holds no element, from 0 to 1."""
        return self._native.waste

    def texels(self) -> np.ndarray:
        """All lanes as they are, unused ones too: an array of shape (height, width, 4), of `dtype`."""
        if self.is_image:
            dims = (1, 4, self.height, self.width)  # as an image in which every lane is an element
            lanes = Image.wrap(self._runtime, self.int_ptr, "nh|Cw4c", dims, self.channel)
            return np.ascontiguousarray(lanes.to_array(way="mapped")[0].transpose(1, 2, 0))
        rows = Buffer.wrap(self._runtime, self.int_ptr, "abc", (self.height, self.width, 4), self.dtype)
        return rows.to_array(way="mapped")

    def __repr__(self) -> str:
        kind = "image" if self.is_image else "buffer in place of an image"
        return (f"<relayout.opencl.Image {self._format} of {self._shape}: {self.width} x {self.height} texels of "
                f"{self.channel}, {kind} on {self._runtime.device.name}>")


class Buffer(_Tensor):
    """A tensor as an OpenCL buffer, in any layout."""

    @classmethod
    def empty(cls, layout: LayoutLike, dims: Optional[Sequence[int]] = None, dtype: Any = "f32", *,
              runtime: Optional[Runtime] = None) -> "Buffer":
        """A new buffer, which holds anything. layout: an expression with the tensor's dims, or a Layout."""
        runtime = runtime_of(runtime)
        native = _opencl.Tensor.make_buffer(runtime._native, layout, dims, name_of(dtype))
        return cls._of(native, runtime, native.dims)

    @classmethod
    def from_array(cls, x: Any, layout: LayoutLike, *, dtype: Any = None, src: Optional[LayoutLike] = None,
                   dims: Optional[Sequence[int]] = None, runtime: Optional[Runtime] = None, way: str = "automatic",
                   threads: int = 0, progress: Optional[Progress] = None) -> "Buffer":
        """A new buffer with the elements of an array of any library on the CPU, which is not copied on the way.

        x: its shape is the tensor's dims, with any strides. layout: "nChw4c", or a Layout of these dims.
        dtype: of the elements on the device; of x unless given. Image.from_array() says the rest; a buffer has no
        staged way. Errors: those, and NotInjectiveError (elements of the buffer share memory).
        """
        view = _source(x)
        name = name_of(view.dtype)
        extents = _opencl.source_dims(view, name, src, dims)
        made = cls.empty(layout, extents, name if dtype is None else dtype, runtime=runtime)
        made.upload(view, src=src, way=way, threads=threads, progress=progress)
        return made

    @classmethod
    def wrap(cls, runtime: Runtime, buffer: Any, layout: LayoutLike, dims: Optional[Sequence[int]] = None,
             dtype: Any = "f32") -> "Buffer":
        """A buffer that is there already: a pyopencl.Buffer or a cl_mem as an integer, which must be valid.

        It is retained. Errors: InvalidArgumentError (no buffer), BufferTooSmallError.
        """
        native = _opencl.Tensor.wrap_buffer(runtime_of(runtime)._native, handle_of(buffer, "buffer"), layout, dims,
                                            name_of(dtype))
        return cls._of(native, runtime, native.dims)

    def __repr__(self) -> str:
        return (f"<relayout.opencl.Buffer of {self._shape}: {self.bytes} bytes of {self.dtype} on "
                f"{self._runtime.device.name}>")


def copy(src: _Tensor, dst: _Tensor, way: str = "automatic") -> None:
    """Copies on the device, between images and buffers of equal dims in one context.

    way: "kernel", or "staged" by way of OpenCL's own copies between images and buffers. It is enqueued and not waited
    for: to_array() and other calls on dst's runtime come after it, and Runtime.finish() waits. Equal types are moved,
    and f32 and f16, u8 and u32 converted. Errors: InvalidArgumentError (other dims, another context), UnsupportedError
    (types), OverlapError (one memory), NotInjectiveError.
    """
    _opencl.copy(src._native, dst._native, way)


_arguments.present(__name__, __all__)
