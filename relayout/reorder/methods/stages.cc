// Planning stages: how many steps of each axis a chunk has, and how it lies in the buffers between the stages.
#include "relayout/reorder/methods/stages.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <utility>

#include "relayout/reorder/cached_price.h"
#include "relayout/reorder/methods/line_program.h"
#include "relayout/reorder/methods/together.h"
#include "relayout/reorder/moves.h"

namespace relayout {
namespace {

/// Bytes: stretches of the source and of the destination first grow to these. A chunk of enough of both has kHalfL1
/// bytes in a buffer, and others up to Stages::kMaxBytes.
constexpr std::array<int64_t, 2> kStretch{512, 2048};
/// A stretch of the source goes on over gaps that are no longer than it is, or than kShortGap elements.
constexpr int64_t kShortGap = 32;
bool goes_on(int64_t run, int64_t step) { return step <= std::max(kMostSpread * run, run + kShortGap); }
/// Boxes of so many elements together are one chunk.
constexpr int64_t kMostWhole = 16 << 10;

/// An axis of a chunk, and how far apart its steps are in the buffers, in elements.
struct ChunkAxis {
  Axis axis;
  int64_t steps = 1;
  std::array<int64_t, 2> apart{};
};

/// Puts the axes of a chunk, the nearest on one side first, together to stretches.
class StretchBuilder {
 public:
  StretchBuilder(const Together::Footprint& own, Operand side, int64_t unit, int64_t element, bool gaps, bool computes)
      : side_(side), unit_(unit), element_(element), gaps_(gaps), computes_(computes) {
    out_.run = own.length;
    out_.bases = own.starts;
    out_.base_pitch = 0;
  }

  void add(ChunkAxis& a) {
    const int64_t stride = a.axis.stride[side_], step = std::abs(stride) / unit_, sign = stride < 0 ? -1 : 1;
    const int64_t attribute = computes_ ? sign * a.axis.stride[kAttribute] : 0;
    const bool moves = a.steps > 1 && stride != 0;
    if (moves && stride >= out_.bases.back()) fold();
    const bool goes = moves && dense_ && goes_on_by(step, a.steps, attribute);
    whole_ = whole_ && a.steps == a.axis.extent;
    if (!moves) return;
    if (sign < 0) {
      out_.first[side_] += (a.steps - 1) * a.axis.stride[side_];
      if (computes_) out_.first[kAttribute] += (a.steps - 1) * a.axis.stride[kAttribute];
    }
    if (goes) {
      a.apart[side_] = sign * step;
      return;
    }
    end_stretch();
    a.apart[side_] = sign * out_.count * out_.pitch;
    Axis axis{a.steps, {}, -1};
    axis.stride[side_] = std::abs(stride);
    axis.stride[kAttribute] = attribute;
    out_.axes.push_back(axis);
    out_.count *= a.steps;
  }

  Stretches finish(const std::vector<ChunkAxis>& axes) {
    fold();
    if (dense_) out_.pitch = out_.run;
    if (out_.base_pitch == 0) out_.base_pitch = out_.count * out_.pitch;
    out_.count *= static_cast<int64_t>(out_.bases.size());
    for (const ChunkAxis& a : axes) out_.origin += std::max<int64_t>(0, -(a.steps - 1) * a.apart[side_]);
    return std::move(out_);
  }

 private:
  /// Lets stretches go on over the steps of an axis, if these follow each other or leave gaps that may be read or
  /// written.
  bool goes_on_by(int64_t step, int64_t times, int64_t attribute) {
    const bool first = out_.run == 1 && step == 1;
    const bool continues = step == out_.run && (first || attribute == out_.run_attribute * out_.run);
    const bool near = side_ == kSrc ? goes_on(out_.run, step) : whole_ && out_.bases.size() == 1;
    const bool spreads = gaps_ && step > out_.run && near && attribute == 0 && out_.run_attribute == 0;
    if (!continues && !spreads) return false;
    if (first) out_.run_attribute = attribute;
    // The destination's padding behind the last step is written as well.
    out_.run = side_ == kDst && spreads ? times * step : out_.run + (times - 1) * step;
    return true;
  }

  /// Makes one stretch of those from each base on, if these lie evenly and follow each other.
  void fold() {
    const auto bases = static_cast<int64_t>(out_.bases.size());
    if (bases == 1 || !dense_ || !whole_) return;
    const int64_t apart = out_.bases[1];
    for (std::size_t i = 1; i < out_.bases.size(); ++i) {
      if (out_.bases[i] - out_.bases[i - 1] != apart) return;
    }
    auto starts = std::exchange(out_.bases, {0});
    if (apart / unit_ >= out_.run && goes_on_by(apart / unit_, bases, 0))
      out_.base_pitch = apart / unit_;
    else
      out_.bases = std::move(starts);
  }

