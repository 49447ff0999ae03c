// NumPy's structured types: an array of them is a record, whose fields are arrays of structs.
//
//     numpy::RecordType type = numpy::record_type("[('a', '|u1'), ('x', '<f4', (3,))]");
//     type.bytes;                                   // 13: NumPy puts members behind each other
//     numpy::record_of(type, {100});                // an error: x is at no multiple of 4 bytes
//     numpy::take_field(type, "x", {100}, bytes);   // 100 x 3 numbers, which it copies from wherever they lie
//
// A field of a struct in a struct has both names, joined by a point ("head.x"), and the dims of both.
//
// Source: NumPy's "Structured arrays" and the format of .npy files ("descr").
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/core/record/record_format.h"

namespace relayout::numpy {

/// A member of a structured type.
struct RecordField {
  std::string name;
  std::string code;            // as NumPy writes its type: "<f4", "|S5"
  std::optional<DType> dtype;  // nothing for types that are not converted here
  bool byte_swapped = false;   // it is big-endian
  int64_t item_bytes = 0;      // of one element
  int64_t byte = 0;            // of its first element in a struct
  Dims dims{};                 // of its own, those of structs around it first
  Dims byte_strides{};         // of these dims
};
struct RecordType {
  std::vector<RecordField> fields;
  int64_t bytes = 0;  // of one struct, gaps included
};

/// Reads a descr as .npy files have it: a list of (name, type) and (name, type, shape), whose members follow each
/// other; nameless bytes ('', '|V3') are a gap. Errors: corrupt, limit, unsupported (objects of Python).
RecordType record_type(std::string_view descr);
/// The descr of a struct, for .npy files, with a nameless member for each gap. Error{unsupported} names a member that
/// NumPy cannot say: of less than a byte, or not in ascending order of bytes. bf16 and the types of 8 bits of ml_dtypes
/// are written as bytes without a type.
std::string record_descr(const RecordFormat& format);

/// An array of structs of this shape as a record. Errors: those of Record::of(); invalid_argument (a field at no
/// multiple of its element's size, which NumPy allows), unsupported (a field of a type that is not converted, or
/// big-endian), with the field's name.
Record record_of(const RecordType& type, const Dims& shape);

/// The elements of one field of an array of structs, in row-major order of shape and field dims and in this machine's
/// byte order, wherever they lie. Errors: invalid_argument (no such field, which lists them), unsupported (a type that
/// is not converted), buffer_too_small.
struct TakenField {
  TensorDesc desc;
  std::vector<std::byte> bytes;
};
TakenField take_field(const RecordType& type, std::string_view name, const Dims& shape,
                      std::span<const std::byte> bytes);

}  // namespace relayout::numpy
