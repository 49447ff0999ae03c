// Plans in the format of Google's Model Explorer.
#include <algorithm>

#include "relayout/show/drawing.h"
#include "relayout/show/escape.h"
#include "relayout/show/index.h"
#include "relayout/show/json_words.h"
#include "relayout/show/plan_html.h"

namespace relayout::show {
namespace {

using KeyValues = std::vector<std::pair<std::string, std::string>>;

/// The parts of a name between slashes, without empty ones: all but the last are the namespace.
std::pair<std::string, std::string> split_name(const std::string& name) {
  std::string space, label;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    if (end > begin) {
      if (!label.empty()) space += (space.empty() ? "" : "/") + label;
      label = name.substr(begin, end - begin);
    }
    begin = end + 1;
  }
  return {space, label};
}

std::string attributes_json(const KeyValues& list) {
  return json_list(list, [](const auto& pair) {
    return "{\"key\":" + json_quoted(pair.first) + ",\"value\":" + json_quoted(pair.second) + "}";
  });
}

/// The graph of one plan. Identifiers: n and the number of a node, r and the copy of a reorder, in and out.
class ExplorerGraph {
 public:
  ExplorerGraph(const PlanScene& scene, const std::vector<std::string>& forms, int plan)
      : scene_(scene), forms_(forms), facts_(scene, plan), plan_(facts_.plan()) {}

  std::string text() {
    for (std::size_t i = 0; i < plan_.inputs.size(); ++i) {
      const int copy = plan_.inputs[i];
      add("in" + std::to_string(i), {"", tensor(copy).name}, copy, {{"kind", "input"}}, {}, {copy});
    }
    for (std::size_t n = 0; n < scene_.nodes.size(); ++n) add_node(static_cast<int>(n));
    for (const int reorder : facts_.reorders()) add_reorder(reorder);
    for (std::size_t o = 0; o < plan_.outputs.size(); ++o) {
      const int copy = plan_.outputs[o];
      add("out" + std::to_string(o), {"", scene_.outputs[o]}, copy, {{"kind", "output"}}, {copy}, {});
    }
    return "{\"id\":" + json_quoted(plan_.policy) + ",\"nodes\":[" + nodes_ + "],\"groupNodeAttributes\":{\"\":{" +
           totals() + "}}}";
  }

 private:
  const ShownCopy& copy(int number) const { return plan_.copies[at(number)]; }
  const ShownTensor& tensor(int number) const { return scene_.tensors[at(copy(number).tensor)]; }

  void add_node(int n) {
    const ShownNode& node = scene_.nodes[at(n)];
    const ShownStep& step = plan_.steps[at(n)];
    KeyValues attributes = {{"kind", node.kind}, {"implementation", step.implementation}};
    if (!node.pass.empty()) attributes.emplace_back("pass", node.pass);
    if (step.us) attributes.emplace_back("time", microseconds_words(*step.us));
    if (step.reference) attributes.emplace_back("reference implementation", "yes");
    if (step.rounds_more) attributes.emplace_back("rounds more", "yes");
    for (const std::string& op : node.post_ops) attributes.emplace_back("post-op", op);
    for (std::size_t s = 0; s < step.src.size(); ++s) {
      if (step.src[s] != -1 && facts_.constant(step.src[s])) {
        attributes.emplace_back("constant " + tensor(step.src[s]).name,
                                copy(step.src[s]).form + (copy(step.src[s]).from == -1 ? "" : ", reordered at load"));
      }
    }
    const auto first = std::ranges::find_if(step.dst, [](int dst) { return dst != -1; });
    add("n" + std::to_string(n), split_name(node.name), first == step.dst.end() ? -1 : *first, attributes, step.src,
        step.dst);
  }

  void add_reorder(int number) {
    const ShownCopy& to = copy(number);
    KeyValues attributes = {
        {"kind", "reorder"}, {"tensor", tensor(number).name}, {"from", copy(to.from).form}, {"to", to.form}};
    if (to.bytes) attributes.emplace_back("bytes", std::to_string(*to.bytes));
    if (to.us) attributes.emplace_back("time", microseconds_words(*to.us));
    attributes.emplace_back("reason", to.reason);
    attributes.emplace_back("source", facts_.source_words(number));
    std::string space;
    for (const PlanFacts::Reader& reader : facts_.readers(number)) {
      if (!reader.output && space.empty()) space = split_name(scene_.nodes[at(reader.number)].name).first;
    }
    add("r" + std::to_string(number), {space, "reorder " + copy(to.from).form + " to " + to.form}, number, attributes,
        {to.from}, {number});
  }

