// Products, joining and parsing of dims.
#include "relayout/core/extents.h"

#include <charconv>

namespace relayout {

std::optional<int64_t> checked_product(std::span<const int64_t> values) {
  if (std::ranges::find(values, 0) != values.end()) return 0;
  int64_t product = 1;
  for (int64_t value : values) {
    auto next = checked_mul(product, value);
    if (!next) return std::nullopt;
    product = *next;
  }
  return product;
}

std::string join(std::span<const int64_t> values, std::string_view separator) {
  std::string out;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i) out += separator;
    out += std::to_string(values[i]);
  }
  return out;
}

int64_t parse_int(std::string_view text, std::string_view what) {
  int64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status == std::errc::result_out_of_range) {
    throw Error(ErrorCode::parse, std::string(what) + ": " + escaped(text, 40) + " does not fit 64 bits",
                std::string(what), escaped(text, 40), "64-bit signed integer");
  }
  if (status != std::errc() || end != text.data() + text.size()) {
    throw Error(ErrorCode::parse, std::string(what) + ": \"" + escaped(text, 40) + "\" is not a whole number",
                std::string(what), escaped(text, 40), "64-bit signed integer");
  }
  return value;
}

Dims parse_dims(std::string_view text, std::string_view what) {
  Dims dims;
  // As tuples are printed: (1, 32, 5, 4), [2, 3].
  const auto trimmed = [](std::string_view part) {
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    return part;
  };
  text = trimmed(text);
  if ((text.starts_with('(') && text.ends_with(')')) || (text.starts_with('[') && text.ends_with(']')))
    text = trimmed(text.substr(1, text.size() - 2));
  if (text.empty()) return dims;
  const char separator = text.find(',') == std::string_view::npos ? 'x' : ',';
  for (int d = 0;; ++d) {
    const std::string field = std::string(what) + "[" + std::to_string(d) + "]";
    if (d == kMaxDims) {
      throw Error(ErrorCode::limit, std::string(what) + ": more than " + std::to_string(kMaxDims) + " dimensions",
                  std::string(what), escaped(text), std::to_string(kMaxDims));
    }
    const std::size_t comma = text.find(separator);
    dims.push_back(parse_int(trimmed(text.substr(0, comma)), field));
    if (comma == std::string_view::npos) return dims;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace relayout
