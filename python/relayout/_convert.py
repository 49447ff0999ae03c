"""convert(): an array from one layout and type to another.

    relayout.convert(x, "nchw", "nChw16c")                                # f32 (2,17,5,4) -> f32 (2,2,5,4,16)
    relayout.convert(photo, "nhwc", "nchw", dtype="f32", scale=1 / 255)   # u8 -> f32, a data loader's job

How a call of a kind is done is planned once and kept (_plan()): arrays of the same shape, strides and type, the same
layouts and the same attributes are one kind.
"""
from __future__ import annotations

import atexit
import functools
import math
import operator
import struct
import sys
from typing import TYPE_CHECKING, Any, Optional, Sequence, Tuple, Union, overload

import numpy as np

from . import _native
from ._arrays import _item_bytes, host_view, is_stored_plainly, is_torch, like_caller, with_plain_elements
from ._dtypes import item_bytes, name_of, numpy_dtype, torch_dtype
from ._errors import InvalidArgumentError, UnsupportedError
from ._sub_byte import TYPES, assign, converted, sub_byte_name, packed, unpacked
from ._native import Conversion, Layout
from ._planned import check_type, check_writable, new_result, type_name
from ._progress import Progress, behind
from ._traced import check_object

if TYPE_CHECKING:
    from ._typing import NumPy, NumPyLike, OtherT, OutT

LayoutLike = Union[str, Layout]
#: One number, or an array that broadcasts to the tensor's dims: extent 1 or the dim's.
Numbers = Any

_PLANS = 1024


@functools.lru_cache(maxsize=_PLANS)
def _plan(src: Any, dst: Any, dims: Optional[Tuple[int, ...]], shape: Tuple[int, ...],
          strides_bytes: Tuple[int, ...], own_dtype: Any, src_dtype: Any, dtype: Any,
          attributes: Optional[tuple], bits: Optional[bytes]) -> Tuple[Conversion, Tuple[int, ...], str, bool]:
    """The conversion of a kind of calls; its result's shape and type, and whether it writes every byte. Each side is an
    expression, or what _key() makes of a Layout. bits: of the attributes' numbers, which only tell kinds apart."""
    src, dst = (side[0] if type(side) is tuple else side for side in (src, dst))
    own = name_of(own_dtype if src_dtype is None else src_dtype)
    made = Conversion(src, dst, dims, shape, strides_bytes, item_bytes(own_dtype), own,
                      own if dtype is None else name_of(dtype), attributes, type_name(own_dtype))
    return made, made.shape, made.dtype, made.fills


# At exit modules go in an order in which objects of C++ could outlive their classes.
atexit.register(_plan.cache_clear)
atexit.register(_native.forget_conversions)


def _exact_float(number: Union[int, float], name: str) -> float:
    try:
        held = float(number)
    except OverflowError:
        held = float("inf")
    if isinstance(number, int) and held != number:
        raise InvalidArgumentError(f"{name} is {number}, which no f64 holds exactly", name, str(number))
    return held


def _per_mask(numbers: Numbers, name: str) -> Optional[tuple]:
    """(values, shape): one value has no dims."""
    if numbers is None:
        return None
    if type(numbers) in (int, float) and abs(numbers) <= 2**53:  # the commonest, without an array
        return (float(numbers),), ()
    if is_torch(numbers):
        _native.check_values_are_stored(numbers)
        numbers = numbers.detach().double().numpy() if numbers.is_floating_point() else numbers.detach().tolist()
    check_object(numbers)
    array = np.asarray(numbers)
    if array.dtype.kind not in "iufO" or array.dtype.kind == "O" and not all(type(n) is int for n in array.ravel()):
        raise TypeError(f"{name} must be real numbers, and elements of the type {array.dtype} are none")
    held = array.itemsize <= (8 if array.dtype.kind == "f" else 4) and array.dtype.kind in "fiu"
    if held and array.size > _MOST_VALUES:
        return np.ascontiguousarray(array, dtype=np.float64).tobytes(), array.shape  # every value is a float64
    return tuple(_exact_float(number, name) for number in array.ravel().tolist()), array.shape


def _real(number: Any, name: str) -> float:
    try:
        return float(1.0 * number)  # float() alone would read a text
    except (ValueError, OverflowError):
        raise InvalidArgumentError(f"{name} must be one number", name, str(number)) from None
    except TypeError:
        raise TypeError(f"{name} is a number{' or None' if name == 'padding' else ''}, not {number!r}") from None


