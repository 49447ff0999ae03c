// Plans by measuring: every candidate gives the reference's bytes, the clearly fastest one is taken and remembered, and
// limits of time are kept. Run times are written down in the tests; no clock is read.
#include "relayout/cpu/tune.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <string>

#include "relayout/cpu/machine.h"
#include "relayout/cpu/reorder.h"
#include "relayout/cpu/tune_cache.h"
#include "relayout/reorder/planner/plan_data.h"
#include "relayout/reorder/reference.h"
#include "tests/support/fake_stopwatch.h"
#include "tests/support/guarded.h"
#include "tests/support/testing.h"

namespace relayout::cpu {
namespace {

using namespace std::chrono_literals;
using test::counting;
using test::desc;
using test::Guarded;

/// Caches so small that tensors of a few hundred KiB are beyond them.
constexpr Machine kSmall{4 << 10, 8 << 10, 64 << 10};

struct Example {
  Example(const TensorDesc& src_, const TensorDesc& dst_, const Attributes& attributes_ = {})
      : src(src_),
        dst(dst_),
        attributes(attributes_),
        from(counting(src_.span_bytes())),
        before(static_cast<std::size_t>(dst_.span_bytes()), std::byte{0x11}),
        expected(before),
        to(before) {
    reference_reorder(src, from.data(), dst, expected.data(), attributes);
  }
  Tuned tuned(const TuneOptions& options) { return tune(src, dst, attributes, from.data(), to.data(), options); }

