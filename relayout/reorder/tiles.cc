// Grouping boxes by the tiles of the destination they share.
#include "relayout/reorder/tiles.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <utility>

#include "relayout/reorder/axes.h"
#include "relayout/reorder/box_plan.h"
#include "relayout/reorder/refine.h"
#include "relayout/reorder/sections.h"
#include "relayout/reorder/shuffle.h"

namespace relayout {
namespace {

/// A tile that is made in place, of blocks with gaps or where nothing is written past the cache.
constexpr int64_t kPlainTile = 32 << 10;

/// The source is fetched so many bytes ahead, in whole tiles.
constexpr int64_t kTileAhead = 2 << 10;

/// Lines that the first-level cache holds until they are read again.
constexpr int64_t kNearLines = 512;

/// Lines of the source that some axes read: those that step within lines make one stretch. And, where all others' steps
/// have a common divisor of several lines, as many more as if they were in all sets of the cache: few sets hold them.
struct LinesRead {
  double lines = 0, in_sets = 0;

  void add(const Axes& axes) {
    int64_t reach = 0, apart = kPage;
    double count = 1;
    for (const Axis& axis : axes) {
      const int64_t step = axis.table < 0 ? std::abs(axis.stride[kSrc]) : kLine;
      if (step < kLine) {
        reach += (axis.extent - 1) * step;
      } else {
        count *= static_cast<double>(axis.extent);
        apart = std::gcd(apart, step);
      }
    }
    count *= static_cast<double>(reach / kLine + 1);
    lines += count;
    in_sets += count * static_cast<double>(apart) / kLine;
  }
};

/// Whether the loops around a tile that reads `lines` come back to them when they have left the first-level cache.
bool reads_again(double lines, const Axes& loops) {
  for (auto loop = loops.end(); loop-- != loops.begin();) {
    const int64_t step = loop->table < 0 ? std::abs(loop->stride[kSrc]) : kLine;
    if (step == 0 || step >= kLine)
      lines *= static_cast<double>(loop->extent);
    else if (lines > kNearLines)
      return true;
  }
  return false;
}

/// Whether a part is moved element by element.
bool one_by_one(const BoxPlan& part) { return part.shape == KernelShape::gather && part.piece[kDst] < kGroup; }

/// Whether a part is moved in blocks with lists (copies where `copies`).
bool in_blocks(const BoxPlan& part, bool copies) {
  return part.shape == KernelShape::transpose || (part.shape == KernelShape::copy && copies && !part.long_runs);
}

/// Parts that together make a stretch of the destination.
struct Run {
  std::vector<SectionPart> parts;
  int64_t begin = 0, bytes = 0;  // from the group's offset

  void measure(int64_t element) {
    begin = kTop_;
    int64_t end = 0;
    for (const SectionPart& part : parts) {
      int64_t low = part.offset[kDst], high = low;
      for (const Axis& axis : part.axes) {
        const int64_t reach = (axis.extent - 1) * axis.stride[kDst];
        (reach < 0 ? low : high) += reach;
      }
      end = begin == kTop_ ? high : std::max(end, high);
      begin = std::min(begin, low);
    }
    bytes = end - begin + element;
  }

  int64_t elements(bool padding) const {
    int64_t count = 0;
    for (const SectionPart& part : parts) {
      if (!part.padding || padding) count += count_elements(part.axes);
    }
    return count;
  }

 private:
  static constexpr int64_t kTop_ = std::numeric_limits<int64_t>::max();
};

/// Runs that the same axes step through.
struct Group {
  Offsets offset{};
  Axes common;
  std::vector<Run> runs;
};

class Tiler {
 public:
  Tiler(const BoxPlanner& planner, TiledBoxes& out) : planner_(planner), out_(out), element_(units(planner.dst)) {}

