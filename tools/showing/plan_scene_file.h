// Scenes of plans from the files that `relayout plan -o` writes; the model is not needed.
#pragma once

#include "relayout/show/plan_scene.h"
#include "tools/command/json_file.h"

namespace relayout::tools {

/// The scene of a plan's file: the plan that was chosen and those of the other policies. A file of an older relayout
/// has the first alone, without times and bytes of reorders. Failures of bad data name the place in the file.
show::PlanScene read_plan_scene(const std::string& path);

/// The sentences above a plan: backend, threads, where times come from, and what is proven. `gap`: nothing where the
/// plan is not the cheapest one's, 0 where it is proven.
std::vector<std::string> plan_notes(const std::string& backend, int64_t threads, const std::string& prices,
                                    std::optional<double> gap);

/// Puts the plan of the policy optimal first and the others behind it by name.
void sort_plans(show::PlanScene& scene);

/// Shows the plan of a policy first. Usage error where the scene has none of that name.
void choose_plan(show::PlanScene& scene, const std::string& policy);

}  // namespace relayout::tools
