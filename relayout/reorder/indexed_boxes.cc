// Index tables as axes of boxes.
#include "relayout/reorder/indexed_boxes.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "relayout/core/error.h"
#include "relayout/reorder/refine_dim.h"
#include "relayout/reorder/swizzled_boxes.h"

namespace relayout {
namespace {

std::string table_name(Operand side, int dim) {
  return (side == kSrc ? "src_index of dim " : "dst_index of dim ") + std::to_string(dim);
}

/// The table of a dim, or null.
const IndexTable* table_of(const Attributes& attributes, Operand side, int dim) {
  const IndexTable* found = nullptr;
  for (const IndexTable& table : side == kSrc ? attributes.src_index : attributes.dst_index) {
    if (table.dim() != dim) continue;
    if (found) {
      throw Error(ErrorCode::invalid_argument, "reorder: there are two tables, each the " + table_name(side, dim),
                  table_name(side, dim), "2", "1");
    }
    found = &table;
  }
  return found;
}

void check_ranks(const Attributes& attributes, int ndims) {
  for (const Operand side : {kSrc, kDst}) {
    for (const IndexTable& table : side == kSrc ? attributes.src_index : attributes.dst_index) {
      if (table.dim() < ndims) continue;
      const std::string rank = std::to_string(ndims);
      throw Error(ErrorCode::invalid_argument,
                  "reorder: " + table_name(side, table.dim()) + ": the tensors have rank " + rank,
                  table_name(side, table.dim()), std::to_string(table.dim()), rank);
    }
  }
}

/// A table has as many entries as its dim's indices need.
void check_count(const IndexTable* table, Operand side, int64_t indices) {
  if (!table || ceil_div(indices, table->block()) == static_cast<int64_t>(table->entries().size())) return;
  const std::string have = std::to_string(table->entries().size()),
                    need = std::to_string(ceil_div(indices, table->block()));
  const std::string block = table->block() == 1 ? "" : " of " + std::to_string(table->block()) + " indices each";
  throw Error(ErrorCode::invalid_argument,
              "reorder: " + table_name(side, table->dim()) + " has " + have + " entries" + block +
                  ", and the other side has " + std::to_string(indices) + " indices there, which need " + need,
              table_name(side, table->dim()), have, need);
}

/// Whether f(start + i) == f(start) + f(i) for every start, and every index i of a block of `extent`: blocks begin and
/// end at the borders of the dim's digits, or lie inside of these.
bool adds_up(std::span<const int64_t> places, int64_t extent, int64_t starts) {
  return std::ranges::all_of(places, [&](int64_t place) {
    return (extent % place == 0 && starts % place == 0) || (place % extent == 0 && starts % extent == 0);
  });
}

/// What the blocks of a dim must fit: of each operand, the places of its digits and a number that divides all starts.
struct Borders {
  std::array<std::vector<int64_t>, kOperands> places;
  std::array<int64_t, kOperands> starts{};

  Borders(const Layout& src, const Layout& dst, AttributeStep attribute, int d) {
    for (const Operand side : {kSrc, kDst}) {
      const auto digits = (side == kSrc ? src : dst).digits_under_swizzle(d);
      int64_t place = 1;
      for (std::size_t k = 0; k + 1 < digits.size(); ++k) {
        place *= digits[k].extent;
        if (place > 1) places[side].push_back(place);
      }
    }
    if (attribute.stride != 0 && attribute.group > 1) places[kAttribute].push_back(attribute.group);
  }

