// Step: what a step of a run takes beside its primitive or reorder alone (internal to execute).
//
// A primitive that is measured alone finds its code, its descriptors and the predictions of its branches where its last
// run left them. In a model all other steps have run in between, so each step takes some time more.
#pragma once

#include <optional>

#include "relayout/cpu/stopwatch.h"
#include "relayout/graph/plan/backend.h"
#include "relayout/graph/plan/cost_key.h"

namespace relayout::execute {

/// What a step takes in addition, in microseconds. A chain of small convolutions, each with code of its own, is run
/// after as much other memory was used as the last-level cache holds (256 MiB at most). The times of its parts,
/// measured alone, are subtracted from its time, and the rest is divided by the number of steps. In a model that stays
/// in the last-level cache, steps are cheaper. This takes some tenths of a second. Nothing if a few attempts give no
/// reliable times (run_times.h) and no difference above 0 and up to kMostCallUs (limits.h): other work on the machine
/// then slows down the parts, or the chain.
std::optional<double> measured_step_us(const graph::Backend& backend,
                                       cpu::Stopwatch& stopwatch = cpu::system_stopwatch());
/// The key under which a cost file has it.
graph::CostKey step_key(const graph::CostKey& environment);

}  // namespace relayout::execute
