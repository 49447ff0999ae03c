// What a plan is expected to take: what its boxes take in the first level (cached_price.h), and what memory and the
// caches beyond the first level take for their bytes. A box that is written past the caches takes the time in which
// memory reads and writes its bytes, times a factor for how it lies, or a share of that and its kernel's time,
// whichever is more. The numbers are in price.h.
#include <cmath>
#include <cstdlib>

#include "relayout/reorder/boxes/cached_price.h"
#include "relayout/reorder/boxes/methods/gather.h"
#include "relayout/reorder/boxes/methods/streamed_blocks.h"
#include "relayout/reorder/planner/answer.h"
#include "relayout/reorder/price.h"

namespace relayout {
namespace {

/// What is read and written.
struct Bytes {
  double from = 0, to = 0;
};

/// What memory and the caches take for a reorder's bytes.
class Memory {
 public:
  explicit Memory(const Request& request) : machine_(request.machine), prices_(prices_of(request.machine)) {
    const double src = number(request.src.span_bytes()), dst = number(request.dst.span_bytes());
    spread_ = std::min(price::kMostSpread, src / number(request.src.logical_bytes()));
    read_ = request.src.span_bytes() <= machine_.l3_share() ? prices_.read_l3 : prices_.read;
    const double both = src + dst;
    const Waits& waits = prices_.waits;
    if (both > number(machine_.l1)) waits_ += waits.beyond_first;
    if (both > number(machine_.l2)) waits_ += waits.beyond_second;
    if (both > number(machine_.far())) waits_ += waits.far_beyond;
    // Beyond all caches, the destination's lines are read before they are written.
    const double memory = (src * spread_ + dst) / read_ + dst / prices_.write;
    if (both > number(machine_.in_memory())) waits_ = std::max(waits_, memory / both);
  }

  const Prices& prices() const { return prices_; }
  /// The share of the source's bytes that are gaps between elements which are read with these.
  double gaps() const { return std::max(0.0, 1 - 1 / spread_); }
  /// Nanoseconds in which memory reads and writes a box that is written past the caches.
  double past(const Bytes& bytes) const { return bytes.from * spread_ / read_ + bytes.to / prices_.write; }
  /// The same where nothing is fetched ahead.
  double unfetched(const Bytes& bytes) const { return past({bytes.from / price::kUnfetched, bytes.to}); }
  /// Nanoseconds that bytes wait which are read and written through the caches.
  double through(const Bytes& bytes) const { return (bytes.from + bytes.to) * waits_; }

