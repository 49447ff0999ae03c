// Packed formats: how quantised weights lie in memory, by name, each a record with the formula of its values.
//
//     ggml:q4_0       blocks of 32 values in 18 bytes: d: f16, q: u4            d * (q - 8)
//     gptq            q: u4 in words along K, z: u4, s: f16, a buffer each      s * (q - z - 1)
//
// A field's name behind a point is a layout expression, which counts the field's elements from the begin of its buffer:
//
//     Format::parse("ggml:q4_0.q").bind({4096, 11008})      // the nibbles
//     Format::parse("ggml:q4_0.d").bind({4096, 344})        // the scales, one for 32 values
//     Format::parse("gptq").bind({4096, 11008})             // gptq.q
//
// All of them are one rule. Blocks of values stand in row-major order, and each is an *item* of the field, so many
// elements long; inside an item the place of an element is a sum of digits:
//
//     offset(i) = offset0 + sum over dims of (digits of i % block) + item * (row-major number of i / block)
//
// A file of this folder is a system: its table with the source of each format, and nothing else. To add one: write that
// file, declare its function here, and give it a line in kSystems (packed.cc).
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/core/record/record.h"

namespace relayout {

/// A field of all blocks.
struct PackedField {
  std::string_view name;
  DType dtype;
  /// How many values of each dim share one element; 0: as many as the caller's groups have; kAllValues: all of the dim.
  std::array<int64_t, 2> group{1, 1};
  /// The digits of an item, (extent,stride) innermost first, of both dims with '|' between; in elements of the field.
  std::string_view digits = "|";
  /// Of the first element, in elements.
  int64_t offset0 = 0;
  /// Elements from one item to the next, where the format has no blocks of bytes; 0: as many as the digits have.
  int64_t item = 0;
  /// The tensor of a checkpoint that holds the field, where fields have buffers of their own; several may share one.
  std::string_view buffer = "";
  /// The digits where one group of the caller's is all of its dim, if they are others.
  std::string_view whole_digits = "";
};
inline constexpr int64_t kAllValues = INT64_MAX;

/// How checkpoints store the tensor of a buffer, where the field's own type and the buffer's name do not say it.
struct PackedStorage {
  std::string_view buffer;
  /// The type of its elements, such as words of 32 bits; nothing: the first field's.
  std::optional<DType> dtype{};
  /// Other names that it has in checkpoints, with spaces between. They are read, and `buffer` is written.
  std::string_view aliases = "";
  /// So many elements of a row are a dim of their own; 0: rows are not divided.
  int64_t piece = 0;
};

struct PackedFormat {
  std::string_view name;  // "ggml:q4_0"
  std::string_view dims;  // letters of the two dims of values: "nk", row-major
  int64_t block_bytes;    // of the blocks, where all fields lie in one buffer; 0 where they do not
  std::span<const PackedField> fields;
  /// The code of a value, of fields: "ql + (qh << 4)". A name in `value` that is no field is this code.
  std::string_view code;
  /// The value, of fields and q: "d * (q - 16)" (core/record/value.h).
  std::string_view value;
  /// The field that the format's name alone means; "" where it takes a field's name.
  std::string_view alone = "";
  /// Values of a group where the caller says nothing, for formats with fields of group 0.
  int64_t group = 0;
  std::span<const PackedStorage> storage = {};
  /// A tensor of checkpoints that holds the dims of the values, as s64; "" where there is none.
  std::string_view dims_buffer = "";

  bool one_buffer() const { return block_bytes > 0; }
  /// Error{invalid_argument} lists the fields.
  const PackedField& field(std::string_view name) const;
};

/// Names of a system that are known and refused, with the reason.
struct RefusedName {
  std::string_view name, why;
};

/// The formats of one system.
struct PackedSystem {
  std::string_view title;  // "ggml", in messages
  std::span<const PackedFormat> formats;
  std::span<const RefusedName> refused = {};
};

/// All formats, system by system.
std::span<const PackedSystem> packed_systems();
/// The format of that name, or nothing.
const PackedFormat* find_packed(std::string_view name);
/// The format of that name. Errors: invalid_argument, which lists the names and suggests one that is near; unsupported
/// for those that are no layouts (codebooks), with the reason.
const PackedFormat& packed_format(std::string_view name);
/// How many characters of a layout expression are a packed format's name and, behind a point, a field's; 0 where it
/// begins with none. A word with '(' behind it is a view.
std::size_t packed_length(std::string_view expression);

/// The digits of an item of each dim, and how many elements lie from one item to the next.
struct PackedItem {
  std::array<Digits, 2> digits;
  int64_t elements = 1;
  int64_t block(int dim) const;
};
/// `dims` are the field's own; without them the digits are those of several groups.
PackedItem item_of(const PackedFormat& format, const PackedField& field, const Dims& dims = {});

/// The field's layout for its own dims (values divided by the group). Error{invalid_argument} where a block does not
/// divide its dim; overflow. `begin` elements lie before the format's first byte.
Layout field_layout(const PackedFormat& format, const PackedField& field, const Dims& dims, int64_t begin = 0);
/// The dims of a field for these values, in groups of `group` values where the field's are the caller's (0: the
/// format's own). Error{invalid_argument} where a group does not divide its dim, or the rank is not 2.
Dims field_dims(const PackedFormat& format, const PackedField& field, const Dims& values, int64_t group = 0);

/// The fields that lie in one buffer as a record: all of them, or those in the tensor `buffer` of a format whose fields
/// have buffers of their own. Errors: those of field_dims(); invalid_argument for a buffer that there is not.
Record packed_record(const PackedFormat& format, const Dims& values, std::string_view buffer = {}, int64_t group = 0);
/// The names of the buffers, in the order of the fields; one empty name where all fields share one.
std::vector<std::string_view> buffers_of(const PackedFormat& format);
/// The names that checkpoints have for a buffer; the first is the buffer's own.
std::vector<std::string_view> names_of_buffer(const PackedFormat& format, std::string_view buffer);

/// The array that a checkpoint has for a buffer: its type and its shape, outermost axis first. Blocks of one buffer are
/// rows of bytes. Errors: those of packed_record(); invalid_argument where a row is no whole number of elements.
struct PackedArray {
  DType dtype;
  Dims shape;
};
PackedArray packed_array(const PackedFormat& format, const Dims& values, std::string_view buffer = {},
                         int64_t group = 0);

namespace packed {

const PackedSystem& awq();
const PackedSystem& compressed_tensors();
const PackedSystem& ggml();
const PackedSystem& gptq();
const PackedSystem& marlin();
const PackedSystem& mlx();
const PackedSystem& mx();

}  // namespace packed
}  // namespace relayout
