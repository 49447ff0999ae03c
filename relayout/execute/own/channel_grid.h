// Channel grid: a layout of activations as blocks of channels at places at equal distances (internal to execute).
#pragma once

#include <optional>

#include "relayout/core/layout.h"

namespace relayout::execute {

/// Element (n, c, p), p counting the places (pixels) of an image, lies first + n image + p place + channel(c) elements
/// after the start: `block` channels side by side, the next ones block_stride further on.
struct ChannelGrid {
  int64_t first = 0, image = 0, place = 0, block = 1, block_stride = 0;

  int64_t channel(int64_t c) const { return c / block * block_stride + c % block; }
  /// The places of a channel are side by side.
  bool lengthwise() const { return block == 1 && place == 1; }
  /// The same apart from where it begins.
  bool same_steps(const std::optional<ChannelGrid>& other) const {
    return other && image == other->image && place == other->place && block == other->block &&
           block_stride == other->block_stride;
  }
  /// Channels from c on that are side by side.
  int64_t run(int64_t c) const { return block - c % block; }
};

/// Of (n, c, ...). Nothing where a layout is none: dims with several digits or padding beside the channels, channels in
/// blocks of blocks.
std::optional<ChannelGrid> channel_grid(const Layout& layout);

}  // namespace relayout::execute
