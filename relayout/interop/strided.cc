// The strides of a layout that has one a dim: see strided.h.
#include "relayout/interop/strided.h"

#include <algorithm>

#include "relayout/core/wide.h"

namespace relayout {
namespace {

std::string digits_text(std::span<const Digit> digits) {
  std::string out;
  for (const Digit& digit : digits)
    out += "(" + std::to_string(digit.extent) + "," + std::to_string(digit.stride) + ")";
  return out;
}

[[noreturn]] void refuse_dim(std::string_view system, std::string_view rule, int d, const std::string& why,
                             const std::string& value, const std::string& allowed) {
  throw Error(ErrorCode::unsupported,
              std::string(system) + " has " + std::string(rule) + ": dim " + std::to_string(d) + " " + why,
              "dims[" + std::to_string(d) + "]", value, allowed);
}

}  // namespace

Dims one_stride_a_dim(const Layout& layout, std::string_view system) {
  if (layout.ndims() == 0 && layout.padded()) {
    const std::string elements = std::to_string(layout.padded_elements());
    throw Error(ErrorCode::unsupported,
                std::string(system) + " has no padding: the scalar stands in " + elements + " elements", "padding",
                elements, "1");
  }
  require_plain(layout, "strides of " + std::string(system));
  const Layout simple = layout.canonical();
  Dims out;
  for (int d = 0; d < layout.ndims(); ++d) {
    const bool one_digit = layout.digits(d).size() == 1;
    if (layout.empty()) {
      out.push_back(one_digit ? layout.outer_stride(d) : 0);
      continue;
    }
    if (simple.digits(d).size() > 1) {
      const std::string digits = digits_text(simple.digits(d));
      refuse_dim(system, "one stride a dim", d, "is blocked, with the digits " + digits, digits, "one digit");
    }
    if (layout.capacity(d) != layout.dim(d)) {
      refuse_dim(system, "no padding", d,
                 "has extent " + std::to_string(layout.dim(d)) + " and capacity " + std::to_string(layout.capacity(d)),
                 std::to_string(layout.capacity(d)), std::to_string(layout.dim(d)));
    }
    out.push_back(one_digit ? layout.outer_stride(d) : simple.outer_stride(d));
  }
  return out;
}

std::optional<Dims> strides_in_bytes(const Layout& layout, Dims strides, int64_t item_bytes) {
  for (int d = 0; d < layout.ndims(); ++d) {
    const auto bytes = checked_mul(strides[d], item_bytes);
    if (!bytes && !layout.empty() && layout.dim(d) > 1) return std::nullopt;
    strides[d] = bytes.value_or(0);
  }
  return strides;
}

int64_t elements_before(const Dims& dims, const Dims& strides, std::string_view system) {
  if (std::ranges::find(dims, 0) != dims.end()) return 0;
  Wide before = 0, farthest = 0;
  int worst = 0;
  for (int d = 0; d < dims.size(); ++d) {
    const Wide reach = strides[d] < 0 ? abs_wide(Wide{dims[d] - 1} * strides[d]) : 0;
    before += reach;
    if (reach <= farthest) continue;
    farthest = reach;
    worst = d;
  }
  // Eight less than the largest number, as the span is one more and offsets of sub-byte elements are rounded up.
  if (before < std::numeric_limits<int64_t>::max() - 7) return static_cast<int64_t>(before);
  throw Error(ErrorCode::overflow,
              std::string(system) + ": what the strides lead back overflows 64 bits; dim " + std::to_string(worst) +
                  " (" + std::to_string(dims[worst]) + ") leads farthest, by " + std::to_string(dims[worst] - 1) +
                  " x " + std::to_string(strides[worst]),
              "strides[" + std::to_string(worst) + "]", std::to_string(strides[worst]), "offsets of 63 bits");
}

std::optional<int64_t> bytes_before(int64_t offset, DType dtype) {
  if (bits(dtype) >= 8) return checked_mul(offset, bits(dtype) / 8);
  return offset / 8 * bits(dtype) + offset % 8 * bits(dtype) / 8;
}

void refuse_stride(std::string_view what, int d, int64_t stride, std::string_view allowed) {
  throw Error(ErrorCode::unsupported,
              std::string(what) + ": dim " + std::to_string(d) + " has stride " + std::to_string(stride),
              "strides[" + std::to_string(d) + "]", std::to_string(stride), std::string(allowed));
}

std::string python_tuple(std::span<const std::string> items) {
  std::string out = "(";
  for (std::size_t k = 0; k < items.size(); ++k) out += (k > 0 ? ", " : "") + items[k];
  return out + (items.size() == 1 ? ",)" : ")");
}

std::string python_tuple(std::span<const int64_t> values) {
  return "(" + join(values, ", ") + (values.size() == 1 ? ",)" : ")");
}

}  // namespace relayout
