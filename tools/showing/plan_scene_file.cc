// Plan files as scenes.
#include "tools/showing/plan_scene_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "tools/command/common.h"

namespace relayout::tools {
namespace {

std::optional<double> time_of(const JsonItem& item, const char* key) {
  if (!item.has(key) || item[key].json.is_null()) return std::nullopt;
  return item[key].number();
}

std::optional<int64_t> count_of(const JsonItem& item, const char* key) {
  return item.has(key) ? std::optional(item[key].integer()) : std::nullopt;
}

int number_of(const JsonItem& item) {
  return item.json.is_null() ? -1 : item.index(std::size_t{std::numeric_limits<int>::max()});
}

std::vector<int> numbers_of(const JsonItem& list) {
  std::vector<int> out;
  for (const JsonItem& item : list.list()) out.push_back(number_of(item));
  return out;
}

class SceneReader {
 public:
  explicit SceneReader(const JsonItem& file) : file_(file) {}

  show::PlanScene read() {
    const std::string chosen = file_["policy"].text();
    out_.title = file_["model"].text();
    out_.backend = file_["backend"].text();
    out_.prices = file_["cost"].text();
    read_tensors();
    read_nodes();
    for (auto [name, json] : file_["policies"].json.items()) read_policy(name, file_["policies"][name], name == chosen);
    read_outputs(chosen);
    sort_plans(out_);
    choose_plan(out_, chosen);
    std::optional<double> gap;
    if (file_.has("gap")) gap = file_["optimal"].boolean() ? 0 : file_["gap"].number();
    out_.notes = plan_notes(out_.backend, file_["threads"].integer(), out_.prices, gap);
    from_data([&] { show::check(out_); });
    return std::move(out_);
  }

 private:
  void read_tensors() {
    const JsonItem tensors = file_["tensors"];
    for (const auto& [name, json] : tensors.json.items()) {
      const JsonItem tensor = tensors[name];
      std::vector<int64_t> dims;
      for (const JsonItem& dim : tensor["dims"].list()) dims.push_back(dim.integer());
      tensors_[name] = static_cast<int>(out_.tensors.size());
      out_.tensors.push_back(
          {.name = name, .dims = from_data([&] { return Dims(dims); }), .dtype = tensor["dtype"].text()});
    }
  }

  void read_nodes() {
    for (const JsonItem& node : file_["primitives"].list()) {
      show::ShownNode& shown = out_.nodes.emplace_back(show::ShownNode{
          .name = node["name"].text(), .kind = node["kind"].text(), .pass = node["pass"].text(), .post_ops = {}});
      if (!node.has("post_ops")) continue;
      for (const JsonItem& op : node["post_ops"].list()) {
        const std::string function = op.has("algorithm") ? op["algorithm"].text() : op["kind"].text();
        shown.post_ops.push_back(function + " (" + op["name"].text() + ")");
      }
    }
  }

  void read_policy(const std::string& name, const JsonItem& policy, bool chosen) {
    show::ShownPlan& plan = out_.plans.emplace_back(show::ShownPlan{.policy = name});
    for (const char* key : {"error", "problem"}) {
      if (policy.has(key)) plan.problem = policy[key].text();
    }
    plan.predicted_us = time_of(policy, "predicted_us");
    plan.cost_us = time_of(policy, "cost_us");
    plan.measured_us = time_of(policy, "measured_us");
    plan.reorders = count_of(policy, "reorders");
    plan.reorder_bytes = count_of(policy, "reorder_bytes");
    plan.load_reorders = count_of(policy, "load_reorders");
    if (policy.has("plan")) return read_plan(policy["plan"], plan);
    if (policy.has("same_plan_as")) {
      const JsonItem same = policy["same_plan_as"];
      const JsonItem policies = file_["policies"];
      if (!policies.has(same.text().c_str()) || !policies[same.text()].has("plan"))
        bad_item(same.where, "names the policy " + in_quotes(same.text()) + ", which has no plan of its own");
      return read_plan(policies[same.text()]["plan"], plan);
    }
    if (chosen) read_plan(file_, plan);
  }