  void end_stretch() {
    if (!dense_) return;
    dense_ = false;
    // Stretches are an odd number of lines apart, so that they do not compete for few sets of the cache.
    const int64_t bytes = out_.run * element_;
    out_.pitch = bytes < kCacheLine ? out_.run : (ceil_div(bytes, kCacheLine) | 1) * kCacheLine / element_;
  }

  const Operand side_;
  const int64_t unit_, element_;
  const bool gaps_;
  const bool computes_;  // with attribute values, which those of a stretch must have in common or evenly spaced
  /// Whether all axes so far are of the stretch; and whether the chunk has all their steps.
  bool dense_ = true, whole_ = true;
  Stretches out_;
};

/// How many steps of each axis are done at a time.
class Chunk {
 public:
  Chunk(const Axes& axes, std::array<int64_t, 2> units, const Together& together)
      : units_(units), together_(&together), count_(together.most) {
    for (const Axis& axis : axes) {
      if (axis.table >= 0)
        tables_.push_back(axis);
      else
        axes_.push_back({axis, 1, {}});
    }
    for (const Operand side : {kSrc, kDst}) {
      order_[side].resize(axes_.size());
      std::iota(order_[side].begin(), order_[side].end(), std::size_t{0});
      sort_few(order_[side], [&](std::size_t i) { return std::abs(axes_[i].axis.stride[side]); });
    }
  }

  /// Takes steps until both sides have long stretches, then as many as a small chunk has, of at most `most` elements.
  /// `goals` are in elements. With `divide`, extents are cut into equal parts.
  void grow(std::array<int64_t, 2> goals, int64_t small, int64_t most, bool divide) {
    const auto short_of = [&](Operand side) {
      return static_cast<double>(stretch(side)) / static_cast<double>(goals[side]);
    };
    while (true) {
      const Operand first = short_of(kSrc) < short_of(kDst) ? kSrc : kDst, other = first == kSrc ? kDst : kSrc;
      if ((short_of(first) < 1 && extend(first, most)) || (short_of(other) < 1 && extend(other, most))) continue;
      break;
    }
    while (extend(kDst, small) || extend(kSrc, small)) {
    }
    for (ChunkAxis& a : axes_) a.steps = rounded(a, divide);
  }

  /// The loops from chunk to chunk, and what is left over at the end of each.
  Axes loops(std::vector<Stages::Rest>& rests) const {
    Axes out = tables_;
    for (const ChunkAxis& a : axes_) {
      if (a.steps == a.axis.extent) continue;
      Axis loop = a.axis, rest = a.axis;
      loop.extent = a.axis.extent / a.steps;
      for (std::size_t k = 0; k < kOperands; ++k) {
        loop.stride[k] = a.axis.stride[k] * a.steps;
        rest.stride[k] = a.axis.stride[k] * (a.axis.extent % a.steps);
      }
      if (a.axis.extent % a.steps != 0) rests.push_back({0, loop.stride[kDst], rest.stride});
      out.push_back(loop);
    }
    erase_if(out, [&](const Axis& loop) {
      return loop.table < 0 && loop.extent == 1 &&
             std::ranges::none_of(rests, [&](const auto& r) { return r.loop_stride == loop.stride[kDst]; });
    });
    order_loops(out);
    for (Stages::Rest& rest : rests) {
      rest.loop = static_cast<std::size_t>(
          std::ranges::find_if(out, [&](const Axis& loop) { return loop.stride[kDst] == rest.loop_stride; }) -
          out.begin());
    }
    return out;
  }

  /// Lays out the chunk in a buffer of elements of `element` bytes, in the order of one side.
  Stretches lay_out(Operand side, int64_t element, bool gaps, bool computes) {
    StretchBuilder builder(together_->footprints[side], side, units_[side], element, gaps, computes);
    for (const std::size_t i : order_[side]) builder.add(axes_[i]);
    return builder.finish(axes_);
  }

  const std::vector<ChunkAxis>& axes() const { return axes_; }
  /// Elements of the destination that all chunks write, with what lies in between.
  int64_t written(const Stretches& out) const {
    int64_t count = out.count * out.run;
    for (const ChunkAxis& a : axes_) {
      if (a.steps != a.axis.extent) count = count / a.steps * a.axis.extent;
    }
    for (const Axis& axis : tables_) count *= axis.extent;
    return count;
  }