def _is_zero(beta: float, padding: Any) -> bool:
    """Whether both are what they are unless given."""
    return not beta and type(padding) is int and padding == 0


def _padding_text(padding: Any) -> Optional[str]:
    """The number in digits: an integer exactly, any other number as the float that it is."""
    if padding is None:
        return None
    try:
        return str(operator.index(padding))
    except TypeError:
        return repr(_real(padding, "padding"))


def _attributes(scale: Numbers, dst_scale: Numbers, zero_point: Numbers, dst_zero_point: Numbers, mean: Numbers,
                std: Numbers, beta: float, padding: Any, groups: Optional[Sequence[int]] = None) -> Optional[tuple]:
    if (scale is dst_scale is zero_point is dst_zero_point is mean is std is None and not beta and type(padding) is int
            and padding == 0):
        return None
    if std is not None and dst_scale is not None:
        raise InvalidArgumentError("std and dst_scale are the same value; give one of them", "std", str(std))
    divisor, name = (dst_scale, "dst_scale") if std is None else (std, "std")
    return (_per_mask(scale, "scale"), _per_mask(divisor, name), _per_mask(zero_point, "zero_point"),
            _per_mask(dst_zero_point, "dst_zero_point"), _per_mask(mean, "mean"), _real(beta, "beta"),
            _padding_text(padding), name, None if groups is None else tuple(groups))


def _strides_bytes(view: Any) -> Tuple[int, ...]:
    if isinstance(view, np.ndarray):
        return view.strides
    if view.layout is not sys.modules["torch"].strided:
        raise UnsupportedError(f"a tensor of {view.layout}", "layout", str(view.layout))
    item = view.element_size()
    return tuple(stride * item for stride in view.stride())


#: With more values than this of scales and zero points a plan is not kept: new values come with each call, and each
#: plan would hold its own.
_MOST_VALUES = 64


def _plan_of(src: Any, dst: Any, dims: Any, shape: Any, strides: Any, own: Any, src_dtype: Any, dtype: Any,
             attributes: Optional[tuple]) -> Tuple[Conversion, Tuple[int, ...], str, bool]:
    many = attributes is not None and any(
        type(a[0]) is bytes or len(a[0]) > _MOST_VALUES for a in attributes[:5] if a is not None)
    make = _plan.__wrapped__ if many else _plan
    return make(src, dst, dims, shape, strides, own, src_dtype, dtype, attributes, None if many else _bits(attributes))


def _bits(attributes: Optional[tuple]) -> Optional[bytes]:
    """Of the numbers: 0.0 and -0.0 are equal, and as zero points they give zeros of different signs."""
    if attributes is None:
        return None
    return b"".join(struct.pack(f"{len(a[0])}d", *a[0]) for a in attributes[:5] if a is not None)


def _key(side: LayoutLike) -> Any:
    """What tells one side of a conversion from another: equal Layouts may have different expressions, dims before the
    views of these, and names of dims, and so arrays of different shapes."""
    if isinstance(side, str):
        return side
    if isinstance(side, Layout):
        return side, side._spelled, side.names
    raise TypeError(f"a layout is a layout expression or a Layout, not {side!r}")


def _planned(view: Any, src: LayoutLike, dst: LayoutLike, dims: Optional[Sequence[int]], src_dtype: Any, dtype: Any,
             attributes: Optional[tuple]) -> Tuple[Conversion, Tuple[int, ...], str, bool]:
    src, dst = _key(src), _key(dst)
    if isinstance(view, np.ndarray):
        return _plan_of(src, dst, dims if dims is None else tuple(dims), view.shape, view.strides, view.dtype,
                        src_dtype, dtype, attributes)
    return _plan_of(src, dst, dims if dims is None else tuple(dims), tuple(view.shape), _strides_bytes(view),
                    view.dtype, src_dtype, dtype, attributes)


