// Finding the channel grid of a layout: see channel_grid.h.
#include "relayout/execute/own/channel_grid.h"

namespace relayout::execute {

std::optional<ChannelGrid> channel_grid(const Layout& given) {
  const Layout layout = given.canonical();
  ChannelGrid out{.first = layout.offset0()};
  int64_t places = 1;
  for (int d = layout.ndims() - 1; d >= 0; --d) {
    const std::span<const Digit> digits = layout.digits(d);
    if (d == 1) {
      if (digits.size() > 2 || (digits.size() == 2 && digits[0].stride != 1)) return std::nullopt;
      const bool side_by_side = digits.size() == 2 || (digits[0].stride == 1 && layout.dim(d) > 1);
      if (side_by_side) out.block = digits[0].extent;
      out.block_stride = digits.back().stride;
      continue;
    }
    if (layout.dim(d) == 1) continue;
    if (digits.size() != 1 || layout.capacity(d) != layout.dim(d)) return std::nullopt;
    if (d == 0) {
      out.image = digits[0].stride;
    } else {
      if (places > 1 && digits[0].stride != out.place * places) return std::nullopt;
      if (places == 1) out.place = digits[0].stride;
      places *= layout.dim(d);
    }
  }
  return out;
}

}  // namespace relayout::execute
