// Formulas of extents: reading and evaluating them.
#include "relayout/core/notations/formula.h"

#include <algorithm>
#include <utility>

#include "relayout/core/notations/notation.h"
#include "relayout/core/overflow.h"

namespace relayout {
namespace {

bool is_extent(char ch) { return ch >= 'A' && ch < 'A' + kMaxDims; }
bool is_decimal(char ch) { return ch >= '0' && ch <= '9'; }

}  // namespace

ExtentFormula ExtentFormula::of(int64_t number) {
  ExtentFormula out;
  out.terms_.push_back({number, {}});
  return out;
}

ExtentFormula ExtentFormula::read(NotationText& text, const std::string& what) {
  ExtentFormula out;
  bool negative = text.take('-');
  do {
    Term& term = out.terms_.emplace_back();
    if (!is_decimal(text.peek()) && !is_extent(text.peek()))
      text.fail("expected the " + what + ": a number, or a dim's extent, A for dim 0");
    while (true) {
      const std::size_t at = text.at();
      if (is_extent(text.peek())) {
        const int dim = text.peek() - 'A';
        text.take(text.peek());
        term.factors.push_back({dim, text.take('/') ? text.number("divisor", 1) : 1});
      } else if (is_decimal(text.peek())) {
        const auto product = checked_mul(term.number, text.number(what));
        if (!product) text.fail(at, "the " + what + " does not fit 64 bits");
        term.number = *product;
      } else {
        text.fail("expected a number or a dim's extent behind '*'");
      }
      if (!text.take('*') && !is_extent(text.peek()) && !is_decimal(text.peek())) break;
    }
    if (negative) term.number = -term.number;
    negative = text.peek() == '-';
  } while (text.take('+') || text.take('-'));
  return out;
}

std::optional<int64_t> ExtentFormula::value(const Dims& dims) const {
  std::optional<int64_t> sum = 0;
  for (const Term& term : terms_) {
    std::optional<int64_t> product = term.number;
    for (const Factor& factor : term.factors)
      product = product ? checked_mul(*product, ceil_div(dims[factor.dim], factor.divisor)) : std::nullopt;
    sum = sum && product ? checked_add(*sum, *product) : std::nullopt;
  }
  return sum;
}

bool ExtentFormula::constant() const { return last_dim() < 0; }

int ExtentFormula::last_dim() const {
  int last = -1;
  for (const Term& term : terms_) {
    for (const Factor& factor : term.factors) last = std::max(last, factor.dim);
  }
  return last;
}

std::optional<std::vector<Digits>> FormulaDigits::digits(const Dims& of) const {
  std::vector<Digits> out;
  for (const auto& dim : dims) {
    Digits digits;
    for (const Digit& digit : dim) {
      const auto extent = digit.extent.value(of), stride = digit.stride.value(of);
      if (!extent || !stride || *extent < 0) return std::nullopt;
      digits.push_back({*extent, *stride});
    }
    out.push_back(digits);
  }
  return out;
}

}  // namespace relayout
