// ASCII letters, whatever the locale says: names are compared with capitals aside.
#pragma once

#include <string>
#include <string_view>

namespace relayout {

constexpr bool is_capital(char ch) { return ch >= 'A' && ch <= 'Z'; }
constexpr char small_letter(char ch) { return is_capital(ch) ? static_cast<char>(ch - 'A' + 'a') : ch; }

inline std::string small_letters(std::string_view text) {
  std::string out(text);
  for (char& ch : out) ch = small_letter(ch);
  return out;
}

}  // namespace relayout
