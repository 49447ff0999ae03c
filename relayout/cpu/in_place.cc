// Running the steps of an in-place reorder over threads.
#include "relayout/cpu/in_place.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <variant>
#include <vector>

#include "relayout/cpu/threads.h"
#include "relayout/reorder/in_place/data.h"

namespace relayout::cpu {
namespace {

/// The options of a reorder inside one thread: it is not split over threads again.
constexpr RunOptions kAlone{1};

/// Counts the bytes that were moved, and says so now and then.
class Ticker {
 public:
  Ticker(const InPlaceProgress* progress, int64_t total) : progress_(progress), total_(total) {}
  bool watched() const { return progress_ != nullptr; }

  void moved(int64_t bytes) {
    done_ += bytes;
    if (done_ - said_ >= kSaidBytes) say(done_);
  }
  /// What is done in all; it may have been counted in part.
  void say(int64_t done) {
    done_ = done;
    if (!watched() || done <= said_ || done >= total_) return;
    said_ = done;
    (*progress_)(done, total_);
  }
  void finish() {
    if (watched()) (*progress_)(total_, total_);
  }

  static constexpr int64_t kSaidBytes = int64_t{16} << 20;

 private:
  const InPlaceProgress* progress_;
  int64_t total_, done_ = 0, said_ = 0;
};

/// The memory that one thread works on.
struct ThreadMemory {
  std::byte* buffer;
  std::byte* scratch;
  RunOptions options;  // of the plans run inside
  Ticker* ticker;      // of a thread that works alone, the calling one; null of others
};

/// One part of the tensor: its offsets, and the sum of the bits of the loops that are at their last turn.
struct Part {
  int64_t src = 0, dst = 0;
  std::size_t tails = 0;
};

Part part_at(std::span<const InPlaceLoop> loops, int64_t turn) {
  Part out;
  for (std::size_t k = loops.size(); k-- > 0;) {
    const InPlaceLoop& loop = loops[k];
    const int64_t at = turn % loop.count;
    turn /= loop.count;
    out.src += at * loop.src_stride;
    out.dst += at * loop.dst_stride;
    if (loop.tail_bit >= 0 && at == loop.count - 1) out.tails |= std::size_t{1} << loop.tail_bit;
  }
  return out;
}

void run_parts(const StagedStep& step, const ThreadMemory& memory, int64_t begin, int64_t end) {
  const int64_t count = turns(step.loops);
  for (int64_t turn = begin; turn < end; ++turn) {
    const Part part = part_at(step.loops, step.backwards ? count - 1 - turn : turn);
    const Plan& plan = step.plans[part.tails];
    std::memcpy(memory.scratch, memory.buffer + step.src_offset + part.src,
                static_cast<std::size_t>(plan.src().span_bytes()));
    run(plan, memory.scratch, memory.buffer + step.dst_offset + part.dst, memory.options);
  }
}

void swap_tiles(const SwapStep& step, const ThreadMemory& memory, std::byte* region, int64_t p, int64_t q) {
  const auto at = [&](int64_t x, int64_t y) { return region + step.tile * (x * step.x_stride + y * step.y_stride); };
  const bool last = (q + 1) * step.tile > step.extent;
  std::byte *const a = at(p, q), *const b = at(q, p);
  if (p == q) {
    run(last ? step.save_last[0] : step.save[0], a, memory.scratch, kAlone);
    run(last ? step.restore_last[0] : step.restore[0], memory.scratch, a, kAlone);
    return;
  }
  const std::size_t kind = last ? 1 : 0;
  run(step.save[kind], a, memory.scratch, kAlone);
  run(step.move[kind], b, a, kAlone);
  run(step.restore[kind], memory.scratch, b, kAlone);
}

void run_parts(const SwapStep& step, const ThreadMemory& memory, int64_t begin, int64_t end) {
  const int64_t tiles = step.tiles(), pairs = tiles * (tiles + 1) / 2;
  // The pairs of tiles (p, q) of a region, with p <= q, are numbered row by row.
  int64_t turn = begin / pairs, p = 0, q = begin % pairs;
  for (; q >= tiles - p; ++p) q -= tiles - p;
  q += p;
  std::byte* region = memory.buffer + step.offset + part_at(step.loops, turn).dst;
  for (int64_t k = begin; k < end; ++k) {
    swap_tiles(step, memory, region, p, q);
    if (++q < tiles) continue;
    q = ++p;
    if (p < tiles) continue;
    p = q = 0;
    region = memory.buffer + step.offset + part_at(step.loops, ++turn % turns(step.loops)).dst;
  }
}

/// Moves the units of one part along their cycles. Units are numbered in the order of the destination's axes.
class Cycles {
 public:
  Cycles(const CycleStep& step, const ThreadMemory& memory, const Part& part)
      : step_(step),
        src_(memory.buffer + step.src_offset + part.src),
        dst_(memory.buffer + step.dst_offset + part.dst),
        moved_(memory.scratch),
        saved_(memory.scratch + ceil_div(step.units, 64) * 8),
        ticker_(memory.ticker) {
    std::memset(moved_, 0, static_cast<std::size_t>(ceil_div(step.units, 64) * 8));
  }

