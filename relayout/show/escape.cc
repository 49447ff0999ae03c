// Escaping of text, a character of UTF-8 at a time.
#include "relayout/show/escape.h"

#include <cstdint>

namespace relayout::show {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// The bytes of the character at the begin of a text, of which there is one at least; 0 where it is no UTF-8.
std::size_t length_of_character(std::string_view text) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  if (byte(0) < 0x80) return 1;
  const std::size_t length = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
  if (byte(0) < 0xC2 || byte(0) > 0xF4 || text.size() < length) return 0;
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte(k) & 0xC0) != 0x80) return 0;
  }
  // Longer forms of short characters, halves of UTF-16 and what is beyond Unicode.
  const unsigned char first = byte(0), second = byte(1);
  const bool wrong = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                     (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return wrong ? 0 : length;
}

/// Calls each(character) for all characters, of which those that are no UTF-8 are U+FFFD.
template <typename F>
void for_each_character(std::string_view text, F&& each) {
  while (!text.empty()) {
    const std::size_t length = length_of_character(text);
    each(length == 0 ? kReplacement : text.substr(0, length));
    text.remove_prefix(length == 0 ? 1 : length);
  }
}

}  // namespace

std::string xml_escaped(std::string_view text) {
  std::string out;
  for_each_character(text, [&](std::string_view character) {
    switch (const char ch = character[0]) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      default: out += static_cast<unsigned char>(ch) < 0x20 && ch != '\n' && ch != '\t' ? kReplacement : character;
    }
  });
  return out;
}

std::string json_quoted(std::string_view text) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for_each_character(text, [&](std::string_view character) {
    const auto byte = static_cast<unsigned char>(character[0]);
    if (byte < 0x20 || byte == 0x7F || byte == '<' || byte == '>' || byte == '&') {
      out += {'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]};
    } else if (byte == '"' || byte == '\\') {
      out += {'\\', static_cast<char>(byte)};
    } else {
      out += character;
    }
  });
  return out + "\"";
}

}  // namespace relayout::show
