// Record: several fields of different types in one buffer, each with a layout of its own.
//
// A block of packed weights, a C struct, an array of structs and a struct of arrays are records. Each field has a name,
// an element type, and a layout that counts in the field's own elements from the begin of the buffer, so that fields of
// one block may interleave with those of the next. Two weight matrices' worth of ggml's q4_0 (dims 1,64; 2 blocks of 18
// bytes: a scale, then 32 nibbles):
//
//     d: f16  strides 18,9                    block b's scale is f16 number 9 * b
//     q: u4   (1,72) | (16,2)(2,1)(2,36) @4   value i's nibble lies behind the scale's 4 nibbles
//
//     const Record r = Record::of({{"d", DType::f16, d}, {"q", DType::u4, q}});
//     r.bytes();                              // 36
//     r.at_byte(2);                           // q(0,0) in bits 0 to 3, q(0,16) in bits 4 to 7
//
// Padding of a field is memory of that field, since whoever writes the field writes its padding. No bit is in two
// fields, and no element of a field starts at a fraction of its size: Record::of() refuses such fields by name.
//
// Laws: for all bits b of the buffer: at most one field has b; field.layout.offset(i) * bits(dtype) is a bit for which
// at_byte() names that field and i.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/core/layout.h"

namespace relayout {

/// The most fields of a record.
inline constexpr std::size_t kMaxFields = 256;

/// One field. The layout counts elements of `dtype` from the begin of the record's buffer.
struct Field {
  std::string name;
  DType dtype = DType::u8;
  Layout layout;

  TensorDesc desc() const { return {layout, dtype}; }
  friend bool operator==(const Field&, const Field&) = default;
};

/// Two fields of which one element each shares a bit.
struct FieldOverlap {
  std::size_t a = 0, b = 0;  // places in the list of fields; equal where one field overlaps itself
  Dims index_a, index_b;     // each up to the dims' capacities
  int64_t bit = 0;           // the first shared bit of the buffer
};
/// The first pair of fields that share a bit, padding included, or nothing. Fields without elements share none. Cost:
/// overlap() (core/decide.h) for each pair. Error{limit} where that is undecided, with both names.
std::optional<FieldOverlap> field_overlap(std::span<const Field> fields);

class Record {
 public:
  /// No fields, no bytes.
  Record() = default;

  /// A record of these fields, in their order. `bytes` is the size of the buffer; without it the buffer ends with the
  /// last field. Errors: invalid_argument (no or a repeated name, a name that is no identifier, parts of which may be
  /// joined by points; a size that the fields exceed), not_injective (a bit in two elements; both fields and indices
  /// are named), limit (over kMaxFields, an overlap that is not decided), overflow.
  static Record of(std::vector<Field> fields, std::optional<int64_t> bytes = {});

  std::span<const Field> fields() const { return fields_; }
  /// The field of that name. Error{invalid_argument} lists the names.
  const Field& field(std::string_view name) const;
  /// The place of that name in the list, or nothing.
  std::optional<std::size_t> find(std::string_view name) const;
  /// Bytes of the buffer.
  int64_t bytes() const { return bytes_; }

  /// An element that has some bits of a byte.
  struct Place {
    std::size_t field = 0;
    Dims index;
    bool padding = false;  // the index lies between a dim's extent and its capacity
    int first_bit = 0;     // of the byte, 0 to 7, where 0 is the least significant
    int bits = 8;          // how many bits of the byte it has
    int element_bit = 0;   // which bit of the element stands at first_bit, 0 the least significant
  };
  /// The elements that have bits of a byte, by bits. Empty: no field has it. Cost: a search of Layout::inverse() for
  /// each field and element. Error{invalid_argument} outside of 0 to bytes() - 1.
  std::vector<Place> at_byte(int64_t byte) const;

  /// How many bits of the buffer belong to no field.
  int64_t free_bits() const;
  /// Runs of bytes (first, count) of which no bit belongs to a field, ascending, the first `most` of them. Cost:
  /// at_byte() for each byte up to the last run that is found; nothing where free_bits() is 0.
  std::vector<std::pair<int64_t, int64_t>> free_bytes(std::size_t most) const;

  friend bool operator==(const Record&, const Record&) = default;

 private:
  std::vector<Field> fields_;
  int64_t bytes_ = 0;
};

/// Whether a text can be a field's name: letters, digits and '_', not beginning with a digit; nested structs' fields
/// have several of these, joined by points ("head.x").
bool is_field_name(std::string_view text);

}  // namespace relayout