  template <std::size_t kUnit>  // 0: any
  void follow() {
    // A chain begins at a destination that is no source, so nothing is overwritten there.
    for (int64_t n = 0; !step_.closed && n < step_.units; ++n) {
      if (find<kSrc>(dst_ + offset<kDst>(n)) < 0) pull<kUnit>(n);
    }
    for (int64_t n = first_left(0); n < step_.units; n = first_left(n)) {
      std::byte* const start = dst_ + offset<kDst>(n);
      if (src_ + offset<kSrc>(n) == start) {
        mark(n);
        continue;
      }
      copy<kUnit>(saved_, start);
      copy<kUnit>(pull<kUnit>(n), saved_);
    }
  }

 private:
  /// Moves unit n to its place, then the unit that belongs where unit n was, and so on. Ends where that unit has moved
  /// already, or where no unit belongs. Returns the place that is free then.
  template <std::size_t kUnit>
  std::byte* pull(int64_t n) {
    for (std::byte* to = dst_ + offset<kDst>(n);;) {
      mark(n);
      if (ticker_ != nullptr) ticker_->moved(2 * step_.unit);
      const std::byte* from = src_ + offset<kSrc>(n);
      n = find<kDst>(from);
      if (n >= 0 && marked(n)) return to;  // the start of the cycle, whose unit is in saved_
      copy<kUnit>(to, from);
      if (n < 0) return to;
      to = dst_ + (from - dst_);
    }
  }

  template <std::size_t kUnit>
  void copy(std::byte* to, const std::byte* from) const {
    std::memcpy(to, from, kUnit == 0 ? static_cast<std::size_t>(step_.unit) : kUnit);
  }

  /// The offset of unit n on one side.
  template <Operand kSide>
  int64_t offset(int64_t n) const {
    if (kSide == kDst && step_.closed) return n * step_.unit;
    int64_t out = 0;
    auto rest = static_cast<uint64_t>(n);
    for (std::size_t k = step_.axes.size(); k-- > 0;) {
      const Axis& axis = step_.axes[k];
      const auto extent = static_cast<uint64_t>(axis.extent);
      out += static_cast<int64_t>(rest % extent) * axis.stride[kSide];
      rest /= extent;
    }
    return out;
  }

  /// The unit whose place on one side is `at`, or -1.
  template <Operand kSide>
  int64_t find(const std::byte* at) const {
    int64_t rest = at - (kSide == kSrc ? src_ : dst_);
    if (kSide == kDst && step_.closed) return rest / step_.unit;
    if (rest < 0) return -1;
    // Axes come by stride, the largest first, so each division finds the index along one axis.
    int64_t number = 0;
    for (const CycleStep::SideAxis& axis : kSide == kSrc ? step_.src_axes : step_.dst_axes) {
      const int64_t index = rest / axis.stride;
      if (index >= axis.extent) return -1;
      rest -= index * axis.stride;
      number += index * axis.value;
    }
    return rest == 0 ? number : -1;
  }