  void add(Group group) {
    const std::size_t parts = std::accumulate(group.runs.begin(), group.runs.end(), std::size_t{0},
                                              [](std::size_t n, const Run& run) { return n + run.parts.size(); });
    const bool moves = std::ranges::any_of(group.runs, [](const Run& run) {
      return std::ranges::any_of(run.parts, [](const auto& p) { return !p.padding; });
    });
    if (parts == 1 || parts > kMaxTileParts || group.runs.size() > kMaxTileRuns || !moves) return add_apart(group);
    Box common{group.offset, std::move(group.common)};
    simplify(common);
    group.offset = common.offset;
    group.common = std::move(common.axes);
    // What steps within a run belongs to its parts.
    for (Run& run : group.runs) run.measure(element_);
    while (!group.common.empty() && group.common.back().table < 0 &&
           group.common.back().stride[kDst] < longest(group)) {
      for (Run& run : group.runs) {
        for (SectionPart& part : run.parts) {
          part.axes.push_back(group.common.back());
          if (part.padding) part.axes.back().stride[kSrc] = part.axes.back().stride[kAttribute] = 0;
        }
        run.measure(element_);
      }
      group.common.pop_back();
    }
    if (longest(group) * static_cast<int64_t>(group.runs.size()) > kMaxTileBytes) return add_apart(group);
    add_tiles(group);
  }

 private:
  static int64_t longest(const Group& group) { return std::ranges::max_element(group.runs, {}, &Run::bytes)->bytes; }

  static Box box_of(const Offsets& offset, const SectionPart& part, const Axes& more) {
    Box box{offset, part.axes};
    for (std::size_t k = 0; k < kOperands; ++k) box.offset[k] += part.offset[k];
    box.axes.insert(box.axes.end(), more.begin(), more.end());
    if (part.padding) {
      box.offset[kSrc] = box.offset[kAttribute] = 0;
      for (Axis& axis : box.axes) axis.stride[kSrc] = axis.stride[kAttribute] = 0;
    }
    return box;
  }

  void add_apart(const Group& group) {
    for (const Run& run : group.runs) {
      for (const SectionPart& part : run.parts) {
        Box box = box_of(group.offset, part, group.common);
        if (part.padding)
          out_.fills.push_back(planner_.pad(std::move(box)));
        else
          out_.boxes.push_back(planner_.move(std::move(box), planner_.streams));
      }
    }
  }

  /// Bytes of each run that are put together at a time: less than a page of one, or two where whole lines need
  /// them, half of one of several, so that reading and writing take turns often, and less where all of them would take
  /// too much of the cache.
  static int64_t room(int64_t runs) {
    return kPage / std::max(std::min<int64_t>(runs, 2), ceil_div(runs * kPage, kMaxTileBytes)) - kLine;
  }

  /// Chooses the axes that a tile has, in the order of the destination, and what is left over as another group.
  void add_tiles(Group& group) {
    const int64_t run_bytes = group.runs[0].bytes, runs = static_cast<int64_t>(group.runs.size());
    bool dense = planner_.streams && !planner_.sums;
    for (const Run& run : group.runs)
      dense = dense && run.bytes == run_bytes && run.elements(true) * element_ == run_bytes;
    if (dense) {
      // Blocks that do not follow each other, nor are whole lines, make no lines.
      const auto next = stepping(group.common, kDst, run_bytes);
      dense = next != group.common.end();
    }
    Axes tile;
    int64_t bytes = dense ? run_bytes : longest(group);
    const int64_t most_bytes = dense ? room(runs) : kPlainTile / runs;
    while (!group.common.empty()) {
      const auto next = dense ? stepping(group.common, kDst, bytes) : nearest(group.common, kDst);
      if (next == group.common.end()) break;
      // Whole lines, of the source, too, where these blocks are next to each other in it.
      const int64_t whole = kLine / std::min(std::gcd(kLine, bytes), std::gcd(kLine, next->stride[kSrc]));
      int64_t most = std::max<int64_t>(1, most_bytes / bytes);
      if (planner_.rules.tuning.panel > 0) most = std::min(most, planner_.rules.tuning.panel);
      if (most >= whole)
        most = most / whole * whole;
      else if (dense && runs == 1 && planner_.rules.tuning.panel <= 0 && bytes * whole <= 2 * most_bytes)
        most = whole;
      if (next->extent <= most) {
        bytes *= next->extent;
        tile.push_back(take(group.common, next));
        continue;
      }
      if (most == 1) break;
      Axis split = take(group.common, next), outer = split;
      outer.extent = split.extent / most;
      for (std::size_t k = 0; k < kOperands; ++k) outer.stride[k] *= most;
      if (const int64_t rest = split.extent % most; rest > 0) {
        Axes last = tile, loops = group.common;
        last.push_back(split);
        last.back().extent = rest;
        Offsets offset = group.offset;
        for (std::size_t k = 0; k < kOperands; ++k) offset[k] += outer.extent * outer.stride[k];
        emit(group, offset, last, std::move(loops), dense);
      }
      split.extent = most;
      tile.push_back(split);
      if (outer.extent > 1) group.common.push_back(outer);
      break;
    }
    emit(group, group.offset, tile, group.common, dense);
  }

