// Grouping boxes by the tiles of the destination they share.
#include "relayout/reorder/boxes/methods/tile_runs.h"

#include <cstdlib>
#include <numeric>

#include "relayout/reorder/boxes/methods/line_program.h"
#include "relayout/reorder/price.h"
#include "relayout/reorder/refine/refine.h"
#include "relayout/reorder/refine/section_runs.h"

namespace relayout {
namespace {

class Tiler {
 public:
  Tiler(const BoxPlanner& planner, bool by_lines, double most_ns, TiledBoxes& out)
      : planner_(planner), by_lines_(by_lines), most_ns_(most_ns), out_(out), element_(units(planner.types.dst)) {}

  void add(RunBundle group) {
    const std::size_t boxes =
        std::accumulate(group.runs.begin(), group.runs.end(), std::size_t{0},
                        [](std::size_t n, const SectionRun& run) { return n + run.boxes.size(); });
    const bool moves = std::ranges::any_of(group.runs, [](const SectionRun& run) {
      return std::ranges::any_of(run.boxes, [](const auto& box) { return !box.padding; });
    });
    if (boxes == 1 || boxes > TileRuns::kMaxBoxes || group.runs.size() > TileRuns::kMaxRuns || !moves)
      return add_apart(group);
    Box common{group.offset, std::move(group.common)};
    simplify(common);
    group.offset = common.offset;
    group.common = std::move(common.axes);
    // An axis that steps within a run belongs to the boxes of the run.
    for (SectionRun& run : group.runs) run.measure(element_);
    while (!group.common.empty() && group.common.back().table < 0 &&
           group.common.back().stride[kDst] < longest(group)) {
      for (SectionRun& run : group.runs) {
        for (SectionBox& section_box : run.boxes) {
          section_box.axes.push_back(group.common.back());
          if (section_box.padding)
            section_box.axes.back().stride[kSrc] = section_box.axes.back().stride[kAttribute] = 0;
        }
        run.measure(element_);
      }
      group.common.pop_back();
    }
    if (longest(group) * static_cast<int64_t>(group.runs.size()) > TileRuns::kMaxBytes) return add_apart(group);
    add_tiles(group);
  }

