// The methods of the in-place reorder, one function each (internal to reorder).
#pragma once

#include <optional>

#include "relayout/reorder/in_place.h"

namespace relayout {

/// The scratch that a part takes where there is a choice: it stays in the second-level cache.
inline constexpr int64_t kStagedTarget = 128 << 10;

/// The best staged step of at most `max_scratch` bytes. Where there is none, `least_scratch` is lowered to what one
/// would need.
std::optional<StagedStep> make_staged(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes,
                                      int64_t max_scratch, int64_t& least_scratch);

/// The one box of a reorder that moves bits; offsets and strides in bytes, all strides positive.
struct ByteBox {
  Box box;
  int64_t element = 1;  // bytes
  DType dtype = DType::u8;
};
/// Nothing where the layouts refine to several boxes or tables, elements are no whole bytes, or an axis goes
/// backwards.
std::optional<ByteBox> byte_box(const TensorDesc& src, const TensorDesc& dst);

/// Whether every element is at its place.
bool is_identity(const ByteBox& box);

std::optional<SwapStep> make_swap(const ByteBox& box, int64_t max_scratch);
/// Staged panels and cycles of the runs they leave, in either order; or cycles alone.
std::vector<InPlaceStep> make_cycles(const ByteBox& box, int64_t max_staged, int64_t max_scratch,
                                     int64_t& least_scratch);

}  // namespace relayout
