// Writing the certificate of a plan.
#include "tools/certificate_json.h"

#include <bit>
#include <cmath>

namespace relayout::tools {
namespace {

using graph::Copy;
using graph::CopyId;
using graph::kNone;
using graph::Place;
using graph::TensorId;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

Json cost_json(double cost) { return std::isfinite(cost) ? Json(cost) : Json(nullptr); }

Json places_json(graph::PlaceSet places) {
  Json out = Json::array();
  for (; places != 0; places &= places - 1) out.push_back(std::countr_zero(places));
  return out;
}

Json table_json(const graph::CostTable& table) {
  Json values = Json::array();
  for (double value : table.values) values.push_back(cost_json(value));
  return {{"scope", table.scope}, {"values", std::move(values)}};
}

class Writer {
 public:
  Writer(const graph::Graph& graph, const graph::OptimalPlan& plan, const std::vector<std::string>& names)
      : graph_(graph), plan_(plan), space_(plan.space), names_(names), encoded_(graph::encode(plan.space.problem)) {
    for (std::size_t t = 0; t < space_.places.size(); ++t) find_copies(static_cast<TensorId>(t));
  }

  Json run() {
    Json out;
    Json& variables = out["variables"] = Json::array();
    for (std::size_t o = 0; o < space_.problem.operations.size(); ++o) variables.push_back(operation(o));
    for (std::size_t t = 0; t < space_.places.size(); ++t) variables.push_back(tensor(t));
    Json& tables = out["tables"] = Json::array();
    for (const graph::CostTable& table : encoded_.network.tables) tables.push_back(table_json(table));
    const graph::Certificate& certificate = plan_.solution.certificate;
    Json& cliques = out["cliques"] = Json::array();
    for (const auto& clique : certificate.cliques)
      cliques.push_back({{"scope", clique.scope}, {"tables", clique.tables}});
    Json& messages = out["messages"] = Json::array();
    for (const auto& message : certificate.messages) {
      messages.push_back({{"from", message.from}, {"to", message.to}});
      messages.back().update(table_json(message.table));
    }
    out["assignment"] = plan_.solution.values;
    out["reorders"] = std::move(reorders_);
    out["bound"] = certificate.bound;
    if (plan_.solution.lower_bound > certificate.bound * (1 + 1e-12)) out["search"] = true;
    return out;
  }

 private:
  const graph::ProblemOperation& problem_operation(std::size_t o) const { return space_.problem.operations[o]; }

  /// The copy of the plan in each place, by the order in which both make them. A plan leaves out what nobody reads.
  void find_copies(TensorId t) {
    copies_.emplace_back(space_.places[at(t)].size(), kNone);
    std::vector<bool> taken(plan_.plan.copies.size(), false);
    const auto take = [&](int place, CopyId from) {
      for (std::size_t c = 0; c < plan_.plan.copies.size(); ++c) {
        const Copy& copy = plan_.plan.copies[c];
        if (taken[c] || copy.tensor != t || copy.from != from || !fits(copy, space_.places[at(t)][at(place)])) continue;
        taken[c] = true;
        copies_.back()[at(place)] = static_cast<CopyId>(c);
        return true;
      }
      return false;
    };
    if (const int place = written(t); place != kNone) take(place, kNone);
    for (const graph::PlaceReorder& reorder : plan_.solution.assignment.reorders[at(t)]) {
      const CopyId from = copies_.back()[at(reorder.from)];
      if (from == kNone || !take(reorder.to, from)) continue;
      const double us = space_.problem.tensors[at(t)].reorder_cost(reorder.from, reorder.to);
      reorders_.push_back({{"tensor", variable(t)}, {"from", reorder.from}, {"to", reorder.to}, {"us", us}});
    }
  }

  /// A part lies at an offset that its place does not know.
  static bool fits(const Copy& copy, const Place& place) {
    if (copy.from == kNone) return true;
    const bool part = place.part_of != kNone;
    return part == (copy.view_of != kNone) && (part || copy.layout == place.layout);
  }

  int written(TensorId t) const {
    for (std::size_t o = 0; o < space_.problem.operations.size(); ++o) {
      const graph::ProblemOperation& op = problem_operation(o);
      for (std::size_t i = 0; i < op.dst.size(); ++i) {
        if (op.dst[i] == t) return op.choices[at(plan_.solution.assignment.choice[o])].dst[i];
      }
    }
    return kNone;
  }

  int variable(TensorId t) const { return static_cast<int>(space_.problem.operations.size()) + t; }

  Json operation(std::size_t o) const {
    const graph::ProblemOperation& op = problem_operation(o);
    const std::size_t first = at(space_.first_node);
    const bool node = o >= first && o < first + graph_.nodes.size();
    Json out = {{"name", node ? graph_.nodes[o - first].name : names_[at(op.src.empty() ? op.dst[0] : op.src[0])]},
                {"kind", "operation"}};
    if (node) out["primitive"] = o - first;
    for (const auto& [key, tensors] : {std::pair{"src", &op.src}, {"dst", &op.dst}}) {
      out[key] = Json::array();
      for (TensorId t : *tensors) out[key].push_back(variable(t));
    }
    Json& values = out["values"] = Json::array();
    for (std::size_t c = 0; c < op.choices.size(); ++c) {
      Json label = {{"us", cost_json(op.choices[c].cost)}, {"src", Json::array()}, {"dst", op.choices[c].dst}};
      for (graph::PlaceSet places : op.choices[c].src) label["src"].push_back(places_json(places));
      if (node) label["implementation"] = space_.choices[o - first][c].implementation.name;
      if (node && space_.choices[o - first][c].in_place) label["in_place"] = true;
      values.push_back(std::move(label));
    }
    return out;
  }

  Json tensor(std::size_t t) const {
    Json places = Json::array(), values = Json::array();
    for (std::size_t p = 0; p < space_.places[t].size(); ++p) {
      const CopyId copy = copies_[t][p];
      places.push_back(graph::expression_of(copy == kNone ? space_.places[t][p].layout : plan_.plan.copy(copy).layout));
    }
    const graph::TensorValues& meaning = encoded_.tensors[t];
    for (uint64_t value : meaning.values) {
      Json wanted = Json::array();
      for (; value != 0; value &= value - 1) wanted.push_back(places_json(meaning.groups[at(std::countr_zero(value))]));
      values.push_back({{"wanted", std::move(wanted)}});
    }
    return {{"name", names_[t]}, {"kind", "tensor"}, {"places", std::move(places)}, {"values", std::move(values)}};
  }

  const graph::Graph& graph_;
  const graph::OptimalPlan& plan_;
  const graph::ChoiceSpace& space_;
  const std::vector<std::string>& names_;
  graph::EncodedProblem encoded_;
  std::vector<std::vector<CopyId>> copies_;  // by tensor and place
  Json reorders_ = Json::array();
};

}  // namespace

Json certificate_json(const graph::Graph& graph, const graph::OptimalPlan& plan,
                      const std::vector<std::string>& names) {
  return Writer(graph, plan, names).run();
}

}  // namespace relayout::tools
