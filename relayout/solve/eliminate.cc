// Bucket elimination: which tables are added in which bucket, and the message that each bucket sends to a later one.
#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "relayout/solve/elimination.h"
#include "relayout/solve/index.h"

namespace relayout::solve {
namespace {

/// Sizes of tables are cut off at this number, so that they cannot overflow. No table of this many entries is made.
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
    // All tables go into one bucket if that is small enough. Otherwise each goes into the first bucket with room for
    // it, the largest tables first.
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

/// The same table with its dimensions in another order.
CostTable reordered(const CostTable& table, std::vector<int> scope, const std::vector<int>& sizes) {
  if (scope == table.scope) return table;
  std::vector<std::size_t> extent, stride;
  for (int v : scope) {
    std::size_t step = 1;
    for (std::size_t d = table.scope.size(); d-- > 0 && table.scope[d] != v;) step *= at(sizes[at(table.scope[d])]);
    extent.push_back(at(sizes[at(v)]));
    stride.push_back(step);
  }
  CostTable out{std::move(scope), {}};
  out.values.reserve(table.values.size());
  std::vector<std::size_t> index(extent.size(), 0);
  for (std::size_t from = 0; out.values.size() < table.values.size();) {
    for (std::size_t i = 0; i < extent.back(); ++i) out.values.push_back(table.values[from + i * stride.back()]);
    for (std::size_t d = extent.size() - 1; d-- > 0;) {
      from += stride[d];
      if (++index[d] < extent[d]) break;
      from -= extent[d] * stride[d];
      index[d] = 0;
    }
  }
  return out;
}

/// The least of a[x] + b[x]. Four independent minima are kept, because each step of a single one would wait for the
/// step before it.
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

/// Computes a bucket's message. The row of a table holds its entries for each value of the bucket's variable. Rows are
/// added as soon as the values of the other variables that they depend on are fixed, so that the innermost loop adds
/// few rows.
class Sender {
 public:
  Sender(const Bucket& bucket, const Elimination& elimination, const std::vector<int>& sizes)
      : others_(bucket.scope.begin(), bucket.scope.end() - 1),
        values_(at(sizes[at(bucket.variable)])),
        rows_(bucket.scope.size()),
        sums_(bucket.scope.size(), std::vector<double>(values_)),
        zeros_(values_) {
    for (int v : others_) extents_.push_back(at(sizes[at(v)]));
    for (int t : bucket.tables) add(elimination.tables[at(t)], sizes);
    for (int b : bucket.received) add(elimination.buckets[at(b)].message, sizes);
  }

  CostTable message() {
    values_sent_.reserve(std::accumulate(extents_.begin(), extents_.end(), std::size_t{1}, std::multiplies<>()));
    send(0, zeros_.data());
    return {others_, std::move(values_sent_)};
  }

 private:
  struct Row {
    const double* data;                // the row at the present values of the other variables
    std::vector<std::size_t> strides;  // by other variable
  };

  void add(const CostTable& table, const std::vector<int>& sizes) {
    Row row{table.values.data(), std::vector<std::size_t>(others_.size(), 0)};
    std::size_t step = 1, depth = 0;
    for (std::size_t d = table.scope.size(); d-- > 0;) {
      const auto other = static_cast<std::size_t>(std::ranges::find(others_, table.scope[d]) - others_.begin());
      if (other < others_.size()) {
        row.strides[other] = step;
        depth = std::max(depth, other + 1);
      }
      step *= at(sizes[at(table.scope[d])]);
    }
    rows_[depth].push_back(std::move(row));
  }

  /// Fixes the other variables from number `depth` on; `sum` holds the rows that depend on earlier ones alone.
  void send(std::size_t depth, const double* sum) {
    const std::vector<Row>& rows = rows_[depth];
    const bool innermost = depth == others_.size();
    const double* last = innermost && !rows.empty() ? rows.back().data : zeros_.data();
    for (std::size_t r = 0; r + (innermost ? 1 : 0) < rows.size(); ++r) {
      for (std::size_t x = 0; x < values_; ++x) sums_[depth][x] = sum[x] + rows[r].data[x];
      sum = sums_[depth].data();
    }
    if (innermost) {
      values_sent_.push_back(least_sum(sum, last, values_));
      return;
    }
    for (std::size_t i = 0; i < extents_[depth]; ++i) {
      send(depth + 1, sum);
      go_on(depth, 1);
    }
    go_on(depth, -static_cast<std::ptrdiff_t>(extents_[depth]));
  }

  void go_on(std::size_t other, std::ptrdiff_t count) {
    for (std::size_t depth = other + 1; depth < rows_.size(); ++depth) {
      for (Row& row : rows_[depth]) row.data += count * static_cast<std::ptrdiff_t>(row.strides[other]);
    }
  }

  std::vector<int> others_;
  std::vector<std::size_t> extents_;
  std::size_t values_;
  std::vector<std::vector<Row>> rows_;     // by how many of the other variables must be fixed
  std::vector<std::vector<double>> sums_;  // likewise, the rows added up so far
  std::vector<double> zeros_;
  std::vector<double> values_sent_;
};

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
    bucket.message = Sender(bucket, out, network.sizes).message();
    if (bucket.parent < 0) out.bound += bucket.message.values[0];
  }
  return out;
}

}  // namespace relayout::solve
