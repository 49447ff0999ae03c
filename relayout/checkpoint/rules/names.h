// Patterns that tensors' names match, and templates that make new names of what a pattern's wildcards matched.
//
//     NamePattern p = NamePattern::parse("layers.#.*.weight");
//     p.match("layers.3.attn.q.weight");                       // captures "3", "attn.q"
//     NameTemplate::parse("blk.{1}.{2}").with(captures);       // "blk.3.attn.q"
//
// A pattern is a glob: `*` is any run of characters (dots too), `?` one character, `#` a whole number, and each of them
// is a capture, in their order. Between slashes it is a regular expression of ECMAScript, whose groups are the
// captures:
// "/layers\.(\d+)\.(w|b)/". Either matches whole names. In a template {1} is the first capture, {i} a number that the
// rule counts, and all else stands for itself.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/cxx20.h"

namespace relayout::checkpoint {

using Captures = std::vector<std::string>;

class NamePattern {
 public:
  /// Error{parse}: an expression that is none, or one with over 1,000 characters.
  static NamePattern parse(std::string_view text);

  const std::string& text() const { return text_; }
  /// What the wildcards matched, if the whole name matches. Names over 1,000 characters match nothing.
  std::optional<Captures> match(std::string_view name) const;
  int captures() const;
  /// The pattern's pieces, literal text and wildcards in turns ("layers.", '#', ".", '*', ".weight"), of a glob or of a
  /// regular expression that consists of literal text and groups, none inside another; nothing for all others. A group
  /// that is not (\d+) is the wildcard '*'.
  struct Piece {
    std::string literal;
    char wildcard = 0;  // '*', '?' or '#'; 0: the literal alone
    std::string group;  // of an expression: "(\d+)", with its parentheses
  };
  std::optional<std::vector<Piece>> pieces() const;

 private:
  struct Compiled;
  std::string text_;
  std::shared_ptr<const Compiled> compiled_;
};

class NameTemplate {
 public:
  /// Error{parse}: a brace without its partner, or other braces than {1} to {9} and {i}.
  static NameTemplate parse(std::string_view text);

  const std::string& text() const { return text_; }
  /// The largest capture that it names; 0 where it names none.
  int captures() const { return captures_; }
  /// Whether it names capture `number` (1, 2, ...), or with 0 whether it has {i}.
  bool names(int number) const;
  std::string with(const Captures& captures, int64_t i = 0) const;
  /// Text and captures in turns: a capture's number, or 0 for {i}; -1 behind the last text.
  struct Piece {
    std::string literal;
    int capture = -1;
  };
  const std::vector<Piece>& pieces() const { return pieces_; }

 private:
  std::string text_;
  std::vector<Piece> pieces_;
  int captures_ = 0;
};

/// A pattern and a template that exchange their places: names that `made` makes of what `pattern` matches are matched
/// by the first, and the second makes the old names of them. The inverse of an expression is one of the same groups.
/// Nothing where a capture gets lost, or where the pattern is an expression without pieces(). Where parts are counted,
/// {i} becomes a number, #, that the old name lacks, and a number that `made` lacks becomes {i}; `counted` of them.
struct InverseNames {
  std::string pattern, made;
  int counted = 0;
};
std::optional<InverseNames> inverse_names(const NamePattern& pattern, const NameTemplate& made, bool counts = false);

/// Whether `a` stands before `b` where numbers in names count as numbers: "w.2" before "w.10".
bool names_in_order(std::string_view a, std::string_view b);

}  // namespace relayout::checkpoint
