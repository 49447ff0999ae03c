// Competitor: another library that converts layouts, to be timed and checked beside this one.
//
// One file a library, and competitors.cc lists those that the build found. Only the suite's program links them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/reorder/attributes.h"

namespace relayout::bench {

struct Competitor {
  std::string_view name;
  std::string version;
  /// A callable that converts once, or an empty one with *why set where the library cannot do this pair.
  std::function<void()> (*prepare)(const TensorDesc& src, const void* src_data, const TensorDesc& dst, void* dst_data,
                                   const Attributes& attributes, int threads, std::string* why);
};

/// Those of this build.
const std::vector<Competitor>& competitors();

}  // namespace relayout::bench
