// Calibrate: the speeds that analytic costs are made of, measured in under a second.
//
//     Calibrated machine = calibrate(*backend, {.file = "costs.txt"});
//     auto costs = graph::analytic_costs(machine.speeds);
#pragma once

#include <filesystem>
#include <optional>

#include "relayout/graph/plan/cost.h"

namespace relayout::execute {

struct CalibrateOptions {
  /// A CostCache's file: once measured, speeds are found there; empty: measured each time.
  std::filesystem::path file{};
  /// Measures in place of what the file has.
  bool remeasure = false;
};

struct Calibrated {
  graph::Calibration speeds;
  bool remembered = false;
  /// They do not fit together (see plausible()) after a few attempts: they are used now, and measured anew next time.
  bool doubtful = false;
  /// What went wrong with the file: the speeds are good nevertheless. A damaged one (corrupt) is replaced.
  std::optional<Error> file_error;
};

/// Runs a convolution, an elementwise primitive of a few elements, copies at three sizes, and a chain of small steps
/// against its parts; the best of several runs each, and all again where they do not fit together. Errors: those of the
/// backend (a convolution in f32 must be possible).
Calibrated calibrate(const graph::Backend& backend, const CalibrateOptions& options = {});

/// Whether all speeds are above 0, a step takes time, and copies in the second cache are no slower than those past the
/// last one: where other work on the machine has slowed down a part of the measuring, they may not be.
bool plausible(const graph::Calibration& speeds);

}  // namespace relayout::execute
