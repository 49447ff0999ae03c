// CuTe's layouts as text and as C++: see cute.h. The algebra is in cute_algebra.cc and cute_products.cc.
#include "relayout/interop/cute.h"

#include "relayout/core/format.h"
#include "relayout/interop/cute_modes.h"

namespace relayout::cute {
namespace {

/// Writes a tuple with a text for each digit: "((8,3),4)" of "8", "3", "4"; a dim of one digit has no parentheses.
/// `open` stands before each parenthesis.
template <typename Text>
std::string tuple_of(const Layout& layout, const std::string& open, const std::string& comma, const Text& text) {
  std::string out = open + "(";
  for (int d = 0; d < layout.ndims(); ++d) {
    const auto digits = layout.digits(d);
    std::string mode;
    for (const Digit& digit : digits) mode += (mode.empty() ? "" : comma) + text(digit);
    out += (d == 0 ? "" : comma) + (digits.size() == 1 ? mode : open + "(" + mode + ")");
  }
  return out + ")";
}

std::string extent_text(const Digit& digit) { return std::to_string(digit.extent); }
std::string stride_text(const Digit& digit) { return std::to_string(digit.stride); }

/// The layout as C++ makes it.
std::string made(const Layout& layout) {
  return "cute::make_layout(" + tuple_of(layout, "cute::make_shape", ", ", extent_text) + ", " +
         tuple_of(layout, "cute::make_stride", ", ", stride_text) + ")";
}

/// The layout with what a composition adds left out; a negative stride stays, and is refused as in any layout.
Layout without_offset(const Layout& layout) {
  const int64_t low = layout.empty() ? layout.offset0() : layout.offset_range().first;
  std::vector<Digits> digits;
  for (int d = 0; d < layout.ndims(); ++d) digits.push_back(layout.digits_of(d));
  return Layout::from_digits(layout.dims(), digits, layout.offset0() - low);
}

}  // namespace

Layout from_cute(std::string_view text) {
  // An expression may end in an offset, options and views, which are not CuTe's.
  const std::size_t behind = text.find_last_of(')');
  const std::size_t foreign = std::min(text.find_first_of(";."), text.find('@', behind == text.npos ? 0 : behind));
  if (foreign != text.npos) {
    throw Error(ErrorCode::parse,
                "from_cute: \"" + escaped(text) + "\" has '" + text[foreign] +
                    "' behind the strides, where CuTe's layouts end; only layout expressions go on",
                "text", escaped(text), "shape:stride");
  }
  const Format format = Format::parse("cute:" + std::string(text));
  return format.bind(format.default_dims().value_or(Dims()));
}

std::string to_cute(const Layout& layout, const TextOptions& options) {
  if (layout.swizzled()) {
    const Layout from_start = without_offset(layout.plain());
    return layout.swizzle().text() + " o " + std::to_string(layout.offset0()) + " o " + to_cute(from_start, options);
  }
  check_no_padding(layout, "to_cute", options.capacities);
  if (layout.ndims() == 1 && layout.digits(0).size() == 1)
    return extent_text(layout.digits(0)[0]) + ":" + stride_text(layout.digits(0)[0]);
  return tuple_of(layout, "", ",", extent_text) + ":" + tuple_of(layout, "", ",", stride_text);
}

std::string code(const TensorDesc& desc) {
  const Layout& layout = desc.layout;
  const std::string text = to_cute(layout);
  if (layout.swizzled()) {
    const Swizzle& s = layout.swizzle();
    return "const auto layout = cute::make_composed_layout(cute::Swizzle<" + std::to_string(s.bits()) + ", " +
           std::to_string(s.base()) + ", " + std::to_string(s.shift()) + ">{}, " + std::to_string(layout.offset0()) +
           ", " + made(without_offset(layout.plain())) + ");  // " + text;
  }
  return "const auto layout = " + made(layout) + ";  // " + text;
}

void refuse(const std::string& operation, const std::string& why, const std::string& field, const std::string& value,
            const std::string& limit) {
  throw Error(ErrorCode::unsupported, "cute: " + operation + ": " + why, field, value, limit);
}

void check_no_padding(const Layout& layout, const std::string& operation, bool capacities) {
  require_plain(layout, "cute: " + operation);
  // Before the offset, which such a stride brings with it.
  const Layout simple = layout.canonical();
  for (int d = 0; d < simple.ndims() && !layout.empty(); ++d) {
    for (const Digit& digit : simple.digits(d)) {
      if (digit.stride >= 0) continue;
      refuse(operation,
             "dim " + std::to_string(d) + " has the stride " + std::to_string(digit.stride) +
                 ", so that elements of CuTe's layout would lie before the pointer",
             "strides[" + std::to_string(d) + "]", std::to_string(digit.stride), "0 or more");
    }
  }
  if (layout.offset0() != 0) {
    refuse(operation,
           "the layout begins at offset " + std::to_string(layout.offset0()) +
               ", and CuTe's begin at 0: add it to the pointer",
           "offset0", std::to_string(layout.offset0()), "0");
  }
  for (int d = 0; d < layout.ndims() && !capacities; ++d) {
    if (layout.capacity(d) == layout.dim(d)) continue;
    refuse(operation,
           "dim " + std::to_string(d) + " has " + std::to_string(layout.dim(d)) + " elements and a capacity of " +
               std::to_string(layout.capacity(d)) +
               ", and CuTe has no padding: give the capacity as the extent (TextOptions::capacities does in to_cute)",
           "dims[" + std::to_string(d) + "]", std::to_string(layout.dim(d)), std::to_string(layout.capacity(d)));
  }
}

}  // namespace relayout::cute
