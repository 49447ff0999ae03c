// Measured costs: each primitive and reorder is run as it would be in a model, once for every machine.
//
//     auto costs = measured_costs(*backend, {.file = "costs.txt"});
//     double us = graph::predict(graph, plan, *costs).time();
//     costs->save();                                         // new times; the destructor saves them otherwise
//
// To each cost is added what a step of a run takes beside its primitive or reorder (Calibration::step_us), which the
// same file keeps. Each is measured twice, some time apart (again()). A model that is new takes seconds, one whose
// times are all known takes milliseconds. Measure on a machine that does nothing else.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "relayout/core/error.h"
#include "relayout/graph/plan/cost.h"

namespace relayout::cpu {
class Stopwatch;
}

namespace relayout::execute {

struct MeasuredOptions {
  /// A file of costs, which calibrate() can share. If it is empty, nothing is kept.
  std::filesystem::path file{};
  /// At least this many runs of each primitive and reorder, after a first one that does not count.
  int runs = 5;
  /// How many microseconds one primitive or reorder is measured for.
  int64_t budget_us = 20000;
  /// Measures everything that is asked for again, and replaces the times in the file.
  bool remeasure = false;
  /// Called before each measurement; one plan may take hundreds of them. An exception that it throws ends the planning
  /// and is passed on. Times that were measured before can still be saved.
  std::function<void()> check{};
  /// Where run times come from; null: the clocks of the machine (cpu/stopwatch.h).
  cpu::Stopwatch* stopwatch = nullptr;
};

class MeasuredCosts : public graph::Costs {
 public:
  /// The backend and the stopwatch must outlive it.
  MeasuredCosts(const graph::Backend& backend, const MeasuredOptions& options);
  /// Saves; an error is not reported.
  ~MeasuredCosts() override;

  std::string name() const override { return "measured"; }
  double primitive(const graph::CostContext& context, graph::NodeId node, const graph::Implementation& implementation,
                   const graph::Implementation* forward, bool in_place) override;
  double reorder(const graph::ReorderSetting& setting, const TensorDesc& from, const TensorDesc& to) override;
  /// Other work that slows the machine down, such as that of a virtual machine's neighbours, may last for all runs of
  /// one measurement, but comes and goes in seconds. So every time that was measured since the last call is measured
  /// once more when it is asked for next, and the smaller one counts. True if there is anything to measure a second
  /// time.
  bool again() override;

  /// Writes new times to the file, unless the file could not be read (but a damaged one is replaced). During measuring
  /// this also happens every few seconds. Errors: unsupported (a file of another version), limit, io.
  void save();
  /// What went wrong when the file was read, or last written. The costs are good nevertheless, but are not kept. A
  /// damaged file (corrupt) is replaced by save().
  const std::optional<Error>& file_error() const;
  /// How many times are still unreliable after a few attempts each, because other work on the machine may have made
  /// them longer. They are used, but not kept in the file.
  int64_t unreliable() const;
  /// Whether other work on the machine hid what a step takes in addition. It then counts as 0, and is not kept in the
  /// file.
  bool step_unreliable() const;
  /// How many times were found in the file, and how many had to be measured.
  int64_t remembered() const;
  int64_t measured() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

std::unique_ptr<MeasuredCosts> measured_costs(const graph::Backend& backend, const MeasuredOptions& options = {});

}  // namespace relayout::execute
