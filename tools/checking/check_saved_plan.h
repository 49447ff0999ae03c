// relayout check PLAN: whether a saved plan agrees with its certificate and, with --model, whether both fit the model.
#pragma once

#include <string>

#include "tools/planning/model.h"

namespace relayout::tools {

/// --model, and how it is read. A build without the planner has none of them.
void add_saved_plan_options(Command& command, ModelFlags& model);

/// Prints what is proven; kOk. `model.path` is empty where the plan is not compared with a model. Failure: kBadData
/// where the plan, its certificate and the model do not agree; kUnsupported in a build without the planner.
int check_saved_plan(const std::string& path, const ModelFlags& model, bool json);

}  // namespace relayout::tools