 private:
  /// Elements that follow each other on one side, or nearly.
  int64_t stretch(Operand side) const {
    int64_t out = together_->footprints[side].length;
    for (const std::size_t i : order_[side]) {
      const ChunkAxis& a = axes_[i];
      const int64_t step = std::abs(a.axis.stride[side]) / units_[side];
      if (!goes_on(out, step)) break;
      if (step != 0) out += (a.steps - 1) * step;
      if (a.steps < a.axis.extent) break;
    }
    return out;
  }

  /// Doubles the steps of the nearest axis that is not whole, if there is room. An axis that is far away is only good
  /// for its own side's short stretches.
  bool extend(Operand side, int64_t most) {
    for (const std::size_t i : order_[side]) {
      ChunkAxis& a = axes_[i];
      if (a.steps == a.axis.extent) continue;
      const int64_t steps = std::min({a.axis.extent, 2 * a.steps, a.steps * most / count_});
      if (steps <= a.steps) return false;
      count_ = count_ / a.steps * steps;
      a.steps = steps;
      return true;
    }
    return false;
  }

  /// Steps that cut an axis into about equal parts, or that are whole lines of the destination.
  int64_t rounded(const ChunkAxis& a, bool divide) const {
    const int64_t extent = a.axis.extent;
    if (a.steps == extent) return extent;
    if (divide) {
      int64_t steps = a.steps;
      while (extent % steps != 0) --steps;
      return steps;
    }
    const int64_t line = units_[kDst] == 1 ? 2 * kCacheLine : kCacheLine, stride = a.axis.stride[kDst];
    const int64_t unit = line / std::gcd(line, stride), equal = ceil_div(extent, ceil_div(extent, a.steps));
    return a.steps >= unit ? std::min(extent, ceil_div(equal, unit) * unit) : equal;
  }

