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

/// The most bytes of a tile that is not put together in an image first, as it has gaps or is written through the cache.
constexpr int64_t kPlainTile = 32 << 10;

/// The source is fetched at least kTileAhead bytes ahead, rounded up to whole tiles.
constexpr int64_t kTileAhead = 2 << 10;

/// The lines that a first-level cache of 32 KiB holds until they are read again.
constexpr int64_t kNearLines = 512;

/// Counts the lines of the source that the boxes of a tile read (`lines`). Where the steps between these lines are all
/// multiples of some number of lines, only so many sets of the cache hold them; `in_sets` counts a line as that number
/// of lines, so that it can be compared with a cache of all sets.
struct LinesRead {
  double lines = 0, in_sets = 0;

  void add(const Axes& axes) {
    int64_t reach = 0, apart = kPage;
    double count = 1;
    for (const Axis& axis : axes) {
      const int64_t step = axis.table < 0 ? std::abs(axis.stride[kSrc]) : kCacheLine;
      if (step < kCacheLine) {
        reach += (axis.extent - 1) * step;
      } else {
        count *= static_cast<double>(axis.extent);
        apart = std::gcd(apart, step);
      }
    }
    count *= static_cast<double>(reach / kCacheLine + 1);
    lines += count;
    in_sets += count * static_cast<double>(apart) / kCacheLine;
  }
};

/// Whether the loops around a tile come back to lines of the source only after these have left the first-level cache.
/// The tile itself reads `lines` lines.
bool reads_again(double lines, const Axes& loops) {
  for (auto loop = loops.end(); loop-- != loops.begin();) {
    const int64_t step = loop->table < 0 ? std::abs(loop->stride[kSrc]) : kCacheLine;
    if (step == 0 || step >= kCacheLine)
      lines *= static_cast<double>(loop->extent);
    else if (lines > kNearLines)
      return true;
  }
  return false;
}

/// Whether a nested box is moved element by element.
bool one_by_one(const BoxPlan& box) { return box.shape == KernelShape::gather && box.piece[kDst] < kGroup; }

/// Whether a nested box is moved in blocks with lists of where their rows and columns start. Copies count only where
/// `copies` is set.
bool in_blocks(const BoxPlan& box, bool copies) {
  return box.shape == KernelShape::transpose || (box.shape == KernelShape::copy && copies && !box.long_runs);
}

/// Boxes that together make a stretch of the destination.
struct TileRun {
  std::vector<SectionBox> boxes;
  int64_t begin = 0, bytes = 0;  // begin counts from the group's offset

