// Speeds: one measurement of all that calibrate() finds, and calibrate() itself with another source of measurements
// (internal to execute).
#pragma once

#include <functional>

#include "relayout/cpu/stopwatch.h"
#include "relayout/execute/measure/calibrate.h"
#include "relayout/graph/plan/backend.h"
#include "relayout/graph/plan/cost_key.h"

namespace relayout::execute {

/// One measurement of all speeds, plausible or not. Errors: those of the backend.
graph::Calibration measured_speeds(const graph::Backend& backend, cpu::Stopwatch& stopwatch);

/// What calibrate() does, for any source of measurements: looks the speeds up under the environment's keys, else calls
/// `measure` until the best speeds so far are plausible, a few times at most, and keeps them.
Calibrated calibrate_by(const std::function<graph::Calibration()>& measure, const graph::CostKey& environment,
                        const CalibrateOptions& options);

}  // namespace relayout::execute
