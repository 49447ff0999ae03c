// relayout show PLAN.json, and its options.
#include "tools/showing/show_plan.h"

#include "relayout/graph/models/models.h"
#include "tools/showing/plan_scene_file.h"

namespace relayout::tools {

void add_show_plan_options(Command& command, ShowPlanOptions& options) {
  command.add_option("--policy", options.policy, "Of a plan or a model: the policy whose plan is shown first");
  command
      .add_option("--as", options.as,
                  "Of a plan or a model: write the JSON that another program loads; model-explorer is Google's Model "
                  "Explorer")
      .one_of({"model-explorer"});
  add_model_options(command, options);
}

bool is_plan(const std::string& what) {
  return what.ends_with(".json") || what.ends_with(".onnx") || what.starts_with(graph::kNamedModel);
}

show::PlanScene plan_to_show(const std::string& what, const ShowPlanOptions& options) {
  show::PlanScene out;
  if (what.ends_with(".json")) {
    out = read_plan_scene(what);
  } else {
    ShowPlanOptions model = options;
    model.model.path = what;
    out = model_scene(model);
  }
  if (options.policy) choose_plan(out, *options.policy);
  return out;
}

}  // namespace relayout::tools