def plan_conversion(x: Any, src: LayoutLike, dst: LayoutLike, *, dims: Optional[Sequence[int]] = None,
                    src_dtype: Any = None, dtype: Any = None, scale: Numbers = None, dst_scale: Numbers = None,
                    zero_point: Numbers = None, dst_zero_point: Numbers = None, mean: Numbers = None,
                    std: Numbers = None, groups: Optional[Sequence[int]] = None, beta: float = 0.0,
                    padding: Optional[float] = 0) -> Conversion:
    """How convert() would do the same: its result's shape and type, both layouts, and explain()."""
    attributes = _attributes(scale, dst_scale, zero_point, dst_zero_point, mean, std, beta, padding, groups)
    view = host_view(x)
    _check_has(x, view, dtype)
    asked = dtype.newbyteorder("=") if isinstance(dtype, np.dtype) else dtype
    return _planned(with_plain_elements(view), src, dst, dims, src_dtype, _sub_byte_asked(view, dtype) or asked,
                    attributes)[0]


@overload
def convert(x: NumPyLike, src: LayoutLike, dst: LayoutLike, *, dims: Optional[Sequence[int]] = ...,
            src_dtype: Any = ..., dtype: Any = ..., scale: Numbers = ..., dst_scale: Numbers = ...,
            zero_point: Numbers = ..., dst_zero_point: Numbers = ..., mean: Numbers = ..., std: Numbers = ...,
            groups: Optional[Sequence[int]] = ...,
            beta: float = ..., padding: Optional[float] = ..., out: None = ..., threads: int = ...,
            progress: Optional[Progress] = ...) -> NumPy:
    ...


@overload
def convert(x: OtherT, src: LayoutLike, dst: LayoutLike, *, dims: Optional[Sequence[int]] = ...,
            src_dtype: Any = ..., dtype: Any = ..., scale: Numbers = ..., dst_scale: Numbers = ...,
            zero_point: Numbers = ..., dst_zero_point: Numbers = ..., mean: Numbers = ..., std: Numbers = ...,
            groups: Optional[Sequence[int]] = ...,
            beta: float = ..., padding: Optional[float] = ..., out: None = ..., threads: int = ...,
            progress: Optional[Progress] = ...) -> OtherT:
    ...


@overload
def convert(x: Any, src: LayoutLike, dst: LayoutLike, *, dims: Optional[Sequence[int]] = ...,
            src_dtype: Any = ..., dtype: Any = ..., scale: Numbers = ..., dst_scale: Numbers = ...,
            zero_point: Numbers = ..., dst_zero_point: Numbers = ..., mean: Numbers = ..., std: Numbers = ...,
            groups: Optional[Sequence[int]] = ...,
            beta: float = ..., padding: Optional[float] = ..., out: None = ..., threads: int = ...,
            progress: Optional[Progress] = ...) -> Any:
    ...


@overload
def convert(x: Any, src: LayoutLike, dst: LayoutLike, *, dims: Optional[Sequence[int]] = ...,
            src_dtype: Any = ..., dtype: Any = ..., scale: Numbers = ..., dst_scale: Numbers = ...,
            zero_point: Numbers = ..., dst_zero_point: Numbers = ..., mean: Numbers = ..., std: Numbers = ...,
            groups: Optional[Sequence[int]] = ...,
            beta: float = ..., padding: Optional[float] = ..., out: OutT, threads: int = ...,
            progress: Optional[Progress] = ...) -> OutT:
    ...


