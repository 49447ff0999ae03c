// overlaps(): whether two arrays share memory, exactly.
//
// Both arrays are layouts over one buffer, which begins at the lowest address: the difference of their addresses is the
// offset of one of them. They are counted in the largest unit that divides both sizes of elements, all strides and that
// difference; an element of several units has one digit more in its first dim. 4-bit elements make that unit half a
// byte.
#include <nanobind/stl/string.h>

#include <cstdlib>
#include <numeric>

#include "python/src/arrays.h"
#include "python/src/copies.h"
#include "relayout/core/decide.h"

namespace nb = nanobind;

namespace relayout::python {
namespace {

/// An array counted in half bytes.
struct HalfBytes {
  Dims dims;
  InlineVector<Digits, kMaxDims> digits;
  int64_t item = 2, offset0 = 0;
};

HalfBytes half_bytes(const Array& array) {
  HalfBytes out;
  if (array.desc != nullptr) {
    Layout layout = array.desc->layout.canonical();
    out.item = bits(array.desc->dtype) / 4;
    if (layout.swizzled()) {  // all of its memory, from the first element to the last
      const auto [low, high] = layout.offset_range();
      layout = Layout::strided({high - low + 1}, {1}, low);
    }
    out.offset0 = layout.offset0() * out.item;
    for (int d = 0; d < layout.ndims(); ++d) {
      Digits digits;
      for (Digit digit : layout.digits(d)) digits.push_back({digit.extent, digit.stride * out.item});
      out.dims.push_back(layout.dim(d));
      out.digits.push_back(digits);
    }
    return out;
  }
  out.item = array.item_bytes * 2;
  for (int d = 0; d < array.shape.size(); ++d) {
    const int64_t extent = array.shape[d];
    if (extent == 1) continue;
    const int64_t stride = array.strides[d] * 2;
    Digits digits;
    // From the lowest address on, where an offset is never negative.
    digits.push_back({extent, std::abs(stride)});
    out.dims.push_back(extent);
    out.digits.push_back(digits);
  }
  return out;
}

int64_t common_unit(const HalfBytes& array, int64_t unit) {
  unit = std::gcd(std::gcd(unit, array.item), array.offset0);
  for (const Digits& digits : array.digits)
    for (const Digit& digit : digits) unit = std::gcd(unit, digit.stride);
  return unit;
}

/// In units, of which an element is one or several.
Layout in_units(HalfBytes array, int64_t unit, int64_t offset0) {
  for (Digits& digits : array.digits)
    for (Digit& digit : digits) digit.stride /= unit;
  if (const int64_t parts = array.item / unit; parts > 1) {
    if (array.dims.empty()) {
      array.dims.push_back(1);
      array.digits.push_back(Digits{});
    }
    array.dims[0] *= parts;
    Digits longer;
    longer.push_back({parts, 1});
    for (const Digit& digit : array.digits[0]) longer.push_back(digit);
    array.digits[0] = longer;
  }
  return Layout::from_digits(array.dims, std::span(array.digits.begin(), array.digits.end()),
                             (array.offset0 + offset0) / unit);
}

}  // namespace

bool overlaps(const Array& a, const Array& b) {
  if (a.elements() == 0 || b.elements() == 0) return false;
  const auto [a_low, a_high] = a.byte_range();
  const auto [b_low, b_high] = b.byte_range();
  const auto a_first = reinterpret_cast<intptr_t>(a.data) + a_low, b_first = reinterpret_cast<intptr_t>(b.data) + b_low;
  if (a_first + (a_high - a_low) <= b_first || b_first + (b_high - b_low) <= a_first) return false;
  const HalfBytes units_a = half_bytes(a), units_b = half_bytes(b);
  const int64_t a_from = std::max<int64_t>(0, a_first - b_first) * 2,
                b_from = std::max<int64_t>(0, b_first - a_first) * 2;
  const int64_t unit = common_unit(units_b, common_unit(units_a, std::max(a_from, b_from)));
  const Layout one = in_units(units_a, unit, a_from), other = in_units(units_b, unit, b_from);
  Answer answer = Answer::undecided;
  {
    const nb::gil_scoped_release released;
    answer = overlap(one, other).answer;
  }
  if (answer == Answer::undecided) {
    throw Error(ErrorCode::limit,
                "whether these arrays share memory was not found in " + std::to_string(kDecisionSteps) +
                    " steps; the ranges of their addresses meet",
                "x", {}, std::to_string(kDecisionSteps));
  }
  return answer == Answer::yes;
}

void bind_sharing(nb::module_& module) {
  module.def(
      "overlaps", [](nb::handle x, nb::handle y) { return overlaps(Array(x), Array(y)); }, nb::arg("x"), nb::arg("y"));
}

}  // namespace relayout::python
