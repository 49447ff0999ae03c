// The order of boxes and bends in the layers of a layered drawing, with few crossings of lines.
#pragma once

#include <vector>

namespace relayout::show {

struct LayerItem {
  int layer = 0;
  bool bend = false;
  std::vector<int> above = {}, below = {};  // neighbours in the layers next to it
};

struct LayerOrder {
  std::vector<LayerItem> items;
  std::vector<std::vector<int>> layers = {};  // items from left to right
};

/// Fills `layers`. First as a walk from the topmost items down the lines meets them, then by the mean places of the
/// neighbours above and below in turns; the best of these is kept.
void order_layers(LayerOrder& order);

/// How many pairs of lines cross between the layers.
long long crossings(const LayerOrder& order);

}  // namespace relayout::show
