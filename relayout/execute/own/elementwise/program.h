// A program of element functions, run over tensors of any layouts and types in one pass (internal to execute).
//
// The elements are walked in chunks that stay in the first-level cache. A source is read where it lies if its elements
// of a chunk follow each other and have the type that is computed in; else they are gathered and converted. What
// repeats from chunk to chunk is gathered once.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "relayout/execute/own/elementwise/lanes.h"
#include "relayout/execute/own/kernels.h"

namespace relayout::execute {

/// One function. Its sources are the node's, and behind these the results of earlier steps.
template <typename T>
struct LaneStep {
  LaneFunction<T> function = nullptr;
  std::array<int, 2> src{};
  T alpha = 0, beta = 0;
};

/// The last step gives the destination.
template <typename T>
using LaneProgram = std::vector<LaneStep<T>>;

/// Runs a program, in T = float or double, over the node's operands. Null where they do not fit: elements of less than
/// a byte, a destination in which two elements share memory, over 7 sources, blocks that have no common boxes.
template <typename T>
std::unique_ptr<graph::Executable> make_program(const OwnRequest& request, LaneProgram<T> program);

}  // namespace relayout::execute