  void look_at(const std::vector<Offsets>& blocks) {
    for (std::size_t k = 0; k < kOperands; ++k) {
      starts[k] = 0;
      for (std::size_t e = 0; e < blocks.size() && !places[k].empty() && starts[k] != 1; ++e)
        starts[k] = std::gcd(starts[k], blocks[e][k]);
    }
  }
  bool allow(int64_t extent) const {
    for (std::size_t k = 0; k < kOperands; ++k) {
      if (!adds_up(places[k], extent, starts[k])) return false;
    }
    return true;
  }
  /// The size of blocks that fit everywhere.
  int64_t common(int64_t extent) const {
    for (std::size_t k = 0; k < kOperands; ++k) {
      if (places[k].empty()) continue;
      extent = std::gcd(extent, starts[k]);
      for (const int64_t place : places[k]) extent = std::gcd(extent, place);
    }
    return extent;
  }
};

void cut_blocks(IndexedBlocks& blocks, int64_t extent) {
  std::vector<Offsets> cut;
  cut.reserve(blocks.starts.size() * static_cast<std::size_t>(blocks.extent / extent));
  for (const Offsets& start : blocks.starts) {
    for (int64_t i = 0; i < blocks.extent; i += extent)
      cut.push_back({start[kSrc] + i, start[kDst] + i, start[kAttribute] + i});
  }
  blocks = {extent, std::move(cut)};
}

/// Puts blocks together that always follow each other in groups of so many.
void join_blocks(IndexedBlocks& blocks, Borders& borders) {
  auto& starts = blocks.starts;
  const auto count = static_cast<int64_t>(starts.size());
  int64_t group = count;
  for (int64_t e = 1; e < count && group > 1; ++e) {
    const Offsets &before = starts[static_cast<std::size_t>(e - 1)], &at = starts[static_cast<std::size_t>(e)];
    bool follows = true;
    for (std::size_t k = 0; k < kOperands; ++k) follows = follows && at[k] == before[k] + blocks.extent;
    if (!follows) group = std::gcd(group, e);
  }
  if (group <= 1 || !borders.allow(group * blocks.extent)) return;
  for (int64_t e = 0; e < count / group; ++e)
    starts[static_cast<std::size_t>(e)] = starts[static_cast<std::size_t>(e * group)];
  starts.resize(static_cast<std::size_t>(count / group));
  blocks.extent *= group;
}

/// Lists the blocks of a dim.
class BlockLister {
 public:
  BlockLister(const IndexTable* src, const IndexTable* dst, int64_t indices)
      : src_(src), dst_(dst), indices_(indices), block_(std::gcd(src ? src->block() : 0, dst ? dst->block() : 0)) {}

  IndexedDim run(int dim) {
    IndexedDim out{dim, {}, {}};
    const int64_t whole = indices_ / block_ * block_;
    list(0, whole, block_, out);
    if (whole < indices_) list(whole, indices_, indices_ - whole, out);
    return out;
  }

 private:
  int64_t at(const IndexTable* table, int64_t i) const {
    if (!table) return i;
    const int64_t e = i / block_, blocks = table->block() / block_;
    const int64_t entry = table->entries()[static_cast<std::size_t>(blocks == 1 ? e : e / blocks)];
    return entry == IndexTable::kNone ? entry : entry * table->block() + (blocks == 1 ? 0 : e % blocks * block_);
  }

  void list(int64_t begin, int64_t end, int64_t extent, IndexedDim& out) const {
    IndexedBlocks moved{extent, {}}, missing{extent, {}};
    moved.starts.reserve(static_cast<std::size_t>((end - begin) / extent));
    for (int64_t i = begin; i < end; i += extent) {
      const int64_t from = at(src_, i), to = at(dst_, i);
      if (to == IndexTable::kNone) continue;
      if (from == IndexTable::kNone)
        missing.starts.push_back({to, to, 0});
      else
        moved.starts.push_back({from, to, i});
    }
    if (!moved.starts.empty()) out.moved.push_back(std::move(moved));
    if (!missing.starts.empty()) out.missing.push_back(std::move(missing));
  }

