// What measurements rest on: the copies, the values, the turns, the list of cases and what is concluded from results.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <set>

#include "bench/buffer.h"
#include "bench/chart.h"
#include "bench/copy.h"
#include "bench/report.h"
#include "bench/timing.h"
#include "relayout/core/format.h"
#include "relayout/cpu/reorder.h"
#include "relayout/cpu/tune_cache.h"

namespace relayout::bench {
namespace {

TEST(Copies, EveryByteAtAnySizeAndAddress) {
  static constexpr int64_t kMost = (9 << 20) + 77;
  PageBuffer src(kMost + 128), dst(kMost + 128);
  fill_values(DType::u8, src.bytes());
  for (int threads : {1, 2, 3}) {
    const Copies copies(threads);
    for (int64_t bytes : {int64_t{0}, int64_t{1}, int64_t{63}, int64_t{64}, int64_t{300}, int64_t{65536 + 5}, kMost}) {
      for (int64_t shift : {0, 1, 63}) {
        for (auto copy : {&Copies::plain, &Copies::non_temporal}) {
          std::ranges::fill(dst.bytes(), std::byte{0});
          (copies.*copy)(dst.data() + shift, src.data() + 3, bytes);
          ASSERT_EQ(std::memcmp(dst.data() + shift, src.data() + 3, static_cast<std::size_t>(bytes)), 0)
              << bytes << " bytes at " << shift << ", " << threads << " threads";
          ASSERT_EQ(dst.data()[shift + bytes], std::byte{0}) << "written past the end";
          if (shift > 0) {
            ASSERT_EQ(dst.data()[shift - 1], std::byte{0}) << "written before the start";
          }
        }
      }
    }
  }
}

/// The values as f64, by the library's own conversion.
std::vector<double> values_of(DType dtype, std::span<const std::byte> bytes) {
  const Dims dims{static_cast<int64_t>(bytes.size()) * 8 / bits(dtype)};
  std::vector<double> out(static_cast<std::size_t>(dims[0]));
  const Layout layout = Layout::contiguous(dims);
  cpu::run(Plan::make({layout, dtype}, {layout, DType::f64}), bytes.data(), out.data());
  return out;
}

TEST(Values, AreFiniteModerateAndDiffer) {
  for (DType dtype : all_dtypes()) {
    PageBuffer buffer(4096);
    fill_values(dtype, buffer.bytes());
    const std::vector<double> values = values_of(dtype, buffer.bytes());
    std::set<double> different(values.begin(), values.end());
    EXPECT_GE(different.size(), dtype == DType::boolean ? 2u : std::min(8u, 1u << bits(dtype))) << name(dtype);
    for (double value : values) {
      ASSERT_TRUE(std::isfinite(value)) << name(dtype);
      if (!is_floating(dtype) || bits(dtype) < 8) continue;
      ASSERT_GE(std::abs(value), 1.0 / 128) << name(dtype) << ": not normal in every type";
      ASSERT_LT(std::abs(value), 512) << name(dtype);
    }
  }
}

TEST(Values, WholeNumbers) {
  for (DType dtype : all_dtypes()) {
    if (dtype == DType::boolean || dtype == DType::f8_e8m0 || bits(dtype) < 8) continue;
    PageBuffer buffer(4096);
    fill_whole_numbers(dtype, buffer.bytes());
    const std::vector<double> values = values_of(dtype, buffer.bytes());
    const std::set<double> different(values.begin(), values.end());
    EXPECT_EQ(different, (std::set<double>{0, 1, 2, 3, 4, 5, 6, 7})) << name(dtype);
  }
}

/// The value of the bits, by the definition of such a type; the exponent is one of neither denormals nor infinity.
double value_of(const FloatBits& type, uint64_t bits) {
  const uint64_t fraction = bits & ((uint64_t{1} << type.mantissa_bits) - 1);
  const uint64_t exponent = bits >> type.mantissa_bits & ((uint64_t{1} << type.exponent_bits) - 1);
  EXPECT_GT(exponent, 0u);
  EXPECT_LT(exponent, (uint64_t{1} << type.exponent_bits) - 1);
  const double magnitude = 1 + std::ldexp(static_cast<double>(fraction), -type.mantissa_bits);
  const double value = std::ldexp(magnitude, static_cast<int>(exponent) - type.bias());
  return bits >> (type.mantissa_bits + type.exponent_bits) == 0 ? value : -value;
}

/// Formats that the library lacks are among these, so a new type finds its values tested.
TEST(Values, OfEveryFloatingType) {
  std::mt19937_64 random(1);
  for (int exponent_bits = 3; exponent_bits <= 11; ++exponent_bits) {
    for (int mantissa_bits = 2; mantissa_bits <= 52; ++mantissa_bits) {
      const FloatBits type{mantissa_bits, exponent_bits};
      EXPECT_EQ(whole_float(type, 0), 0u);
      for (uint64_t number = 1; number < 8; ++number)
        ASSERT_EQ(value_of(type, whole_float(type, number)), static_cast<double>(number))
            << exponent_bits << " exponent bits, " << mantissa_bits << " mantissa bits";
      for (int turn = 0; turn < 50; ++turn) {
        const double value = std::abs(value_of(type, random_float(type, random())));
        ASSERT_GE(value, exponent_bits > 4 ? 1.0 / 128 : std::ldexp(1, -(1 << (exponent_bits - 2))));
        ASSERT_LT(value, exponent_bits > 4 ? 512 : std::ldexp(1, 1 << (exponent_bits - 2)));
      }
    }
  }
}

TEST(Memory, MoreThanThereIsIsRefused) {
  try {
    require_memory(int64_t{1} << 60, "test");
    FAIL() << "2^60 bytes are available";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::limit);
  }
  EXPECT_NO_THROW(require_memory(4096, "test"));
}

TEST(Timing, Medians) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
}

