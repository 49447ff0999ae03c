// Candidates, from the whole reorder to one box, and the choice among them.
#include "relayout/reorder/planner.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "relayout/reorder/cached_price.h"
#include "relayout/reorder/methods/stages.h"
#include "relayout/reorder/methods/tile_runs.h"
#include "relayout/reorder/moves.h"
#include "relayout/reorder/past_cache.h"
#include "relayout/reorder/refine/refine_dim.h"
#include "relayout/reorder/refine/swizzled_boxes.h"

namespace relayout {
namespace {

using Stream = Tuning::Stream;

/// The share of another way's price from which on stages are taken. Prices of what moves bits are often a quarter off;
/// of what converts, most is the same both ways.
constexpr double kClearlyCheaper = 0.75, kCheaperToConvert = 0.9;
/// Nanoseconds: a reorder that takes less is not worth planning stages for.
constexpr double kWorthStages = 1000;
/// Nanoseconds: a reorder of several boxes that takes less is not worth planning one line program for all of them.
constexpr double kWorthProgram = 300;
/// Beyond the caches, what is written through them takes up to so many times as long as its price says, because the
/// destination's lines are read first.
constexpr double kReadFirst = 1.3;
/// Where the last level is slow and shared and both sides take more than kFetchHalves halves of the second level, all
/// strided transpositions fetch their next lines.
constexpr int64_t kFetchHalves = 3;
/// Bytes that rows are fetched ahead which lie where a table says.
constexpr int64_t kListAhead = 16 << 10;

const BoxPlan& largest(const std::vector<BoxPlan>& boxes) {
  return *std::ranges::max_element(boxes, {}, &BoxPlan::elements);
}

Tuning any_way(Tuning tuning) {
  tuning.way = Tuning::Way::cheapest;
  return tuning;
}

}  // namespace

Planner::Planner(const Request& request)
    : request_(request),
      types_{request.src.dtype, request.dst.dtype, request.attributes.arithmetic(), request.attributes.beta != 0},
      rules_{request.machine, request.tuning},
      inner_rules_{request.machine, any_way(request.tuning)},
      forced_(request.tuning.stream == Stream::always) {
  types_.each = value_ns(types_, request.machine);
  const CacheShares& from = shares(request.machine);
  const int64_t eighth = request.machine.l3_share() / 8;
  stages_limit_ = eighth * from.lines;
  if (!forced_ && (request.tuning.stream == Stream::never || !request.exceeds(from.lines))) return;
  const bool even = request.indexed() || divides_evenly(request.src, request.dst);
  beyond_caches_ = forced_ || even || request.exceeds(from.runs);
  shared_lines_ = !even;
  limit_ = eighth * (shared_lines_ ? from.boxes : apart_by_lines(request.dst) ? from.lines : from.runs);
  told_limit_ = request.bytes > limit_ ? limit_ : eighth * (shared_lines_ ? from.runs : from.lines);
}

Answer Planner::best() const {
  Answer answer = cheapest();
  fetch_ahead(answer);
  write_padding_past_cache(answer);
  for (Table& table : answer.tables) {
    for (const Operand side : {kSrc, kDst}) {
      const int64_t by = units(side == kSrc ? types_.src : types_.dst);
      if (by > 1) table.change(side, [by](int64_t offset) { return offset * by; });
    }
  }
  return answer;
}

Answer Planner::cheapest() const {
  const Tuning::Way way = request_.tuning.way;
  const bool open = way == Tuning::Way::cheapest, packed = request_.packed();
  if (way == Tuning::Way::stages || (open && packed)) {
    if (auto answer = stages()) return *std::move(answer);
  }
  if (way == Tuning::Way::lines && !request_.indexed() && !forced_) {
    if (auto answer = program(std::numeric_limits<double>::max(), false)) return *std::move(answer);
  }
  Answer least = boxes();
  if (!open || packed || request_.indexed()) return least;
  double ns = cost_of(request_, least).nanoseconds;
  const bool one = least.boxes.size() == 1, simple = one && least.fills.empty() && least.tables.empty();
  // Stages gain nothing where one box without tables is moved within the caches, or runs are copied.
  const bool runs = one && (least.boxes[0].as<LongCopy>() || least.boxes[0].as<ConvertedRuns>());
  const bool try_stages = ns >= kWorthStages && (!simple || least.streams || request_.converts) && !runs;
  const auto take = [&](std::optional<Answer> other, double most_ns) {
    if (!other) return;
    const double other_ns = cost_of(request_, *other).nanoseconds;
    if (other_ns >= most_ns) return;
    least = *std::move(other);
    ns = other_ns;
  };
  if (!simple && !least.streams && ns >= kWorthProgram) take(program(ns, false), ns);
  if (beyond_caches_) {
    const double least_ns = least_lines_ns(request_);
    const auto most_ns = [&] { return least.streams ? ns : kReadFirst * ns; };
    if (least_ns < most_ns()) take(lines_past_cache(most_ns()), most_ns());
    if (!simple && least_ns < most_ns()) take(program(most_ns(), true), most_ns());
  }
  const double limit = (request_.converts ? kCheaperToConvert : kClearlyCheaper) * ns;
  if (!try_stages || (least.streams && limit < least_staged_ns(request_))) return least;
  auto other = stages();
  return other && cost_of(request_, *other).nanoseconds < limit ? *std::move(other) : least;
}

Answer Planner::boxes() const {
  if (request_.indexed()) return indexed_boxes();
  if (!beyond_caches_) return each_box();
  // Plans of at most `limit_` bytes are written past the cache only by line programs.
  const auto fits = [&](const BoxPlan& most) { return request_.bytes <= limit_ && !by_line_programs(most); };
  Answer answer = empty(true, told_limit_);
  if (shared_lines_ && !request_.swizzled()) {
    auto tiled = plan_tiles(request_.src.layout, request_.dst.layout, request_.steps, box_planner(answer, rules_),
                            answer.tables);
    if (tiled) {
      // Tiles take time, but save reading the destination's lines. Where that gains nothing, each box is moved by
      // itself, through the cache.
      const BoxPlan& most = largest(tiled->boxes);
      const bool loses = loses_past_cache(*tiled, request_.src, request_.dst, request_.machine) ||
                         loses_past_cache(most) || fits(most);
      if (loses && !forced_) return each_box();
      answer.boxes = std::move(tiled->boxes);
      answer.fills = std::move(tiled->fills);
      add_fills(answer, tiled->filled);
      return answer;
    }
    answer.tables.clear();
  }
  const Dims dims = moved_dims(request_, false);
  add_boxes(answer, Dims(dims.size(), 0), dims);
  const BoxPlan& most = largest(answer.boxes);
  if (!forced_ && (fits(most) || (!request_.converts && loses_past_cache(most)))) return each_box();
  add_fills(answer, 0);
  return answer;
}

Answer Planner::each_box() const {
  Answer answer;
  const Dims moved = moved_dims(request_, false);
  const auto [end, rest] = past_source(request_, moved);
  add_boxes(answer, Dims(moved.size(), 0), end);
  if (!(rest == moved)) add_boxes(answer, rest, moved);
  add_fills(answer, 0);
  return answer;
}

void Planner::add_boxes(Answer& answer, const Dims& begin, const Dims& end) const {
  const BoxPlanner planner = box_planner(answer, rules_);
  const int64_t element = bits(types_.src) / 8;
  const bool moves_bytes = !request_.converts && bits(types_.src) >= 8;
  auto boxes = request_.boxes(begin, end, answer.tables);
  answer.boxes.reserve(answer.boxes.size() + boxes.size());
  for (Box& box : boxes) {
    if (moves_bytes && !answer.streams) {
      plan_cached_moves(std::move(box), element, rules_, answer.boxes);
      continue;
    }
    auto left = moves_bytes ? cut_for_tiles(box, element) : std::nullopt;
    answer.boxes.push_back(planner.move_simple(std::move(box), answer.streams));
    if (left) answer.boxes.push_back(planner.move(*std::move(left), answer.streams));
  }
}

Answer Planner::indexed_boxes() const {
  Tables tables;
  auto boxes = request_.boxes({}, {}, tables);
  std::vector<bool> joined;  // to bytes
  for (Box& box : boxes)
    joined.push_back(bits(types_.src) < 8 && !request_.converts && join_to_bytes(box, bits(types_.src), &tables));
  const auto planned = [&](bool streams) {
    Answer answer = empty(streams, stages_limit_);
    answer.tables = tables;
    const BoxPlanner planner = box_planner(answer, rules_);
    for (std::size_t b = 0; b < boxes.size(); ++b)
      answer.boxes.push_back(joined[b] ? plan_move(boxes[b], types_.src, streams, rules_)
                                       : planner.move_simple(boxes[b], streams));
    return answer;
  };
  Answer answer = planned(beyond_caches_);
  if (!answer.boxes.empty() && answer.streams && !forced_ && loses_past_cache(largest(answer.boxes)))
    answer = planned(false);
  // What lies in the second level need not be fetched.
  const bool far = std::max(request_.src.span_bytes(), request_.dst.span_bytes()) > request_.machine.l2;
  for (BoxPlan& box : answer.boxes) {
    if (box.along_src.axes[0].listed && far) box.list_ahead = kListAhead;
  }
  add_fills(answer, 0);
  return answer;
}

std::optional<Answer> Planner::lines_past_cache(double most_ns) const {
  if (!permutes_bytes()) return std::nullopt;
  Answer answer = empty(true, told_limit_);
  const BoxPlanner planner = box_planner(answer, rules_);
  const int64_t element = bits(types_.src) / 8;
  const LineRules rules{request_.machine, most_ns, true};
  const Dims moved = moved_dims(request_, false);
  std::size_t programs = 0;
  for (Box& box : request_.boxes(Dims(moved.size(), 0), moved, answer.tables)) {
    if (auto lines = plan_line_program(box, element, rules)) {
      ++programs;
      answer.boxes.emplace_back(*std::move(lines));
    } else {
      answer.boxes.push_back(planner.move_simple(std::move(box), true));
    }
  }
  // Boxes that share lines must all write them as a whole.
  if (programs == 0 || (shared_lines_ && programs < answer.boxes.size())) return std::nullopt;
  add_fills(answer, 0);
  return answer;
}

bool Planner::permutes_bytes() const {
  return !request_.converts && request_.machine.permuted_bytes > 0 && bits(types_.src) >= 8;
}

std::optional<Answer> Planner::program(double most_ns, bool past_cache) const {
  if (!permutes_bytes()) return std::nullopt;
  Answer answer = empty(past_cache, told_limit_);
  const TensorDesc &src = request_.src, &dst = request_.dst;
  const auto boxes = request_.boxes(Dims(src.layout.ndims(), 0), src.layout.dims(), answer.tables);
  const bool fills = request_.fills_padding() && without_gaps(dst.layout) && request_.fill_bits == 0;
  const int64_t element = bits(src.dtype) / 8, padded = dst.layout.padded_elements();
  const Gaps gaps{{src.span_bytes(), dst.span_bytes()}, fills, 0, padded};
  const auto joined = join(boxes, {element, element}, gaps, answer.tables, false);
  if (!joined) return std::nullopt;
  auto plan = plan_line_program(*joined, element, fills ? ProgramFills::between : ProgramFills::nothing,
                                {request_.machine, most_ns, past_cache});
  if (!plan) return std::nullopt;
  const bool filled = fills && plan->method.written == padded * element;
  answer.boxes.emplace_back(*std::move(plan));
  if (!filled) add_fills(answer, 0);
  const bool asked_for = request_.tuning.way == Tuning::Way::lines;
  if (!asked_for && cost_of(request_, answer).nanoseconds >= most_ns) return std::nullopt;
  return answer;
}

std::optional<Answer> Planner::stages() const {
  if (request_.swizzled() && !request_.indexed()) {
    if (auto answer = unswizzled()) return answer;
  }
  Answer answer = staged();
  const BoxPlanner planner = box_planner(answer, inner_rules_);
  const auto boxes = request_.boxes(Dims(request_.src.layout.ndims(), 0), request_.src.layout.dims(), answer.tables);
  // Sub-byte elements that can be joined to bytes are moved as bytes.
  const auto joins = [&](Box box) {
    return join_to_bytes(box, bits(types_.src), request_.indexed() ? &answer.tables : nullptr);
  };
  if (request_.packed() && !request_.converts && std::ranges::all_of(boxes, joins)) return std::nullopt;
  if (boxes.empty()) return std::nullopt;
  const bool fills = request_.fills_padding() && !request_.indexed() && without_gaps(request_.dst.layout);
  const Gaps gaps{planner.end, fills, request_.fill_bits, request_.dst.layout.padded_elements()};
  auto together = plan_stages(boxes, types_, request_.converts, answer.streams, gaps, answer.tables, inner_rules_);
  if (!together) return std::nullopt;
  const bool filled = together->as<Stages>()->fills;
  answer.boxes.push_back(*std::move(together));
  if (!filled) add_fills(answer, 0);
  return answer;
}

std::optional<Answer> Planner::unswizzled() const {
  const std::array<Swizzle, 2> swizzles{request_.src.layout.swizzle(), request_.dst.layout.swizzle()};
  const std::array<int64_t, 2> size{units(types_.src), units(types_.dst)};
  Answer answer = staged();
  const BoxPlanner planner = box_planner(answer, inner_rules_);
  const auto whole = refine(request_.src.layout.plain(), request_.dst.layout.plain(), request_.steps,
                            Dims(request_.src.layout.ndims(), 0), request_.src.layout.dims(), answer.tables);
  bool any = false;
  for (Box& box : in_whole_periods(whole, swizzles)) {
    Box staged = box;
    scale(staged, size[kSrc], size[kDst]);
    simplify(staged);
    if (auto plan = plan_swizzled_stages(staged, swizzles, types_, request_.converts, answer.streams,
                                         {planner.end, false}, inner_rules_)) {
      any = true;
      answer.boxes.push_back(*std::move(plan));
      continue;
    }
    std::vector<Box> few{std::move(box)};
    for (const Operand side : {kSrc, kDst})
      few = relayout::swizzled(std::move(few), side, swizzles[side], {kMaxBoxes, kMaxTableEntries}, answer.tables);
    for (Box& one : few) {
      scale(one, size[kSrc], size[kDst]);
      answer.boxes.push_back(planner.move(std::move(one), answer.streams));
    }
  }
  if (!any) return std::nullopt;
  add_fills(answer, 0);
  return answer;
}

Answer Planner::staged() const {
  const bool by_size = request_.tuning.stream == Stream::by_size;
  return empty(forced_ || (by_size && request_.bytes > stages_limit_), stages_limit_);
}

Answer Planner::empty(bool streams, int64_t limit) const {
  Answer answer;
  answer.streams = streams;
  answer.stream_limit = streams && !forced_ ? limit : 0;
  return answer;
}

BoxPlanner Planner::box_planner(const Answer& answer, const BlockRules& rules) const {
  return {types_,
          request_.converts,
          answer.streams,
          request_.fills_padding() ? std::optional(request_.fill_bits) : std::nullopt,
          rules,
          answer.tables,
          {request_.src.layout.span() * units(types_.src), request_.dst.layout.span() * units(types_.dst)}};
}

void Planner::add_fills(Answer& answer, uint32_t filled) const {
  for (Box& box : request_.padding(filled, answer.tables))
    answer.fills.push_back(plan_fill(std::move(box), types_.dst, request_.fill_bits));
}

void Planner::fetch_ahead(Answer& answer) const {
  if (answer.streams) return;
  const Machine& machine = request_.machine;
  const bool next_blocks = request_.exceeds(shares(machine).fetched);
  const bool next_lines = machine.slow_shared_l3() && request_.bytes > machine.l1;
  for (BoxPlan& box : answer.boxes) {
    if (auto* tiles = box.as<RegisterTiles>(); tiles && next_blocks) fetch_next_block(box, *tiles);
    if (auto* transposition = box.as<Transposition>(); transposition && next_lines)
      fetch_next_lines(box, *transposition, request_.bytes > machine.l2 / 2 * kFetchHalves);
  }
}

void Planner::write_padding_past_cache(Answer& answer) const {
  const Stream stream = request_.tuning.stream;
  if (stream == Stream::never || (!forced_ && !request_.exceeds(shares(request_.machine).runs))) return;
  for (BoxPlan& fill : answer.fills) fill.as<Fill>()->past_cache = fills_lines(fill, *fill.as<Fill>());
}

}  // namespace relayout
