// Tuning plans: runs of whole models, in turns.
#pragma once

#include "tools/planning/plan_report.h"

namespace relayout::tools {

/// Runs each candidate on random inputs, one run of each after the other, and notes the median of each. Some seconds.
/// Returns the fastest. What does not run is left out, and its `problem` says why; where none runs, that is thrown. An
/// interrupt ends it with the fastest as far as it was measured: the first one before each was.
std::size_t tune(Planner& planner, std::vector<PolicyPlan>& candidates);

}  // namespace relayout::tools
