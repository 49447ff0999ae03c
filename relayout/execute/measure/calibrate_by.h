// Calibrate by: calibrate() itself, with another source of measurements, which tests give (internal to execute).
//
//     Calibrated machine = calibrate_by([&] { return measured_speeds(backend, watch); }, environment_key(backend), {});
#pragma once

#include <functional>

#include "relayout/execute/measure/calibrate.h"
#include "relayout/graph/plan/cost_key.h"

namespace relayout::execute {

/// What calibrate() does, for any source of measurements: looks the speeds up under the environment's keys, else calls
/// `measure` until the best speeds so far are plausible, a few times at most, and keeps them.
Calibrated calibrate_by(const std::function<graph::Calibration()>& measure, const graph::CostKey& environment,
                        const CalibrateOptions& options);

}  // namespace relayout::execute
