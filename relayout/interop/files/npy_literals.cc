// Reads the Python literals in the headers of .npy files: see npy_literals.h.
#include "relayout/interop/files/npy_literals.h"

#include <charconv>

#include "relayout/core/error.h"

namespace relayout {

void corrupt_npy(const std::string& what, std::string value) {
  throw Error(ErrorCode::corrupt, "npy: " + what, "header", std::move(value));
}

bool NpyLiterals::accept(char ch) {
  skip_space();
  if (at_ == text_.size() || text_[at_] != ch) return false;
  ++at_;
  return true;
}

void NpyLiterals::expect(char ch) {
  if (!accept(ch)) fail(std::string("'") + ch + "'");
}

std::string_view NpyLiterals::expect_end() {
  std::string_view comment;
  if (accept('#')) {
    const std::size_t begin = at_, end = std::min(text_.find('\n', at_), text_.size());
    comment = text_.substr(begin, end - begin);
    at_ = end;
  }
  skip_space();
  if (at_ != text_.size()) fail("the end of the header");
  while (comment.starts_with(' ')) comment.remove_prefix(1);
  while (comment.ends_with(' ')) comment.remove_suffix(1);
  return comment;
}

char NpyLiterals::peek() {
  skip_space();
  return at_ < text_.size() ? text_[at_] : '\0';
}

std::string_view NpyLiterals::string() {
  const char quote = peek();
  if (quote != '\'' && quote != '"') fail("a string");
  const std::size_t begin = ++at_;
  while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\\' && text_[at_] != '\n') ++at_;
  if (at_ == text_.size() || text_[at_] != quote) fail("the end of a plain string");
  return text_.substr(begin, at_++ - begin);
}

void NpyLiterals::skip_string() {
  const char quote = peek();
  if (quote != '\'' && quote != '"') fail("a string");
  ++at_;
  while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n') at_ += text_[at_] == '\\' ? 2 : 1;
  at_ = std::min(at_, text_.size());
  if (at_ == text_.size() || text_[at_] != quote) fail("the end of a string");
  ++at_;
}

bool NpyLiterals::boolean() {
  for (const auto& [word, value] : {std::pair{std::string_view("True"), true}, {"False", false}}) {
    skip_space();
    if (text_.substr(at_, word.size()) == word && !is_word(at_ + word.size())) {
      at_ += word.size();
      return value;
    }
  }
  fail("True or False");
}

Dims NpyLiterals::tuple() {
  Dims out;
  int64_t count = 0;
  expect('(');
  for (bool comma = true; !accept(')');) {
    if (!comma) fail("',' or ')'");
    const int64_t extent = integer();
    if (++count <= kMaxDims) out.push_back(extent);
    comma = accept(',');
    if (!comma && count == 1) fail("',' (one number in parentheses is no tuple)");
  }
  if (count > kMaxDims) {
    const std::string given = std::to_string(count), most = std::to_string(kMaxDims);
    throw Error(ErrorCode::limit, "npy: the array has " + given + " dims; at most " + most + " are read", "shape",
                given, most);
  }
  return out;
}

void NpyLiterals::fail(const std::string& expected) {
  const std::string where =
      "\"" + escaped(text_.substr(at_), 24) + "\" at byte " + std::to_string(at_) + " of the header";
  // What begins with a letter may be Python (a name, a call, a comprehension), but is not a literal.
  if (is_word(at_) && !(text_[at_] >= '0' && text_[at_] <= '9')) {
    throw Error(ErrorCode::unsupported, "npy: only literals are read; expected " + expected + ", found " + where,
                "header", escaped(text_.substr(at_), 24));
  }
  corrupt_npy("expected " + expected + ", found " + where, escaped(text_.substr(at_), 24));
}

int64_t NpyLiterals::integer() {
  skip_space();
  if (at_ < text_.size() && text_[at_] == '-') corrupt_npy("negative extent in shape", escaped(text_.substr(at_), 24));
  int64_t value = 0;
  const char* begin = text_.data() + at_;
  const auto [end, status] = std::from_chars(begin, text_.data() + text_.size(), value);
  if (status == std::errc::result_out_of_range)
    corrupt_npy("an extent does not fit 64 bits", escaped(text_.substr(at_), 24));
  if (status != std::errc()) fail("a whole number");
  at_ += static_cast<std::size_t>(end - begin);
  if (version_ <= 2 && at_ < text_.size() && text_[at_] == 'L') ++at_;
  if (is_word(at_)) corrupt_npy("an extent is not a decimal number", escaped(text_.substr(at_), 24));
  return value;
}

void NpyLiterals::skip_space() {
  while (at_ < text_.size() && std::string_view(" \t\r\n\f").find(text_[at_]) != std::string_view::npos) ++at_;
}

bool NpyLiterals::is_word(std::size_t at) const {
  if (at >= text_.size()) return false;
  const char ch = text_[at];
  return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') || ch == '_';
}

}  // namespace relayout
