// The attribute values of a reorder as one table in its compute type, which boxes step through as a third operand
// (internal to the library).
#pragma once

#include <cstdint>
#include <vector>

#include "relayout/reorder/attributes.h"
#include "relayout/reorder/refine/nest.h"
#include "relayout/reorder/refine/refine.h"

namespace relayout {

/// The attribute values of all elements in a compute type: entry i of each list belongs to index i of Operand
/// kAttribute.
template <typename Compute>
struct AttributeTable {
  std::vector<Compute> src_scale, dst_scale, subtracted, added;
  bool divides = false;  // some dst_scale is not 1

  /// Those from an index on, which grows by 1 with each `step`.
  AttributeLists<Compute> from(int64_t index, typename AttributeLists<Compute>::Step step) const {
    return {src_scale.data() + index,
            dst_scale.data() + index,
            subtracted.data() + index,
            added.data() + index,
            step,
            divides};
  }
  AttributeValues<Compute> at(int64_t index) const {
    const auto i = static_cast<std::size_t>(index);
    return {src_scale[i], dst_scale[i], subtracted[i], added[i]};
  }
  int64_t bytes() const { return static_cast<int64_t>(4 * sizeof(Compute) * src_scale.size()); }
};

/// One row-major table of values over the dims of all masks, in groups that belong to one value of each attribute, and
/// the step of each dim in it. The attributes are checked. Error{limit} where it takes over 1 GiB.
template <typename Compute>
AttributeTable<Compute> expand_attributes(const Attributes& attributes, const Dims& dims, AttributeSteps* steps);

}  // namespace relayout
