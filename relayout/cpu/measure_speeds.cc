// Measuring what this machine's memory and kernels take: copies of which one side is far away, and small reorders.
#include "relayout/cpu/measure_speeds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "relayout/core/format.h"
#include "relayout/cpu/kernels/kernels.h"
#include "relayout/cpu/machine.h"
#include "relayout/cpu/reorder.h"

namespace relayout::cpu {
namespace {

/// Each time is the median of so many.
constexpr int kRepeats = 5;
/// Bytes of each of the two buffers; and of what is copied at a time where one side stays in the first level.
constexpr int64_t kBuffer = 64 << 20, kNear = 8 << 10;

using Memory = std::vector<std::byte>;

/// Nanoseconds of one call, which is repeated until it takes long enough to be measured.
template <typename Work>
double ns_of(Stopwatch& stopwatch, const Work& work) {
  constexpr double kLongEnoughUs = 200;
  int64_t calls = 1;
  const auto run = [&] {
    for (int64_t i = 0; i < calls; ++i) work();
  };
  double us = stopwatch.time(run).us;
  for (; us < kLongEnoughUs && calls < 1 << 20; us = stopwatch.time(run).us) calls *= 4;
  std::array<double, kRepeats> times{};
  for (double& time : times) time = stopwatch.time(run).us;
  std::ranges::sort(times);
  return 1000 * times[kRepeats / 2] / static_cast<double>(calls);
}

/// Copies `bytes` bytes by pieces of kNear; the other side is one piece.
template <typename Copy>
double bytes_per_ns(Stopwatch& stopwatch, int64_t bytes, const Copy& copy) {
  const double ns = ns_of(stopwatch, [&] {
    for (int64_t at = 0; at < bytes; at += kNear) copy(at);
  });
  return static_cast<double>(bytes) / ns;
}

/// How long a reorder through the caches takes, and what it is expected to take.
struct Probe {
  double ns, priced_ns, bytes;

  Probe(Stopwatch& stopwatch, const Machine& machine, std::string_view from, std::string_view to, const Dims& dims,
        DType type, Memory& in, Memory& out) {
    const TensorDesc src(Format::parse(from).bind(dims), type), dst(Format::parse(to).bind(dims), type);
    const Plan plan = Plan::make(src, dst, {}, machine, {.stream = Tuning::Stream::never, .way = Tuning::Way::boxes});
    priced_ns = plan.cost().nanoseconds;
    bytes = static_cast<double>(src.span_bytes() + dst.span_bytes());
    ns = ns_of(stopwatch, [&] { cpu::run(plan, in.data(), out.data(), {.threads = 1}); });
  }
};

/// How many times as long as priced some small reorders take.
double kernels_factor(Stopwatch& stopwatch, const Machine& machine, Memory& in, Memory& out) {
  double log = 0;
  int count = 0;
  const auto add = [&](std::string_view from, std::string_view to, const Dims& dims, DType type) {
    const Probe probe(stopwatch, machine, from, to, dims, type, in, out);
    log += std::log(probe.ns / probe.priced_ns);
    ++count;
  };
  add("ab", "ba", {40, 40}, DType::f32);
  add("ab", "ba", {64, 64}, DType::u16);
  add("ab", "ba", {96, 96}, DType::u8);
  add("abc", "bac", {24, 24, 4}, DType::f32);
  return std::exp(log / count);
}

/// Nanoseconds that each byte waits where both sides of a transposition have so many bytes.
double wait_ns(Stopwatch& stopwatch, const Machine& machine, int64_t both, Memory& in, Memory& out) {
  // Rows start at lines, but not a power of two apart, so that they do not compete for few sets of the caches.
  const auto side = static_cast<int64_t>(std::sqrt(static_cast<double>(std::min(both, kBuffer)) / 8)) / 64 * 64 + 16;
  const Probe probe(stopwatch, machine, "ab", "ba", {side, side}, DType::f32, in, out);
  return std::max(0.0, probe.ns - probe.priced_ns) / probe.bytes;
}

}  // namespace

Speeds measure_speeds(Stopwatch& stopwatch) {
  Memory in(kBuffer), out(kBuffer);
  const auto copy = [&](CopyKernel kernel, int64_t from, int64_t to) {
    kernel(in.data() + from, kFirst, kFirst, out.data() + to, kFirst, kFirst, 1, 1, kNear, 0);
  };
  const Kernels& table = kernels();
  const CopyKernel past = table.copy_stream ? table.copy_stream : table.copy;
  Machine here = machine();
  Speeds speeds;
  speeds.write = bytes_per_ns(stopwatch, kBuffer, [&](int64_t at) { copy(past, 0, at); });
  // What is read again and again comes from memory only where it does not fit into the last level.
  if (here.l3 < kBuffer) speeds.read = bytes_per_ns(stopwatch, kBuffer, [&](int64_t at) { copy(table.copy, at, 0); });
  const int64_t last = std::clamp(here.l3_share() / 2, 2 * kNear, kBuffer);
  speeds.read_l3 = bytes_per_ns(stopwatch, last, [&](int64_t at) { copy(table.copy, at, 0); });
  // Probes are priced without waits, which are what is left.
  constexpr double kNone = 1e-9;
  here.speeds = {.beyond_first = kNone, .beyond_second = kNone, .far_beyond = kNone, .kernels = 1};
  speeds.kernels = here.speeds.kernels = kernels_factor(stopwatch, here, in, out);
  const double first = wait_ns(stopwatch, here, here.l2 / 2, in, out);
  const double second = wait_ns(stopwatch, here, 3 * here.l2 / 2, in, out);
  const double far = wait_ns(stopwatch, here, 8 * here.l2, in, out);
  speeds.beyond_first = std::max(kNone, first);
  speeds.beyond_second = std::max(kNone, second - first);
  speeds.far_beyond = std::max(kNone, far - std::max(first, second));
  return speeds;
}

}  // namespace relayout::cpu