  bool marked(int64_t n) const { return (moved_[n >> 3] >> (n & 7) & std::byte{1}) != std::byte{0}; }
  void mark(int64_t n) { moved_[n >> 3] |= std::byte{1} << (n & 7); }

  /// The first unit, from unit n on, that has not moved.
  int64_t first_left(int64_t n) const {
    for (; n < step_.units; n = (n | 63) + 1) {
      uint64_t word;
      std::memcpy(&word, moved_ + (n >> 6 << 3), sizeof word);
      word = ~word >> (n & 63);
      if (word != 0) return n + std::countr_zero(word);
    }
    return n;
  }

  const CycleStep& step_;
  std::byte *src_, *dst_, *moved_, *saved_;
  Ticker* ticker_;
};

void run_parts(const CycleStep& step, const ThreadMemory& memory, int64_t begin, int64_t end) {
  for (int64_t turn = begin; turn < end; ++turn) {
    Cycles cycles(step, memory, part_at(step.loops, turn));
    switch (step.unit) {
      case 1: cycles.follow<1>(); break;
      case 2: cycles.follow<2>(); break;
      case 4: cycles.follow<4>(); break;
      case 8: cycles.follow<8>(); break;
      case 16: cycles.follow<16>(); break;
      default: cycles.follow<0>(); break;
    }
  }
}

void run_part(const MergeStep& step, std::byte* rows, std::byte* scratch) {
  const auto row_bytes = static_cast<std::size_t>(step.row_bytes),
             tail_bytes = static_cast<std::size_t>(step.tail_bytes);
  const std::size_t both = row_bytes + tail_bytes, count = static_cast<std::size_t>(step.rows);
  std::byte* const behind = rows + count * row_bytes;
  if (step.split) {
    for (std::size_t r = 0; r < count; ++r) {
      std::memcpy(scratch + r * tail_bytes, rows + r * both + row_bytes, tail_bytes);
      std::memmove(rows + r * row_bytes, rows + r * both, row_bytes);
    }
    return run(step.tails[0], scratch, behind, kAlone);
  }
  run(step.tails[0], behind, scratch, kAlone);
  for (std::size_t r = count; r-- > 0;) {
    std::memmove(rows + r * both, rows + r * row_bytes, row_bytes);
    std::memcpy(rows + r * both + row_bytes, scratch + r * tail_bytes, tail_bytes);
  }
}

void run_parts(const MergeStep& step, const ThreadMemory& memory, int64_t begin, int64_t end) {
  for (int64_t turn = begin; turn < end; ++turn) {
    run_part(step, memory.buffer + step.offset + part_at(step.loops, turn).dst, memory.scratch);
  }
}

/// Runs some parts of one step on as many threads as the scratch has room for.
struct StepRun {
  const InPlaceStep& step;
  std::byte* buffer;
  std::byte* scratch;
  int64_t slot_bytes, slots, begin, parts;
  RunOptions options;
  Ticker* ticker;
};

void run_slots(void* state, int64_t begin, int64_t end) {
  const auto& s = *static_cast<const StepRun*>(state);
  for (int64_t slot = begin; slot < end; ++slot) {
    const auto first = [&](int64_t k) { return s.begin + s.parts / s.slots * k + std::min(k, s.parts % s.slots); };
    const bool alone = s.slots == 1;
    const ThreadMemory memory{s.buffer, s.scratch + slot * s.slot_bytes, alone ? s.options : kAlone,
                              alone && s.ticker->watched() ? s.ticker : nullptr};
    std::visit([&](const auto& step) { run_parts(step, memory, first(slot), first(slot + 1)); }, s.step);
  }
}

/// How many threads the options mean.
int threads_of(const RunOptions& options) {
  return options.threads <= 0 ? default_threads() : std::min(options.threads, default_threads());
}

/// One step, which reads and writes `bytes` and begins when `done` are done. Where it is watched, it goes in rounds,
/// each with enough parts for all threads.
void run_step(const InPlaceStep& step, StepRun state, int64_t room, int64_t done, int64_t bytes) {
  // Parts that must be done in their order are all done by one thread.
  const auto* staged = std::get_if<StagedStep>(&step);
  const bool in_order = staged != nullptr && !staged->independent;
  const int64_t parts = in_order ? turns(staged->loops) : parallel_parts(step);
  const int64_t threads = in_order ? 1 : std::clamp<int64_t>(room, 1, parts);
  const int64_t rounds =
      state.ticker->watched() ? std::clamp<int64_t>(bytes / Ticker::kSaidBytes, 1, parts / threads) : 1;
  for (int64_t round = 0; round < rounds; ++round) {
    const auto first = [&](int64_t k) { return parts / rounds * k + std::min(k, parts % rounds); };
    state.begin = first(round);
    state.parts = first(round + 1) - state.begin;
    state.slots = std::min(threads, state.parts);
    parallel_for({.threads = static_cast<int>(threads), .pool = state.options.pool}, state.slots, 1, run_slots, &state);
    state.ticker->say(done + static_cast<int64_t>(static_cast<double>(bytes) / static_cast<double>(rounds) *
                                                  static_cast<double>(round + 1)));
  }
}

void run_watched(const InPlacePlan& plan, std::byte* buffer, std::span<std::byte> scratch, const RunOptions& options,
                 const InPlaceProgress* progress) noexcept {
  const std::vector<InPlaceStep>& steps = plan.data().steps;
  const int64_t bytes = 2 * plan.buffer_bytes();
  Ticker ticker(progress, bytes * static_cast<int64_t>(steps.size()));
  int64_t done = 0;
  for (const InPlaceStep& step : steps) {
    const int64_t slot_bytes = scratch_bytes(step);
    const int64_t room = static_cast<int64_t>(scratch.size()) / std::max<int64_t>(1, slot_bytes);
    const StepRun state{step, buffer, scratch.data(), slot_bytes, 1, 0, 1, options, &ticker};
    run_step(step, state, std::min<int64_t>(threads_of(options), room), done, bytes);
    done += bytes;
  }
  const uint64_t value = plan.data().fill_bits;
  for (const Plan& fill : plan.data().fills) run(fill, &value, buffer, options);
  ticker.finish();
}

void run_checked(const InPlacePlan& plan, const Elements& buffer, const RunOptions& options,
                 const InPlaceProgress* progress) {
  // Where the types differ, the buffer's may be either: it holds one before and the other after.
  const DType src = plan.src().dtype, dst = plan.dst().dtype;
  const bool is_dst = buffer.dtype() && holds_elements(*buffer.dtype(), dst);
  const auto bytes = checked_bytes(buffer, is_dst ? dst : src, plan.buffer_bytes(), "in-place reorder", "buffer");
  std::vector<std::byte> scratch(static_cast<std::size_t>(plan.scratch_bytes(threads_of(options))));
  run_watched(plan, bytes.data(), scratch, options, progress);
}

}  // namespace

void run(const InPlacePlan& plan, void* buffer, std::span<std::byte> scratch, const RunOptions& options) noexcept {
  run_watched(plan, static_cast<std::byte*>(buffer), scratch, options, nullptr);
}

void run(const InPlacePlan& plan, const Elements& buffer, const RunOptions& options) {
  run_checked(plan, buffer, options, nullptr);
}

void run(const InPlacePlan& plan, const Elements& buffer, const RunOptions& options, const InPlaceProgress& progress) {
  run_checked(plan, buffer, options, progress ? &progress : nullptr);
}

void reorder_in_place(const TensorDesc& src_desc, const TensorDesc& dst_desc, const Elements& buffer,
                      const Attributes& attributes, const RunOptions& options, const InPlaceOptions& in_place) {
  run(InPlacePlan::make(src_desc, dst_desc, attributes, in_place), buffer, options);
}

}  // namespace relayout::cpu
