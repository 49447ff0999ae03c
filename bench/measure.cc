// One measurement: buffers, the plan's run, the two copies and the competitors, timed in turns.
#include "bench/measure.h"

#include <algorithm>
#include <cstring>

#include "bench/buffer.h"
#include "bench/copy.h"
#include "bench/timing.h"
#include "relayout/cpu/machine.h"
#include "relayout/cpu/reorder.h"
#include "relayout/reorder/offers.h"
#include "relayout/reorder/reference.h"

namespace relayout::bench {
namespace {

/// The memory that a measurement reads and writes. The copies use the pages of the reorder where these are enough.
class Buffers {
 public:
  static int64_t bytes_needed(const TensorDesc& src, const TensorDesc& dst, int64_t half, bool competitors) {
    int64_t needed = src.span_bytes();
    for (int64_t more : {dst.span_bytes(), competitors ? dst.span_bytes() : 0,
                         competitors && src.layout.padded() ? src.logical_bytes() : 0,
                         half > src.span_bytes() ? half : 0, half > dst.span_bytes() ? half : 0}) {
      if (__builtin_add_overflow(needed, more, &needed)) return INT64_MAX;
    }
    return needed;
  }

  Buffers(const TensorDesc& src_desc, const TensorDesc& dst_desc, int64_t half, bool competitors, bool read_dst,
          int64_t misalign)
      : misalign_(misalign),
        dst_desc_(dst_desc),
        read_dst_(read_dst),
        src_(misalign + src_desc.span_bytes()),
        dst_(misalign + dst_desc.span_bytes()) {
    if (competitors) {
      // Other systems round and saturate in other ways, and all of them need zeros in the source's padding.
      (src_desc.dtype == dst_desc.dtype ? fill_values : fill_whole_numbers)(src_desc.dtype, used(src_));
      if (src_desc.layout.padded()) clear_padding(src_desc);
      other_dst_ = PageBuffer(misalign + dst_desc.span_bytes());
    } else {
      fill_values(src_desc.dtype, used(src_));
    }
    reset(dst_);
    reset_other();
    if (half > src_desc.span_bytes()) copy_src_ = PageBuffer(half);
    if (half > dst_desc.span_bytes()) copy_dst_ = PageBuffer(half);
  }

  const std::byte* src() const { return src_.data() + misalign_; }
  std::byte* dst() const { return dst_.data() + misalign_; }
  /// The destination of the competitors.
  std::byte* other_dst() const { return other_dst_.data() + misalign_; }
  /// The source of the copies.
  const std::byte* from() const { return copy_src_.data() ? copy_src_.data() : src_.data(); }
  std::byte* to() const { return copy_dst_.data() ? copy_dst_.data() : dst_.data(); }

  /// Sets the destination of the competitors to what it holds before each run.
  void reset_other() const {
    if (other_dst_.data()) reset(other_dst_);
  }

 private:
  std::span<std::byte> used(const PageBuffer& buffer) const {
    return buffer.bytes().subspan(static_cast<std::size_t>(misalign_));
  }

  void reset(const PageBuffer& buffer) const {
    if (read_dst_) {
      fill_values(dst_desc_.dtype, used(buffer));
    } else {
      std::ranges::fill(buffer.bytes(), std::byte{1});
    }
  }

  void clear_padding(const TensorDesc& desc) {
    const TensorDesc dense(Layout::contiguous(desc.layout.dims()), desc.dtype);
    PageBuffer values(dense.span_bytes());
    std::byte* const to = src_.data() + misalign_;
    cpu::run(cpu::make_plan(desc, dense), to, values.data());
    std::ranges::fill(src_.bytes(), std::byte{0});
    cpu::run(cpu::make_plan(dense, desc), values.data(), to);
  }

