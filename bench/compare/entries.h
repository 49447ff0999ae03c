// One function a competitor, each in the file of its name (internal to compare).
#pragma once

#include "bench/compare/competitor.h"

namespace relayout::bench {

Competitor onednn_competitor();
Competitor torch_competitor();
Competitor eigen_competitor();
Competitor hptt_competitor();

}  // namespace relayout::bench
