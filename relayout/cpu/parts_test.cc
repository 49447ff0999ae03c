// run_in_parts(): the same bytes as run(), what is said between the parts, and ending early.
#include "relayout/cpu/parts.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "relayout/cpu/reorder.h"
#include "relayout/reorder/reference.h"
#include "tests/support/testing.h"

namespace relayout::cpu {
namespace {

using test::counting;
using test::desc;

struct PartsCase {
  TensorDesc src, dst;
};

std::vector<PartsCase> cases() {
  const Dims dims{3, 37, 40, 41};
  std::vector<PartsCase> out = {{desc("nchw", dims), desc("nhwc", dims)},
                                {desc("nchw", dims), desc("nchw", dims)},
                                {desc("nchw", dims), desc("nChw16c", dims)},
                                {desc("nChw48c", dims), desc("nChw32c", dims)},
                                {desc("nhwc", dims), {Layout(desc("nchw", dims).layout), DType::bf16}},
                                {desc("nChw16c", dims), {Layout(desc("nhwc", dims).layout), DType::s4}}};
  return out;
}

std::vector<std::byte> by_reference(const PartsCase& c, const std::vector<std::byte>& src) {
  std::vector<std::byte> out(static_cast<std::size_t>(c.dst.span_bytes()));
  reference_reorder(c.src, src.data(), c.dst, out.data());
  return out;
}

TEST(Parts, GiveTheSameBytesAndCountUp) {
  for (const PartsCase& c : cases()) {
    const std::vector<std::byte> src = counting(c.src.span_bytes()), expected = by_reference(c, src);
    for (const int threads : {1, 3}) {
      for (const int64_t part : {int64_t{1} << 12, int64_t{100'000}, int64_t{1} << 40}) {
        std::vector<std::byte> dst(static_cast<std::size_t>(c.dst.span_bytes()), std::byte{0xee});
        std::vector<std::pair<int64_t, int64_t>> said;
        const RunOptions options{.threads = threads, .grain_bytes = 1 << 12};
        EXPECT_TRUE(
            run_in_parts(make_plan(c.src, c.dst), src.data(), dst.data(), options, {part}, [&](int64_t a, int64_t b) {
              said.emplace_back(a, b);
              return true;
            }));
        EXPECT_TRUE(dst == expected);
        ASSERT_FALSE(said.empty());
        EXPECT_EQ(said.back().first, said.back().second);
        for (std::size_t i = 1; i < said.size(); ++i) {
          EXPECT_GT(said[i].first, said[i - 1].first);
          EXPECT_EQ(said[i].second, said[0].second);
        }
        EXPECT_EQ(said.size() > 1, part < said[0].second);
      }
    }
  }
}

TEST(Parts, EndWhereTheyAreAskedTo) {
  for (const PartsCase& c : cases()) {
    const std::vector<std::byte> src = counting(c.src.span_bytes());
    const std::vector<std::byte> expected = by_reference(c, src);
    for (const int threads : {1, 3}) {
      std::vector<std::byte> dst(expected.size(), std::byte{0xee});
      int calls = 0;
      const RunOptions options{.threads = threads, .grain_bytes = 1 << 10};
      EXPECT_FALSE(run_in_parts(make_plan(c.src, c.dst), src.data(), dst.data(), options, {20'000},
                                [&](int64_t, int64_t) { return ++calls < 3; }));
      EXPECT_EQ(calls, 3);
      EXPECT_FALSE(dst == expected);
    }
  }
}

// What is large has many blocks, of which about as many are done as is said.
TEST(Parts, AreDoneWhenItIsSaid) {
  const Dims dims{2, 64, 128, 128};
  for (const char* to : {"nchw", "nhwc", "nChw16c"}) {
    const TensorDesc from = desc("nchw", dims), there = desc(to, dims);
    const std::vector<std::byte> src(static_cast<std::size_t>(from.span_bytes()), std::byte{1});
    std::vector<std::byte> dst(static_cast<std::size_t>(there.span_bytes()));
    EXPECT_FALSE(run_in_parts(make_plan(from, there), src.data(), dst.data(), {}, {1 << 20},
                              [](int64_t done, int64_t total) { return done < total / 2; }));
    const auto written = static_cast<double>(std::ranges::count(dst, std::byte{1}));
    EXPECT_NEAR(written / static_cast<double>(dst.size()), 0.5, 0.2) << to;
  }
}

/// Threads that take turns.
class CountingPool : public ThreadPool {
 public:
  void run(int threads, void (*body)(void*, int, int), void* state) const noexcept override {
    ++calls;
    for (int thread = 0; thread < threads; ++thread) body(state, thread, threads);
  }
  mutable int64_t calls = 0;
};

// The more parts there are, the more work there is: each has all threads, and none is larger than was asked for.
TEST(Parts, KeepTheirThreadsAndTheirSizeHoweverManyThereAre) {
  constexpr int64_t kParts = 10'000, kPartBytes = 256;
  const TensorDesc bytes(Layout::contiguous({kParts * kPartBytes / 2}), DType::u8);
  const std::vector<std::byte> src = counting(bytes.span_bytes());
  std::vector<std::byte> dst(src.size());
  const CountingPool pool;
  const RunOptions options{.threads = 8, .pool = &pool, .grain_bytes = 16};
  int64_t calls = 0, before = 0;
  EXPECT_TRUE(
      run_in_parts(make_plan(bytes, bytes), src.data(), dst.data(), options, {kPartBytes}, [&](int64_t done, int64_t) {
        EXPECT_LE(done - before, kPartBytes);
        before = done;
        return pool.calls == ++calls;
      }));
  EXPECT_EQ(calls, kParts);
  EXPECT_TRUE(dst == src);
}

TEST(Parts, OfNothingAreOneCall) {
  const TensorDesc empty = desc("nchw", {2, 0, 3, 4});
  int calls = 0;
  EXPECT_TRUE(run_in_parts(make_plan(empty, empty), nullptr, nullptr, {}, {}, [&](int64_t done, int64_t total) {
    EXPECT_EQ(done, 0);
    EXPECT_EQ(total, 0);
    ++calls;
    return true;
  }));
  EXPECT_EQ(calls, 1);
}

TEST(Parts, TakesTypedElements) {
  const TensorDesc src = test::desc("ab", {3, 5}), dst = test::desc("ba", {3, 5});
  const std::vector<float> in{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
  std::vector<float> out(15);
  const auto go_on = [](int64_t, int64_t) { return true; };
  EXPECT_TRUE(run_in_parts(make_plan(src, dst), in, out, {}, {}, go_on));
  EXPECT_EQ(out[1], 5);
  std::vector<int32_t> integers(15);
  float few[14] = {};
  EXPECT_EQ(test::code_of([&] { run_in_parts(make_plan(src, dst), in, integers, {}, {}, go_on); }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(test::code_of([&] { run_in_parts(make_plan(src, dst), in, few, {}, {}, go_on); }),
            ErrorCode::buffer_too_small);
}

}  // namespace
}  // namespace relayout::cpu
