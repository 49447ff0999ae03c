// The cheapest assignment: solve() encodes the problem, eliminates its variables, searches, and makes the proof.
#include <algorithm>

#include "relayout/solve/arborescences.h"
#include "relayout/solve/assign.h"
#include "relayout/solve/elimination.h"
#include "relayout/solve/index.h"

namespace relayout::solve {
namespace {

double value_of(const CostNetwork& network, const std::vector<int>& values) {
  double sum = 0;
  for (const CostTable& table : network.tables) {
    std::size_t index = 0;
    for (int v : table.scope) index = index * at(network.sizes[at(v)]) + at(values[at(v)]);
    sum += table.values[index];
  }
  return sum;
}

/// Makes each bucket a clique, and its message one of the certificate. Infinity cannot be subtracted, so values of
/// messages are limited to a number above the cost. As no table has negative entries, whatever exceeded the limit still
/// costs more than the solution.
Certificate certificate_of(Elimination elimination, const CostNetwork& network, double cost) {
  Certificate out;
  out.bound = elimination.bound;
  const double most = 2 * cost + 1;
  for (std::size_t b = 0; b < elimination.buckets.size(); ++b) {
    Bucket& bucket = elimination.buckets[b];
    out.cliques.push_back({std::move(bucket.scope), std::move(bucket.tables)});
    if (bucket.parent < 0) continue;
    for (double& value : bucket.message.values) value = std::min(value, most);
    out.messages.push_back({static_cast<int>(b), bucket.parent, std::move(bucket.message)});
  }
  Certificate::Clique constants;
  for (std::size_t t = 0; t < network.tables.size(); ++t) {
    if (network.tables[t].scope.empty()) constants.tables.push_back(static_cast<int>(t));
  }
  out.cliques.push_back(std::move(constants));
  return out;
}

}  // namespace

Solution solve(const LayoutProblem& problem, const SolveOptions& options) {
  const EncodedProblem encoded = encode(problem);
  const CostNetwork& network = encoded.network;
  const int operations = static_cast<int>(problem.operations.size());
  const std::vector<int> order = min_fill_order(network);
  Elimination elimination = eliminate(network, order, options.table_budget);
  SearchResult first;
  if (elimination.buckets.size() > order.size()) {
    if (auto values = first_values(network, operations)) {
      first.cost = value_of(network, *values);
      first.values = std::move(*values);
    }
  }
  SearchResult found = search(network, elimination, options, std::move(first));
  if (found.cost == kImpossible) {
    throw Infeasible(problem.operations.size());
  }
  Solution out;
  out.assignment = assignment_of(
      problem, {found.values.begin(), found.values.begin() + static_cast<std::ptrdiff_t>(problem.operations.size())});
  out.values = std::move(found.values);
  out.cost = cost_of(problem, out.assignment);
  out.lower_bound = std::min(found.lower_bound, out.cost);
  out.optimal = found.complete;
  out.certificate = certificate_of(std::move(elimination), network, out.cost);
  return out;
}

}  // namespace relayout::solve
