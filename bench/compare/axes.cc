// Common axes of two layouts: for each dim, the place values of both sides, united.
#include "bench/compare/axes.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace relayout::bench {
namespace {

/// How many indices one step of each digit takes, innermost first.
std::vector<int64_t> places(std::span<const Digit> digits) {
  std::vector<int64_t> out{1};
  for (std::size_t k = 0; k + 1 < digits.size(); ++k) out.push_back(out.back() * digits[k].extent);
  return out;
}

/// What `place` indices of a dim add to the offset: place is a multiple of the digit's that it falls in.
int64_t stride_at(std::span<const Digit> digits, int64_t place) {
  const std::vector<int64_t> at = places(digits);
  std::size_t k = at.size() - 1;
  while (at[k] > place) --k;
  return place / at[k] * digits[k].stride;
}

/// The axes of one dim, or why there are none.
bool add_dim(std::span<const Digit> src, std::span<const Digit> dst, int64_t extent, std::vector<CommonAxis>& axes,
             std::string* why) {
  std::set<int64_t> all;
  for (const auto& digits : {src, dst}) {
    for (const int64_t place : places(digits)) {
      if (place == 1 || place < extent) all.insert(place);
    }
  }
  const std::vector<int64_t> at(all.begin(), all.end());
  for (std::size_t k = 0; k < at.size(); ++k) {
    const int64_t next = k + 1 < at.size() ? at[k + 1] : extent;
    if (next % at[k] != 0) {
      *why = k + 1 < at.size() ? "blocks do not divide" : "the extent does not fill the blocks";
      return false;
    }
    const CommonAxis axis{next / at[k], stride_at(src, at[k]), stride_at(dst, at[k])};
    if (axis.src_stride < 0 || axis.dst_stride < 0) {
      *why = "a negative stride";
      return false;
    }
    if (axis.extent > 1) axes.push_back(axis);
  }
  return true;
}

}  // namespace

std::optional<std::vector<CommonAxis>> common_axes(const Layout& src, const Layout& dst, const Padding& padding,
                                                   std::string* why) {
  if (src.empty()) {
    *why = "no elements";
    return std::nullopt;
  }
  if (dst.padded() && padding.kind != Padding::Kind::keep) {
    *why = "the destination has padding to be filled";
    return std::nullopt;
  }
  std::vector<CommonAxis> axes;
  for (int d = 0; d < src.ndims(); ++d) {
    if (!add_dim(src.digits(d), dst.digits(d), src.dim(d), axes, why)) return std::nullopt;
  }
  const auto outer = [](const CommonAxis& a, const CommonAxis& b) { return a.dst_stride > b.dst_stride; };
  std::sort(axes.begin(), axes.end(), outer);
  std::vector<CommonAxis> joined;
  for (const CommonAxis& axis : axes) {
    if (!joined.empty() && joined.back().src_stride == axis.extent * axis.src_stride &&
        joined.back().dst_stride == axis.extent * axis.dst_stride) {
      joined.back() = {joined.back().extent * axis.extent, axis.src_stride, axis.dst_stride};
    } else {
      joined.push_back(axis);
    }
  }
  if (joined.empty()) joined.push_back({1, 1, 1});
  return joined;
}

std::optional<DenseSide> dense_side(const std::vector<CommonAxis>& axes, int64_t CommonAxis::*stride,
                                    std::string* why) {
  DenseSide side;
  side.order.resize(axes.size());
  std::iota(side.order.begin(), side.order.end(), 0);
  const auto axis = [&](std::size_t i) -> const CommonAxis& { return axes[static_cast<std::size_t>(side.order[i])]; };
  std::stable_sort(side.order.begin(), side.order.end(), [&](int a, int b) {
    return axes[static_cast<std::size_t>(a)].*stride > axes[static_cast<std::size_t>(b)].*stride;
  });
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int64_t inner = axis(i).*stride, outer = i == 0 ? axis(i).extent * inner : axis(i - 1).*stride;
    if (inner == 0) {
      *why = "a repeated axis";
      return std::nullopt;
    }
    if (outer % inner != 0 || outer / inner < axis(i).extent) {
      *why = "strides that are no array's";
      return std::nullopt;
    }
    side.extents.push_back(outer / inner);
  }
  if (axis(axes.size() - 1).*stride != 1) {
    *why = "an innermost stride over 1";
    return std::nullopt;
  }
  return side;
}

bool has_gaps(const std::vector<CommonAxis>& axes, const DenseSide& side) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (side.extents[i] != axes[static_cast<std::size_t>(side.order[i])].extent) return true;
  }
  return false;
}

}  // namespace relayout::bench