  void read_plan(const JsonItem& item, show::ShownPlan& plan) {
    for (const JsonItem& json : item["copies"].list()) {
      const auto tensor = tensors_.find(json["tensor"].text());
      if (tensor == tensors_.end())
        bad_item(json["tensor"].where, "is " + in_quotes(json["tensor"].text()) + ", which \"tensors\" lacks");
      show::ShownCopy& copy = plan.copies.emplace_back();
      copy.tensor = tensor->second;
      copy.form = json[json.has("form") ? "form" : "layout"].text();
      if (const std::string layout = json["layout"].text(); is_special(layout)) copy.exact = layout;
      if (json.has("from")) copy.from = number_of(json["from"]);
      if (json.has("view_of")) copy.view_of = number_of(json["view_of"]);
      if (json.has("reason")) copy.reason = json["reason"].text();
      copy.bytes = count_of(json, "bytes");
      copy.us = time_of(json, "predicted_us");
    }
    for (const JsonItem& json : item["primitives"].list()) {
      show::ShownStep& step = plan.steps.emplace_back();
      step.implementation = json["implementation"].text();
      step.src = numbers_of(json["src"]);
      step.dst = numbers_of(json["dst"]);
      step.us = time_of(json, "predicted_us");
      step.reference = json.has("ref") && json["ref"].boolean();
      step.rounds_more = json.has("rounds_more") && json["rounds_more"].boolean();
    }
    plan.inputs = numbers_of(item["inputs"]);
    plan.outputs = numbers_of(item["outputs"]);
  }

  /// Whether a layout says more than its form: strides, digits and opaque formats do, and tags do not.
  static bool is_special(const std::string& layout) { return layout.find_first_of(":= ") != std::string::npos; }

  void read_outputs(const std::string& chosen) {
    const auto plan = std::ranges::find(out_.plans, chosen, &show::ShownPlan::policy);
    if (plan == out_.plans.end() || !plan->has_plan())
      bad_item("policies", "has no plan of the policy " + in_quotes(chosen) + ", which the file is of");
    if (file_.has("output_names")) {
      for (const JsonItem& name : file_["output_names"].list()) out_.outputs.push_back(name.text());
      return;
    }
    const JsonItem outputs = file_["outputs"], copies = file_["copies"];
    for (const JsonItem& output : outputs.list()) {
      const int number = output.index(copies.size());
      out_.outputs.push_back(copies[static_cast<std::size_t>(number)]["tensor"].text());
    }
  }

  const JsonItem file_;
  show::PlanScene out_;
  std::map<std::string, int> tensors_;
};

}  // namespace

show::PlanScene read_plan_scene(const std::string& path) {
  const FileJson json = read_json(path);
  for (const char* needed : {"tensors", "copies", "primitives", "policies"}) {
    if (json.is_object() && json.contains(needed)) continue;
    throw Failure(kBadData,
                  Error(ErrorCode::corrupt,
                        fmt::format("{}: is not a plan as relayout plan -o writes it: it {}", escaped(path, 4096),
                                    json.is_object() ? "has no " + in_quotes(needed) : "is not a JSON object"),
                        "path", escaped(path, 4096)));
  }
  return SceneReader({json, ""}).read();
}

std::vector<std::string> plan_notes(const std::string& backend, int64_t threads, const std::string& prices,
                                    std::optional<double> gap) {
  std::vector<std::string> out;
  const std::string measured = "measured: each primitive and each reorder was run by itself";
  out.push_back(
      fmt::format("Planned for {} with {}. Times are {}.", escaped(backend), counted(threads, "thread"),
                  prices == "measured" ? measured : "predicted from the speeds of the machine, not measured"));
  if (gap && *gap == 0) out.emplace_back("By these times no plan is cheaper than that of the policy optimal.");
  if (gap && *gap > 0) {
    out.push_back(fmt::format("By these times the plan of the policy optimal is at most {:.2g} % from the cheapest.",
                              100 * *gap));
  }
  return out;
}

void sort_plans(show::PlanScene& scene) {
  if (scene.plans.empty()) return;
  const std::string chosen = scene.plans[static_cast<std::size_t>(scene.chosen)].policy;
  std::ranges::sort(scene.plans, {}, [](const show::ShownPlan& plan) {
    return std::pair(!plan.policy.starts_with("optimal"), plan.policy);
  });
  scene.chosen =
      static_cast<int>(std::ranges::find(scene.plans, chosen, &show::ShownPlan::policy) - scene.plans.begin());
}

void choose_plan(show::PlanScene& scene, const std::string& policy) {
  std::string known;
  for (std::size_t p = 0; p < scene.plans.size(); ++p) {
    if (!scene.plans[p].has_plan()) continue;
    if (scene.plans[p].policy == policy) {
      scene.chosen = static_cast<int>(p);
      return;
    }
    known += (known.empty() ? "" : ", ") + scene.plans[p].policy;
  }
  usage_error(fmt::format("--policy {}: the plan has no such policy; it has {}", escaped(policy), known), "--policy",
              escaped(policy), known);
}

}  // namespace relayout::tools
