// Calibrate: the speeds that analytic costs are made of, measured in under a second.
//
//     Calibration speeds = calibrate(*backend, {.threads = 2, .file = default_cost_file()});
//     auto costs = graph::analytic_costs(speeds);
#pragma once

#include <filesystem>
#include <optional>

#include "relayout/graph/cost.h"

namespace relayout::execute {

struct CalibrateOptions {
  /// As for cpu::run: 0 is all there are. The backend must be made for as many.
  int threads = 0;
  /// A CostCache's file: once measured, speeds are found there; empty: measured each time.
  std::filesystem::path file{};
};

struct Calibrated {
  graph::Calibration speeds;
  bool remembered = false;
  /// What went wrong with the file: the speeds are good nevertheless.
  std::optional<Error> file_error;
};

/// Runs a convolution, an elementwise primitive of a few elements, and copies at three sizes; the best of several runs
/// each. Errors: those of the backend (a convolution in f32 must be possible).
Calibrated calibrate(const graph::Backend& backend, const CalibrateOptions& options = {});

}  // namespace relayout::execute
