// Making a plan: checks, refinement, and a box plan for each box.
#include "relayout/reorder/plan_data.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>

#include "relayout/reorder/cached_price.h"
#include "relayout/reorder/cast.h"
#include "relayout/reorder/moves.h"
#include "relayout/reorder/past_cache.h"
#include "relayout/reorder/refine.h"
#include "relayout/reorder/refine_dim.h"

namespace relayout {
namespace {

/// Where the last level is slow and shared and both sides take more than kFetchHalves halves of the second level, all
/// strided transpositions fetch their next lines.
constexpr int64_t kFetchHalves = 3;

/// Limits of reading past the end of a dim of the source (Plan::past_source()). The destination must have kMinReadPast
/// bytes, because a smaller one would only get more boxes. No dim may have more than kMaxReadPast elements, because
/// tables of offsets are made a second time.
constexpr int64_t kMinReadPast = 256 << 10, kMaxReadPast = 1 << 20;
/// Reading past the end must save more than this factor, as the steps that would leave the source's memory are moved by
/// boxes of their own.
constexpr double kPastCost = 1.12;
/// The steps that get boxes of their own may be at most one in kRestShare of the dim. Their boxes are fast only if the
/// steps are at least kRowBytes bytes apart on both sides.
constexpr int64_t kRestShare = 8;
/// Bytes that rows are fetched ahead which lie where a table says.
constexpr int64_t kListAhead = 16 << 10;

void check_injective(const Layout& layout, const Attributes& attributes) {
  const auto refuse = [](const Dims& a, const Dims& b, int64_t offset) {
    throw Error(ErrorCode::not_injective,
                "reorder: the destination is not injective: indices (" + join(a) + ") and (" + join(b) +
                    ") share offset " + std::to_string(offset),
                "dst", join(a) + " and " + join(b), "one offset an index");
  };
  const bool padding_written = attributes.padding.kind != Padding::Kind::keep && attributes.dst_index.empty() &&
                               layout.padded() && !layout.empty();
  if (padding_written && layout.injective_with_padding()) return;
  if (const auto pair = layout.collision()) refuse(pair->first, pair->second, layout.offset(pair->first));
  if (!padding_written) return;
  // The padding collides: name two indices of the layout in which it counts as elements.
  const Layout plain = layout.plain();
  std::vector<Digits> digits;
  for (int d = 0; d < layout.ndims(); ++d) digits.push_back(plain.digits_of(d));
  const Layout whole =
      Layout::from_digits(layout.padded_dims(), digits, layout.offset0()).with_swizzle(layout.swizzle());
  if (const auto pair = whole.collision()) refuse(pair->first, pair->second, whole.offset(pair->first));
}

/// At least the largest offset that indices 0..end-1 of dim d add, where no stride is negative.
int64_t largest_offset(const Layout& layout, int d, int64_t end) {
  const auto digits = layout.digits(d);
  int64_t place = 1, offset = 0;
  for (std::size_t k = 0; k < digits.size(); ++k) {
    const int64_t steps = ceil_div(end, place);
    offset += ((k + 1 < digits.size() ? std::min(steps, digits[k].extent) : steps) - 1) * digits[k].stride;
    place *= digits[k].extent;
  }
  return offset;
}

/// Whether everything between elements may be read, and no dim is too long.
bool readable(const Layout& src) {
  return without_gaps(src) && std::ranges::all_of(src.dims(), [](int64_t extent) { return extent <= kMaxReadPast; });
}

}  // namespace

std::shared_ptr<const PlanData> PlanData::make(const TensorDesc& src, const TensorDesc& dst,
                                               const Attributes& attributes, const Machine& machine,
                                               const Tuning& tuning) {
  const Dims dims = reorder_dims(src.layout, dst.layout, attributes);
  if (src.layout.ndims() == 0 && (src.layout.padded() || dst.layout.padded())) {
    return make({src.layout.as_vector(), src.dtype}, {dst.layout.as_vector(), dst.dtype}, attributes, machine, tuning);
  }
  check_attributes(attributes, src, dst);
  check_injective(dst.layout, attributes);
  auto made = std::make_shared<PlanData>(src, dst, attributes);
  PlanData& plan = *made;
  plan.converts_ = src.dtype != dst.dtype || attributes.arithmetic();
  plan.machine_ = machine;
  plan.dims_ = dims;
  if (plan.indexed() ? checked_product(dims) == 0 : dst.layout.empty()) return made;
  plan.attribute_steps_ = no_attributes(src.layout.ndims());
  if (attributes.arithmetic()) {
    AttributeSteps* const steps = &plan.attribute_steps_;
    if (compute_type(src.dtype, dst.dtype, true) == ComputeType::f32)
      plan.attribute_values_ = expand_attributes<float>(attributes, dims, steps);
    else
      plan.wide_attribute_values_ = expand_attributes<double>(attributes, dims, steps);
  }
  if (plan.indexed()) plan.indexed_ = indexed_dims(src.layout, dst.layout, attributes, plan.attribute_steps_, dims);
  plan.bytes_ = plan.moved_bytes();
  plan.streams_ = tuning.stream == Tuning::Stream::always ||
                  (tuning.stream == Tuning::Stream::by_size && plan.exceeds(shares(machine).lines, machine) &&
                   (plan.exceeds(shares(machine).runs, machine) || plan.indexed() || divides_evenly(src, dst)));
  if (plan.fills_padding() || plan.fills_missing()) {
    const uint64_t element = padding_bits(attributes.padding.value, dst.dtype);
    const auto byte = byte_of_equal(dst.dtype, element);
    plan.fill_bits_ = byte ? *byte : element;
  }
  plan.choose_way(tuning);
  plan.fetch_ahead(machine);
  plan.write_padding_past_cache(machine, tuning);
  plan.one_strided_block_ = plan.boxes_.size() == 1 && plan.fills_.empty() && plan.boxes_[0].strided &&
                            !plan.boxes_[0].as<PermutedRows>() && plan.boxes_[0].blocks == 1;
  for (Table& table : plan.tables_) {
    for (const Operand side : {kSrc, kDst}) {
      const int64_t by = units(side == kSrc ? src.dtype : dst.dtype);
      if (by > 1) table.change(side, [by](int64_t offset) { return offset * by; });
    }
  }
  plan.indexed_ = {};
  return made;
}

int64_t PlanData::moved_bytes() const {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  if (!indexed()) return checked_add(src_.span_bytes(), dst_.span_bytes()).value_or(kMost);
  // A part of either side may be much less than all of it.
  const auto bits_moved = checked_mul(*checked_product(dims_), int64_t{bits(src_.dtype) + bits(dst_.dtype)});
  return bits_moved.value_or(kMost) / 8;
}

bool PlanData::exceeds(int64_t eighths, const Machine& machine) const {
  return bytes_ > machine.l3_share() / 8 * eighths;
}

void PlanData::fetch_ahead(const Machine& machine) {
  if (streams_) return;
  const bool next_blocks = exceeds(shares(machine).fetched, machine);
  const bool next_lines = machine.slow_shared_l3() && bytes_ > machine.l1;
  for (BoxPlan& box : boxes_) {
    if (auto* tiles = box.as<RegisterTiles>(); tiles && next_blocks) fetch_next_block(box, *tiles);
    if (auto* transposition = box.as<Transposition>(); transposition && next_lines)
      fetch_next_lines(box, *transposition, bytes_ > machine.l2 / 2 * kFetchHalves);
  }
}

void PlanData::write_padding_past_cache(const Machine& machine, const Tuning& tuning) {
  if (tuning.stream == Tuning::Stream::never ||
      (tuning.stream == Tuning::Stream::by_size && !exceeds(shares(machine).runs, machine)))
    return;
  for (BoxPlan& fill : fills_) fill.as<Fill>()->past_cache = fills_lines(fill, *fill.as<Fill>());
}

void PlanData::add_box(Box box, const BoxPlanner& planner) {
  const bool whole_bytes = bits(src_.dtype) >= 8;
  if (!streams_ && !converts_ && whole_bytes)
    return plan_cached_moves(std::move(box), bits(src_.dtype) / 8, planner.rules, boxes_);
  auto left = !converts_ && whole_bytes ? cut_for_tiles(box, bits(src_.dtype) / 8) : std::nullopt;
  boxes_.push_back(planner.move_simple(std::move(box), streams_));
  if (left) boxes_.push_back(planner.move(*std::move(left), streams_));
}

uint32_t PlanData::plan_boxes(const Machine& machine, const Tuning& tuning) {
  const BlockRules rules{machine, tuning};
  BoxPlanner planner = this->planner(rules);
  if (indexed()) return plan_indexed(planner);
  const bool even = streams_ && divides_evenly(src_, dst_);
  const CacheShares& from = shares(machine);
  const int64_t eighth = machine.l3_share() / 8;
  const int64_t limit = eighth * (!even ? from.boxes : apart_by_lines(dst_) ? from.lines : from.runs);
  const auto fits = [&](const BoxPlan& most) { return bytes_ <= limit && !by_permuted_lines(most); };
  // What explain() names is the limit that decided. Plans of at most `limit` bytes are written past the cache only if
  // their lines are made by byte permutations (`fits`), and for these the limit of make() decided, which is no higher.
  if (tuning.stream == Tuning::Stream::by_size)
    stream_limit_ = bytes_ > limit ? limit : eighth * (even ? from.lines : from.runs);
  if (streams_ && !even && !swizzled()) {
    auto tiled = plan_tiles(src_.layout, dst_.layout, attribute_steps_, planner, tables_);
    // Tiles take time, but save reading the destination's lines. Where that gains nothing, each box is moved by itself,
    // through the cache.
    const BoxPlan* most = tiled ? &*std::ranges::max_element(tiled->boxes, {}, &BoxPlan::elements) : nullptr;
    const bool loses =
        tiled && (loses_past_cache(*tiled, src_, dst_, machine) || loses_past_cache(*most) || fits(*most));
    if (tiled && (!loses || tuning.stream == Tuning::Stream::always)) {
      boxes_ = std::move(tiled->boxes);
      fills_ = std::move(tiled->fills);
      return tiled->filled;
    }
    if (tiled) streams_ = planner.streams = false;
    tables_.clear();
  }
  const Dims zero(src_.layout.ndims(), 0), moved = moved_dims(false);
  const auto [end, rest] = past_source(moved);
  auto boxes = refined(zero, end);
  if (!(rest == moved)) {
    for (Box& box : refined(rest, moved)) boxes.push_back(std::move(box));
  }
  boxes_.reserve(boxes.size());
  for (Box& box : boxes) add_box(std::move(box), planner);
  const BoxPlan& most = *std::ranges::max_element(boxes_, {}, &BoxPlan::elements);
  if (streams_ && tuning.stream == Tuning::Stream::by_size && (fits(most) || (!converts_ && loses_past_cache(most)))) {
    streams_ = false;
    boxes_.clear();
    tables_.clear();
    return plan_boxes(machine, tuning);
  }
  return 0;
}

uint32_t PlanData::plan_indexed(const BoxPlanner& planner) {
  auto boxes = refined({}, {});
  std::vector<bool> joined;  // to bytes
  for (Box& box : boxes)
    joined.push_back(bits(src_.dtype) < 8 && !converts_ && join_to_bytes(box, bits(src_.dtype), &tables_));
  const auto plan = [&] {
    boxes_.clear();
    for (std::size_t b = 0; b < boxes.size(); ++b)
      boxes_.push_back(joined[b] ? plan_move(boxes[b], src_.dtype, streams_, planner.rules)
                                 : planner.move_simple(boxes[b], streams_));
  };
  plan();
  if (!boxes_.empty() && streams_ && planner.rules.tuning.stream == Tuning::Stream::by_size &&
      loses_past_cache(*std::ranges::max_element(boxes_, {}, &BoxPlan::elements))) {
    streams_ = false;
    plan();
  }
  // What lies in the second level need not be fetched.
  for (BoxPlan& box : boxes_) {
    if (box.along_src.axes[0].listed && std::max(src_.span_bytes(), dst_.span_bytes()) > machine_.l2)
      box.list_ahead = kListAhead;
  }
  return 0;
}

Dims PlanData::moved_dims(bool past_source) const {
  Dims moved = src_.layout.dims();
  const bool packed = bits(src_.dtype) < 8 || bits(dst_.dtype) < 8;
  if (converts_ || packed || swizzled() || attributes_.padding.kind != Padding::Kind::value) return moved;
  for (int d = 0; d < moved.size(); ++d) {
    const int64_t capacity = dst_.layout.capacity(d), extent = moved[d];
    const int64_t most = past_source ? capacity : std::min(src_.layout.capacity(d), capacity);
    if (most <= extent) continue;
    const Layout src = src_.layout.canonical(), dst = dst_.layout.canonical();
    const DimRefiner refiner(src, dst, d, {}, 0, extent);
    // One more range of indices takes about a quarter of the time that the largest takes, mostly for lines that are
    // read once more.
    constexpr double kRange = 0.25;
    double least = 1 + kRange * static_cast<double>(refiner.ranges() - 1);
    for (const Level& level : refiner.levels()) {
      const int64_t end = ceil_div(extent, level.place) * level.place;
      if (end > most) continue;
      double time = static_cast<double>(end) / static_cast<double>(extent) - kRange;
      refiner.cut(0, end, [&](int64_t, std::size_t, int64_t) { time += kRange; });
      if (end > src_.layout.capacity(d)) time *= kPastCost;
      if (time >= least) continue;
      least = time;
      moved[d] = end;
    }
  }
  return moved;
}

std::pair<Dims, Dims> PlanData::past_source(const Dims& moved) const {
  const std::pair<Dims, Dims> none{moved, moved};
  // For larger elements, separate boxes for the tails take no longer than moving the additional elements.
  if ((bits(src_.dtype) != 8 && bits(src_.dtype) != 16) || streams_ || dst_.span_bytes() < kMinReadPast ||
      !dst_.layout.padded())
    return none;
  Dims end = moved_dims(true), rest = moved;
  if (end == moved || !readable(src_.layout)) return none;
  const Layout src = src_.layout.canonical(), dst = dst_.layout.canonical();
  int64_t over = src.offset0() - (src_.layout.span() - 1);
  for (int d = 0; d < end.size(); ++d) over += largest_offset(src, d, end[d]);
  if (over <= 0) return {end, moved};
  // Only the last step of some dim can read past the end of the memory. So the last step of one dim is left out: of the
  // dim with the largest steps in the source.
  int last = -1;
  int64_t cut = 0, farthest = 0;
  for (int d = 0; d < end.size(); ++d) {
    if (end[d] != moved[d] || end[d] > src_.layout.capacity(d)) continue;
    const DimRefiner refiner(src, dst, d, {}, 0, moved[d]);
    const Level& top = refiner.levels().back();
    const int64_t before = (moved[d] - 1) / top.place * top.place;
    if (!top.affine || (moved[d] - before) * kRestShare > moved[d]) continue;
    const Offsets step = refiner.at(top.place);
    if (largest_offset(src, d, moved[d]) - largest_offset(src, d, before) < over || step[kSrc] <= farthest ||
        step[kSrc] < kRowBytes || std::abs(step[kDst]) < kRowBytes)
      continue;
    last = d;
    cut = before;
    farthest = step[kSrc];
  }
  if (last < 0) return none;
  end[last] = cut;
  rest = Dims(end.size(), 0);
  rest[last] = cut;
  return {end, rest};
}

void PlanData::plan_fills(uint32_t filled) {
  std::vector<Box> boxes;
  if (fills_padding()) boxes = refine_padding(dst_.layout, filled, tables_);
  if (fills_missing()) {
    for (Box& box : refine_missing(dst_.layout, dims_, indexed_, tables_)) boxes.push_back(std::move(box));
  }
  for (Box& box : boxes) {
    scale(box, units(dst_.dtype), units(dst_.dtype));
    simplify(box);
    fills_.push_back(plan_fill(std::move(box), dst_.dtype, fill_bits_));
  }
}

std::string PlanData::kernel() const {
  if (boxes_.empty()) return "none";
  const BoxPlan& box = *std::ranges::max_element(boxes_, {}, &BoxPlan::elements);
  if (const auto* lines = box.as<ProgrammedLines>()) return "lines " + std::to_string(lines->program->width);
  return std::string(name(box.shape())) + " " + std::to_string(box.piece[kSrc]) + (converts_ ? " convert" : "") +
         (streams_ ? " stream" : "");
}

}  // namespace relayout
