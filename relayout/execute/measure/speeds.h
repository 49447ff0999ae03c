// Speeds: one measurement of all the machine's speeds that calibrate() finds (internal to execute).
//
//     graph::Calibration speeds = measured_speeds(*backend, stopwatch);
#pragma once

#include "relayout/cpu/stopwatch.h"
#include "relayout/graph/plan/backend.h"
#include "relayout/graph/plan/cost.h"

namespace relayout::execute {

/// One measurement of all speeds, plausible or not. Errors: those of the backend.
graph::Calibration measured_speeds(const graph::Backend& backend, cpu::Stopwatch& stopwatch);

}  // namespace relayout::execute
