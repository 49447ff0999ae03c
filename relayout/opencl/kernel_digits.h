// The digits of both sides of a copy, as a kernel walks them (internal to this folder): the arithmetic behind
// kernel_source.h, which writes it down in OpenCL C.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "relayout/opencl/operand.h"

namespace relayout::opencl {

/// What a position in an operand is made of: an offset in a buffer; a row, a column and a lane of an image.
enum Coordinate : int { kOffset = 0, kRow = 0, kColumn = 1, kLane = 2 };

/// A digit of one dim of an operand: it stands for place * i of the dim's index and lies step * i further along one of
/// the coordinates.
struct WalkDigit {
  int dim = 0;
  int64_t place = 1, extent = 1;
  int coordinate = kOffset;
  int64_t step = 0;
};

/// The digits of an operand that have more than one value, outermost first.
std::vector<WalkDigit> walk_digits(const Operand& operand);

/// A digit that a kernel walks, with what it is in the source: a variable of this name, or a constant of each lane.
struct WalkedDigit {
  WalkDigit digit;
  int variable = -1;                 // d0, d1, ...; -1: it is a constant that differs from lane to lane
  std::array<int64_t, 4> of_lane{};  // its value in each lane, if it is a constant
};

/// The loops of a kernel.
struct Walk {
  bool over_src = false;  // the side whose digits are walked
  std::vector<WalkedDigit> digits;
  /// Indices into `digits` of those that work-items count along x, y and z, innermost first.
  std::array<std::vector<int>, 3> axes;
  int lanes = 1;
};

/// Error{limit} where work-items along an axis exceed 2^31 - 1.
Walk plan_walk(const Operand& src, const Operand& dst);

}  // namespace relayout::opencl
