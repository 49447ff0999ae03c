// digits: any layout at all, as its digits. One dim after the other, parted by '|'; of each dim the digits (extent,
// stride), innermost first.
//
//     digits:(2,480)|(8,1)(3,160)|(5,32)|(4,8)       nChw8c for 17 to 24 channels of 2 images of 5 x 4
//     digits:(A,B)|(B,1)                             row-major for any dims A x B (formula.h)
#include <algorithm>
#include <memory>
#include <utility>

#include "relayout/core/format.h"
#include "relayout/core/notations/formula.h"
#include "relayout/core/notations/notation.h"

namespace relayout {

std::string digits_expression(const Layout& layout) {
  if (layout.ndims() == 0 && layout.padded()) {  // there is no dim whose digits could say the padding
    return "xla:[]{:T(" + std::to_string(layout.padded_elements()) + ")}" +
           (layout.offset0() != 0 ? "@" + std::to_string(layout.offset0()) : "");
  }
  if (layout.swizzled()) {
    const Swizzle& s = layout.swizzle();
    return digits_expression(layout.plain()) + ";swizzle=" + std::to_string(s.bits()) + "," + std::to_string(s.base()) +
           "," + std::to_string(s.shift());
  }
  std::string out = "digits:";
  bool backwards = false;
  for (int d = 0; d < layout.ndims(); ++d) {
    if (d > 0) out += '|';
    for (const Digit& digit : layout.digits(d)) {
      out += "(" + std::to_string(digit.extent) + "," + std::to_string(digit.stride) + ")";
      backwards = backwards || (digit.stride < 0 && digit.extent > 1);
    }
  }
  if (layout.offset0() != 0 || backwards) out += "@" + std::to_string(layout.offset0());
  return out;
}

Spelled read_digits(NotationText& text) {
  Spelled out;
  out.digits.emplace();
  if (text.done()) return out;  // a scalar
  FormulaDigits formula;
  int last = -1;  // dim that is named
  const auto read = [&](const std::string& what) {
    const ExtentFormula number = ExtentFormula::read(text, what);
    last = std::max(last, number.last_dim());
    return number;
  };
  do {
    auto& digits = formula.dims.emplace_back();
    if (formula.dims.size() > kMaxDims) text.fail("more than " + std::to_string(kMaxDims) + " dims");
    do {
      text.expect('(');
      if (digits.size() == kMaxDigits) text.fail("more than " + std::to_string(kMaxDigits) + " digits");
      if (text.peek() == '-') text.fail("the extent of a digit is 0 or more");
      ExtentFormula extent = read("extent of a digit");
      text.expect(',');
      digits.push_back({std::move(extent), read("stride of a digit")});
      text.expect(')');
    } while (text.peek() == '(');
  } while (text.take('|'));
  if (text.take('@')) formula.offset0 = read("offset0");
  if (!text.done()) text.fail("expected '(' and a further digit of this dim, or '|' and the next dim");
  const auto rank = static_cast<int>(formula.dims.size());
  if (last >= rank) {
    text.fail(std::string(1, static_cast<char>('A' + last)) + " is the extent of dim " + std::to_string(last) +
              ", and there are " + std::to_string(rank) + " dims");
  }
  if (last < 0 && !formula.offset0) {
    out.digits = formula.digits({});
    if (!out.digits) text.fail("the digits do not fit 64 bits");
    return out;
  }
  out.digits->resize(static_cast<std::size_t>(rank));
  out.formula = std::make_shared<const FormulaDigits>(std::move(formula));
  return out;
}

}  // namespace relayout
