// Values of metadata: reading GGUF's bytes, and showing them as JSON.
#include "relayout/checkpoint/metadata.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace relayout::checkpoint {
namespace {

static_assert(std::endian::native == std::endian::little, "the bytes of a value are GGUF's, little-endian");

struct TypeRow {
  std::string_view name;
  std::size_t bytes;  // 0 where values differ in it
};
constexpr std::array<TypeRow, kValueTypes> kTypes{{{"u8", 1},
                                                   {"s8", 1},
                                                   {"u16", 2},
                                                   {"s16", 2},
                                                   {"u32", 4},
                                                   {"s32", 4},
                                                   {"f32", 4},
                                                   {"bool", 1},
                                                   {"text", 0},
                                                   {"array", 0},
                                                   {"u64", 8},
                                                   {"s64", 8},
                                                   {"f64", 8}}};
const TypeRow& row(ValueType type) { return kTypes[static_cast<std::size_t>(type)]; }

[[noreturn]] void fail_value(ErrorCode code, const std::string& what, std::string value = {}, std::string limit = {}) {
  throw Error(code, "metadata: " + what, "value", std::move(value), std::move(limit));
}

/// The bytes of a value from front to back.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}
  std::span<const std::byte> rest() const { return rest_; }

  std::string_view take(uint64_t count) {
    if (count > rest_.size())
      fail_value(ErrorCode::corrupt,
                 "a value of " + std::to_string(count) + " bytes where " + std::to_string(rest_.size()) + " are left",
                 std::to_string(count), std::to_string(rest_.size()));
    const std::string_view out(reinterpret_cast<const char*>(rest_.data()), count);
    rest_ = rest_.subspan(count);
    return out;
  }
  template <typename T>
  T number() {
    T out;
    std::memcpy(&out, take(sizeof out).data(), sizeof out);
    return out;
  }
  ValueType type() {
    const auto number_of_type = number<uint32_t>();
    if (number_of_type >= kValueTypes)
      fail_value(ErrorCode::corrupt, "there is no type " + std::to_string(number_of_type),
                 std::to_string(number_of_type), std::to_string(kValueTypes - 1));
    return static_cast<ValueType>(number_of_type);
  }

  /// Passes over one value, and checks it.
  void pass(ValueType type, int depth) {
    if (type == ValueType::text) {
      take(number<uint64_t>());
    } else if (type == ValueType::array) {
      if (depth == MetadataValue::kMostDepth) {
        const std::string most = std::to_string(MetadataValue::kMostDepth);
        fail_value(ErrorCode::limit, "arrays inside arrays, more than " + most + " deep", {}, most);
      }
      const ValueType element = this->type();
      pass_elements(element, number<uint64_t>(), depth + 1);
    } else {
      check_bools(type, take(row(type).bytes));
    }
  }
  void pass_elements(ValueType element, uint64_t count, int depth) {
    // Each element has at least so many bytes, so that no count takes longer than the bytes that there are.
    const std::size_t least = element == ValueType::text ? 8 : element == ValueType::array ? 12 : row(element).bytes;
    if (count > rest_.size() / least)
      fail_value(ErrorCode::corrupt,
                 "an array of " + std::to_string(count) + " elements where " + std::to_string(rest_.size()) +
                     " bytes are left",
                 std::to_string(count), std::to_string(rest_.size() / least));
    if (row(element).bytes != 0) return check_bools(element, take(count * least));
    for (uint64_t i = 0; i < count; ++i) pass(element, depth);
  }

 private:
  static void check_bools(ValueType type, std::string_view bytes) {
    if (type != ValueType::boolean) return;
    for (const char byte : bytes) {
      if (byte != 0 && byte != 1)
        fail_value(ErrorCode::corrupt, "a bool of " + std::to_string(static_cast<unsigned char>(byte)),
                   std::to_string(static_cast<unsigned char>(byte)), "0 or 1");
    }
  }

