// Channel grid: a layout of activations whose pixels are at equal distances and whose channels are in blocks (internal
// to execute).
#pragma once

#include <optional>

#include "relayout/core/layout.h"

namespace relayout::execute {

/// Where elements lie. Element (n, c, p), with p counting the places (pixels) of an image, lies first + n image + p
/// place + channel(c) elements after the start. `block` channels lie side by side, and each further block begins
/// block_stride elements after the one before it.
struct ChannelGrid {
  int64_t first = 0, image = 0, place = 0, block = 1, block_stride = 0;

  int64_t channel(int64_t c) const { return c / block * block_stride + c % block; }
  /// Whether the places of a channel are side by side.
  bool lengthwise() const { return block == 1 && place == 1; }
  /// Whether the other grid differs at most in where it begins.
  bool same_steps(const std::optional<ChannelGrid>& other) const {
    return other && image == other->image && place == other->place && block == other->block &&
           block_stride == other->block_stride;
  }
  /// How many channels from c on are side by side.
  int64_t run(int64_t c) const { return block - c % block; }
};

/// The grid of a layout of dims (n, c, ...). Nothing if it has none: another dim than the channels has padding or
/// several digits, or channels are in blocks of blocks.
std::optional<ChannelGrid> channel_grid(const Layout& layout);

}  // namespace relayout::execute
