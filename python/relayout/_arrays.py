"""Arrays of every library: a view of them that NumPy or PyTorch has, and results in the caller's own class.

The extension module reads NumPy arrays and PyTorch tensors itself. Everything else comes here: JAX and other libraries
with DLPack, objects with the buffer protocol, and orders of elements other than 'C' and 'F'.
"""
from __future__ import annotations

import operator
import sys
from typing import TYPE_CHECKING, Any, Callable, Optional, Sequence, Union, overload

import numpy as np

from . import _native
from ._dtypes import PACKED, name_of, numpy_dtype, torch_dtype
from ._errors import InvalidArgumentError, NeedsCopyError, UnsupportedError
from ._sub_byte import converted, sub_byte_name, one_a_byte
from ._progress import Progress
from ._traced import check_object

if TYPE_CHECKING:
    from ._typing import DTypeT, NumPy, NumPyLike, OtherT, OutT

Array = Any
_ALIGNMENT = 64  # bytes; JAX takes such memory without a copy


def is_torch(x: Array) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def _is_jax(x: Array) -> bool:
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(x, jax.Array)


def _of_buffer(buffer: _native.Buffer) -> np.ndarray:
    """A Buffer as a NumPy array over the same memory."""
    return np.asarray(buffer).view(numpy_dtype(buffer.dtype))


def host_view(x: Array) -> Any:
    """x as a NumPy array or PyTorch tensor over the same memory. TypeError where it is no array.

    UnsupportedError where it is on another device, a Buffer whose layout has blocks, or in a function that is traced.
    """
    if isinstance(x, np.ndarray):
        return x
    if is_torch(x):
        _native.check_not_traced(x)
        return x
    if isinstance(x, _native.Buffer):
        return _of_buffer(x)
    check_object(x)
    if _is_jax(x):
        if len(x.devices()) != 1 or next(iter(x.devices())).platform != "cpu":
            raise UnsupportedError("the array is not on the CPU, or on several devices", "device", str(x.devices()))
        return np.asarray(x)
    if hasattr(x, "__dlpack__"):
        return _of_buffer(_native.Buffer.from_dlpack(x))
    if isinstance(x, (bytes, bytearray, memoryview)) or hasattr(x, "__array_interface__") or hasattr(x, "__buffer__"):
        return np.asarray(memoryview(x)) if isinstance(x, (bytes, bytearray)) else np.asarray(x)
    if hasattr(x, "__array__"):
        return np.asarray(x)
    try:
        return np.asarray(memoryview(x))
    except TypeError:
        raise TypeError(f"an array is needed, not {type(x)}") from None


def is_stored_plainly(dtype: Any) -> bool:
    """Whether elements are in this machine's order of bytes, and no sub-byte ones of ml_dtypes."""
    return not isinstance(dtype, np.dtype) or dtype.isnative and sub_byte_name(dtype) is None


def with_plain_elements(view: Any) -> Any:
    """The same values in elements that relayout converts: those in another order of bytes in this machine's, and those
    of ml_dtypes' sub-byte types in types of a byte. A copy where they are others."""
    if is_stored_plainly(view.dtype):
        return view
    return one_a_byte(view) if view.dtype.isnative else converted(view, view.dtype.newbyteorder("="))


def like_caller(x: Array) -> Optional[Callable[[np.ndarray], Any]]:
    """What makes a NumPy array an array of x's library, without a copy; None where NumPy's or PyTorch's is wanted.

    Objects with the buffer protocol alone get NumPy arrays.
    """
    if isinstance(x, (np.ndarray, np.generic)) or is_torch(x):
        return None
    if _is_jax(x):
        return _to_jax
    if isinstance(x, _native.Buffer):
        return _buffer_of
    namespace = getattr(x, "__array_namespace__", None)
    if namespace is None:
        return None
    return lambda array: namespace().from_dlpack(_buffer_of(array))


def _known(dtype: np.dtype) -> bool:
    try:
        name_of(dtype)
    except UnsupportedError:
        return False
    return True


