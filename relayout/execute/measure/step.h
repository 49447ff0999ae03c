// Step: what a step of a run takes beside its primitive or reorder alone (internal to execute).
//
// One that is measured alone finds its code, its descriptors and the predictions of its branches where its last run
// left them. In a model those of all other steps came between.
#pragma once

#include <optional>

#include "relayout/graph/plan/backend.h"
#include "relayout/graph/plan/cost_key.h"

namespace relayout::execute {

/// Microseconds: a chain of small convolutions, each with code of its own, after as much other memory as the last
/// cache holds, 256 MiB at most, less what each of its parts takes alone, by step; of the first attempt that is sure
/// (run_times.h) and above 0. Models that stay in the last cache pay less. Some tenths of a second. Nothing where a few
/// attempts are not: other work on the machine then makes the parts slow, or the chain.
std::optional<double> measured_step_us(const graph::Backend& backend);
/// Where it is kept in a cost file.
graph::CostKey step_key(const graph::CostKey& environment);

}  // namespace relayout::execute
