// What `relayout show` makes of plans and of models.
#pragma once

#include <memory>
#include <optional>

#include "relayout/show/plan_scene.h"
#include "tools/planning/planning.h"

namespace relayout::tools {

/// What is asked of a plan or a model that is shown.
struct ShowPlanOptions {
  std::optional<std::string> as, policy;
  /// Of models alone.
  ModelFlags model;
  PlanFlags plan;
};

void add_show_plan_options(Command& command, ShowPlanOptions& options);

/// Whether a thing to show is a plan's file (.json) or a model (.onnx, model:NAME).
bool is_plan(const std::string& what);

/// The scene of either; a model is planned by all policies. Failures: those of read_plan_scene() and model_scene().
show::PlanScene plan_to_show(const std::string& what, const ShowPlanOptions& options);

/// The options of models, of which a build without the planner has none.
void add_model_options(Command& command, ShowPlanOptions& options);

/// A model planned by all policies. Failures: what load_model() and the planner throw; unsupported in a build without
/// the planner.
show::PlanScene model_scene(const ShowPlanOptions& options);

}  // namespace relayout::tools
