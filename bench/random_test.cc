// Random cases: what a seed means, what can be drawn, and what is concluded from results.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "bench/draw.h"
#include "bench/lines.h"
#include "bench/random_report.h"
#include "bench/random_run.h"
#include "relayout/core/format.h"
#include "relayout/cpu/reorder.h"

namespace relayout::bench {
namespace {

TEST(Draw, SameNumbersEverywhere) {
  Draw draw({1, 2, 3});
  std::vector<int64_t> numbers;
  for (int i = 0; i < 8; ++i) numbers.push_back(draw.below(1000));
  for (int i = 0; i < 4; ++i) numbers.push_back(draw.log_uniform(10, 100'000));
  EXPECT_EQ(numbers, (std::vector<int64_t>{887, 274, 944, 793, 163, 783, 548, 197, 7522, 15, 557, 18}));
  std::vector<int> order(6);
  std::iota(order.begin(), order.end(), 0);
  draw.shuffle(order);
  EXPECT_EQ(order, (std::vector<int>{5, 4, 2, 1, 3, 0}));
}

TEST(Draw, EvenlyAndEvenlyInTheLogarithm) {
  Draw draw({7});
  static constexpr int kTimes = 20000;
  std::map<int64_t, int> evenly, by_octave;
  for (int i = 0; i < kTimes; ++i) {
    ++evenly[draw.between(3, 7)];
    const int64_t x = draw.log_uniform(16, 1023);
    ASSERT_GE(x, 16);
    ASSERT_LE(x, 1023);
    ++by_octave[static_cast<int64_t>(std::log2(static_cast<double>(x)))];
  }
  ASSERT_EQ(evenly.size(), 5u);
  for (const auto& [value, times] : evenly) EXPECT_NEAR(times, kTimes / 5, kTimes / 50) << value;
  ASSERT_EQ(by_octave.size(), 6u);
  for (const auto& [octave, times] : by_octave) EXPECT_NEAR(times, kTimes / 6, kTimes / 50) << octave;
}

TEST(Draw, RootsAndPrimes) {
  for (int n = 1; n <= 6; ++n) {
    for (int64_t x : {int64_t{1}, int64_t{2}, int64_t{63}, int64_t{64}, int64_t{729}, int64_t{1'000'003}}) {
      const int64_t r = integer_root(x, n);
      EXPECT_LE(std::pow(r, n), static_cast<double>(x));
      EXPECT_GT(std::pow(r + 1, n), static_cast<double>(x));
    }
  }
  EXPECT_EQ(prime_up_to(1), 2);
  EXPECT_EQ(prime_up_to(2), 2);
  EXPECT_EQ(prime_up_to(10), 7);
  EXPECT_EQ(prime_up_to(13), 13);
  EXPECT_EQ(prime_up_to(1'000'000), 999'983);
}

/// Where these change, the rule has changed, and results of before and after cannot be compared.
TEST(RandomCases, OfSeed1) {
  std::string text;
  for (const RandomCase& c : random_cases(1, 16, std::nullopt))
    text += std::string(name(c.kind)) + ": " + name_of(c) + "\n";
  EXPECT_EQ(text,
            "permute: s8 abcdef -> bedafc 199x3x4x1024x3x5 +16\n"
            "block: f8_e5m2 nchw -> nChw16c 4x144x447x113 +16\n"
            "few_channels: bf16 ncw -> nwc 1x2x8388608 +16\n"
            "convert: u64 abcde -> f64 edabc 31x8x16x9x155 +16\n"
            "tails: s16 nCw4c -> nCw8c 239x5x11 +16\n"
            "cache: f32 nhwc -> nchw 17x7x5x13\n"
            "nibbles: s4 oihw -> f16 OIhw16i8o 1523x12931x1x1\n"
            "scales: f16 nCw4c -> s8 nCw32c 32x288x4 scales 32x9x1 +16\n"
            "permute: f64 abcdef -> afcebd 41x12x12x3x3x2 +16\n"
            "block: s32 nCw4c -> ncw 224x124x3\n"
            "few_channels: u64 ncdhw -> ndhwc 21x2x1x3x19\n"
            "convert: u32 ncw -> f8_e4m3 ncw 11x4x128 +16\n"
            "tails: f8_e4m3 nChw4c -> nChw8c 326x29x210x4\n"
            "cache: bool nchw -> nhwc 257x7x3x151 +16\n"
            "nibbles: f4_e2m1 ohwi -> OIhw4i16o4i 1701x557x1x1 +16\n"
            "scales: s32 nchw -> f32 nchw 32x3x135x2 scales 32x1x1x1\n");
}

TEST(RandomCases, DependOnSeedKindAndNumberAlone) {
  const auto names = [](const std::vector<RandomCase>& cases) {
    std::vector<std::string> out;
    for (const RandomCase& c : cases) out.push_back(name_of(c));
    return out;
  };
  const auto all = names(random_cases(5, 80, std::nullopt)), fewer = names(random_cases(5, 20, std::nullopt));
  EXPECT_TRUE(std::ranges::equal(fewer, std::span(all).first(20)));
  EXPECT_EQ(all, names(random_cases(5, 80, std::nullopt)));
  const auto tails = names(random_cases(5, 10, RandomKind::tails));
  for (std::size_t i = 0; i < tails.size(); ++i)
    EXPECT_EQ(tails[i], all[i * kRandomKindCount + static_cast<std::size_t>(RandomKind::tails)]);
  EXPECT_NE(all, names(random_cases(6, 80, std::nullopt)));
  EXPECT_NE(all, names(random_cases(uint64_t{5} << 32, 80, std::nullopt)));
}

/// Whether some block of either side divides the channels of a case that has blocks.
bool a_block_divides(const RandomCase& c) {
  const TensorDesc src = c.src_desc(), dst = c.dst_desc();
  for (int d = 0; d < src.layout.ndims(); ++d) {
    for (const Layout* layout : {&src.layout, &dst.layout}) {
      const int64_t block = layout->block(d);
      if (block > 1 && layout->dim(d) % block == 0) return true;
    }
  }
  return false;
}

void expect_of_its_kind(const RandomCase& c) {
  const TensorDesc src = c.src_desc(), dst = c.dst_desc();
  const bool padded = src.layout.padded() || dst.layout.padded();
  const bool nibbles = bits(c.dtype) == 4 || bits(c.to_dtype) == 4;
  EXPECT_EQ(nibbles, c.kind == RandomKind::nibbles) << name_of(c);
  EXPECT_EQ(c.attributes.arithmetic(), c.kind == RandomKind::scales) << name_of(c);
  if (c.kind == RandomKind::scales) {
    EXPECT_TRUE(is_floating(c.dtype) != is_floating(c.to_dtype)) << name_of(c);
    EXPECT_EQ(c.attributes.src_scale.values.empty(), is_floating(c.dtype)) << name_of(c);
  } else if (c.kind == RandomKind::convert) {
    EXPECT_NE(c.dtype, c.to_dtype) << name_of(c);
  } else if (c.kind != RandomKind::nibbles) {
    EXPECT_EQ(c.dtype, c.to_dtype) << name_of(c);
  }
  if (c.kind == RandomKind::tails) {
    EXPECT_TRUE(padded && !a_block_divides(c)) << name_of(c);
  }
  if (c.kind == RandomKind::permute || c.kind == RandomKind::block || c.kind == RandomKind::few_channels ||
      c.kind == RandomKind::convert) {
    EXPECT_FALSE(padded) << name_of(c);
  }
  if (c.kind == RandomKind::few_channels) {
    EXPECT_LE(c.dims[1], 8) << name_of(c);
  }
  if (c.kind == RandomKind::permute) {
    EXPECT_NE(c.src, c.dst) << name_of(c);
  }
}

TEST(RandomCases, AreValidOfTheirKindAndSize) {
  std::set<DType> types;
  std::set<int64_t> misaligned, ranks;
  std::map<RandomKind, int> kinds;
  for (const RandomCase& c : random_cases(2, 100 * kRandomKindCount, std::nullopt)) {
    ASSERT_NO_THROW(Plan::make(c.src_desc(), c.dst_desc(), c.attributes)) << name_of(c);
    const SizeRange range = size_range(c.kind);
    EXPECT_GE(c.size_bytes(), range.least) << name_of(c);
    EXPECT_LE(c.size_bytes(), range.most) << name_of(c);
    EXPECT_LE(c.size_bytes(), c.kind == RandomKind::cache ? 4'000'000 : 200'000'000);
    expect_of_its_kind(c);
    types.insert(c.dtype);
    misaligned.insert(c.misalign);
    ranks.insert(c.dims.size());
    ++kinds[c.kind];
  }
  const auto drawn = [](DType dtype) { return bits(dtype) == 4 || bits(dtype) >= 8; };
  EXPECT_EQ(static_cast<int64_t>(types.size()), std::ranges::count_if(all_dtypes(), drawn));
  EXPECT_EQ(misaligned, (std::set<int64_t>{0, 16}));
  EXPECT_EQ(ranks, (std::set<int64_t>{2, 3, 4, 5, 6}));
  ASSERT_EQ(kinds.size(), random_kind_names().size());
  for (const auto& [kind, times] : kinds) EXPECT_EQ(times, 100) << name(kind);
}

TEST(RandomCases, SizesAreEvenInTheLogarithm) {
  // From 10 KB to 200 MB are 14.3 octaves; below 160 KB are 4 of them, and above 12.5 MB are 4.
  int small = 0, large = 0;
  static constexpr int kTimes = 600;
  for (const RandomCase& c : random_cases(3, kTimes, RandomKind::permute)) {
    small += c.size_bytes() < 160'000;
    large += c.size_bytes() > 12'500'000;
  }
  EXPECT_NEAR(small, kTimes * 4 / 14.3, kTimes * 0.08);
  EXPECT_NEAR(large, kTimes * 4 / 14.3, kTimes * 0.08);
}

TEST(RandomCases, TheCommandNamesTheCase) {
  RandomCase c{RandomKind::convert, 3, "nchw", "nhwc", {2, 3, 5, 7}, DType::f32, DType::u8, 16};
  EXPECT_EQ(name_of(c), "f32 nchw -> u8 nhwc 2x3x5x7 +16");
  EXPECT_EQ(command_of(c),
            "relayout bench --src nchw --dst nhwc --dims 2,3,5,7 --dtype f32 --to-dtype u8 --misalign 16 --explain");
  c.to_dtype = c.dtype;
  c.misalign = 0;
  EXPECT_EQ(command_of(c), "relayout bench --src nchw --dst nhwc --dims 2,3,5,7 --dtype f32 --explain");
}

TEST(RandomCases, ScalesAreOfAllForms) {
  std::map<uint32_t, int> masks;
  int zero_points = 0;
  for (const RandomCase& c : random_cases(5, 200, RandomKind::scales)) {
    const Attributes& a = c.attributes;
    ++masks[a.masks()];
    zero_points += !a.src_zero_point.values.empty() || !a.dst_zero_point.values.empty();
    EXPECT_EQ(command_of(c),
              "relayout bench --random 5 --kind scales --number " + std::to_string(c.number) + " --explain");
  }
  EXPECT_EQ(masks.size(), 4u);
  for (const auto& [mask, times] : masks) EXPECT_GT(times, 10) << mask;
  EXPECT_NEAR(zero_points, 100, 30);
}

TEST(RandomRun, ResultsAreRightAndCopiesAreOfLines) {
  std::vector<RandomCase> cases = random_cases(4, kRandomKindCount * 40, std::nullopt);
  std::erase_if(cases, [](const RandomCase& c) { return c.size_bytes() > 100'000; });
  ASSERT_GT(cases.size(), 20u);
  int calls = 0;
  const auto results = run_random(cases, {.repeat = 1, .repetition_ns = 1, .verify = true},
                                  [&](const RandomResult& result) { calls += result.error.empty(); });
  EXPECT_EQ(calls, static_cast<int>(cases.size()));
  for (const RandomResult& result : results) {
    const RandomCase& c = result.about;
    ASSERT_EQ(result.error, "") << name_of(c);
    EXPECT_EQ(result.measured.verified, true) << name_of(c);
    EXPECT_EQ(result.measured.misalign, c.misalign);
    EXPECT_EQ(result.measured.copy_bytes, bytes_of_lines(c.src_desc(), c.dst_desc(), c.misalign)) << name_of(c);
  }
  EXPECT_NE(random_text(4, results, 0).find(fmt::format("\nverified: {} right, 0 wrong\n", results.size())),
            std::string::npos);
}

TEST(Report, SaysHowManyResultsWereCompared) {
  VerifiedCount count;
  EXPECT_EQ(count.text(), "");
  Measurement right, wrong, large;
  right.verified = true;
  wrong.verified = false;
  large.too_large_to_verify = true;
  for (const Measurement& m : {Measurement(), right, right, wrong, large}) count.add(m);
  EXPECT_EQ(count.text(), "verified: 2 right, 1 wrong; 1 with more than 4194304 elements not looked at\n");
}

TEST(RandomRun, WhatCannotBeMeasuredSaysWhy) {
  const RandomCase none{RandomKind::permute, 0, "ab", "ba", {3, 0}, DType::f32, DType::f32, 0};
  const auto results = run_random(std::span(&none, 1), {.repeat = 1}, nullptr);
  EXPECT_NE(results[0].error, "");
  const auto rows = summarize_random(results);
  EXPECT_EQ(rows.back().cases, 0);
  EXPECT_EQ(rows.back().not_measured, 1);
  EXPECT_NE(random_text(1, results, 5).find("not measured: f32 ab -> ba 3x0: "), std::string::npos);
  EXPECT_EQ(random_json(1, results)["results"][0]["error"], results[0].error);
}

RandomResult result_of(RandomKind kind, double ratio, double predicted, double peer) {
  RandomResult out;
  out.about = {kind, 0, "ab", "ba", {30, 40}, DType::f32, DType::f32, 0};
  out.measured.copy_ns = 100;
  out.measured.median_ns = 100 * ratio;
  out.measured.ratio = ratio;
  out.measured.predicted_ns = 100 * ratio * predicted;
  out.measured.kernel = "transpose";
  if (peer > 0) out.measured.competitors = {{"slow", "1", peer * 1000, ""}, {"fast", "1", peer * 100, ""}};
  return out;
}

TEST(RandomRun, Percentiles) {
  std::vector<double> values(10);
  std::iota(values.begin(), values.end(), 1);
  std::ranges::reverse(values);
  EXPECT_EQ(percentile(values, 90), 9);
  EXPECT_EQ(percentile(values, 99), 10);
  EXPECT_EQ(percentile(values, 91), 10);
  EXPECT_EQ(percentile(values, 100), 10);
  EXPECT_EQ(percentile(values, 10), 1);
  EXPECT_EQ(percentile(values, 0), 1);
  EXPECT_EQ(percentile({}, 90), 0);
  values.resize(200);
  std::iota(values.begin(), values.end(), 1);
  EXPECT_EQ(percentile(values, 90), 180);
  EXPECT_EQ(percentile(values, 99), 198);
}

TEST(RandomRun, Summaries) {
  const std::vector<RandomResult> results = {
      result_of(RandomKind::permute, 1, 1, 2), result_of(RandomKind::permute, 4, 1.2, 3.8),
      result_of(RandomKind::permute, 2, 2, 1), result_of(RandomKind::tails, 8, 0.5, 0)};
  const auto rows = summarize_random(results);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].kind, "permute");
  EXPECT_EQ(rows[0].cases, 3);
  EXPECT_DOUBLE_EQ(rows[0].mean, 2);
  EXPECT_DOUBLE_EQ(rows[0].median, 2);
  EXPECT_DOUBLE_EQ(rows[0].percent_90, 4);
  EXPECT_DOUBLE_EQ(rows[0].worst, 4);
  EXPECT_EQ(rows[0].raced, 3);
  EXPECT_EQ(rows[0].ahead, 1);
  EXPECT_EQ(rows[0].never_far_behind, 2);
  EXPECT_EQ(rows[0].predicted.within_25_percent, 2);
  EXPECT_DOUBLE_EQ(rows[0].predicted.mean, std::cbrt(2.4));
  EXPECT_EQ(rows[1].kind, "tails");
  EXPECT_EQ(rows[1].raced, 0);
  EXPECT_EQ(rows[2].kind, "all");
  EXPECT_DOUBLE_EQ(rows[2].median, 3);
  EXPECT_DOUBLE_EQ(rows[2].worst, 8);
  std::vector<RandomResult> with_nibbles = results;
  with_nibbles.push_back(result_of(RandomKind::nibbles, 100, 1, 0));
  const auto more = summarize_random(with_nibbles);
  ASSERT_EQ(more.size(), 5u);
  EXPECT_EQ(more[3].kind, kAllButNibbles);
  EXPECT_EQ(more[3].cases, 4);
  EXPECT_DOUBLE_EQ(more[3].mean, rows[2].mean);
  EXPECT_EQ(more[4].kind, kAll);
  EXPECT_EQ(more[4].worst, 100);
  const auto slow = slowest(results, 2);
  ASSERT_EQ(slow.size(), 2u);
  EXPECT_EQ(slow[0]->measured.ratio, 8);
  EXPECT_EQ(slow[1]->measured.ratio, 4);
}

TEST(RandomRun, Reports) {
  const std::vector<RandomResult> results = {result_of(RandomKind::permute, 1, 1, 2),
                                             result_of(RandomKind::tails, 8, 0.5, 0)};
  const Json report = random_json(9, results);
  EXPECT_EQ(report["seed"], 9);
  EXPECT_EQ(report["kinds"].size(), 2u);
  EXPECT_EQ(report["kinds"][0]["peers"]["ahead"], 1);
  EXPECT_FALSE(report["kinds"][1].contains("peers"));
  EXPECT_EQ(report["all"]["worst"], 8);
  EXPECT_EQ(report["results"][1]["command"], command_of(results[1].about));
  EXPECT_FALSE(to_json(results[0].measured).contains("copy_bytes"));
  const std::string text = random_text(9, results, 1);
  EXPECT_NE(text.find("\nthe slowest\n    8.00  tails        f32 ab -> ba 30x40\n"), std::string::npos) << text;
  EXPECT_NE(text.find(command_of(results[1].about)), std::string::npos);
  EXPECT_EQ(text.find("1.00  permute"), std::string::npos);
}

}  // namespace
}  // namespace relayout::bench
