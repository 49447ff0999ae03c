// The ways to move a tensor (Tuning::Way), and which of them is the cheapest.
#include <algorithm>
#include <limits>
#include <utility>

#include "relayout/reorder/methods/line_program.h"
#include "relayout/reorder/methods/stages.h"
#include "relayout/reorder/past_cache.h"
#include "relayout/reorder/plan_data.h"
#include "relayout/reorder/planner.h"
#include "relayout/reorder/refine.h"
#include "relayout/reorder/refine_dim.h"
#include "relayout/reorder/swizzled_boxes.h"

namespace relayout {
namespace {

/// The share of another way's price from which on stages are taken. Prices of what moves bits are often a quarter off;
/// of what converts, most is the same both ways.
constexpr double kClearlyCheaper = 0.75, kCheaperToConvert = 0.9;
/// Nanoseconds: a reorder that takes less is not worth planning stages for.
constexpr double kWorthStages = 1000;
/// Nanoseconds: a reorder of several boxes that takes less is not worth planning one line program for all of them.
constexpr double kWorthProgram = 300;

}  // namespace

void PlanData::choose_way(const Tuning& tuning) {
  const bool packed = bits(src_.dtype) < 8 || bits(dst_.dtype) < 8;
  const bool open = tuning.way == Tuning::Way::cheapest;
  if ((tuning.way == Tuning::Way::stages || (open && packed)) && plan_together(tuning)) return;
  if (tuning.way == Tuning::Way::lines && !indexed() && tuning.stream != Tuning::Stream::always &&
      plan_program(tuning, std::numeric_limits<double>::max()))
    return;
  plan_each(tuning);
  if (!open || packed || indexed()) return;
  double least = cost().nanoseconds;
  // Stages gain nothing where one box without tables is moved within the caches, or runs are copied.
  const bool one = boxes_.size() == 1, simple = one && fills_.empty() && tables_.empty();
  const bool runs = one && (boxes_[0].as<LongCopy>() || boxes_[0].as<ConvertedRuns>());
  const bool stages = least >= kWorthStages && (!simple || streams_ || converts_) && !runs;
  if (!simple && !streams_ && least >= kWorthProgram) {
    PlanData other = anew();
    if (other.plan_program(tuning, least)) {
      take(std::move(other));
      least = cost().nanoseconds;
    }
  }
  const double limit = (converts_ ? kCheaperToConvert : kClearlyCheaper) * least;
  if (!stages || (streams_ && limit < least_staged_ns())) return;
  PlanData other = anew();
  if (other.plan_together(tuning) && other.cost().nanoseconds < limit) take(std::move(other));
}

PlanData PlanData::anew() const {
  PlanData out(src_, dst_, attributes_);
  out.converts_ = converts_;
  out.streams_ = streams_;
  out.machine_ = machine_;
  out.attribute_steps_ = attribute_steps_;
  out.fill_bits_ = fill_bits_;
  out.bytes_ = bytes_;
  out.dims_ = dims_;
  return out;
}

void PlanData::take(PlanData&& other) {
  std::swap(boxes_, other.boxes_);
  std::swap(fills_, other.fills_);
  std::swap(tables_, other.tables_);
  streams_ = other.streams_;
  stream_limit_ = other.stream_limit_;
}

bool PlanData::plan_program(const Tuning& tuning, double most_ns) {
  if (converts_ || machine_.permuted_bytes == 0 || bits(src_.dtype) < 8) return false;
  const auto boxes = refined(Dims(src_.layout.ndims(), 0), src_.layout.dims());
  const bool fills = fills_padding() && without_gaps(dst_.layout) && fill_bits_ == 0;
  const int64_t element = bits(src_.dtype) / 8, padded = dst_.layout.padded_elements();
  const Gaps gaps{{src_.span_bytes(), dst_.span_bytes()}, fills, 0, padded};
  const auto joined = join(boxes, {element, element}, gaps, tables_, false);
  auto program = joined ? plan_line_program(*joined, element, fills, machine_, most_ns) : std::nullopt;
  if (!program) {
    tables_.clear();
    return false;
  }
  const bool filled = fills && program->method.written == padded * element;
  const bool streams = std::exchange(streams_, false);
  boxes_.emplace_back(*std::move(program));
  if (!filled && fills_padding()) plan_fills(0);
  if (tuning.way == Tuning::Way::lines || cost().nanoseconds < most_ns) return true;
  boxes_.clear();
  fills_.clear();
  tables_.clear();
  streams_ = streams;
  return false;
}

bool PlanData::plan_unswizzled(const Tuning& tuning) {
  const int64_t limit = machine_.l3_share() / 8 * shares(machine_).lines;
  const std::array<Swizzle, 2> swizzles{src_.layout.swizzle(), dst_.layout.swizzle()};
  const std::array<int64_t, 2> size{units(src_.dtype), units(dst_.dtype)};
  const bool streams =
      tuning.stream == Tuning::Stream::always || (tuning.stream == Tuning::Stream::by_size && bytes_ > limit);
  Tuning cheapest = tuning;
  cheapest.way = Tuning::Way::cheapest;
  const BlockRules rules{machine_, cheapest};
  const bool before = std::exchange(streams_, streams);
  const BoxPlanner planner = this->planner(rules);
  const auto whole = refine(src_.layout.plain(), dst_.layout.plain(), attribute_steps_, Dims(src_.layout.ndims(), 0),
                            src_.layout.dims(), tables_);
  bool any = false;
  std::vector<Box> boxes = in_whole_periods(whole, swizzles);
  for (Box& box : boxes) {
    Box staged = box;
    scale(staged, size[kSrc], size[kDst]);
    simplify(staged);
    auto plan = plan_swizzled_stages(staged, swizzles, planner.types, converts_, streams, {planner.end, false}, rules);
    if (plan) {
      any = true;
      boxes_.push_back(*std::move(plan));
      continue;
    }
    std::vector<Box> few{std::move(box)};
    for (const Operand side : {kSrc, kDst})
      few = relayout::swizzled(std::move(few), side, swizzles[side], {kMaxBoxes, kMaxTableEntries}, tables_);
    for (Box& one : few) {
      scale(one, size[kSrc], size[kDst]);
      boxes_.push_back(planner.move(std::move(one), streams));
    }
  }
  if (!any) {
    boxes_.clear();
    tables_.clear();
    streams_ = before;
    return false;
  }
  stream_limit_ = tuning.stream == Tuning::Stream::by_size ? limit : 0;
  if (fills_padding()) plan_fills(0);
  return true;
}

bool PlanData::plan_together(const Tuning& tuning) {
  if (swizzled() && !indexed() && plan_unswizzled(tuning)) return true;
  const int64_t limit = machine_.l3_share() / 8 * shares(machine_).lines;
  const bool streams =
      tuning.stream == Tuning::Stream::always || (tuning.stream == Tuning::Stream::by_size && bytes_ > limit);
  Tuning cheapest = tuning;
  cheapest.way = Tuning::Way::cheapest;
  const BlockRules rules{machine_, cheapest};
  const BoxPlanner planner = this->planner(rules);
  const auto boxes = refined(Dims(src_.layout.ndims(), 0), src_.layout.dims());
  // Sub-byte elements that can be joined to bytes are moved as bytes.
  const bool packed = bits(src_.dtype) < 8 || bits(dst_.dtype) < 8;
  const auto joins = [&](Box box) { return join_to_bytes(box, bits(src_.dtype), indexed() ? &tables_ : nullptr); };
  if (packed && !converts_ && std::ranges::all_of(boxes, joins)) {
    tables_.clear();
    return false;
  }
  const bool fills = fills_padding() && !indexed() && without_gaps(dst_.layout);
  const Gaps gaps{planner.end, fills, fill_bits_, dst_.layout.padded_elements()};
  auto together =
      boxes.empty() ? std::nullopt : plan_stages(boxes, planner.types, converts_, streams, gaps, tables_, rules);
  if (!together) {
    tables_.clear();
    return false;
  }
  streams_ = streams;
  stream_limit_ = tuning.stream == Tuning::Stream::by_size ? limit : 0;
  const bool filled = together->as<Stages>()->fills;
  boxes_.push_back(*std::move(together));
  if (!filled && (fills_padding() || fills_missing())) plan_fills(0);
  return true;
}

void PlanData::plan_each(const Tuning& tuning) {
  const uint32_t filled = plan_boxes(machine_, tuning);
  if (fills_padding() || fills_missing()) plan_fills(filled);
}

BoxPlanner PlanData::planner(const BlockRules& rules) const {
  ConvertedTypes types{src_.dtype, dst_.dtype, attributes_.arithmetic(), attributes_.beta != 0};
  types.each = value_ns(types, rules.machine);
  return {types,
          converts_,
          streams_,
          fills_padding() ? std::optional(fill_bits_) : std::nullopt,
          rules,
          tables_,
          {src_.layout.span() * units(src_.dtype), dst_.layout.span() * units(dst_.dtype)}};
}

std::vector<Box> PlanData::refined(const Dims& begin, const Dims& end) {
  auto boxes = indexed() ? refine_indexed(src_.layout, dst_.layout, attribute_steps_, dims_, indexed_, tables_)
                         : refine(src_.layout, dst_.layout, attribute_steps_, begin, end, tables_);
  for (Box& box : boxes) {
    scale(box, units(src_.dtype), units(dst_.dtype));
    simplify(box);
  }
  return boxes;
}

}  // namespace relayout
