// The methods of the in-place reorder, one function each (internal to reorder).
#pragma once

#include <optional>

#include "relayout/reorder/in_place/data.h"

namespace relayout {

/// The bytes of scratch that a part takes where there is a choice, few enough to stay in the second-level cache.
inline constexpr int64_t kStagedTarget = 128 << 10;

/// Runs of kLongMove bytes move at the speed of memory, so making them longer gains nothing.
inline constexpr int64_t kLongMove = 256;

/// The best staged step that takes at most `max_scratch` bytes of scratch. Where there is none, `least_scratch` is
/// lowered to the bytes that one would need.
std::optional<StagedStep> make_staged(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes,
                                      int64_t max_scratch, int64_t& least_scratch);

/// The one box of a reorder that moves bits; offsets and strides in bytes, all strides positive.
struct ByteBox {
  Box box;
  int64_t element = 1;  // bytes
  DType dtype = DType::u8;
};
/// The box of a reorder. Nothing where the layouts refine to several boxes or to tables, where elements are not whole
/// bytes, or where an axis goes backwards or stands still on one side.
std::optional<ByteBox> byte_box(const TensorDesc& src, const TensorDesc& dst);

std::optional<SwapStep> make_swap(const ByteBox& box, int64_t max_scratch);
/// The permutation of a box as steps of any kind: see cycles.cc. Empty where the scratch is too small; then
/// `least_scratch` is lowered to the bytes that would do.
std::vector<InPlaceStep> make_cycles(const ByteBox& box, int64_t max_staged, int64_t max_scratch,
                                     int64_t& least_scratch);

/// How many indices all axes together have: the product of their extents.
int64_t count(std::span<const Axis> axes);
/// The largest divisor of n that is not above the limit, at least 1.
int64_t largest_divisor(int64_t n, int64_t limit);

}  // namespace relayout
