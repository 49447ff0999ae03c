// The verbs that plan and run models, in a build without the planner (RELAYOUT_PLANNER=OFF), as that of `pip install`:
// each says how to get it.
#include "tools/checking/check_saved_plan.h"
#include "tools/command/known_values.h"
#include "tools/showing/show_plan.h"

namespace relayout::tools {
namespace {

Error without_planner(const std::string& verb) {
  return {ErrorCode::unsupported,
          "relayout " + verb + ": this build has no planner, as RELAYOUT_PLANNER was OFF; scripts/demo builds one",
          "planner"};
}

/// Refuses the verb, whatever follows it.
Verb absent(CommandLine& line, const std::string& name, const std::string& what) {
  auto [command, json] = add_verb(line, name, what + "; not in this build",
                                  "This build has no planner. A build from source has it (scripts/demo, or cmake with\n"
                                  "-DRELAYOUT_PLANNER=ON), for Python `pip install ./python/models`.");
  command.take_anything();
  return {command, [name]() -> int { throw Failure(kUnsupported, without_planner(name)); }, json};
}

}  // namespace

Verb add_plan(CommandLine& line) { return absent(line, "plan", "Choose the layouts of a model's tensors"); }
Verb add_run(CommandLine& line) { return absent(line, "run", "Run a model in its cheapest layouts"); }
Verb add_explain(CommandLine& line) { return absent(line, "explain", "Say why a program's reorders are there"); }
Verb add_any(CommandLine& line) { return absent(line, "any", "Show what layouts a primitive chooses by `any`"); }

void add_saved_plan_options(Command&, ModelFlags&) {}

int check_saved_plan(const std::string&, const ModelFlags&, bool) {
  throw Failure(kUnsupported, without_planner("check PLAN"));
}

void add_model_options(Command&, ShowPlanOptions&) {}

show::PlanScene model_scene(const ShowPlanOptions&) { throw Failure(kUnsupported, without_planner("show MODEL")); }

std::vector<std::string> planner_values(std::string_view) { return {}; }

}  // namespace relayout::tools
