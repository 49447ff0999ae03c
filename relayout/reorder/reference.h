// The slow reorder: one element at a time, obviously right. The place to start reading, and what
// every fast path is compared with. It shares no code with the fast path but the check of the attributes: offsets come
// from the layouts' digits, one by one, and numbers are rounded by searching the destination type's values.
#pragma once

#include "relayout/core/layout.h"
#include "relayout/reorder/attributes.h"

namespace relayout {

/// Converts `src` to `dst` element by element and sets the destination's padding. Gaps are not
/// touched. Cost: about 100 ns an element. Errors as in Plan::make.
void reference_reorder(const TensorDesc& src_desc, const void* src, const TensorDesc& dst_desc, void* dst,
                       const Attributes& attributes = {});

}  // namespace relayout
