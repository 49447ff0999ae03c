// Bucket elimination: which tables meet in which bucket, and what each sends on.
#include <algorithm>
#include <array>

#include "relayout/graph/assign_parts.h"

namespace relayout::graph {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Counts are cut here: no table of so many entries is made.
constexpr int64_t kMany = int64_t{1} << 50;

class Buckets {
 public:
  Buckets(const CostNetwork& network, const std::vector<int>& order, int64_t limit)
      : network_(network), limit_(limit), position_(network.sizes.size(), -1), items_(network.sizes.size()) {
    for (std::size_t i = 0; i < order.size(); ++i) position_[at(order[i])] = static_cast<int>(i);
    for (std::size_t t = 0; t < network.tables.size(); ++t) {
      std::vector<int> scope = network.tables[t].scope;
      sort(scope);
      give({std::move(scope), static_cast<int>(t), -1});
    }
    for (int v : order) split(v);
  }

  std::vector<Bucket> buckets;
  int64_t entries = 0;

  void sort(std::vector<int>& scope) const {
    std::ranges::sort(scope, [&](int a, int b) { return position_[at(a)] > position_[at(b)]; });
  }

 private:
  struct Item {
    std::vector<int> scope;
    int table = -1, bucket = -1;
  };

  void give(Item item) {
    if (!item.scope.empty()) items_[at(item.scope.back())].push_back(std::move(item));
  }

  int64_t count(const std::vector<int>& scope) const {
    int64_t out = 1;
    for (int v : scope) out = std::min(kMany, out * network_.sizes[at(v)]);
    return out;
  }

  std::vector<int> joined(const std::vector<int>& a, const std::vector<int>& b) const {
    std::vector<int> out = a;
    for (int v : b) {
      if (std::ranges::find(a, v) == a.end()) out.push_back(v);
    }
    sort(out);
    return out;
  }

  void split(int variable) {
    std::vector<Item> items = std::move(items_[at(variable)]);
    // One bucket where it is not too large, else the largest tables first, each where it still fits.
    std::ranges::stable_sort(items, [&](const Item& a, const Item& b) { return count(a.scope) > count(b.scope); });
    const std::size_t first = buckets.size();
    for (const Item& item : items) {
      std::size_t b = first;
      for (; b < buckets.size(); ++b) {
        std::vector<int> scope = joined(buckets[b].scope, item.scope);
        if (scope.size() != buckets[b].scope.size() && count(scope) > limit_) continue;
        buckets[b].scope = std::move(scope);
        break;
      }
      if (b == buckets.size()) {
        buckets.emplace_back().variable = variable;
        buckets.back().scope = item.scope;
      }
      if (item.table >= 0) {
        buckets[b].tables.push_back(item.table);
      } else {
        buckets[b].received.push_back(item.bucket);
        buckets[at(item.bucket)].parent = static_cast<int>(b);
      }
    }
    for (std::size_t b = first; b < buckets.size(); ++b) {
      entries = std::min(kMany, entries + count(buckets[b].scope));
      give({{buckets[b].scope.begin(), buckets[b].scope.end() - 1}, -1, static_cast<int>(b)});
    }
  }

