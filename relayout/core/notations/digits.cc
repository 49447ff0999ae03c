// digits: any layout at all, as its digits. One dim after the other, parted by '|'; of each dim the digits (extent,
// stride), innermost first.
//
//     digits:(2,480)|(8,1)(3,160)|(5,32)|(4,8)       nChw8c for 17 to 24 channels of 2 images of 5 x 4
#include "relayout/core/format.h"
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
  do {
    Digits digits;
    if (out.digits->size() == kMaxDims) text.fail("more than " + std::to_string(kMaxDims) + " dims");
    do {
      text.expect('(');
      if (digits.size() == kMaxDigits) text.fail("more than " + std::to_string(kMaxDigits) + " digits");
      const int64_t extent = text.number("extent of a digit", 0);
      text.expect(',');
      digits.push_back({extent, text.number("stride of a digit")});
      text.expect(')');
    } while (text.peek() == '(');
    out.digits->push_back(digits);
  } while (text.take('|'));
  if (!text.done()) text.fail("expected '(' and a further digit of this dim, or '|' and the next dim");
  return out;
}

}  // namespace relayout
