// Which digits a kernel walks, and along which axis of the work-items: see kernel_digits.h.
#include "relayout/opencl/kernel_digits.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>

namespace relayout::opencl {
namespace {

constexpr int64_t kMaxItems = std::numeric_limits<int32_t>::max();
/// So many neighbours along x at least, before further digits are counted along y, and along y before those along z.
/// Where x is one digit alone, neighbours read and write neighbours, which drivers then do together; the divisions of y
/// and z are the same for all of them.
constexpr int64_t kWideEnough = 32;

/// Adds the digits that are walked beyond the source's own, so that all of the destination's padding is met.
void add_padding(const Layout& walked, const Layout& dst, std::vector<WalkDigit>& digits) {
  for (int d = 0; d < dst.ndims(); ++d) {
    const int64_t have = walked.capacity(d), need = dst.capacity(d);
    if (need > have) digits.insert(digits.begin(), {d, have, ceil_div(need, have), kRow, 0});
  }
}

/// Splits four neighbours off the innermost digit of a buffer, where it has a multiple of four.
void split_lanes(std::vector<WalkDigit>& digits) {
  const auto inner = std::ranges::find_if(digits, [](const WalkDigit& one) { return one.step == 1; });
  if (inner == digits.end() || inner->extent % kLanes != 0) return;
  WalkDigit lanes = *inner;
  lanes.extent = kLanes;
  lanes.coordinate = kLane;
  inner->place *= kLanes;
  inner->extent /= kLanes;
  inner->step *= kLanes;
  if (inner->extent == 1) digits.erase(inner);
  digits.push_back(lanes);
}

/// The digits of lanes become constants: lane k has the digits of k, the innermost digit first.
void fix_lanes(Walk& walk) {
  int64_t inside = 1;
  for (auto one = walk.digits.rbegin(); one != walk.digits.rend(); ++one) {
    if (one->digit.coordinate != kLane) continue;
    for (int k = 0; k < walk.lanes; ++k) one->of_lane[static_cast<std::size_t>(k)] = k / inside % one->digit.extent;
    inside *= one->digit.extent;
  }
}

}  // namespace

std::vector<WalkDigit> walk_digits(const Operand& operand) {
  static_assert(kRow == static_cast<int>(ImageAxis::row) && kColumn == static_cast<int>(ImageAxis::column) &&
                kLane == static_cast<int>(ImageAxis::lane));
  std::vector<WalkDigit> out;
  if (operand.image) {
    for (const ImageDigit& digit : image_digits(*operand.image))
      out.push_back({digit.dim, digit.place, digit.extent, static_cast<int>(digit.axis), digit.step});
    return out;
  }
  const Layout& layout = operand.desc.layout;
  for (int d = 0; d < layout.ndims(); ++d) {
    int64_t place = 1;
    for (const Digit& digit : layout.digits(d)) {
      if (digit.extent > 1) out.push_back({d, place, digit.extent, kOffset, digit.stride});
      place *= digit.extent;
    }
  }
  std::ranges::stable_sort(out, std::greater<>{}, [](const WalkDigit& one) { return std::abs(one.step); });
  return out;
}

Walk plan_walk(const Operand& src, const Operand& dst) {
  Walk out;
  out.over_src = src.image && !dst.image;
  const Operand& walked = out.over_src ? src : dst;
  std::vector<WalkDigit> digits = walk_digits(walked);
  if (out.over_src) add_padding(walked.desc.layout, dst.desc.layout, digits);
  if (!walked.image) split_lanes(digits);
  const bool has_lanes = std::ranges::any_of(digits, [](const WalkDigit& one) { return one.coordinate == kLane; });
  out.lanes = has_lanes ? kLanes : 1;
  std::array<int64_t, 3> items{1, 1, 1};
  for (const WalkDigit& digit : digits) out.digits.push_back({digit});
  // From the inside out: an image's columns before its rows.
  int axis = 0, variables = 0;
  for (int k = static_cast<int>(out.digits.size()); k-- > 0;) {
    WalkedDigit& one = out.digits[static_cast<std::size_t>(k)];
    if (one.digit.coordinate == kLane) continue;
    one.variable = variables++;
    while (axis < 2 && items[static_cast<std::size_t>(axis)] >= kWideEnough) ++axis;
    int64_t& count = items[static_cast<std::size_t>(axis)];
    const auto next = checked_mul(count, one.digit.extent);
    if (!next || *next > kMaxItems)
      throw Error(ErrorCode::limit,
                  "opencl: a copy of " + std::to_string(one.digit.extent) + " times " + std::to_string(count) +
                      " work-items along one axis; at most " + std::to_string(kMaxItems) + " are possible",
                  "dims", std::to_string(one.digit.extent), std::to_string(kMaxItems));
    count = *next;
    out.axes[static_cast<std::size_t>(axis)].push_back(k);
  }
  fix_lanes(out);
  return out;
}

}  // namespace relayout::opencl