  void measure(int64_t element) {
    begin = kTop_;
    int64_t end = 0;
    for (const SectionBox& box : boxes) {
      int64_t low = box.offset[kDst], high = low;
      for (const Axis& axis : box.axes) {
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
    for (const SectionBox& box : boxes) {
      if (!box.padding || padding) count += count_elements(box.axes);
    }
    return count;
  }

 private:
  static constexpr int64_t kTop_ = std::numeric_limits<int64_t>::max();
};

/// Runs that the same axes step through.
struct RunBundle {
  Offsets offset{};
  Axes common;
  std::vector<TileRun> runs;
};

class Tiler {
 public:
  Tiler(const BoxPlanner& planner, TiledBoxes& out) : planner_(planner), out_(out), element_(units(planner.dst)) {}

  void add(RunBundle group) {
    const std::size_t boxes = std::accumulate(group.runs.begin(), group.runs.end(), std::size_t{0},
                                              [](std::size_t n, const TileRun& run) { return n + run.boxes.size(); });
    const bool moves = std::ranges::any_of(group.runs, [](const TileRun& run) {
      return std::ranges::any_of(run.boxes, [](const auto& box) { return !box.padding; });
    });
    if (boxes == 1 || boxes > kMaxTileBoxes || group.runs.size() > kMaxTileRuns || !moves) return add_apart(group);
    Box common{group.offset, std::move(group.common)};
    simplify(common);
    group.offset = common.offset;
    group.common = std::move(common.axes);
    // An axis that steps within a run belongs to the boxes of the run.
    for (TileRun& run : group.runs) run.measure(element_);
    while (!group.common.empty() && group.common.back().table < 0 &&
           group.common.back().stride[kDst] < longest(group)) {
      for (TileRun& run : group.runs) {
        for (SectionBox& section_box : run.boxes) {
          section_box.axes.push_back(group.common.back());
          if (section_box.padding)
            section_box.axes.back().stride[kSrc] = section_box.axes.back().stride[kAttribute] = 0;
        }
        run.measure(element_);
      }
      group.common.pop_back();
    }
    if (longest(group) * static_cast<int64_t>(group.runs.size()) > kMaxTileBytes) return add_apart(group);
    add_tiles(group);
  }

 private:
  static int64_t longest(const RunBundle& group) {
    return std::ranges::max_element(group.runs, {}, &TileRun::bytes)->bytes;
  }

  static Box box_of(const Offsets& offset, const SectionBox& section_box, const Axes& more) {
    Box box{offset, section_box.axes};
    for (std::size_t k = 0; k < kOperands; ++k) box.offset[k] += section_box.offset[k];
    box.axes.insert(box.axes.end(), more.begin(), more.end());
    if (section_box.padding) {
      box.offset[kSrc] = box.offset[kAttribute] = 0;
      for (Axis& axis : box.axes) axis.stride[kSrc] = axis.stride[kAttribute] = 0;
    }
    return box;
  }

  void add_apart(const RunBundle& group) {
    for (const TileRun& run : group.runs) {
      for (const SectionBox& section_box : run.boxes) {
        Box box = box_of(group.offset, section_box, group.common);
        if (section_box.padding)
          out_.fills.push_back(planner_.pad(std::move(box)));
        else
          out_.boxes.push_back(planner_.move(std::move(box), planner_.streams));
      }
    }
  }

  /// How many bytes of each run are put together at a time, so that reading and writing take turns often: less than a
  /// page of a single run, half of that of several, and less where all runs together would exceed kMaxTileBytes.
  static int64_t room(int64_t runs) {
    return kPage / std::max(std::min<int64_t>(runs, 2), ceil_div(runs * kPage, kMaxTileBytes)) - kCacheLine;
  }

  /// Chooses which of the common axes a tile has, in the order of the destination; the others are loops around it.
  /// Where a tile has some steps of an axis that do not divide it, the steps left over are tiles of their own.
  void add_tiles(RunBundle& group) {
    const int64_t run_bytes = group.runs[0].bytes, runs = static_cast<int64_t>(group.runs.size());
    bool dense = planner_.streams && !planner_.sums;
    for (const TileRun& run : group.runs)
      dense = dense && run.bytes == run_bytes && run.elements(true) * element_ == run_bytes;
    if (dense) {
      // Runs can be put together to whole lines only if they follow each other.
      const auto next = stepping(group.common, kDst, run_bytes);
      dense = next != group.common.end();
    }
    Axes tile;
    int64_t bytes = dense ? run_bytes : longest(group);
    const int64_t most_bytes = dense ? room(runs) : kPlainTile / runs;
    while (!group.common.empty()) {
      const auto next = dense ? stepping(group.common, kDst, bytes) : nearest(group.common, kDst);
      if (next == group.common.end()) break;
      // How many steps make whole lines of the destination, and of the source if the steps follow each other there.
      const int64_t whole =
          kCacheLine / std::min(std::gcd(kCacheLine, bytes), std::gcd(kCacheLine, next->stride[kSrc]));
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

  /// A box of a tile with its plan. `begin` is where in the group its run begins.
  struct PlannedBox {
    const SectionBox* section_box;
    int64_t begin;
    const BoxPlan* plan;
  };
  using Planned = SmallVector<PlannedBox, 16>;

  /// Plans a box of a tile whose run begins at `begin` in the group. If a box with the same axes is planned already,
  /// its plan is reused and only its start is changed.
  BoxPlan plan_nested(const SectionBox& section_box, int64_t begin, const Axes& tile, const Planned& planned) const {
    const auto like = std::ranges::find_if(planned, [&](const PlannedBox& other) {
      return other.section_box->padding == section_box.padding &&
             std::ranges::equal(other.section_box->axes, section_box.axes);
    });
    if (like == planned.end()) {
      Box box = box_of({0, -begin, 0}, section_box, tile);
      return section_box.padding ? planner_.pad(std::move(box)) : planner_.move(std::move(box), false);
    }
    BoxPlan out = *like->plan;
    out.offset[kDst] += like->begin - begin;
    for (std::size_t k = 0; k < kOperands; ++k) {
      if (k == kDst || !section_box.padding) out.offset[k] += section_box.offset[k] - like->section_box->offset[k];
    }
    return out;
  }

  /// The pieces of a run of a tile, as BoxPlan::row_sources lists them: the run is one of its rows.
  std::vector<RowSource> row_sources(const TileRun& run) const {
    const int64_t lines = run.bytes / std::min(kCacheLine, run.bytes & -run.bytes);
    if (planner_.converts || lines > kMaxRowLines) return {};
    // Where pieces start on both sides. The first axes of a box make a piece longer while both sides follow each other
    // along them; the other axes make more pieces.
    struct Piece {
      int64_t dst;
      RowSource source;
    };
    SmallVector<Piece, 16> pieces;
    for (const SectionBox& section_box : run.boxes) {
      const std::size_t first = pieces.size();
      int64_t bytes = element_;
      pieces.push_back({section_box.offset[kDst] - run.begin, {section_box.offset[kSrc], 0}});
      for (const Axis& axis : section_box.axes) {
        const bool follows = axis.stride[kDst] == bytes && (section_box.padding || axis.stride[kSrc] == bytes);
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
        pieces[i].source = {section_box.padding ? RowSource::kPadding : pieces[i].source.from, bytes};
    }
    sort_few(pieces, [](const Piece& piece) { return piece.dst; });
    std::vector<RowSource> out;
    out.reserve(pieces.size());
    for (const Piece& piece : pieces) out.push_back(piece.source);
    return out;
  }

  /// Counts the time that the blocks of a nested box take to start, in all tiles. See in_blocks() for `copies`;
  /// `in_line`: its run is less than a line.
  void weigh(const BoxPlan& leaf, int64_t tiles, bool copies, bool in_line) {
    // A block of less than kSmallBlock bytes takes longer to start than to move. In the time that a block takes to
    // start, kStart bytes could be written through the cache; in the time to move one byte by itself, kOneByOne bytes.
    constexpr int64_t kSmallBlock = 16 * kCacheLine, kStart = 2 << 10, kOneByOne = 4;
    if (in_line || one_by_one(leaf)) {
      out_.in_small_pieces += leaf.elements * tiles;
      out_.started += kOneByOne * leaf.elements * element_ * tiles;
    } else if (in_blocks(leaf, copies)) {
      if (leaf.block_rows * leaf.block_cols * leaf.piece[kDst] < kSmallBlock)
        out_.in_small_pieces += leaf.elements * tiles;
      out_.started += kStart * leaf.blocks * tiles;
    }
  }

  void emit(const RunBundle& group, const Offsets& offset, const Axes& tile, Axes loops, bool dense) {
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
    out.nested.reserve(group.runs.size());
    for (const TileRun& run : group.runs) {
      BoxPlan& made = out.nested.emplace_back();
      made.offset[kDst] = run.begin;
      made.run_bytes = dense ? run.bytes * blocks : 0;
      const int64_t size = ceil_div(made.run_bytes + kCacheLine, kCacheLine) * kCacheLine;
      if (size <= kPage && image % kPage + size > kPage) image = ceil_div(image, kPage) * kPage;
      made.image = image;
      if (dense && tile.size() == 1) {
        made.row_sources = row_sources(run);
        made.row_step = tile[0].stride[kSrc];
      }
      image += size;
      made.elements = run.elements(false) * blocks;
      out.elements += made.elements * tiles;
      made.nested.reserve(run.boxes.size());
      for (const SectionBox& section_box : run.boxes) {
        if (!section_box.padding) read.add(box_of({0, -run.begin, 0}, section_box, tile).axes);
        BoxPlan& leaf = made.nested.emplace_back(plan_nested(section_box, run.begin, tile, planned));
        leaf.ahead = ahead;
        planned.push_back({&section_box, run.begin, &leaf});
        const bool copies = made.row_sources.empty() && !planner_.converts;
        if (!section_box.padding) weigh(leaf, tiles, copies, dense && made.run_bytes < kCacheLine);
        if (section_box.padding || leaf.elements <= most) continue;
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

/// Extends all runs of a group by a bundle of one more dim: each run becomes as many runs as the bundle has sections.
void multiply(RunBundle& group, const Bundle& bundle) {
  group.common.insert(group.common.end(), bundle.common.begin(), bundle.common.end());
  for (std::size_t k = 0; k < kOperands; ++k) group.offset[k] += bundle.offset[k];
  if (bundle.sections.empty()) return;
  std::vector<TileRun> runs;
  runs.reserve(group.runs.size() * bundle.sections.size());
  for (const TileRun& run : group.runs) {
    for (const Section& section : bundle.sections) {
      TileRun& out = runs.emplace_back();
      out.boxes.reserve(run.boxes.size() * section.size());
      for (const SectionBox& a : run.boxes) {
        for (const SectionBox& b : section) {
          SectionBox& section_box = out.boxes.emplace_back(a);
          for (std::size_t k = 0; k < kOperands; ++k) section_box.offset[k] += b.offset[k];
          section_box.axes.insert(section_box.axes.end(), b.axes.begin(), b.axes.end());
          section_box.padding = a.padding || b.padding;
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
    boxes *= static_cast<double>(sections.boxes());
    if (sections.padding) out.filled |= 1u << d;
    dims.push_back(std::move(sections));
  }
  if (!mixed || boxes > kMaxBoxes / 4) return std::nullopt;
  for (DimSections& dim : dims) {
    for (Bundle& bundle : dim.bundles) {
      relayout::scale(bundle.offset, bytes[kSrc], bytes[kDst]);
      scale(bundle.common, bytes[kSrc], bytes[kDst]);
      for (Section& section : bundle.sections) {
        for (SectionBox& section_box : section) {
          relayout::scale(section_box.offset, bytes[kSrc], bytes[kDst]);
          scale(section_box.axes, bytes[kSrc], bytes[kDst]);
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
    RunBundle group{start, {}, {}};
    group.runs.emplace_back().boxes.emplace_back();
    for (std::size_t d = 0; d < dims.size(); ++d) multiply(group, dims[d].bundles[at[d]]);
    tiler.add(std::move(group));
    std::size_t d = dims.size();
    while (d > 0 && ++at[d - 1] == dims[d - 1].bundles.size()) at[--d] = 0;
    if (d == 0) break;
  }
  return out;
}

}  // namespace relayout
