// Index tables as axes of boxes.
#include "relayout/reorder/refine/indexed_boxes.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "relayout/core/error.h"
#include "relayout/reorder/refine/refine_dim.h"
#include "relayout/reorder/refine/swizzled_boxes.h"

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

  void look_at(const IndexedBlocks& blocks) {
    for (const Operand k : {kSrc, kDst, kAttribute}) {
      starts[k] = places[k].empty() ? 0 : std::gcd(blocks.first[k], blocks.starts[k].step);
      for (std::size_t e = 0; e < blocks.starts[k].list.size() && !places[k].empty() && starts[k] != 1; ++e)
        starts[k] = std::gcd(starts[k], blocks.starts[k].list[e]);
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

/// Cuts blocks into smaller ones.
void cut_blocks(IndexedBlocks& blocks, int64_t extent) {
  const int64_t parts = blocks.extent / extent;
  for (Table::Column& column : blocks.starts) {
    if (column.list.empty() && column.step == blocks.extent) {
      column.step = extent;
      continue;
    }
    std::vector<int64_t> cut;
    cut.reserve(static_cast<std::size_t>(blocks.count * parts));
    for (int64_t e = 0; e < blocks.count; ++e) {
      for (int64_t i = 0; i < parts; ++i) cut.push_back(column[e] + i * extent);
    }
    column = {std::move(cut), 0};
  }
  blocks.extent = extent;
  blocks.count *= parts;
}

/// Puts blocks together that always follow each other in groups of so many.
void join_blocks(IndexedBlocks& blocks, Borders& borders) {
  int64_t group = blocks.count;
  for (const Table::Column& column : blocks.starts) {
    if (column.list.empty() && column.step != blocks.extent) return;
    for (int64_t e = 1; e < static_cast<int64_t>(column.list.size()) && group > 1; ++e) {
      if (column[e] != column[e - 1] + blocks.extent) group = std::gcd(group, e);
    }
  }
  if (group <= 1 || !borders.allow(group * blocks.extent)) return;
  blocks.extent *= group;
  blocks.count /= group;
  for (Table::Column& column : blocks.starts) {
    if (column.list.empty()) column.step = blocks.extent;
    for (int64_t e = 0; e < blocks.count && !column.list.empty(); ++e)
      column.list[static_cast<std::size_t>(e)] = column.list[static_cast<std::size_t>(e * group)];
    if (!column.list.empty()) column.list.resize(static_cast<std::size_t>(blocks.count));
  }
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
  static bool all_stand(const IndexTable* table) {
    return !table || std::ranges::find(table->entries(), IndexTable::kNone) == table->entries().end();
  }
  int64_t at(const IndexTable* table, int64_t i) const {
    if (!table) return i;
    const int64_t e = i / block_, blocks = table->block() / block_;
    const int64_t entry = table->entries()[static_cast<std::size_t>(blocks == 1 ? e : e / blocks)];
    return entry == IndexTable::kNone ? entry : entry * table->block() + (blocks == 1 ? 0 : e % blocks * block_);
  }

  void list(int64_t begin, int64_t end, int64_t extent, IndexedDim& out) const {
    if (begin == end) return;
    if (all_stand(src_) && all_stand(dst_)) return list_all(begin, end, extent, out);
    IndexedBlocks moved{.extent = extent}, missing{.extent = extent};
    for (int64_t i = begin; i < end; i += extent) {
      const int64_t from = at(src_, i), to = at(dst_, i);
      if (to == IndexTable::kNone) continue;
      IndexedBlocks& blocks = from == IndexTable::kNone ? missing : moved;
      ++blocks.count;
      blocks.starts[kSrc].list.push_back(from == IndexTable::kNone ? to : from);
      blocks.starts[kDst].list.push_back(to);
      blocks.starts[kAttribute].list.push_back(i);
    }
    if (moved.count > 0) out.moved.push_back(std::move(moved));
    if (missing.count > 0) out.missing.push_back(std::move(missing));
  }

  /// Where every index stands somewhere, only sides with tables need lists.
  void list_all(int64_t begin, int64_t end, int64_t extent, IndexedDim& out) const {
    IndexedBlocks& moved = out.moved.emplace_back(IndexedBlocks{.extent = extent, .count = (end - begin) / extent});
    for (const Operand k : {kSrc, kDst, kAttribute}) {
      const IndexTable* const table = k == kSrc ? src_ : k == kDst ? dst_ : nullptr;
      moved.starts[k].step = table ? 0 : extent;
      moved.first[k] = table ? 0 : begin;
      if (!table) continue;
      auto& own = moved.starts[k].list;
      if (table->block() == block_ && extent == block_) {
        const auto entries = table->entries().subspan(static_cast<std::size_t>(begin / block_));
        own.assign(entries.begin(), entries.begin() + moved.count);
        if (block_ > 1) std::ranges::for_each(own, [this](int64_t& entry) { entry *= block_; });
        continue;
      }
      own.reserve(static_cast<std::size_t>(moved.count));
      for (int64_t i = begin; i < end; i += extent) own.push_back(at(table, i));
    }
  }

  const IndexTable *src_, *dst_;
  int64_t indices_, block_;
};

void fit(std::vector<IndexedBlocks>& parts, Borders& borders) {
  for (IndexedBlocks& blocks : parts) {
    borders.look_at(blocks);
    if (!borders.allow(blocks.extent)) cut_blocks(blocks, borders.common(blocks.extent));
    borders.look_at(blocks);
    join_blocks(blocks, borders);
  }
}

/// Appends the axis over blocks to boxes of one block. All boxes share the table.
class BlockAxis {
 public:
  BlockAxis(const Layout& src, const Layout& dst, AttributeStep attribute, int d, const IndexedBlocks& blocks,
            Tables& tables) {
    const auto offset = [&](Operand k, int64_t i) {
      if (k == kAttribute) return attribute.stride == 0 ? 0 : i / attribute.group * attribute.stride;
      return (k == kSrc ? src : dst).dim_offset(d, i);
    };
    axis_.extent = blocks.count;
    std::array<Table::Column, kOperands> columns;
    bool even = true;
    for (const Operand k : {kSrc, kDst, kAttribute}) {
      first_[k] = offset(k, blocks.start(k, 0));
      if (blocks.count == 1) continue;
      const int64_t step = offset(k, blocks.start(k, 1)) - first_[k];
      columns[k] = column_of(blocks, k, step, [&](int64_t i) { return offset(k, i) - first_[k]; });
      axis_.stride[k] = columns[k].step;
      axis_.listed = columns[k].list.empty();  // at the end, that of the attribute values
      even = even && axis_.listed;
    }
    if (even) axis_.listed = false;
    if (even || blocks.count == 1) return;
    check_room(entries_of(tables), axis_.extent, d);
    tables.emplace_back(axis_.extent, std::move(columns));
    axis_.table = static_cast<int32_t>(tables.size()) - 1;
  }

  void append_to(Box& box) const {
    for (std::size_t k = 0; k < kOperands; ++k) box.offset[k] += first_[k];
    if (axis_.extent > 1) box.axes.push_back(axis_);
  }

 private:
  /// Even steps, or a list of offsets.
  template <typename F>
  static Table::Column column_of(const IndexedBlocks& blocks, Operand k, int64_t step, const F& offset) {
    int64_t e = 1;
    while (e < blocks.count && offset(blocks.start(k, e)) == e * step) ++e;
    if (e == blocks.count) return {{}, step};
    std::vector<int64_t> list(static_cast<std::size_t>(blocks.count));
    for (e = 0; e < blocks.count; ++e) list[static_cast<std::size_t>(e)] = offset(blocks.start(k, e));
    return {std::move(list), 0};
  }

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
        blocks.starts[kSrc] = blocks.starts[kDst];
        blocks.first[kSrc] = blocks.first[kDst];
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