TEST(Timing, EachHasItsTurns) {
  std::string order;
  std::vector<Work> works(3);
  works[0].run = [&](int64_t) { order += 'a'; };
  works[2].run = [&](int64_t) { order += 'c'; };
  const auto timings = time_in_turns(works, {.repeat = 4, .repetition_ns = 1});
  EXPECT_EQ(timings[1].median_ns, 0);
  EXPECT_GT(timings[0].median_ns, 0);
  ASSERT_GE(order.size(), 8u);
  // 0 1 2, 1 2 0, 2 0 1, 0 1 2
  EXPECT_EQ(order.substr(order.size() - 8), "accacaac");
}

TEST(Measure, CountsEachByteOfARepeatedSourceOnce) {
  const Dims dims{8, 16};
  const TensorDesc src(Layout::strided(dims, Dims{0, 1}), DType::f32), dst(Layout::contiguous(dims), DType::bf16);
  EXPECT_EQ(bytes_moved(Plan::make(src, dst)), 16 * 4 + 8 * 16 * 2);
  Attributes sum;
  sum.beta = 1;
  EXPECT_EQ(bytes_moved(Plan::make(src, dst, sum)), 16 * 4 + 2 * 8 * 16 * 2);
}

constexpr int64_t kMisalign = 16;

std::function<void()> prepare_right(const TensorDesc& src, const void* src_data, const TensorDesc& dst, void* dst_data,
                                    const Attributes& attributes, int, std::string*) {
  for (const void* data : {src_data, const_cast<const void*>(dst_data)})
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 4096, static_cast<uintptr_t>(kMisalign));
  return [=, plan = Plan::make(src, dst, attributes)] { cpu::run(plan, src_data, dst_data, {.threads = 1}); };
}
std::function<void()> prepare_wrong(const TensorDesc&, const void*, const TensorDesc&, void* dst_data,
                                    const Attributes&, int, std::string*) {
  return [=] { std::memset(dst_data, 7, 1); };
}
std::function<void()> prepare_none(const TensorDesc&, const void*, const TensorDesc&, void*, const Attributes&, int,
                                   std::string* why) {
  *why = "cannot";
  return {};
}

