// Candidates, from the whole reorder to one box, and the choice among them.
#include "relayout/reorder/planner/planner.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "relayout/reorder/boxes/methods/stages.h"
#include "relayout/reorder/boxes/methods/tile_runs.h"
#include "relayout/reorder/boxes/moves.h"
#include "relayout/reorder/refine/refine_dim.h"
#include "relayout/reorder/refine/swizzled_boxes.h"
#include "relayout/reorder/request/shared_lines.h"

namespace relayout {

/// The cheapest of some answers.
class Least {
 public:
  explicit Least(const Request& request) : request_(request) {}

  /// Takes an answer if it costs less than `share` of the one before.
  void take(std::optional<Answer> other, double share = 1) {
    if (!other) return;
    const double ns = cost_of(request_, *other).nanoseconds;
    if (answer_ && ns >= share * ns_) return;
    answer_ = std::move(other);
    ns_ = ns;
  }

  /// Nanoseconds of the cheapest.
  double ns() const { return ns_; }
  bool empty() const { return !answer_; }
  const Answer& operator*() const { return *answer_; }
  Answer result() { return *std::move(answer_); }

 private:
  const Request& request_;
  std::optional<Answer> answer_;
  double ns_ = std::numeric_limits<double>::max();
};

namespace {

using Stream = Tuning::Stream;

/// Nanoseconds: a reorder that takes less is not worth planning stages for.
constexpr double kWorthStages = 1000;
/// The share of another way's price from which on stages are taken, as prices are often some percent off.
constexpr double kClearlyCheaper = 0.8;
/// Where the last level is slow and shared and both sides take more than kFetchHalves halves of the second level, all
/// strided transpositions fetch their next lines.
constexpr int64_t kFetchHalves = 3;
/// Bytes that rows are fetched ahead which lie where a table says.
constexpr int64_t kListAhead = 16 << 10;

Tuning any_way(Tuning tuning) {
  tuning.way = Tuning::Way::cheapest;
  return tuning;
}

/// Whether an answer is one box, without padding or tables.
bool simple(const Answer& answer) { return answer.boxes.size() == 1 && answer.fills.empty() && answer.tables.empty(); }

}  // namespace

Planner::Planner(const Request& request)
    : request_(request),
      types_{request.src.dtype, request.dst.dtype, request.attributes.arithmetic(), request.attributes.beta != 0},
      rules_{request.machine, request.tuning},
      inner_rules_{request.machine, any_way(request.tuning)},
      asked_for_(request.tuning.stream == Stream::always),
      past_cache_(asked_for_ || (request.tuning.stream == Stream::by_size && request.far())) {
  types_.each = value_ns(types_, request.machine);
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
  Least least(request_);
  if (way == Tuning::Way::stages || (open && packed)) {
    add_stages(least, 1);
    if (!least.empty()) return least.result();
  }
  if (way == Tuning::Way::lines && !request_.indexed()) {
    constexpr double kAny = std::numeric_limits<double>::max();
    if (!asked_for_) least.take(program(kAny, false));
    if (past_cache_) {
      least.take(lines_past_cache(kAny));
      least.take(program(kAny, true));
    }
    if (!least.empty()) return least.result();
  }
  if (request_.indexed()) {
    Tables tables;
    const std::vector<Box> boxes = request_.boxes(request_.dims, tables);
    if (!asked_for_) least.take(indexed_boxes(boxes, tables, false));
    if (past_cache_ && least_ns(request_, true) < least.ns()) least.take(indexed_boxes(boxes, tables, true));
    return least.result();
  }
  if (!asked_for_) least.take(each_box());
  const bool one = !least.empty() && simple(*least);
  // Stages gain nothing where runs are copied, or one box without tables is moved within the caches.
  const bool runs = one && ((*least).boxes[0].as<LongCopy>() || (*least).boxes[0].as<ConvertedRuns>());
  const bool others = open && !packed && !request_.tuning.cuts_blocks();
  const bool try_stages = !runs && (!one || past_cache_ || request_.converts);
  if (others && !one && !asked_for_) least.take(program(least.ns(), false));
  if (past_cache_ && least_ns(request_, true) < least.ns()) {
    add_past_cache(least);
    if (others && !runs) {
      least.take(lines_past_cache(least.ns()));
      if (!one) least.take(program(least.ns(), true));
    }
  }
  if (others && try_stages && least.ns() >= kWorthStages) add_stages(least, kClearlyCheaper);
  return least.result();
}

void Planner::add_past_cache(Least& least) const {
  if (!divides_evenly(request_.src, request_.dst) && !request_.swizzled()) {
    bool tiled = false;
    for (const bool by_lines : {false, true}) {
      if (by_lines && !permutes_bytes()) continue;
      auto answer = tiles(by_lines, least.ns());
      tiled = tiled || answer;
      least.take(std::move(answer));
    }
    if (tiled) return;
  }
  Answer answer = empty(true);
  add_boxes(answer);
  add_fills(answer, 0);
  least.take(std::move(answer));
}

void Planner::add_stages(Least& least, double share) const {
  // The cheaper of both is compared with the others.
  Least own(request_);
  if (!asked_for_ && least_ns(request_, false) < share * least.ns()) own.take(stages(false, share * least.ns()));
  if (past_cache_ && least_ns(request_, true) < std::min(own.ns(), share * least.ns()))
    own.take(stages(true, std::min(own.ns(), share * least.ns())));
  if (!own.empty()) least.take(own.result(), share);
}

std::optional<Answer> Planner::tiles(bool by_lines, double most_ns) const {
  Answer answer = empty(true);
  auto tiled = plan_tiles(request_.src.layout, request_.dst.layout, request_.steps, box_planner(answer, rules_),
                          by_lines, left_for_kernels(request_, true, most_ns), answer.tables);
  if (!tiled) return std::nullopt;
  answer.boxes = std::move(tiled->boxes);
  answer.fills = std::move(tiled->fills);
  add_fills(answer, tiled->filled);
  return answer;
}

Answer Planner::each_box() const {
  Answer answer;
  add_boxes(answer);
  add_fills(answer, 0);
  return answer;
}

void Planner::add_boxes(Answer& answer) const {
  const BoxPlanner planner = box_planner(answer, rules_);
  const int64_t element = bits(types_.src) / 8;
  const bool moves_bytes = !request_.converts && bits(types_.src) >= 8;
  auto boxes = request_.boxes(moved_dims(request_), answer.tables);
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

Answer Planner::indexed_boxes(const std::vector<Box>& boxes, const Tables& tables, bool past_cache) const {
  Answer answer = empty(past_cache);
  answer.tables = tables;
  const BoxPlanner planner = box_planner(answer, rules_);
  for (const Box& box : boxes) {
    const bool packed = bits(types_.src) < 8 && !request_.converts;
    auto as_bytes = packed ? planner.move_as_bytes(box, past_cache, &answer.tables) : std::nullopt;
    answer.boxes.push_back(as_bytes ? *std::move(as_bytes) : planner.move_simple(box, past_cache));
  }
  // What lies in the second level need not be fetched.
  const bool far = std::max(request_.src.span_bytes(), request_.dst.span_bytes()) > request_.machine.l2;
  for (BoxPlan& box : answer.boxes) {
    const Axes& axes = box.along_src.axes;  // stages have none
    if (far && !axes.empty() && axes[0].listed) box.list_ahead = kListAhead;
  }
  add_fills(answer, 0);
  return answer;
}

std::optional<Answer> Planner::lines_past_cache(double most_ns) const {
  if (!permutes_bytes()) return std::nullopt;
  Answer answer = empty(true);
  const BoxPlanner planner = box_planner(answer, rules_);
  const int64_t element = bits(types_.src) / 8;
  const LineRules rules{request_.machine, left_for_kernels(request_, true, most_ns), true};
  if (rules.most_ns <= 0) return std::nullopt;
  std::size_t programs = 0;
  for (Box& box : request_.boxes(moved_dims(request_), answer.tables)) {
    if (auto lines = plan_line_program(box, element, rules)) {
      ++programs;
      answer.boxes.emplace_back(*std::move(lines));
    } else {
      answer.boxes.push_back(planner.move_simple(std::move(box), true));
    }
  }
  // Boxes that share lines must all write them as a whole.
  if (programs == 0 || (programs < answer.boxes.size() && !divides_evenly(request_.src, request_.dst)))
    return std::nullopt;
  add_fills(answer, 0);
  return answer;
}

bool Planner::permutes_bytes() const {
  return !request_.converts && request_.machine.permuted_bytes > 0 && bits(types_.src) >= 8;
}

std::optional<Answer> Planner::program(double most_ns, bool past_cache) const {
  if (!permutes_bytes()) return std::nullopt;
  Answer answer = empty(past_cache);
  const TensorDesc &src = request_.src, &dst = request_.dst;
  const auto boxes = request_.boxes(src.layout.dims(), answer.tables);
  const bool fills = request_.fills_padding() && without_gaps(dst.layout) && request_.fill_bits == 0;
  const int64_t element = bits(src.dtype) / 8, padded = dst.layout.padded_elements();
  const Gaps gaps{{src.span_bytes(), dst.span_bytes()}, fills, 0, padded};
  const auto joined = join(boxes, {element, element}, gaps, answer.tables, false);
  if (!joined) return std::nullopt;
  auto plan = plan_line_program(*joined, element, fills ? ProgramFills::between : ProgramFills::nothing,
                                {request_.machine, left_for_kernels(request_, past_cache, most_ns), past_cache});
  if (!plan) return std::nullopt;
  const bool filled = fills && plan->method.written == padded * element;
  answer.boxes.emplace_back(*std::move(plan));
  if (!filled) add_fills(answer, 0);
  return answer;
}

std::optional<Answer> Planner::stages(bool past_cache, double most_ns) const {
  if (request_.swizzled() && !request_.indexed()) {
    if (auto answer = unswizzled(past_cache)) return answer;
  }
  Answer answer = empty(past_cache);
  const BoxPlanner planner = box_planner(answer, inner_rules_);
  const auto boxes = request_.boxes(request_.src.layout.dims(), answer.tables);
  // Sub-byte elements that can be joined to bytes are moved as bytes.
  const auto joins = [&](Box box) {
    return join_to_bytes(box, bits(types_.src), request_.indexed() ? &answer.tables : nullptr);
  };
  if (request_.packed() && !request_.converts && std::ranges::all_of(boxes, joins)) return std::nullopt;
  if (boxes.empty()) return std::nullopt;
  const bool fills = request_.fills_padding() && !request_.indexed() && without_gaps(request_.dst.layout);
  const Gaps gaps{planner.end, fills, request_.fill_bits, request_.dst.layout.padded_elements()};
  BlockRules rules = inner_rules_;
  rules.most_ns = left_for_kernels(request_, past_cache, most_ns);
  auto together = plan_stages(boxes, types_, request_.converts, answer.streams, gaps, answer.tables, rules);
  if (!together) return std::nullopt;
  const bool filled = together->as<Stages>()->fills;
  answer.boxes.push_back(*std::move(together));
  if (!filled) add_fills(answer, 0);
  return answer;
}

std::optional<Answer> Planner::unswizzled(bool past_cache) const {
  const std::array<Swizzle, 2> swizzles{request_.src.layout.swizzle(), request_.dst.layout.swizzle()};
  const std::array<int64_t, 2> size{units(types_.src), units(types_.dst)};
  Answer answer = empty(past_cache);
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

Answer Planner::empty(bool streams) const {
  Answer answer;
  answer.streams = streams;
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
  const bool next_blocks = request_.far();
  const bool next_lines = machine.slow_shared_l3() && request_.bytes > machine.l1;
  for (BoxPlan& box : answer.boxes) {
    if (auto* tiles = box.as<RegisterTiles>(); tiles && next_blocks) fetch_next_block(box, *tiles);
    if (auto* transposition = box.as<Transposition>(); transposition && next_lines)
      fetch_next_lines(box, *transposition, request_.bytes > machine.l2 / 2 * kFetchHalves);
  }
}

void Planner::write_padding_past_cache(Answer& answer) const {
  const Stream stream = request_.tuning.stream;
  if (stream == Stream::never || (!asked_for_ && !request_.far())) return;
  for (BoxPlan& fill : answer.fills) fill.as<Fill>()->past_cache = fills_lines(fill, *fill.as<Fill>());
}

}  // namespace relayout