  std::array<int64_t, 2> units_;
  const Together* together_;
  int64_t count_;
  Axes tables_;
  std::vector<ChunkAxis> axes_;
  std::array<std::vector<std::size_t>, 2> order_;
};

/// On which side values are converted, and the type that is moved.
struct Between {
  DType type;
  bool last;  // converted as they are written
};

Between choose_between(const ConvertedTypes& types, const Box& box) {
  const DType src = types.src, dst = types.dst;
  // An element of a broadcast source has several values where the attributes differ.
  const bool differs = std::ranges::any_of(
      box.axes, [](const Axis& a) { return a.table < 0 && a.stride[kSrc] == 0 && a.stride[kAttribute] != 0; });
  bool last = bits(dst) > bits(src) || bits(src) < 8 || types.sums || differs;
  if (bits(dst) == bits(src) && !last) {
    // By the side that is dense.
    const auto dense = [&](Operand side, int64_t unit) {
      return std::ranges::any_of(box.axes,
                                 [&](const Axis& a) { return a.table < 0 && std::abs(a.stride[side]) == unit; });
    };
    last = !dense(kSrc, units(src)) && dense(kDst, units(dst));
  }
  return {last ? src : dst, last};
}

/// Plans the moves of all own boxes with the axes of a chunk, between the buffers or between a buffer and the tensor.
/// False where a box does not step evenly there.
bool plan_moves(const Together& together, const std::vector<ChunkAxis>& axes, const std::array<int64_t, 2>& size,
                const BlockRules& rules, Stages& method) {
  const int64_t element = units(method.between);
  std::vector<Box> boxes = together.own;
  for (Box& own : boxes) {
    for (const Operand k : {kSrc, kDst}) {
      const Stretches& side = k == kSrc ? method.in : method.out;
      if (k == kSrc ? !method.reads : !method.writes) continue;
      if (!put_in_buffer(own, k, size[k], together.footprints[k], side.base_pitch)) return false;
      own.offset[k] = (own.offset[k] + side.origin) * element;
      for (Axis& axis : own.axes) axis.stride[k] *= element;
    }
    for (const ChunkAxis& a : axes) {
      own.axes.push_back({a.steps, {}, -1});
      for (const Operand k : {kSrc, kDst}) {
        const bool buffer = k == kSrc ? method.reads : method.writes;
        own.axes.back().stride[k] = buffer ? a.apart[k] * element : a.axis.stride[k];
      }
    }
    simplify(own);
    plan_cached_moves(own, element, rules, method.moves);
  }
  if (boxes.size() == 1 || rules.tuning.way == Tuning::Way::boxes) return true;
  // All of them by one line program, where that takes less.
  double ns = 0;
  for (const BoxPlan& move : method.moves) ns += cached_ns(move);
  constexpr int64_t kAnywhere = std::numeric_limits<int64_t>::max();  // what else lies in buffers is never read
  const auto joined = join(boxes, {element, element}, {{kAnywhere, kAnywhere}}, {}, false);
  auto program = joined ? plan_line_program(*joined, element, false, rules.machine, ns) : std::nullopt;
  if (!program) return true;
  method.moves.clear();
  method.moves.emplace_back(*std::move(program));
  return true;
}

/// Plans boxes whose common axes are known.
std::optional<BoxPlan> plan_chunks_of(const Together& together, std::span<const Box> boxes, const ConvertedTypes& types,
                                      bool converts, bool streams, const Gaps& gaps, const BlockRules& rules) {
  const std::array<int64_t, 2> size{units(types.src), units(types.dst)};
  Planned<Stages> out{};
  Loops& loops = out.loops;
  Stages& method = out.method;
  const auto [between, convert_last] = converts ? choose_between(types, boxes[0]) : Between{types.src, false};
  const bool last = convert_last;  // clang captures no structured bindings in lambdas
  const int64_t element = units(between);
  method.between = between;
  method.converts = converts;
  method.converts_last = last;
  method.each = types.each;
  method.reads = bits(types.src) < 8 || (converts && !last);
  method.writes = bits(types.dst) < 8 || (converts && last) || (!converts && streams);
  const std::array<int64_t, 2> goals{kStretch[kSrc] / size[kSrc], kStretch[kDst] / size[kDst]};
  const auto lay_out = [&](int64_t small, int64_t most) {
    Chunk chunk(together.axes, size, together);
    chunk.grow(goals, small, most, types.sums);
    method.in = chunk.lay_out(kSrc, element, !types.sums, types.computes && !last);
    method.out = chunk.lay_out(kDst, element, gaps.dst && !types.sums, types.computes && last);
    return chunk;
  };
  Chunk chunk = lay_out(kHalfL1 / element, Stages::kMaxBytes / 2 / element);
  const auto fits = [&] {
    return together.most <= Stages::kMaxBytes / element &&
           std::max(method.in.count, method.out.count) <= Stages::kMaxStretches &&
           std::max(method.in.bytes(element), method.out.bytes(element)) <= Stages::kMaxBytes;
  };
  for (int64_t most = kHalfL1 / element; !fits(); most /= 2) {
    if (most < together.most) return std::nullopt;
    chunk = lay_out(most, most);
  }
  loops.unit_bits = {static_cast<int8_t>(unit_bits(types.src)), static_cast<int8_t>(unit_bits(types.dst))};
  loops.loops = chunk.loops(method.rests);
  loops.offset = together.offset;
  for (const Box& box : boxes) loops.elements += count_elements(box);
  loops.past_cache = streams && !types.sums && method.writes;
  loops.blocks = count_elements(loops.loops);
  // Padding that all chunks together write is part of the buffer, and then needs no filling.
  // The bits of 0 are 0 in all types but f8_e8m0, which has none.
  const bool zeros = types.src != DType::f8_e8m0 && types.dst != DType::f8_e8m0;
  const bool same_value = !last || (gaps.fill == 0 && zeros && !types.computes);
  method.fills = gaps.dst && method.writes && same_value && chunk.written(method.out) == gaps.elements;
  method.fill = bits(between) < 8 ? gaps.fill & ((uint64_t{1} << bits(between)) - 1) : gaps.fill;
  if (!plan_moves(together, chunk.axes(), size, rules, method)) return std::nullopt;
  BoxPlan plan(std::move(out));
  plan.describe(plan.as<Stages>()->moving());
  return plan;
}

}  // namespace

std::optional<BoxPlan> plan_stages(std::span<const Box> boxes, const ConvertedTypes& types, bool converts, bool streams,
                                   const Gaps& gaps, const Tables& tables, const BlockRules& rules) {
  const std::array<int64_t, 2> size{units(types.src), units(types.dst)};
  int64_t elements = 0;
  for (const Box& box : boxes) elements += count_elements(box);
  Gaps closed = gaps;
  closed.dst = false;
  // As one chunk, then with the destination's padding, then without it.
  for (const auto& [allowed, whole] : {std::pair{&gaps, true}, {&gaps, false}, {&closed, false}}) {
    if (whole && (elements > kMostWhole || (boxes.size() == 1 && !gaps.dst))) continue;
    if (allowed == &closed && !gaps.dst) continue;
    const auto together = join(boxes, size, *allowed, tables, whole);
    if (!together) continue;
    if (auto plan = plan_chunks_of(*together, boxes, types, converts, streams, *allowed, rules)) return plan;
  }
  return std::nullopt;
}

}  // namespace relayout
