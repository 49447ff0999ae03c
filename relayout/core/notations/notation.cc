// The text that notations read.
#include "relayout/core/notations/notation.h"

#include <charconv>

namespace relayout {

bool NotationText::take(char ch) {
  if (peek() != ch || done()) return false;
  ++at_;
  return true;
}

bool NotationText::take(std::string_view word) {
  if (!rest().starts_with(word)) return false;
  at_ += word.size();
  return true;
}

void NotationText::expect(char ch) {
  if (!take(ch)) fail(std::string("expected '") + ch + "'");
}

int64_t NotationText::number(const std::string& what) {
  int64_t value = 0;
  const std::string_view digits = rest();
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (status == std::errc::result_out_of_range) fail("the " + what + " does not fit 64 bits");
  if (status != std::errc()) fail("expected a number: " + what);
  at_ += static_cast<std::size_t>(end - digits.data());
  return value;
}

int64_t NotationText::number(const std::string& what, int64_t least) {
  const std::size_t from = at_;
  const int64_t value = number(what);
  if (value < least) fail(from, "the " + what + " is " + std::to_string(least) + " or more");
  return value;
}

std::string_view NotationText::letters() {
  const std::size_t from = at_;
  while ((peek() >= 'a' && peek() <= 'z') || (peek() >= 'A' && peek() <= 'Z')) ++at_;
  return text_.substr(from, at_ - from);
}

std::string_view NotationText::all() {
  const std::string_view out = rest();
  at_ = text_.size();
  return out;
}

void NotationText::fail(std::size_t at, const std::string& why) const {
  fail_at_(at, why);
  throw Error(ErrorCode::internal, "layout: an error was not thrown", "notation", why, "");
}

}  // namespace relayout
