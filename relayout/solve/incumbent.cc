// Finds a first assignment, which the search then improves. The operations choose one after the other what is cheapest
// given the choices before; then each chooses again, as long as that makes the whole cheaper.
#include <algorithm>

#include "relayout/solve/elimination.h"
#include "relayout/solve/index.h"

namespace relayout::solve {
namespace {

class Descent {
 public:
  Descent(const CostNetwork& network, int operations)
      : network_(network),
        operations_(at(operations)),
        values_(network.sizes.size(), kNotYet),
        tables_(values_.size()) {
    for (const CostTable& table : network.tables) {
      for (int v : table.scope) tables_[at(v)].push_back(&table);
    }
  }

  /// Nothing if an operation has no choice that is possible with those before it.
  std::optional<std::vector<int>> run() {
    for (std::size_t o = 0; o < operations_; ++o) {
      if (choose(o) == kImpossible) return std::nullopt;
    }
    constexpr int kRounds = 8;
    for (int round = 0, changes = 1; round < kRounds && changes > 0; ++round) {
      changes = 0;
      for (std::size_t o = 0; o < operations_; ++o) {
        const int before = values_[o];
        choose(o);
        changes += values_[o] != before;
      }
    }
    for (std::size_t t = operations_; t < values_.size(); ++t) tensor_cost(t, values_[t]);
    return values_;
  }

 private:
  static constexpr int kNotYet = -1;

  /// The entry of a table at the present values; 0 if it depends on an operation that has not chosen yet.
  double entry(const CostTable& table) const {
    std::size_t index = 0;
    for (int v : table.scope) {
      if (values_[at(v)] == kNotYet) return 0;
      index = index * at(network_.sizes[at(v)]) + at(values_[at(v)]);
    }
    return table.values[index];
  }

  /// The least cost of a tensor with the present choices, and the value that has it.
  double tensor_cost(std::size_t t, int& best) {
    double least = kImpossible;
    int found = 0;
    for (int value = 0; value < network_.sizes[t]; ++value) {
      values_[t] = value;
      double sum = 0;
      for (const CostTable* table : tables_[t]) sum += entry(*table);
      if (sum < least) least = sum, found = value;
    }
    values_[t] = kNotYet;
    best = found;
    return least;
  }

  double cost(std::size_t o) {
    double sum = 0;
    for (const CostTable* table : tables_[o]) {
      const auto tensor = std::ranges::find_if(table->scope, [&](int v) { return at(v) >= operations_; });
      int ignored = 0;
      // An operation has a table for each tensor that it reads or writes.
      sum += tensor == table->scope.end() ? entry(*table) : tensor_cost(at(*tensor), ignored);
    }
    return sum;
  }

  /// An operation keeps its choice if no other is cheaper.
  double choose(std::size_t o) {
    int best = values_[o];
    double least = best == kNotYet ? kImpossible : cost(o);
    for (int c = 0; c < network_.sizes[o]; ++c) {
      values_[o] = c;
      if (const double sum = cost(o); sum < least) least = sum, best = c;
    }
    values_[o] = best == kNotYet ? 0 : best;
    return least;
  }

  const CostNetwork& network_;
  std::size_t operations_;
  std::vector<int> values_;
  std::vector<std::vector<const CostTable*>> tables_;  // by variable
};

}  // namespace

std::optional<std::vector<int>> first_values(const CostNetwork& network, int operations) {
  return Descent(network, operations).run();
}

}  // namespace relayout::solve