  int64_t misalign_;
  const TensorDesc& dst_desc_;
  bool read_dst_;
  PageBuffer src_, dst_;
  PageBuffer other_dst_;            // where there are competitors
  PageBuffer copy_src_, copy_dst_;  // where the copied half is larger than src or dst
};

bool verify(const Plan& plan, const Buffers& buffers, int threads) {
  const auto bytes = static_cast<std::size_t>(plan.dst().span_bytes());
  const std::vector<std::byte> before(buffers.dst(), buffers.dst() + bytes);
  std::vector<std::byte> expected = before;
  reference_reorder(plan.src(), buffers.src(), plan.dst(), expected.data(), plan.attributes());
  cpu::run(plan, buffers.src(), buffers.dst(), {.threads = threads});
  const bool same = std::memcmp(expected.data(), buffers.dst(), bytes) == 0;
  // With beta, a run adds to what the destination holds; so that is restored.
  std::ranges::copy(before, buffers.dst());
  return same;
}

/// Prepares the competitors and compares their results with that of the plan. Returns one Work for each, empty where a
/// competitor cannot do the conversion or its result differs.
std::vector<Work> prepare_competitors(const std::vector<Competitor>& list, const Plan& plan, const Buffers& buffers,
                                      int threads, Measurement& out) {
  std::vector<Work> works;
  const auto bytes = static_cast<std::size_t>(plan.dst().span_bytes());
  cpu::run(plan, buffers.src(), buffers.dst(), {.threads = threads});
  for (const Competitor& competitor : list) {
    CompetitorResult result{std::string(competitor.name), competitor.version, 0, ""};
    const std::function<void()> once = competitor.prepare(plan.src(), buffers.src(), plan.dst(), buffers.other_dst(),
                                                          plan.attributes(), threads, &result.why);
    Work work;
    if (once) {
      buffers.reset_other();  // Preparing may have tried ways out.
      once();
      if (std::memcmp(buffers.dst(), buffers.other_dst(), bytes) == 0) {
        work = {[once](int64_t count) {
                  for (; count > 0; --count) once();
                },
                threads > 1};
      } else {
        result.why = "wrong result";
      }
    }
    works.push_back(std::move(work));
    out.competitors.push_back(std::move(result));
  }
  return works;
}

/// Runs a plan, which must stay where it is.
Work runs(const Plan& plan, const Buffers& buffers, int threads) {
  return {[&plan, &buffers, threads](int64_t count) {
    for (; count > 0; --count) cpu::run(plan, buffers.src(), buffers.dst(), {.threads = threads});
  }};
}

/// Works that run the plans that the planner chose from.
std::vector<Work> prepare_offers(const std::vector<Offer>& offers, const Buffers& buffers, Measurement& out) {
  std::vector<Work> works;
  for (const Offer& offer : offers) {
    works.push_back(runs(offer.plan, buffers, out.threads));
    out.offers.push_back(
        {std::string(name(offer.way)), offer.plan.kernel(), offer.plan.cost().nanoseconds, 0, offer.chosen});
  }
  return works;
}

double plan_making_ns(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes, int repeat) {
  static constexpr double kEnough = 50e3;
  const Work make{[&](int64_t count) {
    for (; count > 0; --count) {
      const Plan plan = cpu::make_plan(src, dst, attributes);
      asm volatile("" : : "g"(&plan) : "memory");
    }
  }};
  return time_in_turns(std::span(&make, 1), {.repeat = repeat, .repetition_ns = kEnough})[0].median_ns;
}

void check(const TensorDesc& src, const MeasureOptions& options) {
  if (options.repeat < 1) {
    throw Error(ErrorCode::invalid_argument,
                "bench: " + std::to_string(options.repeat) + " repetitions; 1 is the least", "repeat",
                std::to_string(options.repeat), "1");
  }
  if (options.misalign < 0 || options.misalign > kMostMisaligned) {
    throw Error(ErrorCode::invalid_argument,
                "bench: misaligned by " + std::to_string(options.misalign) + " bytes; 0 to " +
                    std::to_string(kMostMisaligned) + " can be had",
                "misalign", std::to_string(options.misalign), std::to_string(kMostMisaligned));
  }
  if (options.copy_bytes < 0) {
    throw Error(ErrorCode::invalid_argument,
                "bench: copies of " + std::to_string(options.copy_bytes) + " bytes; 0 is the least", "copy_bytes",
                std::to_string(options.copy_bytes), "0");
  }
  if (src.layout.empty()) {
    throw Error(ErrorCode::invalid_argument, "bench: dims " + join(src.layout.dims()) + " have no elements to move",
                "dims", join(src.layout.dims()));
  }
}

/// Fills in the measurement. `timings` are those of the plan, the two copies, the competitors and, where it `differs`,
/// the tuned plan, in this order.
void conclude(std::span<const Timing> timings, bool non_temporal, bool differs, Measurement& out) {
  out.median_ns = timings[0].median_ns;
  out.min_ns = timings[0].min_ns;
  out.copy_ns = out.memcpy_ns = timings[1].median_ns;
  double min_copy_ns = timings[1].min_ns;
  if (non_temporal) {
    out.nt_copy_ns = timings[2].median_ns;
    out.copy_ns = std::min(out.memcpy_ns, *out.nt_copy_ns);
    min_copy_ns = std::min(min_copy_ns, timings[2].min_ns);
  }
  for (std::size_t i = 0; i < out.competitors.size(); ++i) out.competitors[i].median_ns = timings[3 + i].median_ns;
  if (out.tuned) out.tuned->median_ns = differs ? timings.back().median_ns : out.median_ns;
  out.gbps = static_cast<double>(out.bytes) / out.median_ns;
  out.ratio = out.median_ns / out.copy_ns;
  out.min_ratio = out.min_ns / min_copy_ns;
}

}  // namespace

int64_t bytes_moved(const Plan& plan) {
  const Cost cost = plan.cost();
  const int64_t old = plan.attributes().beta != 0 ? plan.dst().logical_bytes() : 0;
  return std::min(cost.bytes_read - old, plan.src().span_bytes()) + old + cost.bytes_written;
}

Measurement measure(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes,
                    const MeasureOptions& options) {
  check(src, options);
  const Plan plan = cpu::make_plan(src, dst, attributes);
  Measurement out;
  out.threads = options.threads <= 0 ? cpu::default_threads() : std::min(options.threads, cpu::default_threads());
  out.repeat = options.repeat;
  out.misalign = options.misalign;
  out.bytes = bytes_moved(plan);
  out.copy_bytes = options.copy_bytes > 0 ? options.copy_bytes : out.bytes;
  out.predicted_ns = plan.cost().nanoseconds;
  out.kernel = plan.kernel();
  out.isa = cpu::isa();

  const int64_t half = (out.copy_bytes + 1) / 2;
  const bool competing = options.competitors && !options.competitors->empty();
  require_memory(Buffers::bytes_needed(src, dst, half, competing), "bench");
  const Buffers buffers(src, dst, half, competing, attributes.beta != 0, options.misalign);
  const bool verified = options.verify && src.layout.elements() <= kMostVerified;
  out.too_large_to_verify = options.verify && !verified;
  if (verified) out.verified = verify(plan, buffers, out.threads);
  if (options.tune) {
    cpu::TuneOptions tune = *options.tune;
    tune.threads = out.threads;
    out.tuned = TunedResult{0, cpu::tune(src, dst, attributes, buffers.src(), buffers.dst(), tune)};
    if (verified) out.verified = *out.verified && verify(out.tuned->tuned.plan, buffers, out.threads);
  }

  const Copies copies(out.threads);
  std::vector<Work> works(3);
  works[0] = runs(plan, buffers, out.threads);
  works[1].run = [&](int64_t count) {
    for (; count > 0; --count) copies.plain(buffers.to(), buffers.from(), half);
  };
  if (have_non_temporal() && out.copy_bytes >= kNonTemporalFrom) {
    works[2].run = [&](int64_t count) {
      for (; count > 0; --count) copies.non_temporal(buffers.to(), buffers.from(), half);
    };
  }
  if (competing) {
    std::ranges::move(prepare_competitors(*options.competitors, plan, buffers, out.threads, out),
                      std::back_inserter(works));
  }
  const auto offered = options.offers ? offers(src, dst, attributes, cpu::machine()) : std::vector<Offer>{};
  const std::size_t first_offer = works.size();
  std::ranges::move(prepare_offers(offered, buffers, out), std::back_inserter(works));
  const bool differs = out.tuned && out.tuned->tuned.tuning != Tuning{};
  if (differs) works.push_back(runs(out.tuned->tuned.plan, buffers, out.threads));
  const std::vector<Timing> timings = time_in_turns(
      works, {.repeat = options.repeat, .repetition_ns = options.repetition_ns, .warm = out.copy_bytes <= kWarmUpTo});
  for (std::size_t i = 0; i < out.offers.size(); ++i) out.offers[i].median_ns = timings[first_offer + i].median_ns;
  conclude(timings, works[2].run != nullptr, differs, out);
  out.plan_ns = plan_making_ns(src, dst, attributes, options.repeat);
  return out;
}

double Measurement::regret() const {
  double best = 0, chosen = 0;
  for (const OfferResult& offer : offers) {
    if (best == 0 || offer.median_ns < best) best = offer.median_ns;
    if (offer.chosen) chosen = offer.median_ns;
  }
  return best > 0 ? chosen / best : 1;
}

}  // namespace relayout::bench
