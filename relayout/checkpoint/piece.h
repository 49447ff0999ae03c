// A box of a new tensor, and where its elements come from.
#pragma once

#include <cstddef>

#include "relayout/core/layout.h"

namespace relayout::checkpoint {

struct Piece {
  std::size_t source = 0;  // of Checkpoint::tensors()
  Layout src;              // over that tensor's contents; its dims are the box's
  Dims begin;              // the box's first index in the new tensor
};

}  // namespace relayout::checkpoint
