// Measured costs: each primitive and reorder is run as it would be in a model, once for every machine.
//
//     auto costs = measured_costs(*backend, {.file = "costs.txt"});
//     double us = graph::predict(graph, plan, *costs).time();
//     costs->save();                                         // what was new; else it is saved in the end
//
// Each also pays what a step of a run takes beside it (Calibration::step_us), which the same file keeps.
// Each is measured twice, some time apart (again()). Seconds for a model that is new, milliseconds where all is known.
// Measure on a machine that does nothing else.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "relayout/core/error.h"
#include "relayout/graph/plan/cost.h"

namespace relayout::execute {

struct MeasuredOptions {
  /// A CostCache's file; empty: nothing is kept.
  std::filesystem::path file{};
  /// Runs of each at least, after a first one that does not count.
  int runs = 5;
  /// Microseconds that one primitive or reorder is measured for.
  int64_t budget_us = 20000;
  /// Measures all that is asked for anew, once, in place of what the file has.
  bool remeasure = false;
  /// Called before each measurement, which may be hundreds for one plan; what it throws passes on and ends the plan.
  /// What was measured before stays, for save().
  std::function<void()> check{};
};

class MeasuredCosts : public graph::Costs {
 public:
  /// `backend` must stay.
  MeasuredCosts(const graph::Backend& backend, const MeasuredOptions& options);
  /// Saves, and keeps quiet where that fails.
  ~MeasuredCosts() override;

  std::string name() const override { return "measured"; }
  double primitive(const graph::CostContext& context, graph::NodeId node, const graph::Implementation& implementation,
                   const graph::Implementation* forward, bool in_place) override;
  double reorder(const graph::ReorderSetting& setting, const TensorDesc& from, const TensorDesc& to) override;
  /// What was measured since the last call is measured a second time when it is asked for next, and the less of both
  /// counts: what slows a machine, neighbours of a virtual one say, comes and goes in seconds, and is seen by none of
  /// the runs in between.
  bool again() override;

  /// Writes what is new, if there is a file that can be read or is damaged; it is also written now and then while
  /// measuring. Errors: as CostCache::save().
  void save();
  /// What went wrong with reading the file, or with writing it last: costs are good nevertheless, but are not kept. A
  /// damaged file (corrupt) is replaced by save().
  const std::optional<Error>& file_error() const;
  /// Times that other work on the machine may have made longer, after a few attempts each: they are used here and not
  /// kept.
  int64_t doubtful() const;
  /// Whether what a step takes was lost in it, too: it was counted as none, and is not kept.
  bool step_doubtful() const;
  /// Times that were found, and those that had to be measured.
  int64_t remembered() const;
  int64_t measured() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

std::unique_ptr<MeasuredCosts> measured_costs(const graph::Backend& backend, const MeasuredOptions& options = {});

}  // namespace relayout::execute
