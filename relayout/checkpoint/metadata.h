// Metadata of checkpoints: a key and a value, which is a text in .safetensors files and has a type in GGUF.
//
//     MetadataValue rope = MetadataValue::of(uint32_t{10000});
//     rope.type() == ValueType::u32, rope.json() == "10000"
//
// A value is kept as the bytes that GGUF has for it, so that arrays of a hundred thousand tokens cost what they have in
// the file, and what is copied from file to file stays the same bit by bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/core/error.h"

namespace relayout::checkpoint {

/// In the order of GGUF's numbers.
enum class ValueType : uint8_t { u8, s8, u16, s16, u32, s32, f32, boolean, text, array, u64, s64, f64 };
inline constexpr int kValueTypes = 13;
/// "u32", "text", ...
std::string_view name(ValueType type);

class MetadataValue {
 public:
  /// The empty text.
  MetadataValue() = default;
  static MetadataValue of(std::string text);
  static MetadataValue of(uint32_t value);
  static MetadataValue of(uint64_t value);
  static MetadataValue of(int64_t value);
  static MetadataValue of(double value);
  static MetadataValue of(bool value);
  static MetadataValue of(const std::vector<std::string>& texts);
  /// A value of any type from the front of GGUF's bytes, of which it says how many it took. Errors: corrupt (they end
  /// inside the value; a type that there is not; a bool that is neither 0 nor 1), limit (arrays in arrays, deeper than
  /// kMostDepth). The cost is that of reading the value's bytes once.
  static MetadataValue read(ValueType type, std::span<const std::byte> bytes, std::size_t& taken);
  static constexpr int kMostDepth = 8;

  ValueType type() const { return type_; }
  /// Of an array: the type of its elements, and how many it has. `text` and 0 for all others.
  ValueType element_type() const { return element_; }
  uint64_t count() const { return count_; }

  /// The characters of a text; Error{invalid_argument} for any other type.
  const std::string& text() const;
  /// A whole number or a bool as int64, where it fits; nothing for all others.
  std::optional<int64_t> integer() const;
  /// Any number as f64; nothing for all others.
  std::optional<double> number() const;

  /// The value as JSON. Of an array at most `most` elements, and then "...", which is no JSON any more; all where it is
  /// 0. Bytes that are no UTF-8 become \ufffd.
  std::string json(std::size_t most = 0) const;
  /// The value as GGUF has it behind its type: of a text its length and its characters, of an array the type of its
  /// elements, their number, and they.
  std::string encoded() const;

  friend bool operator==(const MetadataValue&, const MetadataValue&) = default;

 private:
  ValueType type_ = ValueType::text, element_ = ValueType::text;
  uint64_t count_ = 0;
  std::string bytes_;  // of a number its bytes, of a text its characters, of an array its elements as GGUF has them
};

struct MetadataEntry {
  std::string key;
  MetadataValue value;
  friend bool operator==(const MetadataEntry&, const MetadataEntry&) = default;
};

}  // namespace relayout::checkpoint
