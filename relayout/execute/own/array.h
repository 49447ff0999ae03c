// What the kernels of array operations share (internal to execute): array.cc moves elements, array_order.cc compares
// and adds them up, grid_sample.cc interpolates.
#pragma once

#include <memory>

#include "relayout/core/error.h"
#include "relayout/execute/own/kernels.h"
#include "relayout/execute/own/numbers.h"

namespace relayout::execute {

/// A tensor seen as outer x extent x inner around one dim.
struct ArrayLanes {
  int64_t outer = 1, extent = 1, inner = 1;

  ArrayLanes() = default;
  ArrayLanes(const Dims& dims, int axis) : extent(dims[axis]) {
    for (int d = 0; d < dims.size(); ++d) (d < axis ? outer : inner) *= d == axis ? 1 : dims[d];
  }
};

/// Indices as an operand has them, s32 or s64.
class ArrayIndices {
 public:
  explicit ArrayIndices(const OwnRequest& r)
      : name_(r.node.name),
        wide_(r.src_tensor(1).dtype == DType::s64),
        count_(r.src(1).elements()),
        offset_(r.src(1).offset0() * (wide_ ? 8 : 4)) {}

  int64_t count() const { return count_; }
  /// Index i in a dim of that extent. Error{invalid_argument} out of range.
  int64_t at(const void* indices, int64_t i, int64_t extent) const {
    const auto* from = static_cast<const std::byte*>(indices) + offset_;
    int64_t value = 0;
    int32_t narrow = 0;
    if (wide_) {
      std::memcpy(&value, from + i * 8, 8);
    } else {
      std::memcpy(&narrow, from + i * 4, 4);
      value = narrow;
    }
    if (value < -extent || value >= extent) {
      throw Error(ErrorCode::invalid_argument, "array '" + escaped(name_) + "': index is out of range", "indices",
                  std::to_string(value), std::to_string(-extent) + " to " + std::to_string(extent - 1));
    }
    return value < 0 ? value + extent : value;
  }

 private:
  std::string name_;
  bool wide_;
  int64_t count_, offset_;
};

std::unique_ptr<graph::Executable> make_ordered(const OwnRequest& request);
std::unique_ptr<graph::Executable> make_scatter(const OwnRequest& request);
std::unique_ptr<graph::Executable> make_grid_sample(const OwnRequest& request);

}  // namespace relayout::execute