TEST(Measure, CompetitorsAreChecked) {
  const std::vector<Competitor> list = {
      {"right", "1", prepare_right}, {"wrong", "2", prepare_wrong}, {"none", "3", prepare_none}};
  const Dims dims{2, 17, 5, 4};
  for (const char* from : {"nchw", "nChw8c"}) {
    const Measurement m =
        measure({Format::parse(from).bind(dims), DType::f32}, {Format::parse("nhwc").bind(dims), DType::u8}, {},
                {.repeat = 3, .misalign = kMisalign, .repetition_ns = 1e3, .verify = true, .competitors = &list});
    ASSERT_EQ(m.competitors.size(), 3u);
    EXPECT_GT(m.competitors[0].median_ns, 0);
    EXPECT_EQ(m.competitors[1].median_ns, 0);
    EXPECT_EQ(m.competitors[1].why, "wrong result");
    EXPECT_EQ(m.competitors[2].why, "cannot");
    EXPECT_EQ(m.verified, true);
    EXPECT_EQ(m.misalign, kMisalign);
  }
}

TEST(Measure, ATunedPlanBesideTheDefault) {
  cpu::TuneCache cache;
  const Dims dims{256, 320};
  const TensorDesc src(Format::parse("ab").bind(dims), DType::f32), dst(Format::parse("ba").bind(dims), DType::f32);
  MeasureOptions options{.repeat = 3, .verify = true, .tune = cpu::TuneOptions{.rounds = 3, .cache = &cache}};
  options.tune->machine = Machine{4 << 10, 8 << 10, 64 << 10};
  const Measurement measured = measure(src, dst, {}, options);
  ASSERT_TRUE(measured.tuned);
  EXPECT_GT(measured.tuned->median_ns, 0);
  EXPECT_EQ(measured.verified, true);
  const Json report = to_json(measured);
  EXPECT_EQ(report["tuning"], cpu::to_text(measured.tuned->tuned.tuning));
  EXPECT_EQ(report["tuned_ns"], measured.tuned->median_ns);
  ASSERT_EQ(report["tuning_candidates"].size(), measured.tuned->tuned.candidates.size());
  EXPECT_EQ(report["tuning_candidates"][0]["tuning"], "default");
  EXPECT_EQ(report["tuning_candidates"][0]["median_ns"], measured.tuned->tuned.default_ns);
  EXPECT_FALSE(to_json(measure(src, dst, {}, {.repeat = 1})).contains("tuning"));
}

TEST(Cases, EveryOneHasAPlanAGoalAndANameOfItsOwn) {
  std::set<std::string> names, rows;
  for (const Case& c : all_cases()) {
    const Dims dims = parse_dims(c.dims);
    EXPECT_NO_THROW(
        Plan::make({Format::parse(c.src).bind(dims), c.dtype}, {Format::parse(c.dst).bind(dims), c.to_dtype}))
        << name_of(c);
    EXPECT_GT(c.goal, 0) << name_of(c);
    EXPECT_TRUE(names.insert(std::string(c.row) + name_of(c)).second) << name_of(c) << " stands there twice";
    EXPECT_NO_THROW(row_of(c)) << c.row;
    rows.emplace(c.row);
  }
  EXPECT_EQ(rows.size(), all_rows().size());
}