def convert(x: Any, src: LayoutLike, dst: LayoutLike, *, dims: Optional[Sequence[int]] = None, src_dtype: Any = None,
            dtype: Any = None, scale: Numbers = None, dst_scale: Numbers = None, zero_point: Numbers = None,
            dst_zero_point: Numbers = None, mean: Numbers = None, std: Numbers = None,
            groups: Optional[Sequence[int]] = None, beta: float = 0.0, padding: Optional[float] = 0, out: Any = None,
            threads: int = 0, progress: Optional[Progress] = None) -> Any:
    """The elements of x, which lie as `src` says, as an array in which they lie as `dst` says.

    x: an array of any library. Its shape is the physical array that `src` describes, (N, H, W, C) for "nhwc" and
    (N, C/16, H, W, 16) for "nChw16c", with any strides; or it is one run of elements that is long enough.
    src, dst: layout expressions, or Layouts, which mean what their expressions and dims do.
    dims: the tensor's own extents in the order n, c, h, w, where the array's shape does not say them, as blocks do not.
    dtype: of the result; x's own unless given. src_dtype: of x, where the array's own type does not say it.
    scale, dst_scale, zero_point, dst_zero_point, mean, beta: the result is
    saturate(round((scale * (x - zero_point) - mean + beta * out) / dst_scale + dst_zero_point)), computed in f32, or in
    f64 where a type needs it. One number each, or an array that has the tensor's dims with extent 1 where all indices
    share a value, and n where n groups do: (1, C, 1, 1) is one a channel, (N, K // 32) one for 32 weights of (N, K). A
    list is one a channel too where a layout calls a dim c. groups: the indices of each dim that share a value, (1, 32),
    needed where the last group is shorter.
    std: another name for dst_scale, to be read beside mean: mean=[123.7, 116.3, 103.5], std=[58.4, 57.1, 57.4].
    padding: what padding holds in the result, a value of its type; None leaves it.
    out: an array to write into: one of the result's shape and type with any strides, such as a part of a larger one; or
    one run of its elements, or of bytes, that is long enough. threads: 0 stands for all.
    progress: called as progress(done, total) while the work is done, with the bytes of x and the result that were moved
    and with all of them; done == total in the last call. What it raises ends the work, as Ctrl-C does: `out` then holds
    new elements in some places, and in others what it held before.

    Returns an array of x's library. Its shape is the physical array that `dst` describes, as for x; where that is no
    dense array (strides with gaps, an offset), it is the run of elements of the layout's memory. Errors: ParseError,
    InvalidArgumentError, BufferTooSmallError, NotInjectiveError, OverlapError, UnsupportedError.
    """
    if isinstance(dtype, str) and dtype.startswith(">"):
        dtype = np.dtype(dtype)
    numpy = type(x) is np.ndarray
    common = (numpy or is_torch(x)) and dims is src_dtype is progress is groups is None and _is_zero(beta, padding)
    view = x if numpy else host_view(x)
    if not is_stored_plainly(view.dtype) or dtype is not None and not isinstance(dtype, str) or not (
            out is None or is_stored_plainly(getattr(out, "dtype", None))):
        special = _convert_special(x, view, src, dst, out, dtype, dict(
            dims=dims, src_dtype=src_dtype, scale=scale, dst_scale=dst_scale, zero_point=zero_point,
            dst_zero_point=dst_zero_point, mean=mean, std=std, groups=groups, beta=beta, padding=padding,
            threads=threads, progress=progress))
        if special is not None:
            wrap = None if out is not None else like_caller(x)
            return wrap(special) if wrap else special
    attributes = _attributes(scale, dst_scale, zero_point, dst_zero_point, mean, std, beta, padding, groups)
    conversion, _, name, fills = _planned(view, src, dst, dims, src_dtype, dtype, attributes)
    if out is not None:
        to = host_view(out)
        check_type(to, conversion.dtype)
        conversion._run(view, to, threads, False, progress)
        made = out
    else:
        made = new_result(x, view, conversion, threads, progress)
    if common and fills and type(made) is type(x):
        numbers = dict(scale=scale, dst_scale=dst_scale, zero_point=zero_point, dst_zero_point=dst_zero_point,
                       mean=mean, std=std)
        made_of = numpy_dtype(name) if numpy else torch_dtype(name)
        _native.remember_conversion(x, src, dst, dtype, numbers, conversion, made_of)
    return made


if not TYPE_CHECKING:
    convert = _native.with_short_way(convert)  # small calls that were made before: see python/src/again.cc


def _sub_byte_asked(view: Any, dtype: Any) -> Optional[str]:
    """A sub-byte type, where the result has one of ml_dtypes' elements a byte: the source's or the one asked for."""
    if dtype is None:
        return sub_byte_name(view.dtype)
    return sub_byte_name(np.dtype(dtype)) if isinstance(dtype, (np.dtype, type)) else None


def _check_has(x: Any, view: Any, dtype: Any) -> None:
    """Refuses a type of NumPy's that x's own library, in which the result would be, does not have."""
    if is_torch(view) and _sub_byte_asked(view, dtype) is not None:
        raise UnsupportedError(f"PyTorch has no {np.dtype(dtype)}; dtype={_sub_byte_asked(view, dtype)!r} gives bytes "
                               "of several elements each", "dtype", str(np.dtype(dtype)))
    if isinstance(dtype, np.dtype) and not dtype.isnative and (is_torch(view) or like_caller(x) is not None):
        raise UnsupportedError(f"of a {type(x).__name__} no result of {dtype} is made: elements in another order of "
                               "bytes are NumPy's alone", "dtype", str(dtype))


