// Whether one type holds every value of another one, so that a conversion loses nothing.
#pragma once

#include "relayout/core/dtype.h"

namespace relayout::checkpoint {

/// Whether each value of `narrow`, infinities and NaN among them, is one of `wide`. bool is 0 and 1.
bool holds_all(DType wide, DType narrow);

}  // namespace relayout::checkpoint
