// Measuring random cases one after the other, and computing their summaries.
#include "bench/random_run.h"

#include <algorithm>

#include "bench/lines.h"
#include "bench/timing.h"

namespace relayout::bench {
namespace {

constexpr double kFarBehind = 1.1;

RandomResult measure_random(const RandomCase& c, MeasureOptions options) {
  RandomResult out{c, {}, ""};
  try {
    const TensorDesc src = c.src_desc(), dst = c.dst_desc();
    options.misalign = c.misalign;
    options.copy_bytes = bytes_of_lines(src, dst, c.misalign);
    out.measured = measure(src, dst, c.attributes, options);
  } catch (const Error& error) {
    out.error = error.message();
  }
  return out;
}

RandomSummary summarize_one(std::string kind, std::span<const RandomResult* const> results) {
  RandomSummary out;
  out.kind = std::move(kind);
  std::vector<double> ratios, regrets;
  std::vector<const Measurement*> measured;
  for (const RandomResult* result : results) {
    if (!result->error.empty()) {
      ++out.not_measured;
      continue;
    }
    const Measurement& m = result->measured;
    ++out.cases;
    out.wrong += result->wrong();
    ratios.push_back(m.ratio);
    measured.push_back(&m);
    if (!m.offers.empty()) {
      regrets.push_back(m.regret());
      out.chosen_well += regrets.back() <= kFarBehind;
    }
    const CompetitorResult* best = best_competitor(m);
    if (!best) continue;
    ++out.raced;
    out.ahead += m.median_ns <= best->median_ns;
    out.never_far_behind += m.median_ns <= kFarBehind * best->median_ns;
  }
  out.mean = geometric_mean(ratios);
  out.median = median(ratios);
  out.percent_90 = percentile(ratios, 90);
  out.percent_99 = percentile(ratios, 99);
  out.worst = percentile(ratios, 100);
  out.predicted = prediction(measured);
  out.offered = static_cast<int>(regrets.size());
  if (!regrets.empty()) {
    out.regret = geometric_mean(regrets);
    out.regret_90 = percentile(regrets, 90);
    out.regret_worst = percentile(regrets, 100);
  }
  return out;
}

}  // namespace

std::vector<RandomResult> run_random(std::span<const RandomCase> cases, const MeasureOptions& options,
                                     const std::function<void(const RandomResult&)>& done) {
  std::vector<RandomResult> out;
  for (const RandomCase& c : cases) {
    out.push_back(measure_random(c, options));
    if (done) done(out.back());
  }
  return out;
}

std::vector<RandomSummary> summarize_random(std::span<const RandomResult> results) {
  std::vector<RandomSummary> out;
  std::vector<const RandomResult*> others, all;
  for (int i = 0; i < kRandomKindCount; ++i) {
    const auto kind = static_cast<RandomKind>(i);
    std::vector<const RandomResult*> own;
    for (const RandomResult& result : results) {
      if (result.about.kind == kind) own.push_back(&result);
    }
    if (own.empty()) continue;
    out.push_back(summarize_one(std::string(name(kind)), own));
    all.insert(all.end(), own.begin(), own.end());
    if (kind != RandomKind::nibbles) others.insert(others.end(), own.begin(), own.end());
  }
  if (!others.empty() && others.size() < all.size()) out.push_back(summarize_one(std::string(kAllButNibbles), others));
  if (!all.empty()) out.push_back(summarize_one(std::string(kAll), all));
  return out;
}

std::vector<const RandomResult*> slowest(std::span<const RandomResult> results, int count) {
  std::vector<const RandomResult*> out;
  for (const RandomResult& result : results) {
    if (result.error.empty()) out.push_back(&result);
  }
  std::ranges::stable_sort(out, std::ranges::greater{},
                           [](const RandomResult* result) { return result->measured.ratio; });
  if (out.size() > static_cast<std::size_t>(count)) out.resize(static_cast<std::size_t>(count));
  return out;
}

double percentile(std::vector<double> values, int percent) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const std::size_t rank = (values.size() * static_cast<std::size_t>(percent) + 99) / 100;
  return values[std::max<std::size_t>(rank, 1) - 1];
}

}  // namespace relayout::bench
