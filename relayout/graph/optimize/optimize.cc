// The cheapest plan of a graph, and what it would cost to do without each of its reorders. See optimize.h.
#include "relayout/graph/optimize/optimize.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <numeric>

#include "relayout/graph/ir/described.h"
#include "relayout/graph/plan/layout_names.h"
#include "relayout/solve/limits.h"

namespace relayout::graph {
namespace {

/// Less than a nanosecond is no difference: reorders at load cost so little in the problem only to be chosen last, and
/// rounding leaves such differences too.
constexpr double kNoDifference = 0.001;

/// "12.3 us more", with three digits.
std::string more(double us) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g us more", us);
  return text.data();
}

/// The cheapest plan without a reorder of this tensor between these layouts; kImpossible is its cost if there is no
/// such plan. Nothing if it was not found in time.
std::optional<solve::Solution> plan_without(solve::LayoutProblem& problem, const std::vector<Placement>& placements,
                                            TensorId t, const Layout& from, const Layout& to,
                                            const solve::SolveOptions& options) {
  solve::ProblemTensor& tensor = problem.tensors[static_cast<std::size_t>(t)];
  const std::vector<double> before = tensor.reorder;
  for (std::size_t i = 0; i < placements.size(); ++i) {
    for (std::size_t j = 0; j < placements.size(); ++j) {
      if (i != j && placements[i].layout == from && placements[j].layout == to)
        tensor.reorder[i * placements.size() + j] = kImpossible;
    }
  }
  std::optional<solve::Solution> out;
  try {
    out = with_solver_errors([&] { return solve::solve(problem, options); });
    if (!out->optimal) out.reset();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    out.emplace().cost = kImpossible;  // every plan has such a reorder
  }
  tensor.reorder = before;
  return out;
}

std::size_t at(int id) { return static_cast<std::size_t>(id); }

/// Whether two layouts have the same digits. Equal layouts may have different ones.
bool spelled_alike(const std::optional<Layout>& a, const std::optional<Layout>& b) {
  if (!a || !b) return !a && !b;
  if (a->dims() != b->dims() || a->offset0() != b->offset0()) return false;
  for (int d = 0; d < a->ndims(); ++d) {
    if (!std::ranges::equal(a->digits(d), b->digits(d))) return false;
  }
  return true;
}

/// The nodes that the backend cannot make as planned. Candidates were asked for with layouts that begin at offset 0,
/// with the digits that each had when it was numbered. Parts of concats and views have other offsets or digits in the
/// plan, so the backend is asked again about nodes that use them.
std::vector<NodeId> unmakeable(const Graph& graph, const Backend& backend, const OptimalPlan& plan) {
  const auto is_as_chosen = [&](NodeId id, const Implementation& implementation) {
    const int choice = plan.solution.assignment.choice[at(plan.space.first_node + id)];
    const Implementation& chosen = *plan.space.choices[at(id)][at(choice)].implementation;
    return std::ranges::equal(implementation.src, chosen.src, spelled_alike) &&
           std::ranges::equal(implementation.dst, chosen.dst, spelled_alike) && implementation.opaque == chosen.opaque;
  };
  std::vector<NodeId> out;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const auto id = static_cast<NodeId>(n);
    const Implementation implementation = implementation_of(plan.plan, id);
    if (implementation.name == "view" || implementation.name == "barrier") continue;
    const NodeId hint = graph.node(id).hint;
    const Implementation forward = hint == kNone ? Implementation() : implementation_of(plan.plan, hint);
    if (is_as_chosen(id, implementation) && (hint == kNone || is_as_chosen(hint, forward))) continue;
    if (!matching_implementation(backend, graph, id, implementation, hint == kNone ? nullptr : &forward))
      out.push_back(id);
  }
  return out;
}

/// The one of `placements` from which plan_of() reads the tensor: the one that its producer wrote, if that is among
/// them.
int placement_read(const solve::LayoutProblem& problem, const solve::Assignment& assignment, int tensor,
                   solve::PlacementSet placements) {
  solve::PlacementSet made = 0;
  for (std::size_t i = 0; i < problem.operations.size(); ++i) {
    const solve::ProblemOperation& op = problem.operations[i];
    const auto d = std::ranges::find(op.dst, tensor);
    if (d == op.dst.end()) continue;
    const int written = op.choices[at(assignment.choice[i])].dst[static_cast<std::size_t>(d - op.dst.begin())];
    if ((placements >> written & 1) != 0) return written;
  }
  for (const solve::PlacementReorder& reorder : assignment.reorders[at(tensor)])
    made |= solve::PlacementSet{1} << reorder.to;
  return std::countr_zero(placements & made);
}

