// Plans as a page: the graph coloured by layout, its reorders, and a switch between policies.
#pragma once

#include <string>

#include "relayout/show/plan_scene.h"

namespace relayout::show {

/// A page that browsers open from disk, as html() of layouts is: it asks for nothing, and no name in it is ever run.
/// Without scripts it shows plan_drawing() of the chosen plan. Errors: those of placed_plans() (plan_drawing.h).
std::string plan_html(const PlanScene& scene);

/// What the page computes from, as JSON; docs/show.md lists the keys.
std::string plan_json(const PlanScene& scene);

/// A GraphCollection of Google's Model Explorer (github.com/google-ai-edge/model-explorer, graph_builder.py), as JSON:
/// a graph for each policy, the chosen one first, whose reorders are nodes. What stands before the last slash of a
/// node's name is its namespace. Errors: those of check().
std::string model_explorer_json(const PlanScene& scene);

}  // namespace relayout::show
