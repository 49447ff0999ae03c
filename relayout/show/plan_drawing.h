// Plans as drawings: one place for each node under all policies, so that plans can be compared; reorders have places
// between them, and each policy fills those that it needs.
#pragma once

#include <string>
#include <vector>

#include "relayout/show/drawing.h"
#include "relayout/show/layered.h"
#include "relayout/show/plan_scene.h"

namespace relayout::show {

/// What stands at one place of the drawing.
struct PlanBox {
  enum class Kind : uint8_t { node, input, output, reorder };
  Kind kind = Kind::node;
  int number = 0;  // of the node, the input or the output; of a reorder the tensor
  double x = 0, y = 0, width = 0, height = 0;
};

/// A line, and what flows along it.
struct PlanLine {
  int from = 0, to = 0;  // boxes
  std::vector<DrawnPoint> points = {};
};

/// The lines and the reorders that one plan has.
struct PlanFilling {
  struct Flow {
    int line = 0, copy = 0;
  };
  struct Reorder {
    int box = 0, copy = 0;
  };
  std::vector<Flow> flows = {};
  std::vector<Reorder> reorders = {};
};

struct PlacedPlans {
  std::vector<PlanBox> boxes;  // nodes first, in their order
  std::vector<PlanLine> lines;
  /// One for each plan of the scene; empty of those that have no plan.
  std::vector<PlanFilling> fillings;
  double width = 0, height = 0;
};

/// Places of all that any plan of the scene has. Lines of constants are left out. Errors: those of check(); those of
/// layered() where steps read in a circle.
PlacedPlans placed_plans(const PlanScene& scene);

/// The lines of a box: of a node its name, its kind and layout, and its implementation and time.
std::vector<std::string> box_words(const PlanScene& scene, const PlanFacts& facts, const PlanBox& box, int copy);

/// One plan of a scene, with a legend of its layouts.
Drawing plan_drawing(const PlanScene& scene, int plan);

}  // namespace relayout::show