 private:
  static int64_t longest(const RunBundle& group) {
    return std::ranges::max_element(group.runs, {}, &SectionRun::bytes)->bytes;
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
    for (const SectionRun& run : group.runs) {
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
  /// page of a single run, half of that of several, and less where all runs together would exceed TileRuns::kMaxBytes.
  static int64_t room(int64_t runs) {
    return kPage / std::max(std::min<int64_t>(runs, 2), ceil_div(runs * kPage, TileRuns::kMaxBytes)) - kCacheLine;
  }

  /// The runs of a group by line programs of `rows`, where all of them can have one.
  std::optional<Planned<TileRuns>> lines_of(const RunBundle& group, const Axis& rows) const {
    const Machine& machine = planner_.rules.machine;
    const auto runs = static_cast<int64_t>(group.runs.size());
    Planned<TileRuns> out{};
    for (const SectionRun& run : group.runs) {
      Together own{{rows}, {}, {}, {}, run.elements(true)};
      bool pads = false;
      for (const SectionBox& box : run.boxes) {
        pads = pads || box.padding;
        if (!box.padding) own.own.push_back(box_of({0, -run.begin, 0}, box, {}));
      }
      for (Box& box : own.own) simplify(box);
      if (own.own.empty() || (pads && planner_.fill != uint64_t{0})) return std::nullopt;
      own.footprints[kDst] = {run.elements(true), {0}};
      auto lines = plan_line_program(own, element_, pads ? ProgramFills::within : ProgramFills::nothing,
                                     {machine, most_ns_, true});
      if (!lines) return std::nullopt;
      // The runs take turns, so that what they read is still in the second level.
      Along& along = lines->loops.along_src;
      const int64_t steps = lines->method.program->steps;
      along.block = std::min(along.count, std::max<int64_t>(1, kInL2 / (run.bytes * runs * steps)) * steps);
      along.blocks = lines->loops.blocks = ceil_div(along.count, along.block);
      if (!out.method.runs.empty() && out.loops.along_src.blocks != along.blocks) return std::nullopt;
      out.loops.along_src.blocks = along.blocks;
      TileRun& made = out.method.runs.emplace_back();
      made.begin = run.begin;
      made.elements = run.elements(false) * rows.extent;
      out.loops.elements += made.elements;
      made.boxes.emplace_back(*std::move(lines));
    }
    return out;
  }

  /// Writes the runs of a group by line programs. False, and nothing is done, where they cannot be.
  bool add_lines(const RunBundle& group) {
    Axes loops = group.common;
    const auto next = stepping(loops, kDst, group.runs[0].bytes);
    if (next == loops.end()) return false;
    auto lines = lines_of(group, take(loops, next));
    if (!lines) return false;
    const int64_t tiles = count_elements(loops);
    order_loops(loops);
    lines->loops.elements *= tiles;
    lines->loops.offset = group.offset;
    lines->loops.loops = std::move(loops);
    lines->loops.blocks = tiles * lines->loops.along_src.blocks;
    BoxPlan& plan = out_.boxes.emplace_back(*std::move(lines));
    plan.describe(plan.as<TileRuns>()->largest());
    return true;
  }

  /// Chooses which of the common axes a tile has, in the order of the destination; the others are loops around it.
  /// Where a tile has some steps of an axis that do not divide it, the steps left over are tiles of their own.
  void add_tiles(RunBundle& group) {
    const int64_t run_bytes = group.runs[0].bytes, runs = static_cast<int64_t>(group.runs.size());
    bool dense = planner_.streams && !planner_.types.sums;
    for (const SectionRun& run : group.runs)
      dense = dense && run.bytes == run_bytes && run.elements(true) * element_ == run_bytes;
    if (dense) {
      // Runs can be put together to whole lines only if they follow each other.
      const auto next = stepping(group.common, kDst, run_bytes);
      dense = next != group.common.end();
    }
    if (by_lines_ && dense && !planner_.converts && add_lines(group)) return;
    Axes tile;
    int64_t bytes = dense ? run_bytes : longest(group);
    const int64_t most_bytes = dense ? room(runs) : 2 * kHalfL1 / runs;
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
      Axis split = take(group.common, next);
      const int64_t rest = split.extent % most;
      const Axis outer = cut(split, most);
      if (rest > 0) {
        Axes last = tile, loops = group.common;
        last.push_back(split);
        last.back().extent = rest;
        Offsets offset = group.offset;
        for (std::size_t k = 0; k < kOperands; ++k) offset[k] += outer.extent * outer.stride[k];
        emit(group, offset, last, std::move(loops), dense);
      }
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
  using PlannedBoxes = SmallVector<PlannedBox, 16>;

  /// Plans a box of a tile whose run begins at `begin` in the group. If a box with the same axes is planned already,
  /// its plan is reused and only its start is changed.
  BoxPlan plan_nested(const SectionBox& section_box, int64_t begin, const Axes& tile,
                      const PlannedBoxes& planned) const {
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

  void emit(const RunBundle& group, const Offsets& offset, const Axes& tile, Axes loops, bool dense) {
    const int64_t tiles = count_elements(loops), blocks = count_elements(tile);
    order_loops(loops);
    int64_t ahead = 0;
    if (dense && !loops.empty() && loops.back().stride[kSrc] != 0)
      ahead = loops.back().stride[kSrc] * ceil_div(kRunsAhead, std::abs(loops.back().stride[kSrc]));
    Planned<TileRuns> out{};
    PlannedBoxes planned;
    int64_t image = 0;
    out.method.runs.reserve(group.runs.size());
    for (const SectionRun& run : group.runs) {
      TileRun& made = out.method.runs.emplace_back();
      made.begin = run.begin;
      made.bytes = dense ? run.bytes * blocks : 0;
      const int64_t size = ceil_div(made.bytes + kCacheLine, kCacheLine) * kCacheLine;
      if (size <= kPage && image % kPage + size > kPage) image = ceil_div(image, kPage) * kPage;
      made.image = image;
      image += size;
      made.elements = run.elements(false) * blocks;
      out.loops.elements += made.elements * tiles;
      made.boxes.reserve(run.boxes.size());
      for (const SectionBox& section_box : run.boxes) {
        BoxPlan& leaf = made.boxes.emplace_back(plan_nested(section_box, run.begin, tile, planned));
        leaf.ahead = ahead;
        planned.push_back({&section_box, run.begin, &leaf});
      }
    }
    out.loops.offset = offset;
    out.loops.loops = std::move(loops);
    out.loops.blocks = tiles;
    BoxPlan& plan = out_.boxes.emplace_back(std::move(out));
    plan.describe(plan.as<TileRuns>()->largest());
  }

  const BoxPlanner& planner_;
  bool by_lines_;
  double most_ns_;
  TiledBoxes& out_;
  int64_t element_;
};

}  // namespace

std::optional<TiledBoxes> plan_tiles(const Layout& src_layout, const Layout& dst_layout,
                                     const AttributeSteps& attributes, const BoxPlanner& planner, bool by_lines,
                                     double most_ns, Tables& tables) {
  const Layout src = src_layout.canonical(), dst = dst_layout.canonical();
  const std::array<int64_t, 2> bytes{units(planner.types.src), units(planner.types.dst)};
  std::vector<DimSections> dims;
  dims.reserve(static_cast<std::size_t>(dst.ndims()));
  bool mixed = false;
  double boxes = 1;
  TiledBoxes out;
  for (int d = 0; d < dst.ndims(); ++d) {
    auto sections =
        sections_of(src, dst, d, attributes[static_cast<std::size_t>(d)], bytes, planner.fill.has_value(), tables);
    mixed = mixed || sections.mixed();
    boxes *= static_cast<double>(sections.boxes());
    if (sections.padding) out.filled |= 1u << d;
    dims.push_back(std::move(sections));
  }
  if (!mixed || boxes > kMaxBoxes / 4) return std::nullopt;
  for (DimSections& dim : dims) scale(dim, bytes[kSrc], bytes[kDst]);
  // A group for each choice of one bundle a dim.
  Offsets start{src.offset0(), dst.offset0(), 0};
  relayout::scale(start, bytes[kSrc], bytes[kDst]);
  Tiler tiler(planner, by_lines, most_ns, out);
  std::vector<std::size_t> at(dims.size(), 0);
  while (true) {
    RunBundle group{start, {}, {}};
    group.runs.emplace_back().boxes.emplace_back();
    for (std::size_t d = 0; d < dims.size(); ++d) group.multiply(dims[d].bundles[at[d]]);
    tiler.add(std::move(group));
    std::size_t d = dims.size();
    while (d > 0 && ++at[d - 1] == dims[d - 1].bundles.size()) at[--d] = 0;
    if (d == 0) break;
  }
  const auto has_lines = [](const BoxPlan& box) { return box.as<TileRuns>() && box.as<TileRuns>()->by_lines(); };
  if (by_lines && std::ranges::none_of(out.boxes, has_lines)) return std::nullopt;
  return out;
}

}  // namespace relayout
