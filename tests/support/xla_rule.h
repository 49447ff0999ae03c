// Where XLA puts an element, by its documents alone, for tests that compare layouts with it.
#pragma once

#include <vector>

#include "relayout/core/extents.h"

namespace relayout::test {

/// The index in the order of memory, cut by one tile after the other, and then read in row-major order.
inline int64_t xla_offset(const Dims& dims, const std::vector<int>& minor_to_major,
                          const std::vector<std::vector<int64_t>>& tiles, const Dims& index) {
  std::vector<int64_t> shape, at;
  for (std::size_t k = minor_to_major.size(); k-- > 0;) {
    shape.push_back(dims[minor_to_major[k]]);
    at.push_back(index[minor_to_major[k]]);
  }
  for (const auto& tile : tiles) {
    if (tile.size() > shape.size()) {  // as many axes of extent 1 outside as are missing
      at.insert(at.begin(), tile.size() - shape.size(), 0);
      shape.insert(shape.begin(), tile.size() - shape.size(), 1);
    }
    const std::size_t first = shape.size() - tile.size();
    for (std::size_t k = 0; k < tile.size(); ++k) {
      shape.push_back(tile[k]);
      at.push_back(at[first + k] % tile[k]);
      at[first + k] /= tile[k];
      shape[first + k] = (shape[first + k] + tile[k] - 1) / tile[k];
    }
  }
  int64_t offset = 0;
  for (std::size_t k = 0; k < shape.size(); ++k) offset = offset * shape[k] + at[k];
  return offset;
}

}  // namespace relayout::test
