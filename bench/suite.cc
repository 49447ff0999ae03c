// Running the suite and the sweep.
#include "bench/suite.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "bench/buffer.h"
#include "relayout/core/format.h"

namespace relayout::bench {
namespace {

std::string types_text(const Case& c, std::string_view src, std::string_view dst) {
  std::string out = std::string(name(c.dtype)) + " " + std::string(src) + " -> ";
  if (c.to_dtype != c.dtype) out += std::string(name(c.to_dtype)) + " ";
  return out + std::string(dst);
}

CaseResult measure_case(const Case& c, MeasureOptions options) {
  CaseResult out{&c, {}, ""};
  out.measured.threads = options.threads;
  options.misalign = c.misalign;
  Attributes attributes;
  if (c.scale != 0) attributes.src_scale = {{c.scale}, 0};
  try {
    const Dims dims = parse_dims(c.dims);
    out.measured = measure({Format::parse(c.src).bind(dims), c.dtype}, {Format::parse(c.dst).bind(dims), c.to_dtype},
                           attributes, options);
  } catch (const Error& error) {
    out.error = error.message();
  }
  return out;
}

/// Extents that double in turn, from 4 KiB of f32 at step 0.
struct SweepPair {
  std::string_view src, dst;
  DType to_dtype;
  Dims start;
  std::vector<int> growth;  // the dim that grows at each step; the last one goes on growing

  std::string name() const {
    const std::string to = to_dtype == DType::f32 ? "" : std::string(relayout::name(to_dtype)) + " ";
    return "f32 " + std::string(src) + " -> " + to + std::string(dst);
  }

  Dims dims(int step) const {
    Dims out = start;
    for (int i = 0; i < step; ++i) {
      out[growth[std::min(static_cast<std::size_t>(i), growth.size() - 1)]] *= 2;
    }
    return out;
  }
};

std::vector<SweepPair> sweep_pairs() {
  const Dims image{1, 16, 8, 8};
  const std::vector<int> image_growth{2, 3, 1, 1, 2, 3, 0};
  std::vector<int> in_turn;
  for (int i = 0; i < 32; ++i) in_turn.push_back(i % 2);
  return {{"nchw", "nhwc", DType::f32, image, image_growth},
          {"nchw", "nChw16c", DType::f32, image, image_growth},
          {"nchw", "nhwc", DType::bf16, image, image_growth},
          {"ab", "ba", DType::f32, Dims{32, 32}, in_turn}};
}

}  // namespace

std::string_view unit(Metric metric) {
  static constexpr std::string_view kUnits[] = {"x", "ns", "us"};
  return kUnits[static_cast<int>(metric)];
}

const Row& row_of(const Case& c) {
  const auto found = std::ranges::find(all_rows(), c.row, &Row::name);
  if (found == all_rows().end()) {
    throw Error(ErrorCode::internal, "bench: a case of row " + std::string(c.row) + ", which does not exist");
  }
  return *found;
}

std::string name_of(const Case& c) {
  std::string dims(c.dims);
  std::ranges::replace(dims, ',', 'x');
  const std::string what =
      c.label.empty() ? types_text(c, c.src, c.dst) : std::string(name(c.dtype)) + " " + std::string(c.label);
  return what + " " + dims + (c.scale != 0 ? " scaled" : "") +
         (c.misalign != 0 ? " +" + std::to_string(c.misalign) : "");
}

double CaseResult::value() const {
  switch (row_of(*about).metric) {
    case Metric::run_ns: return measured.median_ns;
    case Metric::plan_ns: return measured.plan_ns;
    default: return measured.ratio;
  }
}

std::vector<CaseResult> run_suite(const SuiteOptions& options, const std::function<void(const CaseResult&)>& done) {
  std::vector<CaseResult> out;
  for (const Case& c : all_cases()) {
    if (options.quick && !c.quick) continue;
    if ((std::string(c.row) + ": " + name_of(c)).find(options.filter) == std::string::npos) continue;
    for (int threads : options.threads) {
      MeasureOptions measure_options = options.measure;
      measure_options.threads = threads;
      out.push_back(measure_case(c, measure_options));
      if (done) done(out.back());
    }
  }
  return out;
}

std::vector<Sweep> run_sweep(const MeasureOptions& options, const std::string& filter, int64_t largest_bytes,
                             const std::function<void(const Sweep&)>& point_done) {
  static constexpr int kSteps = 18;
  std::vector<Sweep> out;
  for (const SweepPair& pair : sweep_pairs()) {
    if (pair.name().find(filter) == std::string::npos) continue;
    out.push_back({pair.name(), {}});
    for (int step = 0; step <= kSteps; ++step) {
      const Dims dims = pair.dims(step);
      const TensorDesc src(Format::parse(pair.src).bind(dims), DType::f32);
      const TensorDesc dst(Format::parse(pair.dst).bind(dims), pair.to_dtype);
      if (src.span_bytes() > largest_bytes || src.span_bytes() + dst.span_bytes() > available_memory()) break;
      out.back().points.push_back({src.span_bytes(), measure(src, dst, {}, options)});
      if (point_done) point_done(out.back());
    }
  }
  return out;
}

bool Sweep::wrong() const {
  return std::ranges::any_of(points, [](const Point& point) { return point.measured.wrong(); });
}

double geometric_mean(std::span<const double> values) {
  if (values.empty()) return 0;
  double sum = 0;
  for (double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

}  // namespace relayout::bench