  /// Parts of a tile, where in the group their runs begin, and their plans.
  struct PlannedPart {
    const SectionPart* part;
    int64_t begin;
    const BoxPlan* plan;
  };
  using Planned = SmallVector<PlannedPart, 16>;

  /// A part of a tile, of a run from `begin` on. Of parts with equal axes the plans differ in where they start.
  BoxPlan plan_part(const SectionPart& part, int64_t begin, const Axes& tile, const Planned& planned) const {
    const auto like = std::ranges::find_if(planned, [&](const PlannedPart& other) {
      return other.part->padding == part.padding && std::ranges::equal(other.part->axes, part.axes);
    });
    if (like == planned.end()) {
      Box box = box_of({0, -begin, 0}, part, tile);
      return part.padding ? planner_.pad(std::move(box)) : planner_.move(std::move(box), false);
    }
    BoxPlan out = *like->plan;
    out.offset[kDst] += like->begin - begin;
    for (std::size_t k = 0; k < kOperands; ++k) {
      if (k == kDst || !part.padding) out.offset[k] += part.offset[k] - like->part->offset[k];
    }
    return out;
  }

  /// See BoxPlan::row_sources; of a run that makes a row of a tile.
  std::vector<RowSource> row_sources(const Run& run) const {
    const int64_t lines = run.bytes / std::min(kLine, run.bytes & -run.bytes);
    if (planner_.converts || lines > kMaxRowLines) return {};
    // Where pieces start on both sides, of each part those that its first axes do not make longer.
    struct Piece {
      int64_t dst;
      RowSource source;
    };
    SmallVector<Piece, 16> pieces;
    for (const SectionPart& part : run.parts) {
      const std::size_t first = pieces.size();
      int64_t bytes = element_;
      pieces.push_back({part.offset[kDst] - run.begin, {part.offset[kSrc], 0}});
      for (const Axis& axis : part.axes) {
        const bool follows = axis.stride[kDst] == bytes && (part.padding || axis.stride[kSrc] == bytes);
        if (follows && pieces.size() == first + 1) {
          bytes *= axis.extent;
          continue;
        }
        const std::size_t have = pieces.size() - first, all = have * static_cast<std::size_t>(axis.extent);
        if (first + all > kMaxRowSources) return {};
        for (std::size_t i = have; i < all; ++i) {
          const auto before = pieces[first + i - have];
          pieces.push_back({before.dst + axis.stride[kDst], {before.source.from + axis.stride[kSrc], 0}});
        }
      }
      for (std::size_t i = first; i < pieces.size(); ++i)
        pieces[i].source = {part.padding ? RowSource::kPadding : pieces[i].source.from, bytes};
    }
    sort_few(pieces, [](const Piece& piece) { return piece.dst; });
    std::vector<RowSource> out;
    out.reserve(pieces.size());
    for (const Piece& piece : pieces) out.push_back(piece.source);
    return out;
  }