  const IndexTable *src_, *dst_;
  int64_t indices_, block_;
};

void fit(std::vector<IndexedBlocks>& parts, Borders& borders) {
  for (IndexedBlocks& blocks : parts) {
    borders.look_at(blocks.starts);
    if (!borders.allow(blocks.extent)) cut_blocks(blocks, borders.common(blocks.extent));
    borders.look_at(blocks.starts);
    join_blocks(blocks, borders);
  }
}

/// Appends the axis over blocks to boxes of one block. All boxes share the table.
class BlockAxis {
 public:
  BlockAxis(const Layout& src, const Layout& dst, AttributeStep attribute, int d, const IndexedBlocks& blocks,
            Tables& tables) {
    const auto attribute_offset = [&](int64_t i) { return i / attribute.group * attribute.stride; };
    std::vector<Offsets> table = blocks.starts;
    for (Offsets& entry : table) {
      entry = {src.dim_offset(d, entry[kSrc]), dst.dim_offset(d, entry[kDst]),
               attribute.stride == 0 ? 0 : attribute_offset(entry[kAttribute])};
    }
    first_ = table.front();
    axis_.extent = static_cast<int64_t>(table.size());
    if (axis_.extent == 1) return;
    axis_.listed = true;
    for (Offsets& entry : table) {
      for (std::size_t k = 0; k < kOperands; ++k) entry[k] -= first_[k];
    }
    bool all_even = true;
    for (std::size_t k = 0; k < kOperands; ++k) {
      const int64_t step = table[1][k];
      bool even = true;
      for (std::size_t j = 1; j < table.size() && even; ++j) even = table[j][k] == static_cast<int64_t>(j) * step;
      if (even) axis_.stride[k] = step;
      if (k == kAttribute) axis_.listed = even;
      all_even = all_even && even;
    }
    if (all_even) {
      axis_.listed = false;
      return;
    }
    check_room(entries_of(tables), axis_.extent, d);
    tables.push_back(std::move(table));
    axis_.table = static_cast<int32_t>(tables.size()) - 1;
  }

  void append_to(Box& box) const {
    for (std::size_t k = 0; k < kOperands; ++k) box.offset[k] += first_[k];
    if (axis_.extent > 1) box.axes.push_back(axis_);
  }

 private:
  static void check_room(int64_t have, int64_t more, int d) {
    if (more <= kMaxTableEntries - have) return;
    const std::string dim = std::to_string(d), need = std::to_string(more), limit = std::to_string(kMaxTableEntries);
    throw Error(ErrorCode::limit,
                "reorder: the index table of dim " + dim + " has " + need +
                    " blocks of indices that do not follow each other; all tables together may have " + limit,
                "index of dim " + dim, need, limit);
  }

