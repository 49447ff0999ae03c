// Notations: how other systems write layouts, as the bodies of layout expressions behind "name:" (not for users).
//
//     tvm:NCHW16c                        the tag nChw16c
//     cute:((8,3),4):((1,32),8)          digits: dim 0 is (8,1)(3,32), dim 1 is (4,8)
//     xla:{1,0:T(2,2)}                   the tag AB2a2b
//
// A notation is one function that reads the text behind the colon and says, in a Spelled, which tag, strides or digits
// it means. To add one: write that function in a file of this folder and its line in kNotations (list.cc); where it
// is a list of names, it is a table in systems/. The documents list it in docs/layout-expressions.md. Nothing behind
// Format::parse() knows where a layout came from. A system's own reader in interop/ may take the parts of its notation
// that need more than the text says (TVM's letters).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "relayout/core/format.h"

namespace relayout {

/// Says, with a caret under a position of the whole expression, what is wrong there. It does not return: it throws
/// Error{parse}.
using FailAt = std::function<void(std::size_t at, const std::string& why)>;

/// The text of a notation, read from left to right. Positions are those in the whole expression.
class NotationText {
 public:
  /// The characters of `text` from `at` up to `end`.
  NotationText(std::string_view text, std::size_t at, std::size_t end, FailAt fail_at)
      : text_(text.substr(0, end)), at_(at), fail_at_(std::move(fail_at)) {}

  bool done() const { return at_ == text_.size(); }
  std::size_t at() const { return at_; }
  std::string_view rest() const { return text_.substr(at_); }
  /// The next character; 0 at the end.
  char peek() const { return done() ? '\0' : text_[at_]; }
  bool take(char ch);
  bool take(std::string_view word);
  /// Takes a character that must stand here.
  void expect(char ch);
  /// Takes a decimal number, which may be negative.
  int64_t number(const std::string& what);
  /// Takes a number of at least `least`.
  int64_t number(const std::string& what, int64_t least);
  /// Takes all letters that stand here.
  std::string_view letters();
  /// Takes all that is left.
  std::string_view all();

  [[noreturn]] void fail(const std::string& why) const { fail(at_, why); }
  [[noreturn]] void fail(std::size_t at, const std::string& why) const;

 private:
  std::string_view text_;
  std::size_t at_;
  FailAt fail_at_;
};

/// What a notation means. One of tag, strides and digits is set; none of them is row-major.
struct Spelled {
  /// A tag of layout expressions, for example "aBcd16b"; ";align=" may stand behind it.
  std::string tag{};
  /// For blocks of the tag that are no digits in the order of memory: the place of each block among the digits of its
  /// dim, 0 innermost. Empty where the last block of a dim is its innermost digit, as in every tag.
  std::vector<int> places{};
  /// Blocks that belong to no dim, as tiles of more extents than an array has dims make them: which place each has
  /// among the blocks of memory, 0 outermost, and its size. All their indices but 0 are padding.
  std::vector<std::pair<std::size_t, int64_t>> blocks_of_no_dim{};
  /// A stride for each dim.
  std::optional<Dims> strides{};
  /// For each dim its digits, innermost first. Extents are the capacities unless others are given.
  std::optional<std::vector<Digits>> digits{};
  /// What is added to the offsets, and their swizzle, where the notation says them in its own way.
  std::optional<int64_t> offset0{};
  Swizzle swizzle{};
  /// The digits as formulas of the dims; `digits` then only says how many dims there are.
  std::shared_ptr<const FormulaDigits> formula{};
  /// The extents, where the notation fixes them.
  std::optional<Dims> dims{};
  /// A letter for each dim, where the notation names them.
  std::string names{};
  /// A dim that must have some extents.
  std::optional<DimLimit> limit{};
  /// What the text means for other dims, each a tag: those of another rank, and those beyond `limit`. The first that
  /// takes the dims counts.
  std::vector<Spelled> others{};
};

struct NamedSystem;
using ReadNotation = Spelled (*)(NotationText& text);

/// The notation that a text begins with, by its name and a colon; null where there is none.
struct Notation {
  std::string_view name;  // "cute"
  ReadNotation read;
  std::string_view example;  // a layout in it, for who writes its name and not more
  /// The system whose names it has, where it is a list of names (systems/).
  const NamedSystem& (*system)() = nullptr;
};
const Notation* notation_of(std::string_view text);
std::span<const Notation> all_notations();

// The notations, a function each.
Spelled read_digits(NotationText& text);
Spelled read_directml(NotationText& text);
Spelled read_mace(NotationText& text);
Spelled read_cute(NotationText& text);
Spelled read_xla(NotationText& text);
Spelled read_tvm(NotationText& text);
Spelled read_cudnn(NotationText& text);
Spelled read_acl(NotationText& text);
Spelled read_executorch(NotationText& text);
Spelled read_mdspan(NotationText& text);
Spelled read_chunks(NotationText& text);
Spelled read_tiff(NotationText& text);
Spelled read_scales(NotationText& text);

/// TVM's text in two steps, for those who know the order of the dims: its axes, and the tag that they are where `order`
/// has the letter of each dim ("nchw").
struct TvmAxes {
  std::string outer;                             // small letters, from the outermost axis of memory to the innermost
  std::vector<std::pair<char, int64_t>> blocks;  // outermost first
};
TvmAxes read_tvm_axes(NotationText& text);
Spelled spelled_tvm(const TvmAxes& axes, std::string_view order);

}  // namespace relayout