  /// What starting the blocks of a part takes, in all tiles. See in_blocks(); `in_line`: its run is less than a line.
  void weigh(const BoxPlan& part, int64_t tiles, bool copies, bool in_line) {
    // Blocks of less than this cost more than they move. And what could be written through the cache, in bytes, while
    // one starts, and for a byte that is moved one by one.
    constexpr int64_t kSmallBlock = 16 * kLine, kStart = 2 << 10, kOneByOne = 4;
    if (in_line || one_by_one(part)) {
      out_.in_small_pieces += part.elements * tiles;
      out_.started += kOneByOne * part.elements * element_ * tiles;
    } else if (in_blocks(part, copies)) {
      if (part.block_rows * part.block_cols * part.piece[kDst] < kSmallBlock)
        out_.in_small_pieces += part.elements * tiles;
      out_.started += kStart * part.blocks * tiles;
    }
  }

  void emit(const Group& group, const Offsets& offset, const Axes& tile, Axes loops, bool dense) {
    BoxPlan out;
    out.offset = offset;
    int64_t tiles = 1, blocks = 1, image = 0, most = 0;
    for (const Axis& axis : loops) tiles *= axis.extent;
    for (const Axis& axis : tile) blocks *= axis.extent;
    LinesRead read;
    int64_t ahead = 0;
    order_loops(loops);
    if (dense && !loops.empty() && loops.back().stride[kSrc] != 0)
      ahead = loops.back().stride[kSrc] * ceil_div(kTileAhead, std::abs(loops.back().stride[kSrc]));
    Planned planned;
    out.parts.reserve(group.runs.size());
    for (const Run& run : group.runs) {
      BoxPlan& made = out.parts.emplace_back();
      made.offset[kDst] = run.begin;
      made.run_bytes = dense ? run.bytes * blocks : 0;
      const int64_t size = ceil_div(made.run_bytes + kLine, kLine) * kLine;
      if (size <= kPage && image % kPage + size > kPage) image = ceil_div(image, kPage) * kPage;
      made.image = image;
      if (dense && tile.size() == 1) {
        made.row_sources = row_sources(run);
        made.row_step = tile[0].stride[kSrc];
      }
      image += size;
      made.elements = run.elements(false) * blocks;
      out.elements += made.elements * tiles;
      made.parts.reserve(run.parts.size());
      for (const SectionPart& part : run.parts) {
        if (!part.padding) read.add(box_of({0, -run.begin, 0}, part, tile).axes);
        BoxPlan& leaf = made.parts.emplace_back(plan_part(part, run.begin, tile, planned));
        leaf.ahead = ahead;
        planned.push_back({&part, run.begin, &leaf});
        const bool copies = made.row_sources.empty() && !planner_.converts;
        if (!part.padding) weigh(leaf, tiles, copies, dense && made.run_bytes < kLine);
        if (part.padding || leaf.elements <= most) continue;
        most = leaf.elements;
        out.shape = leaf.shape;
        out.piece = leaf.piece;
        out.long_runs = leaf.long_runs;
        out.col_count = leaf.col_count;
        out.block_rows = leaf.block_rows;
        out.block_cols = leaf.block_cols;
      }
    }
    out_.reads_again = out_.reads_again || reads_again(read.lines, loops);
    if (reads_again(read.in_sets, loops)) out_.in_few_sets += out.elements;
    out.loops = std::move(loops);
    out.blocks = tiles;
    out_.boxes.push_back(std::move(out));
  }