  const CostNetwork& network_;
  int64_t limit_;
  std::vector<int> position_;
  std::vector<std::vector<Item>> items_;
};

/// The same table with its dims in another order.
CostTable reordered(const CostTable& table, std::vector<int> scope, const std::vector<int>& sizes) {
  if (scope == table.scope) return table;
  std::vector<std::size_t> extent, stride;
  for (int v : scope) {
    std::size_t step = 1;
    for (std::size_t d = table.scope.size(); d-- > 0 && table.scope[d] != v;) step *= at(sizes[at(table.scope[d])]);
    extent.push_back(at(sizes[at(v)]));
    stride.push_back(step);
  }
  CostTable out{std::move(scope), std::vector<double>(table.values.size())};
  std::vector<std::size_t> index(extent.size(), 0);
  std::size_t from = 0;
  for (double& value : out.values) {
    value = table.values[from];
    for (std::size_t d = extent.size(); d-- > 0;) {
      from += stride[d];
      if (++index[d] < extent[d]) break;
      from -= extent[d] * stride[d];
      index[d] = 0;
    }
  }
  return out;
}

/// A table in a bucket: where it is read for each index of the bucket's scope. Its last dim is the bucket's.
struct Operand {
  const double* data;
  std::vector<std::size_t> stride;  // by dim of the scope but the last
};

/// The least of a[x] + b[x], four by four: one minimum waits for the one before.
double least_sum(const double* a, const double* b, std::size_t count) {
  std::array<double, 4> least;
  least.fill(kImpossible);
  std::size_t x = 0;
  for (; x + least.size() <= count; x += least.size()) {
    for (std::size_t i = 0; i < least.size(); ++i) least[i] = std::min(least[i], a[x + i] + b[x + i]);
  }
  for (; x < count; ++x) least[0] = std::min(least[0], a[x] + b[x]);
  return std::min(std::min(least[0], least[1]), std::min(least[2], least[3]));
}

void send(Bucket& bucket, const Elimination& elimination, const std::vector<int>& sizes) {
  const std::vector<int> outer(bucket.scope.begin(), bucket.scope.end() - 1);
  std::vector<Operand> operands;
  const auto add = [&](const CostTable& table) {
    Operand operand{table.values.data(), std::vector<std::size_t>(outer.size(), 0)};
    std::size_t step = 1;
    for (std::size_t d = table.scope.size(); d-- > 0;) {
      const auto dim = static_cast<std::size_t>(std::ranges::find(outer, table.scope[d]) - outer.begin());
      if (dim < outer.size()) operand.stride[dim] = step;
      step *= at(sizes[at(table.scope[d])]);
    }
    operands.push_back(std::move(operand));
  };
  for (int t : bucket.tables) add(elimination.tables[at(t)]);
  for (int b : bucket.received) add(elimination.buckets[at(b)].message);

  std::size_t count = 1;
  for (int v : outer) count *= at(sizes[at(v)]);
  const std::size_t values = at(sizes[at(bucket.variable)]);
  bucket.message = {outer, std::vector<double>(count)};
  std::vector<std::size_t> index(outer.size(), 0);
  // All but the last one are added up first.
  std::vector<double> sum(values, 0.0);
  for (double& least : bucket.message.values) {
    const double* all = operands.size() < 2 ? sum.data() : operands[0].data;
    if (operands.size() > 2) {
      std::copy_n(operands[0].data, values, sum.begin());
      for (std::size_t o = 1; o + 1 < operands.size(); ++o) {
        const double* data = operands[o].data;
        for (std::size_t x = 0; x < values; ++x) sum[x] += data[x];
      }
      all = sum.data();
    }
    least = least_sum(all, operands.back().data, values);
    for (std::size_t d = outer.size(); d-- > 0;) {
      for (Operand& operand : operands) operand.data += operand.stride[d];
      const std::size_t extent = at(sizes[at(outer[d])]);
      if (++index[d] < extent) break;
      for (Operand& operand : operands) operand.data -= extent * operand.stride[d];
      index[d] = 0;
    }
  }
}

}  // namespace

Elimination eliminate(const CostNetwork& network, const std::vector<int>& order, int64_t budget) {
  constexpr int64_t kWork = 16;
  int64_t limit = std::max<int64_t>(budget, 1);
  std::optional<Buckets> plan(std::in_place, network, order, limit);
  for (; plan->entries > kWork * budget && limit > 1; limit /= 4) plan.emplace(network, order, limit / 4);
  Elimination out{std::move(plan->buckets), {}, 0};
  for (const CostTable& table : network.tables) {
    std::vector<int> scope = table.scope;
    plan->sort(scope);
    out.tables.push_back(reordered(table, std::move(scope), network.sizes));
    if (table.scope.empty()) out.bound += table.values[0];
  }
  for (Bucket& bucket : out.buckets) {
    send(bucket, out, network.sizes);
    if (bucket.parent < 0) out.bound += bucket.message.values[0];
  }
  return out;
}

}  // namespace relayout::graph
