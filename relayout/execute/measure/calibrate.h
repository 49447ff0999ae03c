// Calibrate: the machine's speeds, from which analytic costs are computed. Measuring them takes less than a second on a
// quiet machine, and some ten seconds on one whose cores are all busy with other work.
//
//     Calibrated machine = calibrate(*backend, {.file = "costs.txt"});
//     if (machine.unreliable) ...    // other work disturbed it: predicted times may be wrong by orders of magnitude
//     auto costs = graph::analytic_costs(machine.speeds, *backend);
#pragma once

#include <filesystem>
#include <functional>
#include <optional>

#include "relayout/graph/plan/cost.h"

namespace relayout::cpu {
class Stopwatch;
}

namespace relayout::execute {

struct CalibrateOptions {
  /// A file of costs in which measured speeds are kept, so that they are measured once. measured_costs() can share it.
  /// If it is empty, speeds are measured each time.
  std::filesystem::path file{};
  /// Measures the speeds even if the file has them, and replaces them there.
  bool remeasure = false;
  /// Speeds that are known, such as those of an earlier run. Nothing is measured then and no file is read; the number
  /// of threads and the caches are this machine's. Error{invalid_argument} where they are not plausible().
  std::optional<graph::Calibration> known{};
  /// Called before each measurement, of which there are some hundred. An exception that it throws ends the measuring
  /// and is passed on; nothing is kept.
  std::function<void()> check{};
  /// Where run times come from; null: the clocks of the machine (cpu/stopwatch.h).
  cpu::Stopwatch* stopwatch = nullptr;
};

struct Calibrated {
  graph::Calibration speeds;
  /// Whether the speeds were found in the file.
  bool remembered = false;
  /// Whether the speeds contradict each other (see plausible()) after a few attempts, because the machine did other
  /// work. Unreliable speeds are not kept in the file. Times that are predicted from them may be wrong by orders of
  /// magnitude, so another plan may be faster: calibrate again when the machine is quiet, or keep good speeds in a
  /// file.
  bool unreliable = false;
  /// What went wrong with the file. The speeds are good nevertheless. A damaged file (corrupt) is replaced.
  std::optional<Error> file_error;
};

/// Runs a convolution, an elementwise primitive of a few elements, copies of three sizes, and a chain of small steps
/// together and one by one. Each is run several times, and the fastest run counts; all are measured again, a few times
/// at most, while the speeds contradict each other. Errors: those of the backend (a convolution in f32 must be
/// possible).
Calibrated calibrate(const graph::Backend& backend, const CalibrateOptions& options = {});

/// Whether all speeds are finite and above 0, a step takes time, calls and steps take no more than a millisecond, and
/// copies within the second cache are no slower than those past the last one. Other work on the machine that slows down
/// a part of the measuring makes them implausible. It may also let every call of several threads wait for the
/// scheduler, which takes milliseconds.
bool plausible(const graph::Calibration& speeds);

}  // namespace relayout::execute