def _convert_special(x: Any, view: Any, src: LayoutLike, dst: LayoutLike, out: Any, dtype: Any, how: dict) -> Any:
    """convert() where x or out is in another order of bytes, or has one sub-byte element a byte; None where none is."""
    plain = with_plain_elements(view)
    if out is None:
        _check_has(x, view, dtype)
    if isinstance(dtype, np.dtype) and not dtype.isnative:
        made = convert(plain, src, dst, dtype=dtype.newbyteorder("="), out=out, **how)
        return converted(made, dtype) if out is None else out
    packed_name = _sub_byte_asked(view, dtype)
    if out is not None and not is_stored_plainly(out.dtype):
        wanted = packed_name or name_of(plain.dtype if dtype is None else dtype)
        return _convert_into_special(plain, src, dst, out, wanted, how)
    if packed_name is not None and out is None:
        both = convert(plain, src, dst, dtype=packed_name, **how)
        one_each = plan_conversion(plain, src, dst, dtype=TYPES[packed_name].held_by, **_planned_by(how))
        return unpacked(both, packed_name, one_each.shape)
    return None if plain is view else convert(plain, src, dst, dtype=dtype, out=out, **how)


def _planned_by(how: dict) -> dict:
    """Those arguments of convert() that plan_conversion() has too."""
    return {key: value for key, value in how.items() if key not in ("threads", "progress")}


def _convert_into_special(plain: Any, src: LayoutLike, dst: LayoutLike, out: Any, wanted: str, how: dict) -> Any:
    """The result in a copy of out whose elements relayout converts to, and which NumPy then copies back: what the
    conversion leaves, as padding=None does, is what out held."""
    own = out.dtype.newbyteorder("=")
    packed_name = sub_byte_name(own)
    if wanted != (packed_name or name_of(own)):
        raise InvalidArgumentError(f"the result is of {wanted}, and out of {out.dtype}", "out", str(out.dtype), wanted)
    check_writable(out)
    if packed_name is None:
        made = np.empty(out.shape, own)
        assign(made, out)
        convert(plain, src, dst, dtype=own, out=made, **how)
    else:
        shape = plan_conversion(plain, src, dst, dtype=TYPES[packed_name].held_by, **_planned_by(how)).shape
        if out.shape != shape and (out.ndim != 1 or out.size < math.prod(shape)):
            raise InvalidArgumentError(f"out is {out.shape}, and the result {shape}", "out", str(out.shape), str(shape))
        both = packed(out)
        convert(plain, src, dst, dtype=packed_name, out=both, **how)
        made = unpacked(both, packed_name, out.shape)
    assign(out, made)
    return out


def convert_elements(dst: Any, src: Any, threads: int, progress: Optional[Progress] = None) -> None:
    """Elements of one type into those of another, of two arrays of the same shape."""
    if not is_stored_plainly(src.dtype) or not is_stored_plainly(dst.dtype):
        plain = with_plain_elements(src).reshape(src.shape or 1)
        letters = "abcdefghijkl"[:plain.ndim]
        made = convert(plain, letters, letters, dtype=dst.dtype, threads=threads, progress=progress)
        assign(dst, made.reshape(dst.shape))
        return
    wanted = name_of(dst.dtype)
    expression = "abcdefghijkl"[:len(src.shape)]
    row_major = dst.is_contiguous() if is_torch(dst) else dst.flags.c_contiguous
    if not expression:
        expression, src = "a", src.reshape(1)
    if row_major and not _native.may_share_memory(dst, src):
        convert(src, expression, expression, dtype=wanted, out=dst.reshape(1) if len(dst.shape) == 0 else dst,
                threads=threads, progress=progress)
        return
    count = int(np.prod(src.shape, dtype=np.int64))
    converted_bytes = count * (_item_bytes(src) + _item_bytes(dst))
    all_bytes = converted_bytes + 2 * count * _item_bytes(dst)
    made = convert(src, expression, expression, dtype=wanted, threads=threads, progress=behind(progress, 0, all_bytes))
    _native.copy(dst, made, threads=threads, progress=behind(progress, converted_bytes, all_bytes))
