// Views that read a buffer by other steps than its dims have: windows, diagonals, any strides.
#include <algorithm>

#include "relayout/core/view.h"
#include "relayout/core/view_parts.h"

namespace relayout {
namespace {

/// A part of a view's dims, whose refusal is the view's own.
Layout part_of(const Layout& layout, int d, int64_t start, int64_t stop, int64_t step, const std::string& refusal) {
  try {
    return slice(layout, d, start, stop, step);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::needs_copy) throw;
    needs_copy(refusal, error.value());
  }
}

/// Whether f_d(i * step + j) is f_d(i * step) + f_d(j) for windows of `size` indices j. One digit allows any windows.
/// With several, windows must begin where digits do, and one that is longer than its step must not carry.
bool windows_separate(const Digits& digits, int64_t size, int64_t step) {
  Digits below, above;
  if (digits.size() == 1) return true;
  return cut(digits, step, &below, &above, true) && (size <= step || above.size() == 1);
}

/// Digits without their places below `extent`; false where a digit would be cut into unequal parts. The outermost digit
/// may be cut so, as it only has to reach far enough.
bool drop_inner(Digits& digits, int64_t extent) {
  Digit& inner = digits[0];
  if (inner.extent == extent) {
    digits.erase(0);
    return true;
  }
  if (inner.extent % extent != 0 && digits.size() > 1) return false;
  inner = {ceil_div(inner.extent, extent), inner.stride * extent};
  return true;
}

int64_t capacity_of(const Digits& digits) {
  int64_t product = 1;
  for (const Digit& digit : digits) product *= digit.extent;
  return product;
}

/// Digits of one index that is the index of two dims at once; nothing where the digits of the two do not divide each
/// other.
std::optional<Digits> sum_of(Digits a, Digits b, int64_t length) {
  const int64_t most = std::min(capacity_of(a), capacity_of(b));
  Digits out;
  for (int64_t place = 1; out.empty() || place < length;) {
    const int64_t extent = std::min(a[0].extent, b[0].extent);
    out.push_back({extent, a[0].stride + b[0].stride});
    place *= extent;
    if (place < length && !(drop_inner(a, extent) && drop_inner(b, extent))) return std::nullopt;
  }
  // Padding of the diagonal must be padding of both dims.
  return capacity_of(out) <= std::max(most, length) ? std::optional(out) : std::nullopt;
}

}  // namespace

Layout unfold(const Layout& layout, int d, int64_t size, int64_t step) {
  if (layout.swizzled())
    return under_swizzle(layout, [&](const Layout& plain) { return unfold(plain, d, size, step); });
  d = checked_dim("unfold", d, layout.ndims());
  const int64_t extent = layout.dim(d);
  const std::string what = "unfold: windows of " + std::to_string(size) + " at steps of " + std::to_string(step) +
                           " of dim " + std::to_string(d);
  if (size < 0 || size > extent) refuse(what + ", whose extent is " + std::to_string(extent), d, size, extent);
  if (step < 1) refuse(what + "; a step is 1 or more", d, step, 1);
  const int64_t count = (extent - size) / step + 1;
  LayoutParts out(layout);
  const auto at = static_cast<std::size_t>(d);
  out.dims[d] = count;
  if (layout.empty() || size == 0) {
    out.digits[at] = {{count, 0}};
    out.insert(layout.ndims(), size, {{size, 0}});
    return out.layout();
  }
  const std::string refusal = what + " cut its blocks; copy it first";
  if (count > 1 && size > 1 && !windows_separate(layout.canonical().digits_of(d), size, step))
    needs_copy(refusal, std::to_string(d));
  // A part of one index has no padding, so that at most one of the two dims has the padding of dim d.
  const auto digits_of_part = [&](int64_t indices, int64_t stop, int64_t by) {
    return indices == 1 ? Digits{{1, 0}} : part_of(layout, d, 0, stop, by, refusal).digits_of(d);
  };
  out.digits[at] = digits_of_part(count, (count - 1) * step + 1, step);
  out.insert(layout.ndims(), size, digits_of_part(size, size, 1));
  return out.layout();
}

Layout diagonal(const Layout& layout, int64_t offset, int d0, int d1) {
  if (layout.swizzled())
    return under_swizzle(layout, [&](const Layout& plain) { return diagonal(plain, offset, d0, d1); });
  const int rows = checked_dim("diagonal", d0, layout.ndims()), columns = checked_dim("diagonal", d1, layout.ndims());
  if (rows == columns)
    throw Error(ErrorCode::invalid_argument, "diagonal: dim " + std::to_string(rows) + " is given twice", "dim",
                std::to_string(d1), "two dims");
  const int64_t height = layout.dim(rows), width = layout.dim(columns);
  const int64_t length =
      std::max<int64_t>(offset >= 0 ? std::min(height, width - offset) : std::min(height + offset, width), 0);
  LayoutParts out(layout);
  Digits digits{{length, 0}};
  if (length > 0 && !layout.empty()) {
    const std::string refusal = "diagonal: dims " + std::to_string(rows) + " and " + std::to_string(columns) +
                                " have blocks that no digits step through together; copy it first";
    const int64_t down = offset < 0 ? -offset : 0, right = offset < 0 ? 0 : offset;
    Layout square = part_of(layout, rows, down, down + length, 1, refusal);
    square = part_of(square, columns, right, right + length, 1, refusal);
    const Layout simple = square.canonical();
    const auto sum = sum_of(simple.digits_of(rows), simple.digits_of(columns), length);
    if (!sum) needs_copy(refusal, std::to_string(rows) + " and " + std::to_string(columns));
    digits = *sum;
    out.offset0 = square.offset0();
  }
  out.erase(std::max(rows, columns));
  out.erase(std::min(rows, columns));
  out.insert(out.dims.size(), length, digits);
  return out.layout();
}

Layout as_strided(const Layout& layout, const Dims& dims, const Dims& strides, std::optional<int64_t> offset0) {
  require_plain(layout, "as_strided: strides of the caller's");
  const Layout out = Layout::strided(dims, strides, offset0.value_or(layout.offset0()));
  if (!out.empty() && out.span() > layout.span()) {
    throw Error(ErrorCode::invalid_argument,
                "as_strided: dims " + join(dims) + " with strides " + join(strides) + " at " +
                    std::to_string(out.offset0()) + " reach " + std::to_string(out.span()) +
                    " elements, and the layout's end at " + std::to_string(layout.span()),
                "span", std::to_string(out.span()), std::to_string(layout.span()));
  }
  return out;
}

}  // namespace relayout