  std::span<const std::byte> rest_;
};

template <typename T>
std::string bytes_of(T value) {
  std::string out(sizeof value, '\0');
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}

template <typename T>
std::string number_text(T value) {
  std::array<char, 40> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}
/// JSON has neither NaN nor infinities; they are texts.
template <typename T>
std::string float_text(T value) {
  if (std::isfinite(value)) return number_text(value);
  return std::isnan(value) ? "\"nan\"" : value > 0 ? "\"inf\"" : "\"-inf\"";
}

/// How many bytes of a text are one character of UTF-8 at its front; 0 where they are none.
std::size_t utf8_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xc2 ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  if (length == 0 || length > text.size()) return 0;
  uint32_t code = length == 1 ? first : first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return 0;
    code = code << 6 | (next & 0x3f);
  }
  const bool too_long = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  return too_long || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : length;
}

std::string json_text_of(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char ch = text[0];
    if (length == 0) {
      out += "\\ufffd";
    } else if (ch == '"' || ch == '\\') {
      out += std::string("\\") + ch;
    } else if (static_cast<unsigned char>(ch) < 0x20) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      out += ch == '\n' ? "\\n"
                        : std::string("\\u00") + kDigits[static_cast<std::size_t>(ch) >> 4] +
                              kDigits[static_cast<std::size_t>(ch) & 15];
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out + "\"";
}

/// One value at the front of the reader as JSON.
std::string json_of(Reader& in, ValueType type, std::size_t most);

std::string json_of_elements(Reader& in, ValueType element, uint64_t count, std::size_t most) {
  std::string out = "[";
  for (uint64_t i = 0; i < count; ++i) {
    if (i > 0) out += ", ";
    if (most != 0 && i == most) {
      out += "...";
      break;
    }
    out += json_of(in, element, most);
  }
  return out + "]";
}

std::string json_of(Reader& in, ValueType type, std::size_t most) {
  switch (type) {
    case ValueType::u8: return number_text(unsigned{in.number<uint8_t>()});
    case ValueType::s8: return number_text(int{in.number<int8_t>()});
    case ValueType::u16: return number_text(in.number<uint16_t>());
    case ValueType::s16: return number_text(in.number<int16_t>());
    case ValueType::u32: return number_text(in.number<uint32_t>());
    case ValueType::s32: return number_text(in.number<int32_t>());
    case ValueType::f32: return float_text(in.number<float>());
    case ValueType::boolean: return in.number<uint8_t>() != 0 ? "true" : "false";
    case ValueType::u64: return number_text(in.number<uint64_t>());
    case ValueType::s64: return number_text(in.number<int64_t>());
    case ValueType::f64: return float_text(in.number<double>());
    case ValueType::text: return json_text_of(in.take(in.number<uint64_t>()));
    case ValueType::array: break;
  }
  const ValueType element = in.type();
  const auto count = in.number<uint64_t>();
  if (most != 0 && count > most) {  // what is not shown is passed over, as more may follow
    Reader shown = in;
    in.pass_elements(element, count, 0);
    return json_of_elements(shown, element, count, most);
  }
  return json_of_elements(in, element, count, most);
}

Reader reader_of(const std::string& bytes) { return Reader(std::as_bytes(std::span(bytes))); }

}  // namespace

std::string_view name(ValueType type) { return row(type).name; }