  TensorDesc src, dst;
  Attributes attributes;
  std::vector<std::byte> from, before, expected, to;
};

/// A transposition that has candidates on kSmall.
Example transposition() { return {desc("ab", {193, 171}), desc("ba", {193, 171})}; }

TEST(Tune, EveryCandidateGivesTheReferencesBytes) {
  Attributes scale;
  scale.dst_scale = {{0.5f}, 0};
  const Dims images{2, 67, 29, 31}, square{300, 272};
  const Example examples[] = {
      {desc("ab", square), desc("ba", square)},
      {desc("ab", {301, 277}), desc("ba", {301, 277})},
      {desc("ab", square, DType::u8), desc("ba", square, DType::u8)},
      {desc("ab", square, DType::bf16), desc("ba", square, DType::bf16)},
      {desc("ab", square, DType::f64), desc("ba", square, DType::f64)},
      {desc("nchw", images), desc("nhwc", images)},
      {desc("nhwc", images), desc("nChw16c", images)},
      {desc("nchw", {3, 3, 64, 64}), desc("nhwc", {3, 3, 64, 64})},
      {desc("nhwc", {2, 256, 16, 16}), desc("nchw", {2, 256, 16, 16})},
      {desc("nchw", images), desc("nhwc", images, DType::u8), scale},
      {desc("nhwc", images, DType::u8), desc("nchw", images)},
      {desc("abcde", {9, 11, 7, 13, 5}), desc("ecadb", {9, 11, 7, 13, 5})},
      {desc("abcd", images), desc("abcd", images)},
  };
  int tried = 0;
  for (const Example& example : examples) {
    auto tunings = tuning_candidates(example.src, example.dst, example.attributes, kSmall);
    EXPECT_EQ(tunings[0], Tuning{});
    tunings.push_back({.stream = Tuning::Stream::always, .panel = 7, .strip = 3, .ahead = 100});
    tunings.push_back({.stream = Tuning::Stream::always, .panel = kMaxBlockSide, .strip = kMaxTunedStrip});
    for (const Tuning& tuning : tunings) {
      const Plan plan = Plan::make(example.src, example.dst, example.attributes, kSmall, tuning);
      for (const int64_t slack : {0, 20}) {
        Guarded from(example.src.span_bytes(), Guarded::Side::end, 0);
        Guarded to(example.dst.span_bytes(), Guarded::Side::end, slack);
        std::ranges::copy(example.from, from.data());
        std::ranges::copy(example.before, to.data());
        run(plan, from.data(), to.data(), {.threads = 1 + static_cast<int>(slack > 0)});
        EXPECT_TRUE(std::ranges::equal(to.bytes(), example.expected)) << to_text(tuning) << "\n" << plan.explain();
        EXPECT_TRUE(to.intact() && from.intact()) << to_text(tuning);
        ++tried;
      }
    }
  }
  EXPECT_GT(tried, 150);
}

TEST(Tune, CandidatesDiffer) {
  const Example example = transposition();
  const auto tunings = tuning_candidates(example.src, example.dst, {}, kSmall);
  EXPECT_GE(tunings.size(), 5u);
  for (std::size_t i = 0; i < tunings.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) EXPECT_NE(tunings[i], tunings[k]);
  }
  // Far inside the caches there is only the default. About the size of the caches, stores are a choice.
  EXPECT_EQ(tuning_candidates(example.src, example.dst, {}, {}).size(), 1u);
  const auto near = tuning_candidates(example.src, example.dst, {}, {32 << 10, 256 << 10, 2 << 20});
  EXPECT_EQ(near, (std::vector<Tuning>{{}, {.stream = Tuning::Stream::always}}));
}

/// Microseconds of a turn, as a stopwatch's calls: the first one times the default alone, then each round times all
/// candidates, a different one first.
auto turns_of(int candidates, std::function<double(int candidate, int round)> us, double first = 100) {
  return [=](int64_t call) {
    if (call == 0) return first;
    const auto round = static_cast<int>((call - 1) / candidates), turn = static_cast<int>((call - 1) % candidates);
    return us((turn + round) % candidates, round);
  };
}

TEST(Tune, TakesTheFastestAndRemembersIt) {
  Example example = transposition();
  const auto tunings = tuning_candidates(example.src, example.dst, {}, kSmall);
  TuneCache cache;
  test::FakeStopwatch stopwatch;
  stopwatch.takes = turns_of(static_cast<int>(tunings.size()),
                             [](int candidate, int round) { return candidate == 2 ? 50.0 + round : 100.0 - round; });
  const TuneOptions options{.threads = 1, .rounds = 3, .cache = &cache, .machine = kSmall, .stopwatch = &stopwatch};
  const Tuned first = example.tuned(options);
  ASSERT_EQ(first.candidates.size(), tunings.size());
  for (std::size_t i = 0; i < tunings.size(); ++i) EXPECT_EQ(first.candidates[i].tuning, tunings[i]);
  EXPECT_EQ(first.candidates[2].median_ns, 51e3);
  EXPECT_EQ(first.candidates[2].best_ns, 50e3);
  EXPECT_FALSE(first.remembered);
  EXPECT_EQ(first.tuning, tunings[2]);
  EXPECT_EQ(first.tuned_ns, 51e3);
  EXPECT_EQ(first.default_ns, 99e3);
  EXPECT_EQ(example.to, example.expected);
  EXPECT_EQ(cache.size(), 1u);
  EXPECT_EQ(first.plan.explain(), Plan::make(example.src, example.dst, {}, kSmall, first.tuning).explain());

  example.to = example.before;
  const Tuned second = example.tuned(options);
  EXPECT_TRUE(second.remembered);
  EXPECT_TRUE(second.candidates.empty());
  EXPECT_EQ(second.tuning, first.tuning);
  EXPECT_EQ(example.to, example.before) << "nothing had to be run";
  run(second.plan, example.from.data(), example.to.data());
  EXPECT_EQ(example.to, example.expected);
}

TEST(Tune, ShortReordersAreRunManyTimesATurn) {
  Example example = transposition();
  const int candidates = static_cast<int>(tuning_candidates(example.src, example.dst, {}, kSmall).size());
  TuneCache cache;
  test::FakeStopwatch stopwatch;
  // A run of 4 us makes turns of 25 runs.
  stopwatch.takes = turns_of(
      candidates, [](int candidate, int) { return candidate == 1 ? 50.0 : 100.0; }, 4);
  const Tuned tuned = example.tuned({.threads = 1, .cache = &cache, .machine = kSmall, .stopwatch = &stopwatch});
  EXPECT_EQ(tuned.default_ns, 4e3);
  EXPECT_EQ(tuned.tuned_ns, 2e3);
}

TEST(Tune, TakesWhatTheCacheSays) {
  Example example = transposition();
  TuneCache cache;
  const Tuning odd{.stream = Tuning::Stream::always, .panel = 48, .strip = 5};
  cache.insert(tune_key(example.src, example.dst, {}, example.from.data(), example.to.data(), 1, kSmall), odd);
  const TuneOptions options{.threads = 1, .cache = &cache, .machine = kSmall};
  EXPECT_EQ(example.tuned(options).tuning, odd);
  const Plan plan = measured_plan(example.src, example.dst, {}, example.from.data(), example.to.data(), options);
  EXPECT_EQ(plan.data().boxes()[0].along_src.block, 5);
  run(plan, example.from.data(), example.to.data());
  EXPECT_EQ(example.to, example.expected);
}

// Both the median and the best time must be less by the margin, or the difference may be noise.
TEST(Tune, TakesTheDefaultWhereNoOtherIsClearlyFaster) {
  Example example = transposition();
  const int candidates = static_cast<int>(tuning_candidates(example.src, example.dst, {}, kSmall).size());
  const auto tuned = [&](double margin, const std::function<double(int candidate, int round)>& us) {
    TuneCache cache;
    test::FakeStopwatch stopwatch;
    stopwatch.takes = turns_of(candidates, us);
    return example.tuned(
        {.threads = 1, .rounds = 3, .margin = margin, .cache = &cache, .machine = kSmall, .stopwatch = &stopwatch});
  };
  const auto a_little = [](int candidate, int) { return candidate == 1 ? 98.0 : 100.0; };
  EXPECT_EQ(tuned(0.03, a_little).tuning, Tuning{});
  EXPECT_NE(tuned(0.01, a_little).tuning, Tuning{});
  const auto median_alone = [](int candidate, int round) {
    if (candidate == 0) return round == 1 ? 40.0 : 100.0;
    return candidate == 1 ? 50.0 : 200.0;
  };
  EXPECT_EQ(tuned(0.03, median_alone).tuning, Tuning{});
  const Tuned never = tuned(1, [](int candidate, int) { return candidate == 0 ? 100.0 : 1.0; });
  EXPECT_EQ(never.tuning, Tuning{});
  EXPECT_EQ(never.tuned_ns, never.default_ns);
}

TEST(Tune, ASumIsNotMeasured) {
  Attributes sum;
  sum.beta = 1;
  const Dims dims{193, 171};
  Example example(desc("ab", dims), desc("ba", dims), sum);
  TuneCache cache;
  const Tuned tuned = example.tuned({.threads = 1, .cache = &cache, .machine = kSmall});
  EXPECT_TRUE(tuned.candidates.empty());
  EXPECT_EQ(tuned.tuning, Tuning{});
  EXPECT_EQ(example.to, example.before);
  EXPECT_EQ(cache.size(), 0u);
}

TEST(Tune, NothingToChoose) {
  TuneCache cache;
  Example small(desc("ab", {8, 4}), desc("ba", {8, 4}));
  const Tuned tuned = small.tuned({.budget = 0ms, .cache = &cache});
  EXPECT_TRUE(tuned.candidates.empty());
  EXPECT_FALSE(tuned.out_of_time);
  EXPECT_EQ(small.to, small.before);
  const TensorDesc none = desc("ab", {0, 4});
  EXPECT_TRUE(tune(none, none, {}, nullptr, nullptr, {.cache = &cache}).candidates.empty());
  EXPECT_EQ(cache.size(), 0u);
}

TEST(Tune, WithoutTimeNothingIsRun) {
  Example example = transposition();
  TuneCache cache;
  test::FakeStopwatch stopwatch;
  TuneOptions options{.threads = 1, .budget = 0ms, .cache = &cache, .machine = kSmall, .stopwatch = &stopwatch};
  const Tuned tuned = example.tuned(options);
  EXPECT_TRUE(tuned.candidates.empty());
  EXPECT_TRUE(tuned.out_of_time);
  EXPECT_EQ(example.to, example.before);
  options.rounds = 0;
  EXPECT_EQ(test::code_of([&] { example.tuned(options); }), ErrorCode::invalid_argument);
}

TEST(Tune, NoTurnStartsAfterTheBudget) {
  Example example = transposition();
  const auto tunings = tuning_candidates(example.src, example.dst, {}, kSmall);
  ASSERT_GT(tunings.size(), 3u);
  TuneCache cache;
  test::FakeStopwatch stopwatch;
  const TuneOptions options{
      .threads = 1, .rounds = 1000000, .budget = 1ms, .cache = &cache, .machine = kSmall, .stopwatch = &stopwatch};
  // After a first run of 100 us the rest of a millisecond suffices for three rounds of three candidates.
  stopwatch.takes = turns_of(3, [](int candidate, int) { return candidate == 2 ? 50.0 : 100.0; });
  const Tuned some = example.tuned(options);
  EXPECT_EQ(some.candidates.size(), 3u);
  EXPECT_FALSE(some.out_of_time);
  EXPECT_EQ(some.tuning, tunings[2]);
  EXPECT_GE(stopwatch.now_us(), 1000);
  EXPECT_LE(stopwatch.now_us(), 1100);
  EXPECT_EQ(example.to, example.expected);
}

TEST(Tune, DecidesNothingWhereTheBudgetIsTooShort) {
  Example example = transposition();
  TuneCache cache;
  for (const double turn_us : {400.0, 100.0}) {
    test::FakeStopwatch stopwatch;
    // The budget is too short because of the first run alone, or because later runs take five times as long as the
    // first one.
    stopwatch.takes = turns_of(
        3, [](int, int) { return 500.0; }, turn_us);
    const Tuned tuned =
        example.tuned({.threads = 1, .budget = 1ms, .cache = &cache, .machine = kSmall, .stopwatch = &stopwatch});
    EXPECT_TRUE(tuned.candidates.empty());
    EXPECT_TRUE(tuned.out_of_time);
    EXPECT_EQ(tuned.tuning, Tuning{});
    EXPECT_LE(stopwatch.now_us(), 1500);
  }
  EXPECT_EQ(cache.size(), 0u);
}

TEST(Tune, OnDisk) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "tune-on-disk.txt";
  std::filesystem::remove(path);
  Example example = transposition();
  TuneCache first, second, third;
  test::FakeStopwatch stopwatch;
  const int candidates = static_cast<int>(tuning_candidates(example.src, example.dst, {}, kSmall).size());
  stopwatch.takes = turns_of(candidates, [](int candidate, int) { return candidate == 1 ? 50.0 : 100.0; });
  TuneOptions options{
      .threads = 1, .rounds = 3, .cache = &first, .file = path, .machine = kSmall, .stopwatch = &stopwatch};
  const Tuned measured = example.tuned(options);
  EXPECT_FALSE(measured.file_error);
  EXPECT_NE(measured.tuning, Tuning{});
  options.cache = &second;
  const Tuned read = example.tuned(options);
  EXPECT_TRUE(read.remembered);
  EXPECT_EQ(read.tuning, measured.tuning);

