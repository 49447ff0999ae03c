// Writes the certificate of a plan as JSON.
#include "tools/checking/certificate_json.h"

#include <bit>
#include <cmath>

namespace relayout::tools {
namespace {

using graph::Copy;
using graph::CopyId;
using graph::kNone;
using graph::Placement;
using graph::TensorId;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

Json cost_json(double cost) { return std::isfinite(cost) ? Json(cost) : Json(nullptr); }

Json places_json(solve::PlacementSet placements) {
  Json out = Json::array();
  for (; placements != 0; placements &= placements - 1) out.push_back(std::countr_zero(placements));
  return out;
}

Json costs_json(const std::vector<double>& costs) {
  Json out = Json::array();
  for (double cost : costs) out.push_back(cost_json(cost));
  return out;
}

class CertificateWriter {
 public:
  CertificateWriter(const graph::Graph& graph, const graph::OptimalPlan& plan, const std::vector<std::string>& names)
      : graph_(graph),
        plan_(plan),
        space_(plan.space),
        names_(names),
        encoded_(graph::with_solver_errors([&] { return solve::encode(plan.space.problem); })) {
    for (std::size_t t = 0; t < space_.placements.size(); ++t) find_copies(static_cast<TensorId>(t));
  }

  Json run() {
    Json out;
    Json& operations = out["operations"] = Json::array();
    for (std::size_t o = 0; o < space_.problem.operations.size(); ++o) operations.push_back(operation(o));
    Json& tensors = out["tensors"] = Json::array();
    for (std::size_t t = 0; t < space_.placements.size(); ++t) tensors.push_back(tensor(t));
    out["choices"] = plan_.solution.assignment.choice;
    out["reorders"] = std::move(reorders_);
    const solve::Certificate& certificate = plan_.solution.certificate;
    Json& cliques = out["cliques"] = Json::array();
    for (const auto& clique : certificate.cliques) {
      Json tables = Json::array();
      for (int table : clique.tables) tables.push_back(encoded_.of[at(table)]);
      cliques.push_back({{"scope", clique.scope}, {"tables", std::move(tables)}});
    }
    Json& messages = out["messages"] = Json::array();
    for (const auto& message : certificate.messages) {
      messages.push_back({{"from", message.from},
                          {"to", message.to},
                          {"scope", message.table.scope},
                          {"values", costs_json(message.table.values)}});
    }
    out["bound"] = certificate.bound;
    if (plan_.solution.lower_bound > certificate.bound * (1 + 1e-12)) out["search"] = true;
    return out;
  }

 private:
  const solve::ProblemOperation& problem_operation(std::size_t o) const { return space_.problem.operations[o]; }

  /// Finds the copy of the plan that lies in each placement of tensor t. The solver's reorders and the plan's copies
  /// are walked in the same order. Reorders whose result nobody reads have no copy, because the plan leaves them out.
  void find_copies(TensorId t) {
    copies_.emplace_back(space_.placements[at(t)].size(), kNone);
    std::vector<bool> taken(plan_.plan.copies.size(), false);
    const auto take = [&](int placement, CopyId from) {
      for (std::size_t c = 0; c < plan_.plan.copies.size(); ++c) {
        const Copy& copy = plan_.plan.copies[c];
        if (taken[c] || copy.tensor != t || copy.from != from || !fits(copy, space_.placements[at(t)][at(placement)]))
          continue;
        taken[c] = true;
        copies_.back()[at(placement)] = static_cast<CopyId>(c);
        return true;
      }
      return false;
    };
    if (const int placement = written(t); placement != kNone) take(placement, kNone);
    for (const solve::PlacementReorder& reorder : plan_.solution.assignment.reorders[at(t)]) {
      const CopyId from = copies_.back()[at(reorder.from)];
      if (from == kNone || !take(reorder.to, from)) continue;
      reorders_.push_back({{"tensor", t}, {"from", reorder.from}, {"to", reorder.to}});
    }
  }

  /// Whether a copy can be the one in a placement. Layouts of parts of concats are not compared, because the placement
  /// does not know the offset of the part.
  static bool fits(const Copy& copy, const Placement& placement) {
    if (copy.from == kNone) return true;
    const bool part = placement.part_of != kNone;
    return part == (copy.view_of != kNone) &&
           (part || (copy.layout == placement.layout && copy.opaque == placement.opaque));
  }

  int written(TensorId t) const {
    for (std::size_t o = 0; o < space_.problem.operations.size(); ++o) {
      const solve::ProblemOperation& op = problem_operation(o);
      for (std::size_t i = 0; i < op.dst.size(); ++i) {
        if (op.dst[i] == t) return op.choices[at(plan_.solution.assignment.choice[o])].dst[i];
      }
    }
    return kNone;
  }

  Json operation(std::size_t o) const {
    const solve::ProblemOperation& op = problem_operation(o);
    const std::size_t first = at(space_.first_node);
    const bool node = o >= first && o < first + graph_.nodes.size();
    Json out = {{"name", node ? graph_.nodes[o - first].name : names_[at(op.src.empty() ? op.dst[0] : op.src[0])]}};
    if (node) out["primitive"] = o - first;
    if (op.src.empty() && graph_.tensor(op.dst[0]).constant()) out["constant"] = true;
    out["src"] = op.src;
    out["dst"] = op.dst;
    if (op.hint >= 0) out["hint"] = op.hint;
    Json& choices = out["choices"] = Json::array();
    for (std::size_t c = 0; c < op.choices.size(); ++c) {
      const solve::ProblemChoice& choice = op.choices[c];
      Json& json = choices.emplace_back(Json{{"us", cost_json(choice.cost)}, {"src", Json::array()}});
      for (solve::PlacementSet placements : choice.src) json["src"].push_back(places_json(placements));
      json["dst"] = choice.dst;
      if (!choice.with_hint.empty()) json["with_hint"] = choice.with_hint;
      if (node) json["implementation"] = space_.choices[o - first][c].implementation->name;
      if (node && space_.choices[o - first][c].in_place) json["in_place"] = true;
    }
    return out;
  }

  Json tensor(std::size_t t) const {
    Json placements = Json::array(), reorders = Json::array();
    for (std::size_t p = 0; p < space_.placements[t].size(); ++p) {
      const CopyId copy = copies_[t][p];
      placements.push_back(copy == kNone
                               ? graph::expression_of(space_.placements[t][p].layout, space_.placements[t][p].opaque)
                               : graph::expression_of(plan_.plan.copy(copy).layout, plan_.plan.copy(copy).opaque));
    }
    const std::vector<double>& costs = space_.problem.tensors[t].reorder;
    for (std::size_t p = 0; p < placements.size(); ++p) {
      const auto row = costs.begin() + static_cast<std::ptrdiff_t>(p * placements.size());
      reorders.push_back(costs_json({row, row + static_cast<std::ptrdiff_t>(placements.size())}));
    }
    return {{"name", names_[t]}, {"places", std::move(placements)}, {"reorder_us", std::move(reorders)}};
  }

  const graph::Graph& graph_;
  const graph::OptimalPlan& plan_;
  const graph::ChoiceSpace& space_;
  const std::vector<std::string>& names_;
  solve::EncodedProblem encoded_;
  std::vector<std::vector<CopyId>> copies_;  // by tensor and placement
  Json reorders_ = Json::array();
};

}  // namespace

Json certificate_json(const graph::Graph& graph, const graph::OptimalPlan& plan,
                      const std::vector<std::string>& names) {
  return CertificateWriter(graph, plan, names).run();
}

}  // namespace relayout::tools