  const BoxPlanner& planner_;
  TiledBoxes& out_;
  int64_t element_;
};

void scale(Axes& axes, int64_t src_units, int64_t dst_units) {
  for (Axis& axis : axes) relayout::scale(axis.stride, src_units, dst_units);
}

/// A bundle of one more dim for all runs of a group.
void multiply(Group& group, const Bundle& bundle) {
  group.common.insert(group.common.end(), bundle.common.begin(), bundle.common.end());
  for (std::size_t k = 0; k < kOperands; ++k) group.offset[k] += bundle.offset[k];
  if (bundle.sections.empty()) return;
  std::vector<Run> runs;
  runs.reserve(group.runs.size() * bundle.sections.size());
  for (const Run& run : group.runs) {
    for (const Section& section : bundle.sections) {
      Run& out = runs.emplace_back();
      out.parts.reserve(run.parts.size() * section.size());
      for (const SectionPart& a : run.parts) {
        for (const SectionPart& b : section) {
          SectionPart& part = out.parts.emplace_back(a);
          for (std::size_t k = 0; k < kOperands; ++k) part.offset[k] += b.offset[k];
          part.axes.insert(part.axes.end(), b.axes.begin(), b.axes.end());
          part.padding = a.padding || b.padding;
        }
      }
    }
  }
  group.runs = std::move(runs);
}

}  // namespace

BoxPlan BoxPlanner::move(Box box, bool streamed) const {
  simplify(box);
  return move_simple(std::move(box), streamed);
}

BoxPlan BoxPlanner::move_simple(Box box, bool streamed) const {
  return converts ? plan_cast(std::move(box), src, dst, sums, streamed, rules)
                  : plan_move(std::move(box), src, streamed, rules);
}

BoxPlan BoxPlanner::pad(Box box) const {
  simplify(box);
  return plan_fill(std::move(box), dst, *fill);
}

std::optional<TiledBoxes> plan_tiles(const Layout& src_layout, const Layout& dst_layout, const Dims& attribute_strides,
                                     const BoxPlanner& planner, Tables& tables) {
  const Layout src = src_layout.canonical(), dst = dst_layout.canonical();
  const std::array<int64_t, 2> bytes{units(planner.src), units(planner.dst)};
  std::vector<DimSections> dims;
  dims.reserve(static_cast<std::size_t>(dst.ndims()));
  bool mixed = false;
  double boxes = 1;
  TiledBoxes out;
  for (int d = 0; d < dst.ndims(); ++d) {
    auto sections = sections_of(src, dst, d, attribute_strides[d], bytes, planner.fill.has_value(), tables);
    mixed = mixed || sections.mixed();
    boxes *= static_cast<double>(sections.parts());
    if (sections.padding) out.filled |= 1u << d;
    dims.push_back(std::move(sections));
  }
  if (!mixed || boxes > kMaxBoxes / 4) return std::nullopt;
  for (DimSections& dim : dims) {
    for (Bundle& bundle : dim.bundles) {
      relayout::scale(bundle.offset, bytes[kSrc], bytes[kDst]);
      scale(bundle.common, bytes[kSrc], bytes[kDst]);
      for (Section& section : bundle.sections) {
        for (SectionPart& part : section) {
          relayout::scale(part.offset, bytes[kSrc], bytes[kDst]);
          scale(part.axes, bytes[kSrc], bytes[kDst]);
        }
      }
    }
  }
  // A group for each choice of one bundle a dim.
  Offsets start{src.offset0(), dst.offset0(), 0};
  relayout::scale(start, bytes[kSrc], bytes[kDst]);
  Tiler tiler(planner, out);
  std::vector<std::size_t> at(dims.size(), 0);
  while (true) {
    Group group{start, {}, {}};
    group.runs.emplace_back().parts.emplace_back();
    for (std::size_t d = 0; d < dims.size(); ++d) multiply(group, dims[d].bundles[at[d]]);
    tiler.add(std::move(group));
    std::size_t d = dims.size();
    while (d > 0 && ++at[d - 1] == dims[d - 1].bundles.size()) at[--d] = 0;
    if (d == 0) break;
  }
  return out;
}

}  // namespace relayout
