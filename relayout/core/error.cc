// Names of error codes and the escaping of foreign text.
#include "relayout/core/error.h"

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

std::string escaped(std::string_view text, std::size_t max_chars) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (char ch : text) {
    if (out.size() >= max_chars) return out + "...";
    const auto byte = static_cast<unsigned char>(ch);
    if (byte >= 0x20 && byte <= 0x7e && ch != '\\' && ch != '"') {
      out += ch;
    } else {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out;
}

}  // namespace relayout