TEST(Summary, RowsMeansAndVerdicts) {
  const auto result = [](std::string_view row, int nth, double ratio, double peer) {
    const Case* about = &*std::ranges::find(all_cases(), row, &Case::row) + nth;
    CaseResult out{about, {}, ""};
    out.measured.threads = 1;
    out.measured.copy_ns = 100;
    out.measured.median_ns = 100 * ratio;
    out.measured.ratio = ratio;
    out.measured.plan_ns = 1000 * ratio;
    out.measured.predicted_ns = 110;
    out.measured.competitors = {{"peer", "1", peer * 100, ""}};
    return out;
  };
  const std::vector<CaseResult> results = {result("permute", 0, 1, 2), result("permute", 1, 4, 2),
                                           result("cache", 0, 1, 8)};
  const std::vector<RowSummary> rows = summarize(results);
  ASSERT_EQ(rows.size(), 3u);  // and the plans
  EXPECT_EQ(rows[0].row->name, "permute");
  EXPECT_DOUBLE_EQ(rows[0].by_threads.at(1).mean, 2);
  EXPECT_DOUBLE_EQ(rows[0].by_threads.at(1).worst, 4);
  EXPECT_EQ(rows[0].by_threads.at(1).met, 1);
  EXPECT_DOUBLE_EQ(rows[0].best_peer, 2);
  EXPECT_EQ(rows[0].ahead, 1);
  EXPECT_EQ(rows[0].raced, 2);
  EXPECT_EQ(rows[1].by_threads.at(1).met, 1);
  EXPECT_EQ(rows[2].row->name, "plan");
  EXPECT_DOUBLE_EQ(rows[2].by_threads.at(1).worst, 4000);
  EXPECT_DOUBLE_EQ(geometric_mean(speedups(results).at("peer").at(1)), std::cbrt(2 * 0.5 * 8));
  EXPECT_EQ(prediction(results).within_25_percent, 2);
  EXPECT_EQ(suite_json(results)["results"].size(), 3u);
}

CaseResult ratio_result(std::size_t nth, double ratio, const char* peer) {
  CaseResult out{&all_cases()[nth], {}, ""};
  out.measured.copy_ns = 100;
  out.measured.median_ns = 100 * ratio;
  out.measured.ratio = ratio;
  out.measured.competitors = {{peer, "1", 2500, ""}};
  return out;
}

TEST(Charts, ShowEachCaseOnceAndEscapeNames) {
  const std::vector<CaseResult> results = {ratio_result(0, 1.05, "<a&b>"), ratio_result(1, 9, "<a&b>")};
  const std::string picture = suite_chart(suite_json(results), 1);
  for (const CaseResult& result : results) {
    std::string escaped = name_of(*result.about);
    escaped.replace(escaped.find('>'), 1, "&gt;");
    const std::size_t at = picture.find(escaped);
    ASSERT_NE(at, std::string::npos) << escaped;
    EXPECT_EQ(picture.find(escaped, at + 1), std::string::npos);
  }
  EXPECT_NE(picture.find(">1.05<"), std::string::npos);
  EXPECT_NE(picture.find("&lt;a&amp;b&gt;"), std::string::npos);
  EXPECT_EQ(picture.find("<a&b>"), std::string::npos);
  EXPECT_TRUE(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"));
}

TEST(Charts, OfASweepAndOfWhatIsNone) {
  Sweep sweep{"f32 x -> y", {}};
  for (int64_t bytes : {4096, 8192, 16384}) {
    sweep.points.push_back({bytes, ratio_result(0, 2, "p").measured});
    sweep.points.back().measured.bytes = 2 * bytes;
    sweep.points.back().measured.memcpy_ns = 100;
    sweep.points.back().measured.gbps = static_cast<double>(bytes) / 100;
  }
  const Json report = sweep_json({sweep});
  const std::string picture = sweep_chart(report);
  EXPECT_NE(picture.find("f32 x -&gt; y"), std::string::npos);
  EXPECT_NE(picture.find("16 KiB"), std::string::npos);
  EXPECT_FALSE(sweep.wrong());
  EXPECT_EQ(sweep_text(sweep).find("verified"), std::string::npos);
  sweep.points.front().measured.verified = true;
  sweep.points.back().measured.verified = false;
  EXPECT_TRUE(sweep.wrong());
  EXPECT_TRUE(sweep_text(sweep).ends_with("verified: 1 right, 1 wrong\n"));
  EXPECT_THROW(suite_chart(report, 1), Error);
  EXPECT_THROW(suite_chart(suite_json({ratio_result(0, 1, "p")}), 2), Error);
  EXPECT_THROW(sweep_chart(Json::array()), Error);
}

}  // namespace
}  // namespace relayout::bench
