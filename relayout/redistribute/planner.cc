// The search for the boxes of a pass, and for the blocks of an intermediate file.
//
// Both are found by climbing: from the smallest box that is allowed, the step is taken that makes the time least, where
// a step makes one dim longer and perhaps another one shorter, until none makes it less. The time falls as ranges
// become longer, and the bound ends it.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "relayout/core/error.h"
#include "relayout/redistribute/task_plan.h"

namespace relayout::redistribute {
namespace {

/// A task reads its box in pieces of which those in memory take at most one of these shares of the bound, whichever
/// makes it faster, and what it writes takes the rest: a small share leaves room for long ranges of what is written,
/// and a large one is needed where the least piece is large, a whole chunk or the pages around a range.
constexpr double kPieceShares[] = {0.125, 0.5};
/// Factors by which a step changes an extent: coarse ones get there in few steps, fine ones use the bound up.
constexpr double kFactors[] = {2, 1.25, 1.0625};

/// The boxes of a pass: their extents are multiples of `unit`.
struct PassSpace {
  const Store& src;
  const Store& dst;
  Dims unit;
  Dims most;  // extents that a box may have
  const TaskPlanOptions& options;
  bool divided = false;  // extents below the unit are allowed, too, where they divide it
};

Dims common_unit(const Store& src, const Store& dst) {
  Dims out = dst.unit();
  if (src.in_chunks()) return out;
  const Dims from = src.unit();
  for (int d = 0; d < out.size(); ++d) {
    const std::optional<int64_t> both = checked_mul(out[d] / std::gcd(out[d], from[d]), from[d]);
    out[d] = std::min(both.value_or(src.dims()[d]), std::max<int64_t>(1, src.dims()[d]));
  }
  return out;
}

PassSpace space_of(const Store& src, const Store& dst, const TaskPlanOptions& options) {
  PassSpace out{src, dst, common_unit(src, dst), src.dims(), options};
  for (int64_t d : options.one_at_a_time) out.most[static_cast<int>(d)] = 1;
  for (int d = 0; d < out.most.size(); ++d) out.most[d] = std::max(out.most[d], out.unit[d]);
  return out;
}

/// The least number from `from` on that divides `whole`, which is not less. Cost: at most the root of `whole` in steps,
/// as of two divisors whose product is `whole` one is not above its root.
int64_t divisor_from(int64_t whole, int64_t from) {
  for (; from <= whole / from; ++from) {
    if (whole % from == 0) return from;
  }
  for (int64_t other = whole / from; other > 1; --other) {
    if (whole % other == 0) return whole / other;
  }
  return whole;
}

/// An extent near to `wanted` that a box may have in dim d.
int64_t allowed(const PassSpace& space, int d, double wanted) {
  const int64_t unit = space.unit[d], most = space.most[d];
  if (wanted >= static_cast<double>(most)) return most;
  if (space.divided && wanted < static_cast<double>(unit))
    return divisor_from(unit, std::max<int64_t>(1, std::llround(wanted)));
  const auto units = static_cast<int64_t>(std::llround(wanted / static_cast<double>(unit)));
  return std::min(most, std::max<int64_t>(1, units) * unit);
}

double memory_of_piece(const PassSpace& space, const Dims& piece) {
  double elements = 1;
  for (int64_t extent : piece) elements *= static_cast<double>(extent);
  // A chunk is decoded into memory of its own before its part of the piece is taken.
  double chunk = 0;
  if (space.src.in_chunks()) chunk = space.src.memory(space.src.chunk());
  return space.options.pieces * space.src.memory(piece) + 2 * chunk + elements * space.options.scratch_bytes;
}

/// The box in pieces that take no more than `room` bytes: halves of the dim that costs the fewest further ranges.
Dims piece_of(const PassSpace& space, const Dims& box, double room) {
  // Between two files a piece is a view of both, whose blocks it must not cut; a chunk is put together in memory.
  const bool files = !space.src.in_chunks() && !space.dst.in_chunks();
  const Dims unit = files ? space.unit : space.src.unit();
  Dims out = box;
  while (memory_of_piece(space, out) > room) {
    int best = -1;
    double least = 0;
    int64_t best_extent = 0;
    for (int d = 0; d < out.size(); ++d) {
      const int64_t half = ceil_div(ceil_div(out[d], 2), unit[d]) * unit[d];
      if (half >= out[d]) continue;
      Dims halved = out;
      halved[d] = half;
      const double cost = space.src.access(halved).count / static_cast<double>(half) * static_cast<double>(out[d]);
      if (best >= 0 && cost >= least) continue;
      best = d;
      least = cost;
      best_extent = half;
    }
    if (best < 0) break;
    out[best] = best_extent;
  }
  return out;
}

/// The dims by the strides of what is written, largest first.
Dims order_of(const Store& dst) {
  std::vector<int> dims(static_cast<std::size_t>(dst.dims().size()));
  std::iota(dims.begin(), dims.end(), 0);
  std::ranges::stable_sort(dims, {},
                           [&](int d) { return -std::abs(dst.desc().layout.digits_under_swizzle(d).back().stride); });
  Dims out;
  for (int d : dims) out.push_back(d);
  return out;
}

Pass pass_of(const PassSpace& space, const Dims& step, const Dims& piece) {
  Pass out;
  out.dims = space.src.dims();
  out.step = step;
  out.piece = piece;
  out.pieces = space.options.pieces;
  double encoded = 0;  // a chunk is encoded into memory of its own
  if (space.dst.in_chunks()) encoded = 2 * space.dst.memory(space.dst.chunk());
  out.memory = space.dst.memory(step) + memory_of_piece(space, out.piece) + encoded;
  out.read = space.src.access_of_grid(out.piece);
  out.written = space.dst.access_of_grid(step);
  out.seconds = space.options.read.seconds(out.read) + space.options.write.seconds(out.written);
  return out;
}

bool fits(const PassSpace& space, const Pass& pass) { return pass.memory <= space.options.max_memory; }

/// The better of two passes: the faster one, of equally fast ones that with fewer tasks.
bool better(const Pass& a, const Pass& b) {
  if (a.seconds != b.seconds) return a.seconds < b.seconds;
  return a.count() < b.count();
}

/// What is at least added to an extent to make it longer.
int64_t least_step(const PassSpace& space, int d, const Dims& step) {
  return space.divided && step[d] < space.unit[d] ? 1 : space.unit[d];
}

/// The fastest pass with these boxes that fits, or the smallest one.
Pass pass_of(const PassSpace& space, const Dims& step) {
  std::optional<Pass> best;
  for (double share : kPieceShares) {
    Pass pass = pass_of(space, step, piece_of(space, step, space.options.max_memory * share));
    if (!best || (fits(space, pass) && better(pass, *best))) best = std::move(pass);
  }
  return *best;
}

/// Calls f with every box that one step leads to from this one.
template <typename F>
void for_each_step(const PassSpace& space, const Dims& step, F f) {
  for (double factor : kFactors) {
    for (int longer = 0; longer < step.size(); ++longer) {
      Dims next = step;
      next[longer] = allowed(space, longer,
                             std::max(static_cast<double>(step[longer]) * factor,
                                      static_cast<double>(step[longer] + least_step(space, longer, step))));
      if (next[longer] == step[longer]) continue;
      f(next);
      for (int shorter = 0; shorter < step.size(); ++shorter) {
        if (shorter == longer) continue;
        Dims exchanged = next;
        exchanged[shorter] = allowed(space, shorter, static_cast<double>(step[shorter]) / factor);
        if (exchanged[shorter] < step[shorter]) f(exchanged);
      }
    }
  }
}

/// The fastest pass found; one that takes more memory than is allowed where none takes less.
Pass best_pass(const PassSpace& space) {
  Dims step = space.unit;
  for (int d = 0; d < step.size(); ++d) step[d] = std::max<int64_t>(1, std::min(step[d], space.most[d]));
  Pass best = pass_of(space, step);
  if (!fits(space, best)) return best;
  for (bool found = true; found;) {
    found = false;
    Pass next = best;
    for_each_step(space, best.step, [&](const Dims& candidate) {
      const Pass pass = pass_of(space, candidate);
      if (fits(space, pass) && better(pass, next)) {
        next = pass;
        found = true;
      }
    });
    best = next;
  }
  return best;
}

/// A file in blocks of these extents, each of them in the order of `like`, one after the other. Nothing where it would
/// be too large for 63 bits.
std::optional<Store> blocked_file(const Store& like, DType dtype, const Dims& block) {
  const Dims& dims = like.dims();
  const Dims order = order_of(like);
  std::vector<Digits> digits(static_cast<std::size_t>(dims.size()));
  std::optional<int64_t> stride = 1;
  const auto add = [&](int d, int64_t extent) {
    if (!stride) return;
    digits[static_cast<std::size_t>(d)].push_back({extent, *stride});
    stride = checked_mul(*stride, extent);
  };
  for (int k = order.size(); k-- > 0;) add(static_cast<int>(order[k]), block[static_cast<int>(order[k])]);
  for (int k = order.size(); k-- > 0;) {
    const int d = static_cast<int>(order[k]);
    add(d, ceil_div(dims[d], block[d]));
  }
  if (!stride) return std::nullopt;
  return Store::file({Layout::from_digits(dims, digits), dtype}, like.granule());
}

/// Two passes through a file of blocks, whose extents are climbed to as those of boxes are.
std::optional<TaskPlan> two_passes(const Store& src, const Store& dst, const TaskPlanOptions& options) {
  PassSpace blocks = space_of(src, dst, options);
  blocks.divided = true;
  // Values are converted in the pass after which there are fewer bytes.
  const DType dtype = bits(dst.dtype()) < bits(src.dtype()) ? dst.dtype() : src.dtype();
  const auto plan_of = [&](const Dims& block) -> std::optional<TaskPlan> {
    const std::optional<Store> file =
        options.chunked_intermediate ? Store::chunked(dst.dims(), dtype, block) : blocked_file(dst, dtype, block);
    if (!file) return std::nullopt;
    const PassSpace first = space_of(src, *file, options), second = space_of(*file, dst, options);
    TaskPlan plan{
        {src, dst, *file}, {best_pass(first), best_pass(second)}, options.max_memory, options.read, options.write};
    if (!fits(first, plan.passes[0]) || !fits(second, plan.passes[1])) return std::nullopt;
    plan.passes[0].to = plan.passes[1].from = 2;
    plan.passes[0].order = order_of(*file);
    plan.passes[1].order = order_of(dst);
    return plan;
  };
  std::optional<TaskPlan> best = plan_of(Dims(src.dims().size(), 1));
  for (bool found = best.has_value(); found;) {
    found = false;
    std::optional<TaskPlan> next = best;
    const Dims from = best->stores[2].unit();
    for_each_step(blocks, from, [&](const Dims& candidate) {
      std::optional<TaskPlan> plan = plan_of(candidate);
      if (plan && plan->seconds() < next->seconds()) {
        next = std::move(plan);
        found = true;
      }
    });
    best = std::move(next);
  }
  return best;
}

[[noreturn]] void throw_too_little(const Pass& pass, double max_memory) {
  const auto need = static_cast<int64_t>(std::ceil(pass.memory));
  throw Error(ErrorCode::limit,
              "the smallest part takes " + std::to_string(need) + " bytes of memory; " +
                  std::to_string(static_cast<int64_t>(max_memory)) + " are allowed",
              "max_memory", std::to_string(static_cast<int64_t>(max_memory)), std::to_string(need));
}

}  // namespace

TaskPlan make_task_plan(const Store& src, const Store& dst, const TaskPlanOptions& options) {
  if (src.dims() != dst.dims())
    throw Error(ErrorCode::invalid_argument,
                "redistribute: the source has the dims " + join(src.dims()) + ", the destination " + join(dst.dims()),
                "dims", join(src.dims()), join(dst.dims()));
  const PassSpace space = space_of(src, dst, options);
  TaskPlan plan{{src, dst}, {best_pass(space)}, options.max_memory, options.read, options.write};
  plan.passes[0].order = order_of(dst);
  if (!fits(space, plan.passes[0])) throw_too_little(plan.passes[0], options.max_memory);
  const double least = options.read.seconds({0, src.bytes()}) + options.write.seconds({0, dst.bytes()});
  // Two passes move all bytes twice.
  if (!options.intermediate || plan.seconds() <= 2 * least) return plan;
  const std::optional<TaskPlan> through = two_passes(src, dst, options);
  return through && through->seconds() < plan.seconds() ? *through : plan;
}

}  // namespace relayout::redistribute