  std::ofstream(path) << "something else entirely";
  options.cache = &third;
  const Tuned without = example.tuned(options);
  ASSERT_TRUE(without.file_error);
  EXPECT_EQ(without.file_error->code(), ErrorCode::corrupt);
  EXPECT_FALSE(without.candidates.empty());
  EXPECT_EQ(example.to, example.expected);
  std::string text;
  std::getline(std::ifstream(path), text);
  EXPECT_EQ(text, "something else entirely");
  std::filesystem::remove(path);
}

TEST(Tune, Text) {
  EXPECT_EQ(to_text({}), "default");
  EXPECT_EQ(to_text({Tuning::Stream::never, 256, 64, 4096}), "stream=never panel=256 strip=64 ahead=4096");
}

TEST(Tune, TakesTypedElements) {
  const TensorDesc src = desc("ab", {3, 5}), dst = desc("ba", {3, 5});
  const std::vector<float> in(15, 1);
  std::vector<float> out(15);
  std::vector<int32_t> integers(15);
  TuneCache cache;
  const TuneOptions options{.cache = &cache};
  EXPECT_EQ(tune(src, dst, {}, in, out, options).plan.explain(), Plan::make(src, dst, {}, machine()).explain());
  EXPECT_EQ(measured_plan(src, dst, {}, in, std::span(out), options).explain(),
            measured_plan(src, dst, {}, in.data(), out.data(), options).explain());
  const Error type = test::error_of([&] { tune(src, dst, {}, in, integers, options); });
  EXPECT_EQ(type.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(type.message().substr(0, 59), "tune: the destination holds elements of type s32, but its d");
  EXPECT_EQ(test::code_of([&] { tune(src, dst, {}, std::span(in).first(14), out, options); }),
            ErrorCode::buffer_too_small);
  EXPECT_EQ(test::code_of([&] { measured_plan(src, dst, {}, out, out, options); }), ErrorCode::overlap);
  float rows[3][5] = {}, few[14] = {};
  EXPECT_EQ(measured_plan(src, dst, {}, rows, out, options).src(), src);
  EXPECT_EQ(test::code_of([&] { tune(src, dst, {}, rows, few, options); }), ErrorCode::buffer_too_small);
  EXPECT_EQ(test::code_of([&] { measured_plan(src, dst, {}, few, out, options); }), ErrorCode::buffer_too_small);
}

}  // namespace
}  // namespace relayout::cpu
