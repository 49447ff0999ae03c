// Placements on the command line: which rank, chunk or file holds an element (interop/placements/placement_text.h), for
// the verbs that take a layout or a placement.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "relayout/interop/placements/placement_text.h"
#include "tools/command/common.h"

namespace relayout::tools {

/// A text and what it is for the dims.
struct BoundPlacement {
  PlacementText text;
  Placement placement;
};
/// Reads and binds one; `dims` may be missing where the text fixes them. All errors are usage errors.
BoundPlacement placement_argument(const std::string& text, const std::optional<std::string>& dims);

/// The places that hold an element; of many, the first kMostHolders.
inline constexpr int64_t kMostHolders = 16;
std::vector<int64_t> first_holders(const Placement& placement, const Dims& index);

/// relayout describe of a placement. `flag` is one that is given and that only a layout takes, or "".
struct PlacementQuestion {
  std::string text;
  std::optional<std::string> dims, dtype, names, as;
  std::string flag{};
};
int describe_placement(const PlacementQuestion& question, bool json);

/// relayout diff of two placements.
int diff_placements(const std::string& a, const std::string& b, const std::optional<std::string>& dims,
                    const std::optional<std::string>& dtype, bool json);

/// relayout offset of a placement: the places, the index there and the offset in their memory, of each index.
int offset_in_placement(const std::string& text, const std::optional<std::string>& dims,
                        const std::vector<std::string>& indices, bool json);

}  // namespace relayout::tools
