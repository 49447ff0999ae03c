// Boxes of layouts of which a dim may have several digits, as permuted dims have (internal to checkpoint).
#pragma once

#include <functional>

#include "relayout/core/layout.h"

namespace relayout::checkpoint {

/// The indices [begin, begin + extents) of every dim. Error{needs_copy} where they begin or end inside a digit, and no
/// layout says them.
Layout boxed(Layout layout, const Dims& begin, const Dims& extents);
/// Whether they are one layout.
bool is_one_box(const Layout& layout, const Dims& begin, const Dims& extents);
/// Calls `take` with layouts that are together all of these indices, and with the first index of each.
void each_box(const Layout& layout, const Dims& begin, const Dims& extents,
              const std::function<void(const Layout& box, const Dims& first)>& take);

}  // namespace relayout::checkpoint
