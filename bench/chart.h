// Pictures of what was measured, as SVG, from the JSON of report.h.
#pragma once

#include <string>

#include "bench/report.h"

namespace relayout::bench {

/// A bar a case of the suite whose goal is a ratio, at this thread count: time over the copy's, with the goal as a tick
/// and each competitor as a mark. Bars end at the right edge, marks beyond it stand next to it.
/// Error{invalid_argument} where the JSON is no suite's or has no such case.
std::string suite_chart(const Json& suite, int threads);

/// GB/s by size of source, a panel a conversion, with both copies. Error{invalid_argument} where the JSON is no
/// sweep's.
std::string sweep_chart(const Json& sweep);

}  // namespace relayout::bench
