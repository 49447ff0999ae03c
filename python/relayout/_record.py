"""Records: several fields of different types in one buffer, and the values of packed weights.

    record = relayout.Record("ggml:q4_0", (4096, 11008))
    record.fields["q"].layout.offset(0, 37)              # in nibbles
    scales = record.take(buffer, "d")                    # a NumPy array (4096, 344) of float16
    w = relayout.dequantize("ggml:q4_0", buffer, (4096, 11008))
"""
from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Sequence, Tuple, Union

import numpy as np

from . import _native
from ._dtypes import known_name, name_of, numpy_dtype
from ._errors import InvalidArgumentError, UnsupportedError
from ._native import Layout

__all__ = ["Record", "RecordField", "Repacked", "dequantize", "repack"]


class RecordField(NamedTuple):
    """A field: its name, relayout's name of its type, and its layout, which counts its own elements from the begin of
    the record's buffer."""

    name: str
    dtype: str
    layout: Layout


class BytePlace(NamedTuple):
    """An element that has bits of a byte: its field and index, the first of its bits in the byte (0 is the least
    significant), how many it has there, and whether it is padding."""

    field: str
    index: Tuple[int, ...]
    first_bit: int
    bits: int
    padding: bool


class Record:
    """Several fields of different types in one buffer, each with a layout of its own; no bit is in two fields.

    record: an expression, as "record{a:u8, x:f32[3];aligned}" for an array of structs or
    "record{d:f16[2,1] = strides:9,9, q:u4[2,32] = ...}" for fields with layouts; the name of a packed format whose
    fields share one buffer ("ggml:q4_0"), or of another one together with `buffer`, the name of one of its tensors; a
    NumPy structured dtype; or a dict as to_dict() returns it. dims: of the array of structs, or of the packed matrix.
    group: how many values of that share a scale, where the format leaves it open; 0 is what its checkpoints mostly
    have.
    Errors: ParseError, InvalidArgumentError (a member that is no multiple of its size into the struct, which NumPy
    allows), NotInjectiveError (a bit in two fields, with both names and indices), UnsupportedError.
    """

    def __init__(self, record: Union[str, np.dtype, Mapping[str, Any]], dims: Sequence[int] = (), *,
                 buffer: str = "", group: int = 0):
        if buffer or group:
            if not isinstance(record, str):
                raise InvalidArgumentError("buffer and group are of a packed format, by its name", "record",
                                           repr(record))
            self._record = _native._packed_record(record, tuple(dims), buffer, group)
        elif isinstance(record, str):
            self._record = _native._record(record, tuple(dims))
        elif isinstance(record, np.dtype):
            if record.names is None:
                raise UnsupportedError(f"{record} is no structured type", "record", str(record), "a type with fields")
            descr = np.lib.format.dtype_to_descr(record)
            if not isinstance(descr, list):
                raise UnsupportedError(f"NumPy cannot write the fields of {record}, which overlap or are out of order",
                                       "record", str(record), "fields in ascending order")
            self._record = _native._record_of_descr(str(descr), tuple(dims))
        else:
            fields = ", ".join(f"{f['name']}:{f['dtype']}[{','.join(map(str, f['dims']))}] = {f['layout']}"
                               for f in record["fields"])
            self._record = _native._record("record{" + fields + f";bytes={record['bytes']}" + "}", ())

    @property
    def fields(self) -> Dict[str, RecordField]:
        """The fields by name, in their order."""
        return {name: RecordField(name, dtype, layout) for name, dtype, layout in self._record.fields}

    @property
    def bytes(self) -> int:
        """Bytes of the whole buffer."""
        return self._record.bytes

    @property
    def free_bits(self) -> int:
        """How many bits of the buffer are in no field."""
        return self._record.free_bits

    @property
    def expression(self) -> str:
        """The record with every layout in digits, which Record() reads."""
        return self._record.expression

    def at_byte(self, byte: int) -> List[BytePlace]:
        """The elements that have bits of a byte; an empty list where no field has it."""
        return [BytePlace(*place) for place in self._record.at_byte(byte)]

    def take(self, buffer: Any, name: str) -> np.ndarray:
        """The elements of a field in row-major order: a NumPy array, of uint8 with a value a byte for types of less
        than a byte."""
        field = self._field(name)
        packed = _is_packed(field.dtype)
        shape = tuple(field.layout.dims)
        if not packed:
            out = np.empty(shape, numpy_dtype(field.dtype))
            self._record.take(name, _bytes_of(buffer), _bytes_of(out))
            return out
        count = int(np.prod(shape, dtype=np.int64))
        raw = np.empty(-(-count * _bits(field.dtype) // 8), np.uint8)
        self._record.take(name, _bytes_of(buffer), raw)
        return _unpacked(raw, count, _bits(field.dtype)).reshape(shape)

    def put(self, buffer: Any, name: str, x: Any) -> None:
        """Writes the elements of a field of a buffer, from an array of the field's dims; of types of less than a byte,
        from one of uint8 with a value a byte. All other fields stay."""
        field = self._field(name)
        shape = tuple(field.layout.dims)
        _check_array(x)
        values = np.ascontiguousarray(x)
        if values.shape != shape:
            raise InvalidArgumentError(f"field {name} has dims {shape}, and x {values.shape}", "x", str(values.shape),
                                       str(shape))
        if _is_packed(field.dtype):
            values = _packed(values.astype(np.uint8), _bits(field.dtype))
        else:
            values = np.ascontiguousarray(values, numpy_dtype(field.dtype))
        self._record.put(name, _bytes_of(values), _bytes_of(buffer))

    def to_dict(self) -> Dict[str, Any]:
        """The record as JSON has it, which Record() and `relayout record` read."""
        return {"bytes": self.bytes,
                "fields": [{"name": f.name, "dtype": f.dtype, "dims": list(f.layout.dims),
                            "layout": _digits(f.layout)} for f in self.fields.values()]}

    def c(self) -> str:
        """The record in C: a struct where it is an array of structs, and a function for each field that gives the
        offset of an index."""
        return self._record.c()

    def numpy_dtype(self) -> np.dtype:
        """NumPy's structured type, of an array of structs. UnsupportedError for members of less than a byte."""
        import ast
        return np.lib.format.descr_to_dtype(ast.literal_eval(self._record.descr()))

    def _field(self, name: str) -> RecordField:
        fields = self.fields
        if not isinstance(name, str):
            raise TypeError(f"name is a text, not {name!r}")
        if name not in fields:
            raise InvalidArgumentError(f"no field is called {name!r}; there are {', '.join(fields)}", "name", name,
                                       ", ".join(fields))
        return fields[name]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self._record.same(other._record)

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        """A line for each field, which begins with its name and type, as `relayout record` describes it."""
        lines = [f"{self.bytes} bytes, of which {self.free_bits} bits are in no field"]
        for field in self.fields.values():
            dims = "x".join(map(str, field.layout.dims)) or "scalar"
            lines.append(f"{field.name}  {field.dtype}  {dims}  {_digits(field.layout)}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"relayout.Record({self.expression!r})"


class Repacked(NamedTuple):
    """Packed weights in another format: an array of bytes where the format has one buffer, else a dict of its tensors
    by name, of the types and shapes that checkpoints of the format have; the dims of the values there; and whether all
    values are what they were, or by how much they were rounded."""

    buffers: Any
    shape: Tuple[int, ...]
    exact: bool
    largest_error: float
    rms_error: float


def dequantize(format: str, buffers: Any, shape: Sequence[int], *, dtype: Any = "f32", group: int = 0,
               threads: int = 0) -> np.ndarray:
    """The values of packed weights, as a row-major NumPy array.

    format: "ggml:q4_0", "gptq", "awq", "marlin", "mlx:affine", ... buffers: an array with the bytes of all blocks,
    where the format has one buffer; else a dict of the format's tensors by name, for GPTQ {"qweight": ...,
    "qzeros": ..., "scales": ...}.
    shape: of the values, N,K or K,N as the format has them. dtype: any type of a whole byte or more. group: how many
    values share a scale; 0 follows from the scales. Values are computed in f32 with one rounding an operation.
    The tensor "g_idx" of GPTQ's act-order, the group of each row, may be among the buffers.
    """
    name = name_of(dtype)
    group_of = buffers.get("g_idx") if isinstance(buffers, Mapping) else None
    if group_of is not None:
        buffers = {buffer: x for buffer, x in buffers.items() if buffer != "g_idx"}
    arrays, group = _given(format, buffers, shape, group)
    out = np.empty(tuple(shape), numpy_dtype(name))
    _native._dequantize(format, tuple(shape), group, arrays, _bytes_of(out), name, threads,
                        None if group_of is None else np.asarray(group_of))
    return out


def repack(format: str, buffers: Any, shape: Sequence[int], to: str, *, group: int = 0, to_group: int = 0,
           requantise: bool = False, threads: int = 0) -> Repacked:
    """Packed weights in another packed format: codes, scales and zero points move, and no value is rounded.

    format, buffers, shape, group: as for dequantize(). to: the other format. to_group: how many values share a scale
    there; 0 is as many as before. UnsupportedError names what the other format has no place for; with requantise=True
    the values are rounded to its grid then.
    """
    arrays, group = _given(format, buffers, shape, group)
    g_idx = np.asarray(buffers["g_idx"]) if isinstance(buffers, Mapping) and "g_idx" in buffers else np.zeros(0)
    if g_idx.size > 0 and (g_idx != np.arange(g_idx.size) // max(1, group)).any():
        raise UnsupportedError(f"repack: g_idx puts rows in groups by the order of activations, which {to} does not "
                               "have; dequantize() gives the values", "g_idx", format)
    described, values = _native._repacked_arrays(format, tuple(shape), group, arrays, to, to_group)
    made = {name: np.empty(extents, numpy_dtype(dtype)) for name, dtype, extents in described}
    done = _native._repack(format, tuple(shape), group, arrays, to, to_group,
                           [(name, _bytes_of(array)) for name, array in made.items()], requantise, threads)
    dims = _native._packed_format(to)["dims_buffer"]
    if dims:
        made[dims] = np.array(values, np.int64)
    return Repacked(made[""] if list(made) == [""] else made, values, *done)


def _given(format: str, buffers: Any, shape: Sequence[int], group: int) -> Tuple[List[Any], int]:
    """The buffers as (name, bytes, type), and how many values share a scale, which the scales say."""
    described = _native._packed_format(format)
    given = {"": buffers} if described["one_buffer"] else dict(buffers)
    group_of = given.pop("g_idx", None)
    arrays = []
    for buffer, x in given.items():
        _check_array(x)
        x = np.asarray(x)
        arrays.append((buffer, np.ascontiguousarray(x).reshape(-1).view(np.uint8), known_name(x.dtype) or ""))
        floating = [f for f, t, names in described["fields"] if buffer in names and t.startswith(("f", "bf"))]
        if group == 0 and floating and not described["one_buffer"] and x.ndim == 2:
            group = max(extent // max(1, own) for extent, own in zip(shape, x.shape))
    return arrays, group


def _bytes_of(x: Any) -> np.ndarray:
    """The memory of an array or of bytes, as an array of uint8 that shares it."""
    if isinstance(x, (bytes, bytearray, memoryview)):
        return np.frombuffer(x, np.uint8)
    _check_array(x)
    if not x.flags.c_contiguous:
        raise InvalidArgumentError("the buffer is not contiguous", "buffer")
    return x.reshape(-1).view(np.uint8)


def _bits(dtype: str) -> int:
    digits = "".join(ch for ch in dtype.split("_")[0] if ch.isdigit())
    return int(digits)


def _is_packed(dtype: str) -> bool:
    return dtype != "bool" and _bits(dtype) < 8


def _unpacked(raw: np.ndarray, count: int, width: int) -> np.ndarray:
    bits = np.unpackbits(raw, bitorder="little")[:count * width].reshape(count, width)
    return (bits << np.arange(width, dtype=np.uint8)).sum(axis=1, dtype=np.uint8)


def _packed(values: np.ndarray, width: int) -> np.ndarray:
    bits = values.reshape(-1, 1) >> np.arange(width, dtype=np.uint8) & 1
    return np.packbits(bits.reshape(-1).astype(np.uint8), bitorder="little")


def _digits(layout: Layout) -> str:
    text = "digits:" + "|".join("".join(f"({extent},{stride})" for extent, stride in dim) for dim in layout.digits)
    return text + (f"@{layout.offset0}" if layout.offset0 else "")


def _check_array(x: Any) -> None:
    """Refuses what is no array: NumPy would make an array of one object of it."""
    if not (isinstance(x, (np.ndarray, bytes, bytearray, memoryview)) or hasattr(x, "__array__")):
        raise TypeError(f"a buffer is an array, not {x!r}")
