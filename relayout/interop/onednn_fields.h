// How errors name what is wrong with a descriptor's lists (internal to oneDNN's files).
#pragma once

#include <string>
#include <string_view>

#include "relayout/core/extents.h"

namespace relayout::onednn {

struct BlockedDesc;

/// "strides[2]".
inline std::string entry(std::string_view list, int d) { return std::string(list) + "[" + std::to_string(d) + "]"; }

/// Throws Error{overflow}: the product of dim `dim`'s inner blocks, or of all where it is -1; names the largest.
[[noreturn]] void throw_blocks_too_large(const BlockedDesc& fields, const std::string& operation, int dim);
/// Throws Error{overflow}: offset0 and what `offsets`, of which `list` is the name, add to it; names the dim that leads
/// farthest, or offset0 where that is larger. `blocks` is the product of each dim's inner blocks.
[[noreturn]] void throw_offset_too_far(const BlockedDesc& fields, const std::string& operation, std::string_view list,
                                       const Dims& offsets, const Dims& blocks);

}  // namespace relayout::onednn