  /// Where a copy comes from: a node's identifier and the number of its destination; "" of constants.
  std::pair<std::string, std::string> origin(int number) const {
    const PlanFacts::Made& made = facts_.made(number);
    switch (made.maker) {
      case PlanFacts::Maker::input: return {"in" + std::to_string(made.number), "0"};
      case PlanFacts::Maker::node: {
        const std::vector<int>& dst = plan_.steps[at(made.number)].dst;
        return {"n" + std::to_string(made.number), std::to_string(std::ranges::find(dst, number) - dst.begin())};
      }
      case PlanFacts::Maker::reorder: return {facts_.constant(number) ? "" : "r" + std::to_string(number), "0"};
      default: return {"", ""};
    }
  }

  std::string edges(const std::vector<int>& src) const {
    std::string out = "[";
    for (std::size_t s = 0; s < src.size(); ++s) {
      if (src[s] == -1) continue;
      const auto [from, output] = origin(src[s]);
      if (from.empty()) continue;
      out += std::string(out.size() > 1 ? "," : "") + "{\"sourceNodeId\":" + json_quoted(from) +
             ",\"sourceNodeOutputId\":\"" + output + "\",\"targetNodeInputId\":\"" + std::to_string(s) + "\"}";
    }
    return out + "]";
  }

  std::string metadata(const std::vector<int>& copies, bool inputs) const {
    std::string out = "[";
    for (std::size_t k = 0; k < copies.size(); ++k) {
      if (copies[k] == -1) continue;
      const ShownTensor& of = tensor(copies[k]);
      // The viewer shows the key of inputs as their name, and "shape" of outputs on edges.
      const KeyValues named = {{"__tensor_tag", of.name}};
      const std::string dims = join(of.dims, "x");
      const KeyValues known = {{"tensor_name", of.name},
                               {"shape", dims.empty() ? "scalar" : dims},
                               {"dtype", of.dtype},
                               {"layout", copy(copies[k]).form}};
      out += std::string(out.size() > 1 ? "," : "") + "{\"id\":\"" + std::to_string(k) +
             "\",\"attrs\":" + attributes_json(inputs ? named : known) + "}";
    }
    return out + "]";
  }

  void add(const std::string& id, const std::pair<std::string, std::string>& name, int colour,
           const KeyValues& attributes, const std::vector<int>& src, const std::vector<int>& dst) {
    nodes_ += std::string(nodes_.empty() ? "" : ",") + "\n{\"id\":" + json_quoted(id) +
              ",\"label\":" + json_quoted(name.second) + ",\"namespace\":" + json_quoted(name.first) +
              ",\"attrs\":" + attributes_json(attributes) + ",\"incomingEdges\":" + edges(src) +
              ",\"inputsMetadata\":" + metadata(src, true) + ",\"outputsMetadata\":" + metadata(dst, false);
    if (colour != -1) {
      nodes_ += ",\"style\":{\"backgroundColor\":\"" +
                std::string(paper_colour(form_colour(forms_, copy(colour).form))) + "\"}";
    }
    nodes_ += "}";
  }

  /// What stands beside the graph while no node is selected.
  std::string totals() const {
    KeyValues list = {{"policy", plan_.policy}};
    if (plan_.predicted_us) list.emplace_back("predicted time", microseconds_words(*plan_.predicted_us));
    if (plan_.measured_us) list.emplace_back("measured time", microseconds_words(*plan_.measured_us));
    if (plan_.cost_us) list.emplace_back("cost", microseconds_words(*plan_.cost_us));
    list.emplace_back("reorders", std::to_string(facts_.reorders().size()));
    if (plan_.reorder_bytes) list.emplace_back("bytes reordered", std::to_string(*plan_.reorder_bytes));
    std::string out;
    for (const auto& [key, value] : list) out += (out.empty() ? "" : ",") + json_quoted(key) + ":" + json_quoted(value);
    return out;
  }

  const PlanScene& scene_;
  const std::vector<std::string>& forms_;
  const PlanFacts facts_;
  const ShownPlan& plan_;
  std::string nodes_;
};

}  // namespace

std::string model_explorer_json(const PlanScene& scene) {
  check(scene);
  const std::vector<std::string> forms = forms_of(scene);
  std::vector<int> order = {scene.chosen};
  for (std::size_t p = 0; p < scene.plans.size(); ++p) {
    if (static_cast<int>(p) != scene.chosen && scene.plans[p].has_plan()) order.push_back(static_cast<int>(p));
  }
  return "{\"label\":" + json_quoted(scene.title) +
         ",\"graphs\":" + json_list(order, [&](int plan) { return ExplorerGraph(scene, forms, plan).text(); }) + "}";
}

}  // namespace relayout::show