def _buffer_of(array: np.ndarray) -> _native.Buffer:
    """A Buffer of the same elements. The memory of one that aligned_empty() made is used as it is."""
    owner = array
    while isinstance(owner, np.ndarray) and owner.base is not None:
        owner = owner.base
    if isinstance(owner, _native.Buffer) and owner.shape == array.shape and owner.dtype == name_of(array.dtype):
        return owner
    made = _native.Buffer.allocate(_native.layout("contiguous", array.shape), name_of(array.dtype))
    _native.copy(_of_buffer(made), array)
    return made


def _to_jax(array: np.ndarray) -> Any:
    jnp = sys.modules["jax"].numpy
    return jnp.from_dlpack(_buffer_of(array)) if _known(array.dtype) else jnp.asarray(array)


def aligned_empty(shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
    """A row-major array whose memory any library takes without a copy; of types like complex numbers any memory."""
    if not _known(dtype):
        return np.empty(tuple(shape), dtype)
    return _of_buffer(_native.Buffer.allocate(_native.layout("contiguous", tuple(shape)), name_of(dtype)))


def empty(shape: Sequence[int], dtype: Any = "f32", *, like: Array = None) -> Array:
    """A new row-major array, aligned to 64 bytes: NumPy's, or of `like`'s library. It holds anything."""
    if isinstance(dtype, np.dtype) and not is_stored_plainly(dtype) and (like is None or isinstance(like, np.ndarray)):
        return aligned_empty(shape, np.dtype(f"u{dtype.itemsize}")).view(dtype)
    name = name_of(dtype)
    if is_torch(like):
        return sys.modules["torch"].empty(tuple(shape), dtype=torch_dtype(name))
    made = aligned_empty(shape, numpy_dtype(name))
    wrap = None if like is None else like_caller(like)
    return wrap(made) if wrap else made


def _item_bytes(view: Any) -> int:
    return view.itemsize if isinstance(view, np.ndarray) else view.element_size()


def _byte_strides(view: Any) -> Sequence[int]:
    if isinstance(view, np.ndarray):
        return view.strides
    return [stride * view.element_size() for stride in view.stride()]


def _memory_order(view: Any) -> Sequence[int]:
    """The dims from the outermost in memory to the innermost; those of equal strides stay in their order."""
    strides = _byte_strides(view)
    return sorted(range(len(view.shape)), key=lambda d: (-abs(strides[d]), d))


_CHANNELS_LAST = {"channels_last": (4, (0, 2, 3, 1)), "channels_last_3d": (5, (0, 2, 3, 4, 1))}


def _dims_of_order(order: Any, view: Any) -> Sequence[int]:
    """The dims of an order from the outermost to the innermost."""
    rank = len(view.shape)
    if order == "C":
        return range(rank)
    if order == "F":
        return range(rank)[::-1]
    if order == "K":
        return _memory_order(view)
    if isinstance(order, str) and order in _CHANNELS_LAST:
        needed, channels_last = _CHANNELS_LAST[order]
        if rank != needed:
            raise InvalidArgumentError(f"order={order!r} needs {needed} dims, and the array has {rank}", "order", order)
        return channels_last
    if isinstance(order, str):
        if any(letter.isdigit() for letter in order):  # a block as large as its dim would look like a whole dim
            raise InvalidArgumentError(f"order={order!r} is no order of whole dims; convert() has blocks and padding",
                                       "order", order)
        wanted = _native.layout(order, tuple(range(2, rank + 2)))  # extents that keep every stride apart
        if not wanted.dense or wanted.ndim != rank:
            raise InvalidArgumentError(f"order={order!r} is no order of whole dims; convert() has blocks and padding",
                                       "order", order)
        steps = wanted.strides_elements
        return sorted(range(rank), key=lambda d: -steps[d])
    dims = [d + rank if d < 0 else d for d in map(operator.index, order)]
    if sorted(dims) != list(range(rank)):
        raise InvalidArgumentError(f"order={order!r} does not name each of {rank} dims once", "order", str(order))
    return dims


def _permuted(view: Any, axes: Sequence[int]) -> Any:
    return view.permute(tuple(axes)) if is_torch(view) else view.transpose(tuple(axes))


def _row_major(view: Any) -> bool:
    return view.is_contiguous() if is_torch(view) else view.flags.c_contiguous


def contiguous(x: Array, order: Any = "C", copy: Optional[bool] = None, threads: int = 0,
               progress: Optional[Progress] = None) -> Array:
    """What relayout.contiguous() does for all arrays and orders but the commonest."""
    view = host_view(x)
    wrap = like_caller(x)
    dims = list(_dims_of_order(order, view))
    turned = _permuted(view, dims)
    inverse = sorted(range(len(dims)), key=dims.__getitem__)
    if wrap is None:
        moved = _native.contiguous(turned, copy=copy, threads=threads, progress=progress)
        return view if moved is turned else _permuted(moved, inverse)
    if _row_major(turned) and not copy:
        return x
    _check_may_copy(copy)
    if dims != list(range(len(dims))):
        raise UnsupportedError(f"arrays of {type(x).__module__} are row-major, which order={order!r} is not", "order")
    out = aligned_empty(view.shape, view.dtype)
    _native.copy(out, view, threads=threads, progress=progress)
    return wrap(out)


def _check_may_copy(copy: Optional[bool]) -> None:
    if copy is False:
        raise NeedsCopyError("the elements lie in another order, and copy=False forbids to move them", "copy", "False")


def copy(dst: Array, src: Array, threads: int = 0, progress: Optional[Progress] = None) -> None:
    """What relayout.copy() does where an array is neither NumPy's nor PyTorch's."""
    check_object(dst)
    if _is_jax(dst):
        raise InvalidArgumentError("arrays of JAX never change; use contiguous() or convert()", "dst")
    _native.copy(host_view(dst), host_view(src), threads=threads, progress=progress)


def copy_converted(dst: Any, src: Any, threads: int = 0, progress: Optional[Progress] = None) -> None:
    """What relayout.copy() does for arrays of different shapes, types or libraries."""
    to, source = host_view(dst), host_view(src)
    if tuple(source.shape) != tuple(to.shape):
        source = _broadcast(source, tuple(to.shape))
    if is_torch(to) != is_torch(source):
        # One library's view of both; each reads the other's memory.
        to, source = _as_numpy(to), _as_numpy(source)
    if source.dtype == to.dtype:
        _native.copy(to, source, threads=threads, progress=progress)
        return
    from ._convert import convert_elements
    convert_elements(to, source, threads, progress)


def _broadcast(source: Any, shape: Sequence[int]) -> Any:
    try:
        return source.expand(shape) if is_torch(source) else np.broadcast_to(source, shape)
    except (ValueError, RuntimeError):
        raise InvalidArgumentError(f"src is {tuple(source.shape)}, which cannot be broadcast to dst, which is "
                                   f"{tuple(shape)}", "src", str(tuple(source.shape)), str(tuple(shape))) from None


def check_same_type(out: Any, x: Any) -> None:
    """Refuses a destination of other elements than x has: what moves elements does not round or saturate them."""
    if out.dtype == x.dtype:
        return
    try:
        if name_of(out.dtype) == name_of(x.dtype):
            return
    except UnsupportedError:
        pass
    raise InvalidArgumentError(f"the array is of {x.dtype}, and out of {out.dtype}; convert() and copy() convert "
                               "elements", "out", str(out.dtype), str(x.dtype))


def _as_numpy(view: Any) -> np.ndarray:
    if not is_torch(view):
        return view
    if view.requires_grad:  # DLPack refuses these even where no gradient is recorded
        if sys.modules["torch"].is_grad_enabled():
            raise InvalidArgumentError("the tensor needs a gradient, which would not flow through relayout; give it "
                                       "tensor.detach(), or call it under torch.no_grad()", "x", "requires_grad=True")
        view = view.detach()
    return _of_buffer(_native.Buffer.from_dlpack(view))


@overload
def transpose(x: np.ndarray[Any, DTypeT], axes: Optional[Sequence[int]] = ..., *, copy: Optional[bool] = ...,
              out: None = ..., threads: int = ...,
              progress: Optional[Progress] = ...) -> np.ndarray[Any, DTypeT]:
    ...


@overload
def transpose(x: NumPyLike, axes: Optional[Sequence[int]] = ..., *, copy: Optional[bool] = ..., out: None = ...,
              threads: int = ..., progress: Optional[Progress] = ...) -> NumPy:
    ...


@overload
def transpose(x: OtherT, axes: Optional[Sequence[int]] = ..., *, copy: Optional[bool] = ..., out: None = ...,
              threads: int = ..., progress: Optional[Progress] = ...) -> OtherT:
    ...


@overload
def transpose(x: Any, axes: Optional[Sequence[int]] = ..., *, copy: Optional[bool] = ..., out: None = ...,
              threads: int = ..., progress: Optional[Progress] = ...) -> Any:
    ...


@overload
def transpose(x: Any, axes: Optional[Sequence[int]] = ..., *, copy: Optional[bool] = ..., out: OutT,
              threads: int = ..., progress: Optional[Progress] = ...) -> OutT:
    ...


def transpose(x: Array, axes: Optional[Sequence[int]] = None, *, copy: Optional[bool] = None, out: Array = None,
              threads: int = 0, progress: Optional[Progress] = None) -> Array:
    """x with its dims in another order, as a new row-major array: result dim i is x's dim axes[i].

    axes: None reverses all dims, as in NumPy. copy: True always copies; None gives x's own memory where its elements
    lie as they should already; False raises NeedsCopyError where they do not. out: an array of the result's shape and
    type to write into. progress: as for convert(); not called where no element moves. Cost: one read and one write of
    all elements.
    """
    if out is None and type(x) is np.ndarray:  # the commonest case by the shortest way
        try:
            turned = x.transpose(axes)
        except (TypeError, ValueError):
            pass  # said below in one way for all libraries
        else:
            return _native.contiguous(turned, "C", copy=copy, threads=threads, progress=progress)
    view = host_view(x)
    rank = len(view.shape)
    dims = range(rank)[::-1] if axes is None else [operator.index(axis) for axis in axes]
    if sorted(d + rank if d < 0 else d for d in dims) != list(range(rank)):
        raise InvalidArgumentError(f"axes={axes!r} does not name each of {rank} dims once", "axes", str(axes))
    turned = _permuted(view, dims)
    if out is not None:
        to = host_view(out)
        check_same_type(to, turned)
        given, wanted = tuple(to.shape), tuple(turned.shape)
        if given != wanted:
            raise InvalidArgumentError(f"out is {given}, and the result {wanted}", "out", str(given), str(wanted))
        _native.copy(out, turned, threads=threads, progress=progress)
        return out
    return _finished(x, view, turned, copy, threads, progress)


def _finished(x: Array, view: Any, turned: Any, copy: Optional[bool], threads: int,
              progress: Optional[Progress]) -> Array:
    """A view of x's memory, made row-major, in the library of x."""
    wrap = None if view is x else like_caller(x)
    if wrap is None:
        return _native.contiguous(turned, "C", copy=copy, threads=threads, progress=progress)
    if _row_major(turned) and turned.shape == view.shape and not copy:
        return x
    _check_may_copy(copy)
    out = aligned_empty(turned.shape, turned.dtype)
    _native.copy(out, turned, threads=threads, progress=progress)
    return wrap(out)


def reorder_in_place(x: Array, src: Union[str, _native.Layout], dst: Union[str, _native.Layout], *,
                     dims: Optional[Sequence[int]] = None, dtype: Any = None, threads: int = 0,
                     progress: Optional[Progress] = None) -> Array:
    """Reorders the memory of x from one layout to another, with little memory beside it.

    x: a contiguous array, which is large enough for both layouts. src, dst, dims: as for convert(). Returns the same
    memory as an array of the shape that dst describes. UnsupportedError where there is no way with little memory.
    progress: as for convert(). The work is always done to its end, because elements that are between two layouts would
    be lost: what progress or a handler of signals raises, KeyboardInterrupt by Ctrl-C too, is raised when all is done.
    """
    view = host_view(x)
    if dtype is None and not is_stored_plainly(view.dtype):
        dtype = f"u{8 * view.itemsize}"  # any elements of their size are moved alike
    name = name_of(view.dtype if dtype is None else dtype)
    if isinstance(view, np.matrix):
        view = np.asarray(view)  # a matrix has two dims, whatever it is reshaped to
    if name not in PACKED and numpy_dtype(name).itemsize != _item_bytes(view):
        raise InvalidArgumentError(f"elements of dtype={name!r} have another size than those of {view.dtype}", "dtype",
                                   name)
    shape = _native.reorder_in_place(view, src, dst, dims, name, threads, progress)
    count = int(np.prod(shape, dtype=np.int64))
    flat = view.reshape(-1)
    return flat[:count].reshape(tuple(shape))
