// Times pairs of layouts one by one, then the slowest again.
#include "bench/tag_walk.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <iostream>
#include <random>

#include "bench/measure.h"
#include "relayout/cpu/reorder.h"
#include "relayout/reorder/planner/plan_data.h"
#include "relayout/reorder/reference.h"

namespace relayout::bench {
namespace {

using Clock = std::chrono::steady_clock;

double ns_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

int64_t copy_bytes(const Plan& plan) { return (plan.src().span_bytes() + plan.dst().span_bytes()) / 2; }

/// One run a repetition; what fits into the caches is measured in them, as measure() does.
TimingOptions timing_options(int64_t copy_bytes, int repeat) {
  return {.repeat = repeat, .repetition_ns = 1, .warm = 2 * copy_bytes <= kWarmUpTo};
}

double least_median(const std::vector<Timing>& times) {
  double least = times.front().median_ns;
  for (const Timing& timing : times) least = std::min(least, timing.median_ns);
  return least;
}

/// A plan in one line: its two largest boxes with their share of the elements.
std::string plan_text(const Plan& plan) {
  std::vector<const BoxPlan*> boxes;
  for (const BoxPlan& box : plan.data().boxes()) boxes.push_back(&box);
  std::ranges::stable_sort(boxes, std::greater(), &BoxPlan::elements);
  std::string out = std::to_string(boxes.size()) + (boxes.size() == 1 ? " box" : " boxes");
  const auto all = static_cast<double>(plan.src().layout.elements());
  for (std::size_t i = 0; i < std::min<std::size_t>(boxes.size(), 2); ++i) {
    const int percent = static_cast<int>(100 * static_cast<double>(boxes[i]->elements) / all + 0.5);
    out += (i == 0 ? ": " : "; ") + std::to_string(percent) + " % " + plan.data().kernel(*boxes[i]);
  }
  return out;
}

/// The kernel that moves most elements.
std::string main_kernel(const Plan& plan) {
  std::map<std::string, int64_t> elements;
  for (const BoxPlan& box : plan.data().boxes()) elements[plan.data().kernel(box)] += box.elements;
  const auto most = std::ranges::max_element(elements, {}, [](const auto& entry) { return entry.second; });
  return most == elements.end() ? "nothing" : most->first;
}

}  // namespace

std::vector<Work> Yardstick::works(int64_t bytes) const {
  std::vector<Work> works;
  works.push_back({[this, bytes](int64_t count) {
    for (int64_t i = 0; i < count; ++i) copies_.plain(dst_.data(), src_.data(), bytes);
  }});
  if (have_non_temporal() && 2 * bytes >= kNonTemporalFrom) {
    works.push_back({[this, bytes](int64_t count) {
      for (int64_t i = 0; i < count; ++i) copies_.non_temporal(dst_.data(), src_.data(), bytes);
    }});
  }
  return works;
}

double Yardstick::limit_ns(int64_t bytes) {
  Entry& entry = entries_[bytes];
  if (entry.uses++ % kUses == 0) entry.ns = least_median(time_in_turns(works(bytes), timing_options(bytes, 5)));
  return entry.ns;
}

Walk::Walk(const std::vector<NamedLayout>& layouts, DType src, DType dst, const WalkOptions& options,
           const PageBuffer& from, const PageBuffer& to)
    : layouts_(layouts),
      src_(src),
      dst_(dst),
      options_(options),
      from_(from),
      to_(to),
      yardstick_(from, to, options.threads) {
  fill_values(src_, from_.bytes());
}

std::string Walk::types() const {
  return std::string(name(src_)) + (src_ == dst_ ? "" : ":" + std::string(name(dst_)));
}

Json Walk::run() {
  const double limit_s = options_.limit_s;
  std::vector<std::pair<int, int>> pairs = wanted_pairs();
  const std::size_t total = pairs.size();
  if (total == 0) throw Error(ErrorCode::invalid_argument, "no pair of tags at this rank fits " + options_.filter);
  if (limit_s > 0) std::shuffle(pairs.begin(), pairs.end(), std::mt19937_64(options_.seed));
  const auto start = Clock::now();
  auto last_word = start;
  double worst = 0;
  for (const auto& [s, d] : pairs) {
    if (limit_s > 0 && ns_since(start) > limit_s * 1e9) break;
    measured_.push_back(quick(s, d));
    worst = std::max(worst, measured_.back().ratio());
    if (ns_since(last_word) > 5e9) {
      last_word = Clock::now();
      std::cerr << types() << ": " << measured_.size() << " of " << total << " pairs, up to " << worst << "\n";
    }
  }
  confirm_slowest();
  return report(total, ns_since(start) / 1e9);
}

std::vector<std::pair<int, int>> Walk::wanted_pairs() const {
  const std::size_t colon = options_.filter.find(':');
  const std::string src = options_.filter.substr(0, colon);
  const std::string dst = colon == std::string::npos ? "" : options_.filter.substr(colon + 1);
  std::vector<std::pair<int, int>> pairs;
  const int count = static_cast<int>(layouts_.size());
  for (int s = 0; s < count; ++s) {
    for (int d = 0; d < count; ++d) {
      if (tag(s).find(src) != std::string::npos && tag(d).find(dst) != std::string::npos) pairs.emplace_back(s, d);
    }
  }
  return pairs;
}

double Walk::once_ns(const Plan& plan) {
  const auto start = Clock::now();
  cpu::run(plan, from_.data(), to_.data(), {.threads = options_.threads});
  return ns_since(start);
}

Walk::Measured Walk::quick(int s, int d) {
  const Plan plan = cpu::make_plan(src_desc(s), dst_desc(d));
  if (options_.verify) verify(plan, s, d);
  Measured out{s, d, 0, yardstick_.limit_ns(copy_bytes(plan)), false};
  once_ns(plan);
  std::vector<double> times;
  double sum = 0;
  while (times.size() < 3 && (times.empty() || sum < 20e6)) {
    times.push_back(once_ns(plan));
    sum += times.back();
  }
  out.ns = *std::min_element(times.begin(), times.end());
  if (times.size() == 3) out.ns = median(times);
  return out;
}

void Walk::confirm(Measured& pair) {
  const Plan plan = cpu::make_plan(src_desc(pair.src), dst_desc(pair.dst));
  const int64_t bytes = copy_bytes(plan);
  std::vector<Work> works = yardstick_.works(bytes);
  works.push_back({[&](int64_t count) {
    for (int64_t i = 0; i < count; ++i) cpu::run(plan, from_.data(), to_.data(), {.threads = options_.threads});
  }});
  // Slow pairs need fewer repetitions, as their times vary less.
  const int repeat = static_cast<int>(std::clamp(100e6 / pair.ns, 3.0, 11.0));
  std::vector<Timing> times = time_in_turns(works, timing_options(bytes, repeat));
  pair.ns = times.back().median_ns;
  times.pop_back();
  pair.copy_ns = least_median(times);
  pair.confirmed = true;
}

/// Sorts by ratio, largest first, and measures anew until the listed ones are all confirmed.
void Walk::confirm_slowest() {
  const auto slower = [](const Measured& a, const Measured& b) { return a.ratio() > b.ratio(); };
  for (;;) {
    std::sort(measured_.begin(), measured_.end(), slower);
    const auto end = measured_.begin() + static_cast<std::ptrdiff_t>(listed());
    const auto open = std::find_if(measured_.begin(), end, [](const Measured& m) { return !m.confirmed; });
    if (open == end) return;
    confirm(*open);
  }
}

void Walk::verify(const Plan& plan, int s, int d) {
  const auto bytes = static_cast<std::size_t>(plan.dst().span_bytes());
  std::vector<std::byte> expected(bytes, std::byte{0x5b});
  std::memset(to_.data(), 0x5b, bytes);
  reference_reorder(plan.src(), from_.data(), plan.dst(), expected.data());
  once_ns(plan);
  if (std::memcmp(expected.data(), to_.data(), bytes) == 0) return;
  ++wrong_;
  std::cerr << "wrong: " << types() << " " << tag(s) << " -> " << tag(d) << "\n";
}

/// `measured_` is sorted.
double Walk::quantile(double q) const {
  if (measured_.empty()) return 0;
  return measured_[static_cast<std::size_t>((1 - q) * static_cast<double>(measured_.size() - 1))].ratio();
}

Json Walk::pair_json(const Measured& m) const {
  const Plan plan = cpu::make_plan(src_desc(m.src), dst_desc(m.dst));
  return {{"src", tag(m.src)},
          {"dst", tag(m.dst)},
          {"types", types()},
          {"ratio", m.ratio()},
          {"median_ns", m.ns},
          {"copy_ns", m.copy_ns},
          {"bytes", 2 * copy_bytes(plan)},
          {"kernel", plan_text(plan)}};
}

/// The pairs by the kernel that does most of each, the largest ratio first.
Json Walk::by_kernel() const {
  std::map<std::string, std::vector<double>> ratios;  // each largest first, as `measured_` is
  for (const Measured& m : measured_) {
    ratios[main_kernel(cpu::make_plan(src_desc(m.src), dst_desc(m.dst)))].push_back(m.ratio());
  }
  std::vector<Json> out;
  for (const auto& [kernel, of] : ratios) {
    out.push_back({{"kernel", kernel}, {"pairs", of.size()}, {"median", of[of.size() / 2]}, {"max", of.front()}});
  }
  std::stable_sort(out.begin(), out.end(), [](const Json& a, const Json& b) { return a["max"] > b["max"]; });
  return out;
}

Json Walk::report(std::size_t total, double seconds) const {
  Json above = Json::array(), slowest = Json::array();
  for (const double bound : {1.5, 2.0, 3.0, 5.0, 10.0, 20.0}) {
    const auto count =
        std::count_if(measured_.begin(), measured_.end(), [&](const Measured& m) { return m.ratio() > bound; });
    above.push_back({{"ratio", bound}, {"pairs", count}});
  }
  for (std::size_t i = 0; i < listed(); ++i) {
    slowest.push_back(pair_json(measured_[i]));
  }
  Json out = {
      {"types", types()},   {"layouts", layouts_.size()}, {"pairs", total},        {"measured", measured_.size()},
      {"seconds", seconds}, {"median", quantile(0.5)},    {"p99", quantile(0.99)}, {"max", quantile(1)}};
  if (options_.verify) out["wrong"] = wrong_;
  out["above"] = std::move(above);
  out["by_kernel"] = by_kernel();
  out["slowest"] = std::move(slowest);
  return out;
}

}  // namespace relayout::bench
