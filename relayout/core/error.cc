// Names of error codes and the escaping of foreign text.
#include "relayout/core/error.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace relayout {

std::string_view name(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument: return "invalid_argument";
    case ErrorCode::parse: return "parse";
    case ErrorCode::overflow: return "overflow";
    case ErrorCode::needs_copy: return "needs_copy";
    case ErrorCode::not_injective: return "not_injective";
    case ErrorCode::buffer_too_small: return "buffer_too_small";
    case ErrorCode::overlap: return "overlap";
    case ErrorCode::corrupt: return "corrupt";
    case ErrorCode::io: return "io";
    case ErrorCode::limit: return "limit";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::internal: return "internal";
    case ErrorCode::interrupted: return "interrupted";
  }
  return "internal";
}

namespace {

/// The character of UTF-8 that a text begins with, and its bytes; 0 bytes where the text begins with no character.
struct Character {
  uint32_t code = 0;
  std::size_t bytes = 0;
};

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  if (byte(0) < 0x80) return {byte(0), 1};
  const std::size_t count = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < count) return {};
  uint32_t code = byte(0) & (0xffu >> (count + 1));
  for (std::size_t k = 1; k < count; ++k) {
    if ((byte(k) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(k) & 0x3f);
  }
  const uint32_t least = count == 2 ? 0x80 : count == 3 ? 0x800 : 0x10000;
  if (code < least || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
  return {code, count};
}

/// Unicode's controls, separators of lines and paragraphs, and formats without a shape of their own: what changes how
/// the text around it is shown.
bool is_shown(uint32_t code) {
  static constexpr std::pair<uint32_t, uint32_t> kHidden[] = {
      {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},   {0x180e, 0x180e}, {0x200b, 0x200f},
      {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff0, 0xfffb}, {0xfffe, 0xffff}, {0xe0000, 0xe007f}};
  for (const auto& [first, last] : kHidden) {
    if (code >= first && code <= last) return false;
  }
  return true;
}

}  // namespace

std::string escaped(std::string_view text, std::size_t max_chars) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (std::size_t shown = 0; !text.empty();) {
    if (shown >= max_chars) return out + "...";
    const Character next = first_character(text);
    const bool plain = next.bytes > 0 && is_shown(next.code) && next.code != '\\' && next.code != '"';
    const std::string_view bytes = text.substr(0, std::max<std::size_t>(next.bytes, 1));
    text.remove_prefix(bytes.size());
    if (plain) {
      out += bytes;
      ++shown;
      continue;
    }
    for (const char ch : bytes) {
      const auto byte = static_cast<unsigned char>(ch);
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
      shown += 4;
    }
  }
  return out;
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char ch) { return (static_cast<unsigned char>(ch) & 0xc0) != 0x80; }));
}

}  // namespace relayout