MetadataValue MetadataValue::of(std::string text) {
  MetadataValue out;
  out.bytes_ = std::move(text);
  return out;
}
MetadataValue MetadataValue::of(uint32_t value) {
  MetadataValue out;
  out.type_ = ValueType::u32;
  out.bytes_ = bytes_of(value);
  return out;
}
MetadataValue MetadataValue::of(uint64_t value) {
  MetadataValue out;
  out.type_ = ValueType::u64;
  out.bytes_ = bytes_of(value);
  return out;
}
MetadataValue MetadataValue::of(int64_t value) {
  MetadataValue out;
  out.type_ = ValueType::s64;
  out.bytes_ = bytes_of(value);
  return out;
}
MetadataValue MetadataValue::of(double value) {
  MetadataValue out;
  out.type_ = ValueType::f64;
  out.bytes_ = bytes_of(value);
  return out;
}
MetadataValue MetadataValue::of(bool value) {
  MetadataValue out;
  out.type_ = ValueType::boolean;
  out.bytes_ = bytes_of(static_cast<uint8_t>(value));
  return out;
}
MetadataValue MetadataValue::of(const std::vector<std::string>& texts) {
  MetadataValue out;
  out.type_ = ValueType::array;
  out.count_ = texts.size();
  for (const std::string& text : texts) out.bytes_ += bytes_of(uint64_t{text.size()}) + text;
  return out;
}

MetadataValue MetadataValue::read(ValueType type, std::span<const std::byte> bytes, std::size_t& taken) {
  MetadataValue out;
  out.type_ = type;
  Reader in(bytes);
  if (type == ValueType::text) {
    out.bytes_ = in.take(in.number<uint64_t>());
  } else {
    if (type == ValueType::array) {
      out.element_ = in.type();
      out.count_ = in.number<uint64_t>();
    }
    const std::span<const std::byte> body = in.rest();
    if (type == ValueType::array) {
      in.pass_elements(out.element_, out.count_, 1);
    } else {
      in.pass(type, 0);
    }
    out.bytes_.assign(reinterpret_cast<const char*>(body.data()), body.size() - in.rest().size());
  }
  taken = bytes.size() - in.rest().size();
  return out;
}

const std::string& MetadataValue::text() const {
  if (type_ == ValueType::text) return bytes_;
  fail_value(ErrorCode::invalid_argument, "a value of type " + std::string(name(type_)) + " is no text",
             std::string(name(type_)), "text");
}

std::optional<int64_t> MetadataValue::integer() const {
  Reader in = reader_of(bytes_);
  switch (type_) {
    case ValueType::u8:
    case ValueType::boolean: return in.number<uint8_t>();
    case ValueType::s8: return in.number<int8_t>();
    case ValueType::u16: return in.number<uint16_t>();
    case ValueType::s16: return in.number<int16_t>();
    case ValueType::u32: return in.number<uint32_t>();
    case ValueType::s32: return in.number<int32_t>();
    case ValueType::s64: return in.number<int64_t>();
    case ValueType::u64: {
      const auto value = in.number<uint64_t>();
      if (value > uint64_t{std::numeric_limits<int64_t>::max()}) return std::nullopt;
      return static_cast<int64_t>(value);
    }
    case ValueType::f32:
    case ValueType::f64:
    case ValueType::text:
    case ValueType::array: break;
  }
  return std::nullopt;
}

std::optional<double> MetadataValue::number() const {
  Reader in = reader_of(bytes_);
  if (type_ == ValueType::f32) return in.number<float>();
  if (type_ == ValueType::f64) return in.number<double>();
  if (type_ == ValueType::u64) return static_cast<double>(in.number<uint64_t>());
  const auto whole = integer();
  return whole ? std::optional(static_cast<double>(*whole)) : std::nullopt;
}

std::string MetadataValue::json(std::size_t most) const {
  if (type_ == ValueType::text) return json_text_of(bytes_);
  Reader in = reader_of(bytes_);
  if (type_ == ValueType::array) return json_of_elements(in, element_, count_, most);
  return json_of(in, type_, most);
}

std::string MetadataValue::encoded() const {
  if (type_ == ValueType::text) return bytes_of(uint64_t{bytes_.size()}) + bytes_;
  if (type_ == ValueType::array) return bytes_of(static_cast<uint32_t>(element_)) + bytes_of(count_) + bytes_;
  return bytes_;
}

}  // namespace relayout::checkpoint