 private:
  const Machine& machine_;
  Prices prices_;
  double spread_ = 1, read_ = 0, waits_ = 0;
};

bool starts_anywhere(const Axes& axes, Operand side) {
  return std::ranges::any_of(axes, [&](const Axis& a) { return a.stride[side] % kCacheLine != 0; });
}

/// How many bytes the lines have that a box writes to, for each byte that it writes: other boxes write the rest.
double in_lines_of_others(const BoxPlan& box) {
  if (box.as<ProgrammedLines>() || box.as<Stages>() || box.as<Fill>()) return 1;
  const double unit = box.unit_bits[kDst] / 8.0;
  double bytes = box.sub_byte() ? unit : number(box.piece[kDst]), reach = bytes;
  for (const Axes* axes : {&box.along_src.axes, &box.along_dst.axes, &box.loops}) {
    for (const Axis& axis : *axes) {
      const double step = unit * number(std::abs(axis.stride[kDst]));
      if (axis.table >= 0 || step >= number(kCacheLine)) continue;
      bytes *= number(axis.extent);
      reach += step * number(axis.extent - 1);
    }
  }
  return std::max(1.0, std::ceil(reach / number(kCacheLine)) * number(kCacheLine) / bytes);
}

/// Whether most rows and most columns of a transposition lie in pages of their own, so that each needs an entry of the
/// TLB.
bool far_apart(const Loops& box) {
  return std::min(std::abs(box.along_src.axes[0].stride[kDst]), std::abs(box.along_dst.axes[0].stride[kSrc])) >=
         kPage / 2;
}

/// The pieces of a box.
double pieces_of(const BoxPlan& box) {
  return number(count_elements(box.loops)) * number(box.along_src.count) * number(box.along_dst.count);
}

/// Nanoseconds to reach the lines of a box through the caches that lie pages apart: of a transposition whose rows and
/// columns do, and of pieces that are read one by one.
double far_ns(const BoxPlan& box) {
  if (box.as<Gather>() || box.as<ConvertedElements>()) {
    const bool far = std::abs(box.along_dst.axes[0].stride[kSrc]) * box.unit_bits[kSrc] / 8 >= kPage / 2;
    return far && box.along_dst.block > price::kTlbEntries ? pieces_of(box) * price::kFarWide : 0;
  }
  if ((!box.as<Transposition>() && !box.as<ConvertedTransposition>()) || !far_apart(box) ||
      box.along_src.block + box.along_dst.block <= price::kTlbEntries)
    return 0;
  const int64_t piece = box.piece[kSrc] + box.piece[kDst];
  const double lines = pieces_of(box) * number(piece) / number(kCacheLine);
  return lines * (piece < 8 ? price::kFarNarrow : price::kFarWide);
}

/// How many times as long as its bytes alone a transposition takes that is written past the caches.
double transposed_past(const Loops& box) {
  const int64_t piece = std::min(box.piece[kSrc], box.piece[kDst]), row_bytes = box.bytes_along_dst();
  const int64_t row_step = std::abs(box.along_src.axes[0].stride[kDst]);
  double out = price::kPastCache;
  if (interleaves(box)) return out;
  const bool small = piece < 4, halves = row_bytes == kCacheLine / 2 && row_step == row_bytes;
  if ((starts_anywhere(box.along_src.axes, kDst) && !halves) || (small && starts_anywhere(box.along_dst.axes, kSrc)))
    out *= price::kAnywhere;
  else if (far_apart(box))
    out *= price::kFarApart;
  return small ? out * price::kSmallElements : out;
}

/// The same for any box.
double factor_past(const BoxPlan& box) {
  if (box.as<Transposition>() || box.as<ConvertedTransposition>()) return transposed_past(box);
  const bool pieces = box.as<CopiedPieces>() || box.as<ConvertedElements>();
  const int64_t piece = box.piece[kDst];
  return pieces && piece % kCacheLine != 0 && kCacheLine % piece != 0 ? price::kPastCache * price::kAnywhere
                                                                      : price::kPastCache;
}

/// Whether all steps of these axes start at lines of the destination, if the first one does, but those within a run.
bool in_lines(const Axes& axes, int64_t run = 0) {
  return std::ranges::all_of(axes, [run](const Axis& a) {
    return a.table < 0 && (a.stride[kDst] % kCacheLine == 0 || std::abs(a.stride[kDst]) < run);
  });
}

/// How many runs of the destination a box writes past the caches by themselves that share their first or last line with
/// others.
double shared_runs(const BoxPlan& box) {
  if (const auto* stages = box.as<Stages>()) {
    double moved = 0;
    for (const BoxPlan& move : stages->moves) moved += number(move.elements);
    return number(stages->out.count) * number(box.elements) / moved;
  }
  if (box.as<ProgrammedLines>() || box.as<Fill>()) return 0;
  const double regions = number(count_elements(box.loops));
  const int64_t row = box.bytes_along_dst(), rows = box.along_src.count;
  const auto* transposition = box.as<Transposition>();
  const auto* converted = box.as<ConvertedTransposition>();
  if ((transposition && transposition->joins) || (converted && converted->joins)) return regions;
  // Rows that follow each other are put together in the cache, a block of them at a time.
  if (run_of_rows(box) == row * rows || interleaves(box)) return number(box.blocks);
  const bool dense = box.along_dst.dense || box.long_runs;
  // Rows that are parts of lines fill them together, where they follow each other.
  const bool parts = dense && row >= kRegister && row < kCacheLine && kCacheLine % row == 0;
  const int64_t run = parts ? run_of_rows(box) : dense ? row : box.piece[kDst];
  const double runs = regions * number(rows) * number(row) / number(run);
  // A plan does not know where its arrays start. If they start at a line, as half of them do, such runs share none, and
  // boxes that are written past the cache only then do not share any.
  const bool whole = in_lines(box.loops) && in_lines(box.along_src.axes, run) &&
                     (dense || in_lines(box.along_dst.axes)) &&
                     (run % kCacheLine == 0 || (run >= kRegister && kCacheLine % run == 0));
  if (whole) return box.from_lines_only ? 0 : runs / 2;
  return runs;
}

/// Nanoseconds that a box written past the caches takes for parts of lines, beside its bytes.
double ends_ns(const BoxPlan& box) {
  if (box.as<ProgrammedLines>()) return price::kRegionEnds * number(count_elements(box.loops) * box.along_dst.count);
  return price::kSharedLine * shared_runs(box) + price::kPastBlock * number(box.blocks);
}

/// Whether a box reads its elements one by one.
bool one_by_one(const BoxPlan& box) {
  const bool elements = box.as<Gather>() || box.as<ConvertedElements>() || box.as<SubByte>();
  return elements && box.shape() == KernelShape::gather && reads_lines(box);
}

/// Adds up the cost of a plan, box by box.
class Price {
 public:
  Price(const Request& request, bool streams)
      : memory_(request),
        machine_(request.machine),
        streams_(streams),
        src_bytes_(bits(request.src.dtype) / 8.0),
        dst_bytes_(bits(request.dst.dtype) / 8.0),
        old_bytes_(request.attributes.beta != 0 ? dst_bytes_ : 0) {}

