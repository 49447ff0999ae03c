// Plans as JSON, in the frame that all pages have.
#include "relayout/show/plan_html.h"

#include <algorithm>

#include "relayout/show/escape.h"
#include "relayout/show/frame.h"
#include "relayout/show/json_words.h"
#include "relayout/show/page.h"
#include "relayout/show/plan_drawing.h"
#include "relayout/show/svg.h"

namespace relayout::show {
namespace {

std::string tensor_json(const ShownTensor& tensor) {
  return "[" + json_quoted(tensor.name) + ",[" + join(tensor.dims) + "]," + json_quoted(tensor.dtype) + "]";
}

std::string node_json(const ShownNode& node) {
  return "[" + json_quoted(node.name) + "," + json_quoted(node.kind) + "," + json_quoted(node.pass) + "," +
         json_list(node.post_ops, [](const std::string& op) { return json_quoted(op); }) + "]";
}

std::string box_json(const PlanBox& box) {
  return "[" + std::to_string(static_cast<int>(box.kind)) + "," + std::to_string(box.number) + "," + point(box.x) +
         "," + point(box.y) + "," + point(box.width) + "," + point(box.height) + "]";
}

std::string line_json(const PlanLine& line) {
  return "[" + std::to_string(line.from) + "," + std::to_string(line.to) + "," +
         json_list(line.points, [](const DrawnPoint& at) { return point(at.x) + "," + point(at.y); }) + "]";
}

class PlanWriter {
 public:
  PlanWriter(const PlanScene& scene, const std::vector<std::string>& forms, int plan)
      : forms_(forms), plan_(scene.plans[static_cast<std::size_t>(plan)]) {
    if (plan_.has_plan()) facts_.emplace(scene, plan);
  }

  std::string text(const PlanFilling& filling) const {
    std::string out =
        "{\"policy\":" + json_quoted(plan_.policy) + ",\"problem\":" + json_quoted(plan_.problem) +
        ",\"predicted_us\":" + json_number(plan_.predicted_us) + ",\"cost_us\":" + json_number(plan_.cost_us) +
        ",\"measured_us\":" + json_number(plan_.measured_us) + ",\"reorders\":" + json_number(plan_.reorders) +
        ",\"reorder_bytes\":" + json_number(plan_.reorder_bytes) +
        ",\"load_reorders\":" + json_number(plan_.load_reorders);
    if (!facts_) return out + "}";
    out += ",\"steps\":" + json_list(plan_.steps, [&](const ShownStep& step) { return step_json(step); });
    out += ",\n\"copies\":" + json_list(plan_.copies, [&](const ShownCopy& copy) { return copy_json(copy); });
    out += ",\n\"inputs\":" + numbers(plan_.inputs) + ",\"outputs\":" + numbers(plan_.outputs);
    out += ",\"at_load\":" + numbers(facts_->load_reorders());
    out += ",\n\"flows\":" + json_list(filling.flows, [](const PlanFilling::Flow& flow) {
             return "[" + std::to_string(flow.line) + "," + std::to_string(flow.copy) + "]";
           });
    out += ",\n\"shown\":" + json_list(filling.reorders, [&](const PlanFilling::Reorder& reorder) {
             return "[" + std::to_string(reorder.box) + "," + std::to_string(reorder.copy) + "," +
                    json_quoted(facts_->source_words(reorder.copy)) + "]";
           });
    return out + "}";
  }

 private:
  static std::string numbers(const std::vector<int>& list) {
    return json_list(list, [](int number) { return std::to_string(number); });
  }

  std::string step_json(const ShownStep& step) const {
    return "[" + json_quoted(step.implementation) + "," + numbers(step.src) + "," + numbers(step.dst) + "," +
           json_number(step.us) + "," + std::to_string((step.reference ? 1 : 0) + (step.rounds_more ? 2 : 0)) + "]";
  }

  std::string copy_json(const ShownCopy& copy) const {
    const auto form = std::ranges::find(forms_, copy.form) - forms_.begin();
    return "[" + std::to_string(copy.tensor) + "," + std::to_string(form) + "," + json_quoted(copy.exact) + "," +
           std::to_string(copy.from) + "," + std::to_string(copy.view_of) + "," + json_quoted(copy.reason) + "," +
           json_number(copy.bytes) + "," + json_number(copy.us) + "]";
  }

  const std::vector<std::string>& forms_;
  const ShownPlan& plan_;
  std::optional<PlanFacts> facts_;
};

}  // namespace

std::string plan_json(const PlanScene& scene) {
  const PlacedPlans placed = placed_plans(scene);
  const std::vector<std::string> forms = forms_of(scene);
  const auto quoted = [](const std::string& text) { return json_quoted(text); };
  std::string out =
      "{\"title\":" + json_quoted(scene.title) + ",\"backend\":" + json_quoted(scene.backend) +
      ",\"prices\":" + json_quoted(scene.prices) + ",\"notes\":" + json_list(scene.notes, quoted) +
      ",\"width\":" + point(placed.width) + ",\"height\":" + point(placed.height) +
      ",\"chosen\":" + std::to_string(scene.chosen) + ",\"forms\":" + json_list(forms, quoted) +
      ",\"outputs\":" + json_list(scene.outputs, quoted) + ",\n\"tensors\":" + json_list(scene.tensors, tensor_json) +
      ",\n\"nodes\":" + json_list(scene.nodes, node_json) + ",\n\"boxes\":" + json_list(placed.boxes, box_json) +
      ",\n\"lines\":" + json_list(placed.lines, line_json) + ",\n\"plans\":[";
  for (std::size_t p = 0; p < scene.plans.size(); ++p)
    out += (p == 0 ? "" : ",\n") + PlanWriter(scene, forms, static_cast<int>(p)).text(placed.fillings[p]);
  return out + "]}";
}

std::string plan_html(const PlanScene& scene) {
  return framed(scene.title, svg(plan_drawing(scene, scene.chosen)), plan_json(scene),
                {kPlanScript, kPlanStyle, kPlanScriptHash, kPlanStyleHash});
}

}  // namespace relayout::show