  Offsets first_{};
  Axis axis_;
};

/// The parts of the indexed dims that boxes are made of, one choice of each after the other.
using Parts = std::vector<std::span<const IndexedBlocks>>;

std::vector<Box> refine_parts(const Layout& src, const Layout& dst, const AttributeSteps& steps, const Dims& dims,
                              std::span<const IndexedDim> indexed, const Parts& parts, Tables& tables) {
  std::vector<Box> out;
  std::vector<std::vector<BlockAxis>> axes;
  for (std::size_t k = 0; k < indexed.size(); ++k) {
    const int d = indexed[k].dim;
    auto& own = axes.emplace_back();
    for (const IndexedBlocks& blocks : parts[k])
      own.emplace_back(src, dst, steps[static_cast<std::size_t>(d)], d, blocks, tables);
    if (own.empty()) return out;
  }
  std::vector<std::size_t> at(indexed.size(), 0);
  while (true) {
    Dims end = dims;
    for (std::size_t k = 0; k < indexed.size(); ++k) end[indexed[k].dim] = parts[k][at[k]].extent;
    for (Box& box : refine(src, dst, steps, Dims(dims.size(), 0), end, tables)) {
      for (std::size_t k = 0; k < indexed.size(); ++k) axes[k][at[k]].append_to(box);
      out.push_back(std::move(box));
    }
    std::size_t k = 0;
    while (k < at.size() && ++at[k] == parts[k].size()) at[k++] = 0;
    if (k == at.size()) return out;
  }
}

}  // namespace

Dims reorder_dims(const Layout& src, const Layout& dst, const Attributes& attributes) {
  const Dims &from = src.dims(), &to = dst.dims();
  const auto differ = [&] {
    return Error(ErrorCode::invalid_argument,
                 "reorder: dims differ: source " + join(from) + ", destination " + join(to) +
                     (attributes.indexed() ? "; only dims with an index table may" : ""),
                 "dims", join(to), join(from));
  };
  if (from.size() != to.size()) throw differ();
  if (!attributes.indexed()) {
    if (!(from == to)) throw differ();
    return from;
  }
  check_ranks(attributes, from.size());
  Dims out = from;
  for (int d = 0; d < from.size(); ++d) {
    const IndexTable *gather = table_of(attributes, kSrc, d), *scatter = table_of(attributes, kDst, d);
    out[d] = gather && scatter ? std::min(gather->indices(), scatter->indices()) : gather ? to[d] : from[d];
    if (!gather && !scatter && from[d] != to[d]) throw differ();
    check_count(gather, kSrc, out[d]);
    check_count(scatter, kDst, out[d]);
  }
  return out;
}

std::vector<IndexedDim> indexed_dims(const Layout& src, const Layout& dst, const Attributes& attributes,
                                     const AttributeSteps& steps, const Dims& dims) {
  std::vector<IndexedDim> out;
  for (int d = 0; d < dims.size(); ++d) {
    const IndexTable *gather = table_of(attributes, kSrc, d), *scatter = table_of(attributes, kDst, d);
    if (!gather && !scatter) continue;
    if (gather) gather->check(dims[d], src.dim(d), false, table_name(kSrc, d));
    if (scatter) scatter->check(dims[d], dst.dim(d), true, table_name(kDst, d));
    IndexedDim& one = out.emplace_back(BlockLister(gather, scatter, dims[d]).run(d));
    Borders borders(src, dst, steps[static_cast<std::size_t>(d)], d);
    fit(one.moved, borders);
    fit(one.missing, borders);
  }
  return out;
}

std::vector<Box> refine_indexed(const Layout& src, const Layout& dst, const AttributeSteps& steps, const Dims& dims,
                                std::span<const IndexedDim> indexed, Tables& tables) {
  Parts parts;
  for (const IndexedDim& one : indexed) parts.emplace_back(one.moved);
  std::vector<Box> boxes = refine_parts(src.plain(), dst.plain(), steps, dims, indexed, parts, tables);
  for (const Operand side : {kSrc, kDst}) {
    const Swizzle& swizzle = (side == kSrc ? src : dst).swizzle();
    const std::size_t most = kMaxBoxes / std::max<std::size_t>(1, boxes.size());
    boxes = swizzled(std::move(boxes), side, swizzle, {std::max<std::size_t>(1, most), kMaxTableEntries}, tables);
  }
  return boxes;
}

std::vector<Box> refine_missing(const Layout& dst, const Dims& dims, std::span<const IndexedDim> indexed,
                                Tables& tables) {
  std::vector<Box> out;
  // The indices that are missing in one dim: moved in the indexed dims before it, either in those behind it.
  for (std::size_t k = 0; k < indexed.size(); ++k) {
    if (indexed[k].missing.empty()) continue;
    std::vector<std::vector<IndexedBlocks>> both(indexed.size());
    Parts parts;
    for (std::size_t m = 0; m < indexed.size(); ++m) {
      if (m != k) both[m] = indexed[m].moved;
      if (m >= k) both[m].insert(both[m].end(), indexed[m].missing.begin(), indexed[m].missing.end());
      for (IndexedBlocks& blocks : both[m]) {
        for (Offsets& start : blocks.starts) start = {start[kDst], start[kDst], 0};
      }
      parts.emplace_back(both[m]);
    }
    for (Box& box : refine_parts(dst.plain(), dst.plain(), no_attributes(dims.size()), dims, indexed, parts, tables))
      out.push_back(std::move(box));
  }
  for (const Operand side : {kSrc, kDst}) {
    const std::size_t most = kMaxBoxes / std::max<std::size_t>(1, out.size());
    out = swizzled(std::move(out), side, dst.swizzle(), {std::max<std::size_t>(1, most), kMaxTableEntries}, tables);
  }
  return out;
}

}  // namespace relayout