  /// Adds a box that is done `times` times. With `in_tile`, it writes to an image in the cache.
  void add(const BoxPlan& box, double times = 1, bool in_tile = false) {
    if (const auto* tiles = box.as<TileRuns>()) {
      const double count_tiles = number(box.blocks) / number(box.along_src.blocks);
      for (const TileRun& run : tiles->runs) {
        for (const BoxPlan& leaf : run.boxes) add(leaf, count_tiles, !tiles->by_lines());
      }
      return;
    }
    const Bytes bytes = bytes_of(box, times);
    const double kernels = times * memory_.prices().kernels * cached_ns(box, machine_);
    const auto* fill = box.as<Fill>();
    read_ += bytes.from;
    written_ += bytes.to;
    ns_ += times * price::kBox;
    if (in_tile) {
      ns_ += memory_.unfetched(bytes) + kernels + times * far_ns(box);
    } else if (box.past_cache || (fill && fill->past_cache)) {
      const double past = memory_.past(bytes);
      ns_ += times * ends_ns(box) + std::max(factor_past(box) * past, price::kBesideMemory * past + kernels);
    } else {
      ns_ += memory_.through({bytes.from, bytes.to * in_lines_of_others(box)}) + kernels + times * far_ns(box);
      if (streams_ && one_by_one(box)) ns_ += price::kFetched * times * number(box.elements) * memory_.gaps();
    }
  }

  Cost cost() const { return {static_cast<int64_t>(std::ceil(read_)), static_cast<int64_t>(std::ceil(written_)), ns_}; }

 private:
  /// What a box reads and writes.
  Bytes bytes_of(const BoxPlan& box, double times) const {
    const double elements = times * number(box.elements);
    Bytes out{elements * (src_bytes_ + old_bytes_), elements * dst_bytes_};
    if (box.as<Fill>()) out.from = 0;
    const auto* lines = box.as<ProgrammedLines>();
    if (lines && lines->program->fills) out.to = times * number(lines->written);
    return out;
  }

  const Memory memory_;
  const Machine& machine_;
  const bool streams_;
  /// Bytes of an element of the source and of the destination, and of the old value that is read from the destination.
  const double src_bytes_, dst_bytes_, old_bytes_;
  double read_ = 0, written_ = 0, ns_ = price::kRun;
};

Bytes moved_bytes(const Request& request) {
  return {number(request.src.logical_bytes()), number(request.dst.logical_bytes())};
}

}  // namespace

double least_ns(const Request& request, bool past_cache) {
  const Memory memory(request);
  const Bytes bytes = moved_bytes(request);
  return past_cache ? price::kPastCache * memory.past(bytes) : memory.through(bytes);
}

double left_for_kernels(const Request& request, bool past_cache, double ns) {
  const Memory memory(request);
  const Bytes bytes = moved_bytes(request);
  // Some boxes of an answer past the caches may go through them.
  double others = memory.through(bytes);
  if (past_cache) others = std::min(others, price::kBesideMemory * memory.past(bytes));
  return (ns - price::kRun - others) / memory.prices().kernels;
}

Cost cost_of(const Request& request, const Answer& answer) {
  Price price(request, answer.streams);
  for (const BoxPlan& box : answer.boxes) price.add(box);
  for (const BoxPlan& fill : answer.fills) price.add(fill);
  return price.cost();
}

}  // namespace relayout
