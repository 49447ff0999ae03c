// The offset formula and the digits.
#include "relayout/core/print.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace relayout {
namespace {

std::string letter_of(std::string_view letters, int d) {
  return d < static_cast<int>(letters.size()) ? std::string(1, letters[static_cast<std::size_t>(d)])
                                              : "i" + std::to_string(d);
}

/// "c", "c/8", "c%8" or "c/4%16": digit k of an index.
std::string digit_text(const std::string& letter, int64_t place, int64_t extent, bool outermost) {
  const std::string quotient = place == 1 ? letter : letter + "/" + std::to_string(place);
  return outermost ? quotient : quotient + "%" + std::to_string(extent);
}

}  // namespace

std::string offset_formula(const Layout& layout, std::string_view dim_letters) {
  if (layout.swizzled()) return layout.swizzle().text() + "(" + offset_formula(layout.plain(), dim_letters) + ")";
  struct Term {
    int64_t stride;
    std::string text;
    bool compound;
  };
  std::vector<Term> terms;
  for (int d = 0; d < layout.ndims() && !layout.empty(); ++d) {
    int64_t place = 1;
    const auto digits = layout.digits(d);
    for (std::size_t k = 0; k < digits.size(); ++k) {
      const bool outermost = place * digits[k].extent >= layout.dim(d);
      if (digits[k].extent > 1 && place < layout.dim(d) && digits[k].stride != 0) {
        const std::string text = digit_text(letter_of(dim_letters, d), place, digits[k].extent, outermost);
        terms.push_back({digits[k].stride, text, place > 1 || !outermost});
      }
      place *= digits[k].extent;
    }
  }
  std::ranges::stable_sort(terms, [](const Term& a, const Term& b) { return std::abs(a.stride) > std::abs(b.stride); });
  std::string out = layout.offset0() != 0 || terms.empty() ? std::to_string(layout.offset0()) : "";
  for (const Term& term : terms) {
    out += out.empty() ? (term.stride < 0 ? "-" : "") : (term.stride < 0 ? " - " : " + ");
    const int64_t size = std::abs(term.stride);
    out += size == 1 ? term.text : std::to_string(size) + "*" + (term.compound ? "(" + term.text + ")" : term.text);
  }
  return out;
}

std::string digits_text(const Layout& layout, std::string_view dim_letters) {
  if (layout.swizzled()) return layout.swizzle().text() + " of " + digits_text(layout.plain(), dim_letters);
  std::string out;
  for (int d = 0; d < layout.ndims(); ++d) {
    out += (d ? "  " : "") + letter_of(dim_letters, d) + " = ";
    for (const Digit& digit : layout.digits(d))
      out += "(" + std::to_string(digit.extent) + "," + std::to_string(digit.stride) + ")";
  }
  return out;
}

}  // namespace relayout
