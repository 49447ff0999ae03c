// NumPy: arrays as __array_interface__ and as Python's buffer protocol say them, with strides in bytes.
//
//     const TensorDesc rows(flip(Layout::contiguous({3, 4}), 0), DType::f32);    // the rows from the last to the first
//     numpy::ArrayInterface a = numpy::to_numpy(rows);     // strides -16, 4; byte_offset 32, where element (0,0) lies
//     numpy::from_numpy(a) == rows;                        // true
//     numpy::code(rows);  // np.ndarray(shape=(3, 4), dtype=np.float32, buffer=buf, offset=32, strides=(-16, 4))
//
// Strides may be negative (a flipped array), 0 (a broadcast one) and in any order (Fortran). A Layout counts elements
// from the begin of its buffer, so that two things must be known beside what an array says of itself: strides and
// offset must be whole elements, and `byte_offset` says how far into its buffer element (0, 0, ...) lies. The data
// address of __array_interface__ is the address of that element, also where strides are negative.
//
// Types are named as NumPy does. Those of the package ml_dtypes (bfloat16, float8_e5m2, float8_e4m3fn) have typestrs of
// untyped bytes, <V2 and <V1, so that their name is needed too. Its types of fewer than 8 bits keep one element a byte,
// and are not those here, which share bytes.
//
// Source: NumPy's "The array interface protocol", PEP 3118 and Py_buffer. The test `numpy_layouts` compares with NumPy.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "relayout/core/layout.h"

namespace relayout::numpy {

/// The fields of array.__array_interface__, but for the address.
struct ArrayInterface {
  Dims shape{};
  /// In bytes; nothing stands for C order, as None does.
  std::optional<Dims> strides{};
  /// "<f4", "|b1".
  std::string typestr{};
  /// array.dtype.name, which may be left empty unless the typestr is that of untyped bytes.
  std::string dtype_name{};
  /// Of element (0, 0, ...) in its buffer.
  int64_t byte_offset = 0;

  friend bool operator==(const ArrayInterface&, const ArrayInterface&) = default;
};

/// The fields of a Py_buffer, but for the address, which is that of element (0, 0, ...).
struct BufferInfo {
  /// In the notation of the module struct: "f", "<i". Empty stands for "B", as NULL does.
  std::string format{};
  int64_t itemsize = 1;
  int64_t ndim = 0;
  /// Bytes of the elements, were they dense.
  int64_t len = 0;
  bool readonly = false;
  Dims shape{};
  /// In bytes; nothing stands for C order, as NULL does.
  std::optional<Dims> strides{};
  /// A number of 0 or more makes a dim one of pointers, which no layout has. Empty or negative otherwise.
  Dims suboffsets{};
};

/// "<f4"; "<V2" for bf16, "<V1" for the types of 8 bits that ml_dtypes has. Error{unsupported} for sub-byte types.
std::string_view typestr(DType dtype);
/// "float32", "bfloat16". Error{unsupported} for sub-byte types.
std::string_view dtype_name(DType dtype);
/// The type that both say. Error{unsupported} names one that has no type here: big-endian, complex, text, dates,
/// objects, records, long doubles, ml_dtypes' other types; untyped bytes without a name.
DType dtype_of(std::string_view typestr, std::string_view dtype_name = {});

/// Errors: unsupported (a type; a stride or an offset that is no multiple of the element's size, with the dim and the
/// number), invalid_argument (counts that differ, a negative extent, an element before the buffer's begin), overflow.
TensorDesc from_numpy(const ArrayInterface& array);
/// Strides are left out where the array is in C order, as NumPy does. Error{unsupported} names what NumPy cannot say:
/// the dim that is blocked or padded, or the type. Error{overflow}. An array without elements has byte_offset 0
/// whatever its offset0 is, as no offset of it is ever read. Law: from_numpy(to_numpy(desc)) == desc.
ArrayInterface to_numpy(const TensorDesc& desc);

/// Errors as in from_numpy(), and unsupported (suboffsets), invalid_argument (an itemsize, a count or a length that
/// contradicts the others).
TensorDesc from_buffer(const BufferInfo& buffer, int64_t byte_offset = 0);
/// Strides are always given, so that consumers need not know what their absence means. Error{unsupported}: as in
/// to_numpy(), and the types of ml_dtypes, for which the protocol has no format.
BufferInfo to_buffer(const TensorDesc& desc, bool readonly = false);

/// The flags C_CONTIGUOUS and F_CONTIGUOUS. Strides of dims of extent 1 do not count, and arrays without elements have
/// both flags. Errors as in from_numpy().
bool c_contiguous(const ArrayInterface& array);
bool f_contiguous(const ArrayInterface& array);

/// The first byte of the elements and the one behind their last, from element (0, 0, ...) on: (-32, 16) for a flipped
/// array of 3 by 4 floats. The smallest byte_offset of an array is minus the first. Errors as in from_numpy(), but for
/// the offset, which does not count.
std::pair<int64_t, int64_t> byte_bounds(const ArrayInterface& array);

/// One line of Python that makes this array over a buffer `buf`. Names are those of `import numpy as np` and, for the
/// types that need it, `import ml_dtypes`. Errors as in to_numpy().
std::string code(const TensorDesc& desc);

}  // namespace relayout::numpy
