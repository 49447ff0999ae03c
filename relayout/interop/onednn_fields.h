// How errors name an entry of a descriptor's lists (internal to oneDNN's files).
#pragma once

#include <string>
#include <string_view>

namespace relayout::onednn {

/// "strides[2]".
inline std::string entry(std::string_view list, int d) { return std::string(list) + "[" + std::to_string(d) + "]"; }

}  // namespace relayout::onednn