/// Makes the choice of a node impossible in the combination that an assignment has. The same choice stays possible with
/// sources in other placements, and with other choices of the hint.
void forbid(const Graph& graph, NodeId id, const solve::Assignment& assignment, ChoiceSpace& space) {
  const int self = space.first_node + id, chosen = assignment.choice[at(self)];
  solve::ProblemOperation& op = space.problem.operations[at(self)];
  const solve::ProblemChoice refused = op.choices[at(chosen)];
  std::vector<solve::ProblemChoice> rest;
  for (std::size_t i = 0; i < op.src.size(); ++i) {
    solve::ProblemChoice other = refused;
    other.src[i] &= ~(solve::PlacementSet{1} << placement_read(space.problem, assignment, op.src[i], refused.src[i]));
    if (other.src[i] != 0) rest.push_back(std::move(other));
  }
  if (graph.node(id).hint != kNone) {
    op.hint = space.first_node + graph.node(id).hint;
    solve::ProblemChoice other = refused;
    if (other.with_hint.empty()) {
      other.with_hint.resize(space.problem.operations[at(op.hint)].choices.size());
      std::iota(other.with_hint.begin(), other.with_hint.end(), 0);
    }
    std::erase(other.with_hint, assignment.choice[at(op.hint)]);
    if (!other.with_hint.empty()) rest.push_back(std::move(other));
  }
  op.choices[at(chosen)].cost = kImpossible;
  for (solve::ProblemChoice& other : rest) {
    // Backward choices that are possible with this choice are possible with its replacements too.
    for (solve::ProblemOperation& reader : space.problem.operations) {
      if (reader.hint != self) continue;
      for (solve::ProblemChoice& choice : reader.choices) {
        if (std::ranges::find(choice.with_hint, chosen) != choice.with_hint.end())
          choice.with_hint.push_back(static_cast<int>(op.choices.size()));
      }
    }
    op.choices.push_back(std::move(other));
    NodeChoice meaning = space.choices[at(id)][at(chosen)];
    space.choices[at(id)].push_back(std::move(meaning));
  }
  if (std::ranges::any_of(op.choices, [](const solve::ProblemChoice& choice) { return choice.cost < kImpossible; }))
    return;
  throw Error(ErrorCode::unsupported,
              "optimize: no way to run " + described(graph, graph.node(id)) + " in layouts that its neighbours have",
              "node", escaped(graph.node(id).name));
}

/// Finds the cheapest plan of which the backend can make every node.
void find_plan(const Graph& graph, const Backend& backend, Costs& costs, const OptimizeOptions& options,
               OptimalPlan& out) {
  out.space = choice_space(graph, backend, costs, options);
  if (costs.again()) out.space = choice_space(graph, backend, costs, options);
  const solve::Limits limits(options.solve);
  while (true) {
    out.solution = with_solver_errors([&] { return solve::solve(out.space.problem, limits.rest()); });
    out.plan = plan_of(graph, backend, out.space, out.solution.assignment);
    const std::vector<NodeId> refused = unmakeable(graph, backend, out);
    if (refused.empty()) return;
    for (NodeId id : refused) forbid(graph, id, out.solution.assignment, out.space);
  }
}

}  // namespace

OptimalPlan optimize(const Graph& graph, const Backend& backend, Costs& costs, const OptimizeOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  OptimalPlan out;
  try {
    find_plan(graph, backend, costs, options, out);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::limit || !options.concat_in_place) throw;
    // Tensors are wanted in too many combinations of placements. There are far fewer if every concat copies.
    OptimizeOptions copying = options;
    copying.concat_in_place = false;
    find_plan(graph, backend, costs, copying, out);
    out.space.left_out += static_cast<std::size_t>(std::ranges::count(graph.nodes, Kind::concat, &Node::kind));
  }
  out.cost_us = out.solution.cost;
  out.optimal = out.solution.optimal;
  if (!out.optimal && out.cost_us > 0) {
    out.gap = std::max(0., out.cost_us - out.solution.lower_bound) / out.cost_us;
  }
  out.planning_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return out;
}

namespace {

/// What a plan that costs as little has in place of a reorder that it lacks: a reorder of another tensor or to another
/// layout, or a concat that moves its sources; else only other implementations.
std::string instead(const Graph& graph, const LayoutPlan& plan, const LayoutPlan& other) {
  const LayoutNames names(graph);
  const auto described_reorders = [&](const LayoutPlan& of) {
    std::vector<std::string> out;
    for (const CopyId id : of.reorders(graph)) {
      const Copy& copy = of.copy(id);
      out.push_back("\"" + graph.tensor(copy.tensor).name + "\" from " + names.of(of.copy(copy.from)) +
                    (copy.view_of != kNone ? " into a concat" : " to " + names.of(copy)));
    }
    return out;
  };
  std::vector<std::string> added = described_reorders(other);
  for (const std::string& had : described_reorders(plan)) {
    if (const auto at = std::ranges::find(added, had); at != added.end()) added.erase(at);
  }
  if (!added.empty()) {
    const std::string rest = added.size() > 1 ? " and " + std::to_string(added.size() - 1) + " more" : "";
    return "an equally cheap plan reorders " + added.front() + rest + " instead";
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (plan.nodes[n].implementation == "view" && other.nodes[n].implementation != "view")
      return "in an equally cheap plan " + std::string(name(graph.nodes[n].kind)) + " " + graph.nodes[n].name +
             " moves its data instead";
  }
  return "an equally cheap plan is without it, by other implementations";
}

}  // namespace

void explain_reorders(const Graph& graph, OptimalPlan& plan, const solve::SolveOptions& options) {
  const solve::Limits limits(options);
  solve::LayoutProblem problem = plan.space.problem;
  for (CopyId id : plan.plan.reorders(graph)) {
    if (limits.reached()) return;
    Copy& copy = plan.plan.copies[static_cast<std::size_t>(id)];
    const std::vector<Placement>& placements = plan.space.placements[static_cast<std::size_t>(copy.tensor)];
    const std::optional<solve::Solution> without =
        plan_without(problem, placements, copy.tensor, plan.plan.copy(copy.from).layout, copy.layout, limits.rest());
    if (!without) return;
    const double difference = without->cost - plan.cost_us;
    copy.reason += without->cost == kImpossible ? "; no plan is without it"
                   : difference < kNoDifference
                       ? "; " + instead(graph, plan.plan, plan_of(graph, plan.space, without->assignment))
                       : "; avoiding it would cost " + more(difference);
  }
}

}  // namespace relayout::graph
