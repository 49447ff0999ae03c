// Expands attributes to a table.
#include "relayout/reorder/request/attribute_table.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "relayout/core/error.h"
#include "relayout/core/overflow.h"

namespace relayout {
namespace {

/// The most bytes of the table of attribute values.
constexpr int64_t kMaxBytes = int64_t{1} << 30;

/// The dims of the table: how many indices of each dim share an entry, and how many entries it has.
struct Grid {
  uint32_t mask = 0;
  Dims groups, counts;
  int64_t entries = 1;

  Grid(const Attributes& a, const Dims& dims, int64_t entry_bytes)
      : mask(a.masks()), groups(dims.size(), 0), counts(dims.size(), 1) {
    for (const PerMask* attribute : {&a.src_scale, &a.dst_scale, &a.src_zero_point, &a.dst_zero_point, &a.mean}) {
      for (int d = 0; d < dims.size(); ++d)
        if (attribute->has(d)) groups[d] = std::gcd(groups[d], attribute->group(d));
    }
    for (int d = 0; d < dims.size(); ++d) {
      if (!(mask >> d & 1)) continue;
      counts[d] = ceil_div(dims[d], groups[d]);
      const auto next = checked_mul(entries, counts[d]);
      if (!next || *next > kMaxBytes / entry_bytes) {
        const std::string limit = std::to_string(kMaxBytes);
        throw Error(ErrorCode::limit,
                    "reorder: the attributes' masks together (" + std::to_string(mask) + ") over dims " +
                        join(dims, "x") + " need a table of over " + limit + " bytes",
                    "mask", std::to_string(mask), limit);
      }
      entries = *next;
    }
  }

  /// Whether an attribute has a value for each entry, in the same order.
  bool same(const PerMask& attribute) const {
    if (attribute.mask != mask) return false;
    for (int d = 0; d < groups.size(); ++d)
      if (attribute.has(d) && attribute.group(d) != groups[d]) return false;
    return true;
  }
};

/// Calls f(entry, the attribute's value for it) for each entry.
template <typename F>
void each_value(const Grid& grid, const Dims& dims, const PerMask& attribute, const F& f) {
  if (attribute.values.empty()) return;
  if (grid.same(attribute)) {
    for (int64_t i = 0; i < grid.entries; ++i) f(i, attribute.values[static_cast<std::size_t>(i)]);
    return;
  }
  Dims index(dims.size(), 0);
  for (int64_t i = 0; i < grid.entries; ++i) {
    int64_t at = 0;  // the row-major index over this attribute's own mask and groups
    for (int d = 0; d < dims.size(); ++d) {
      if (attribute.has(d)) at = at * attribute.count(d, dims[d]) + index[d] * grid.groups[d] / attribute.group(d);
    }
    f(i, attribute.values[static_cast<std::size_t>(at)]);
    for (int d = dims.size() - 1; d >= 0 && ++index[d] == grid.counts[d]; --d) index[d] = 0;
  }
}

}  // namespace

template <typename Compute>
AttributeTable<Compute> expand_attributes(const Attributes& a, const Dims& dims, AttributeSteps* steps) {
  const Grid grid(a, dims, 4 * sizeof(Compute));
  steps->resize(static_cast<std::size_t>(dims.size()));
  for (int64_t d = dims.size() - 1, stride = 1; d >= 0; --d) {
    AttributeStep& step = (*steps)[static_cast<std::size_t>(d)];
    step = {};
    if (!(grid.mask >> d & 1)) continue;
    step = {stride, grid.groups[static_cast<int>(d)]};
    stride *= grid.counts[static_cast<int>(d)];
  }
  AttributeTable<Compute> out;
  out.divides = std::ranges::any_of(a.dst_scale.values, [](double scale) { return scale != 1; });
  const auto entries = static_cast<std::size_t>(grid.entries);
  const auto fill = [&](std::vector<Compute>& list, const PerMask& attribute, double otherwise) {
    list.assign(entries, static_cast<Compute>(otherwise));
    each_value(grid, dims, attribute,
               [&](int64_t i, double value) { list[static_cast<std::size_t>(i)] = static_cast<Compute>(value); });
  };
  fill(out.src_scale, a.src_scale, 1);
  fill(out.dst_scale, a.dst_scale, 1);
  fill(out.added, a.dst_zero_point, -0.0);
  if (a.mean.values.empty()) {
    fill(out.subtracted, a.src_zero_point, 0);
    return out;
  }
  // The zero point and the mean over the scale are added in f64 and rounded once.
  std::vector<double> scales(entries, 1), means(entries, 0);
  each_value(grid, dims, a.src_scale, [&](int64_t i, double value) { scales[static_cast<std::size_t>(i)] = value; });
  each_value(grid, dims, a.mean, [&](int64_t i, double value) {
    means[static_cast<std::size_t>(i)] = value / scales[static_cast<std::size_t>(i)];
  });
  each_value(grid, dims, a.src_zero_point,
             [&](int64_t i, double value) { means[static_cast<std::size_t>(i)] += value; });
  out.subtracted.resize(entries);
  std::ranges::transform(means, out.subtracted.begin(), [](double value) { return static_cast<Compute>(value); });
  return out;
}

template AttributeTable<float> expand_attributes(const Attributes&, const Dims&, AttributeSteps*);
template AttributeTable<double> expand_attributes(const Attributes&, const Dims&, AttributeSteps*);

}  // namespace relayout
