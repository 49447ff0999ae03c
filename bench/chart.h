// Pictures of what was measured, as SVG, from the JSON of report.h.
#pragma once

#include <string>

#include "bench/report.h"

namespace relayout::bench {

/// One bar for each case of the suite whose goal is a ratio, at this thread count: its time divided by the copy's. The
/// goal is a tick, and each competitor is a mark. What lies beyond the right edge is drawn at the edge.
/// Error{invalid_argument} where the JSON is no suite's or has no such case.
std::string suite_chart(const Json& suite, int threads);

/// GB/s by size of the source, one panel for each conversion, with both copies. Error{invalid_argument} where the JSON
/// is not that of a sweep.
std::string sweep_chart(const Json& sweep);

}  // namespace relayout::bench
