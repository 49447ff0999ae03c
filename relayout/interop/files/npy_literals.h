// Python literals, of those kinds that the header of a .npy file may have: strings, True and False, tuples of numbers.
//
//     NpyLiterals in("{'shape': (2, 3)}", 1);
//     in.expect('{');  in.string() == "shape";  in.expect(':');  in.tuple() == Dims{2, 3};
//
// Nothing is ever evaluated. What is no literal is an Error that quotes it.
#pragma once

#include <string>
#include <string_view>

#include "relayout/core/extents.h"

namespace relayout {

[[noreturn]] void corrupt_npy(const std::string& what, std::string value = {});

class NpyLiterals {
 public:
  /// `version` is the file's: up to 2 numbers may end in L, as Python 2 wrote them.
  NpyLiterals(std::string_view text, int version) : text_(text), version_(version) {}

  /// Whether `ch` comes next, which is then passed over. Each skips white space first.
  bool accept(char ch);
  void expect(char ch);
  /// What remains up to the end: white space alone, or a comment, whose text is returned.
  std::string_view expect_end();
  char peek();
  std::size_t at() const { return at_; }
  std::string_view text_from(std::size_t begin) const { return text_.substr(begin, at_ - begin); }

  /// A string of one line, without escapes: no key and no type that is read has one.
  std::string_view string();
  /// Passes over a string of one line, which may have escapes.
  void skip_string();
  bool boolean();
  Dims tuple();
  int64_t integer();

  [[noreturn]] void fail(const std::string& expected);

 private:
  void skip_space();
  bool is_word(std::size_t at) const;

  std::string_view text_;
  int version_;
  std::size_t at_ = 0;
};

}  // namespace relayout
