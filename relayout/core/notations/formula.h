// Digits whose extents and strides follow from the tensor's dims, as tables of formats have them (not for users).
//
//     digits:(16,2)(2,1)(B/32,36)@4        B is the extent of dim 1, B/32 is rounded up
//     digits:(A,B)|(B,1)                   row-major
//     digits:(2,1)|(2,0)(B/2,2C/2)|(2,0)(C/2,2)@BC   the colours of an NV12 picture, one for 2 x 2 pixels
//
// A number is a sum of products of numbers and of extents, which stand behind each other or with '*' between; a capital
// letter is the extent of a dim, A of dim 0, and a divisor belongs to the letter before it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "relayout/core/extents.h"
#include "relayout/core/layout.h"

namespace relayout {

class NotationText;

/// A number that follows from dims: "36*B/32 + 4".
class ExtentFormula {
 public:
  /// Reads as far as the formula goes. `what` it is, for errors.
  static ExtentFormula read(NotationText& text, const std::string& what);
  static ExtentFormula of(int64_t number);

  /// Nothing where it overflows. The dims have those that are named.
  std::optional<int64_t> value(const Dims& dims) const;
  /// Whether it names no dim.
  bool constant() const;
  /// The largest dim that it names, -1 where there is none.
  int last_dim() const;

 private:
  struct Factor {
    int dim;
    int64_t divisor;
  };
  struct Term {
    int64_t number = 1;
    std::vector<Factor> factors;
  };
  std::vector<Term> terms_;
};

/// A layout whose digits follow from its dims.
struct FormulaDigits {
  struct Digit {
    ExtentFormula extent, stride;
  };
  std::vector<std::vector<Digit>> dims;  // innermost first
  std::optional<ExtentFormula> offset0{};

  /// Nothing where a number overflows, or an extent is negative.
  std::optional<std::vector<Digits>> digits(const Dims& of) const;
};

}  // namespace relayout
