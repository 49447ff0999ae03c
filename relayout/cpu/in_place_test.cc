// Tests of in-place reorders by their public functions: which method a reorder gets, how much scratch it needs, what is
// refused, and threads.
#include "relayout/cpu/in_place.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <variant>

#include "relayout/core/view.h"
#include "relayout/reorder/in_place/data.h"
#include "relayout/reorder/reference.h"
#include "tests/support/guarded.h"
#include "tests/support/testing.h"

namespace relayout::cpu {
namespace {

using test::counting;
using test::desc;
using test::error_of;

/// Runs a plan on a buffer between pages without access, with 1 and 2 threads. Every byte must be as the reference,
/// which reads a copy of the buffer, writes it.
void expect_reference(const TensorDesc& src, const TensorDesc& dst, const InPlacePlan& plan,
                      const Attributes& attributes = {}) {
  const std::vector<std::byte> before = counting(plan.buffer_bytes());
  std::vector<std::byte> expected = before;
  // Where the reference would take long, a plan that is not in place is used in its stead. Such plans have tests of
  // their own.
  if (src.layout.elements() > 100'000) {
    run(Plan::make(src, dst, attributes), before.data(), expected.data());
  } else {
    reference_reorder(src, before.data(), dst, expected.data(), attributes);
  }
  for (const int threads : {1, 2}) {
    test::Guarded buffer(plan.buffer_bytes(), test::Guarded::Side::end);
    test::Guarded scratch(plan.scratch_bytes(threads), test::Guarded::Side::end);
    std::ranges::copy(before, buffer.data());
    run(plan, buffer.data(), scratch.bytes(), {threads});
    EXPECT_TRUE(buffer.intact() && scratch.intact()) << plan.explain();
    EXPECT_TRUE(std::ranges::equal(expected, buffer.bytes())) << threads << " threads\n" << plan.explain();
  }
}

struct Choice {
  const char *src, *dst;
  Dims dims;
  DType src_type, dst_type;
  const char* method;
  int64_t scratch;  // of one thread
};

// Which method is chosen, and its scratch memory. All of these tensors are too large to be one part.
TEST(InPlace, MethodAndScratch) {
  constexpr auto f32 = DType::f32, bf16 = DType::bf16, u8 = DType::u8, f64 = DType::f64;
  const Choice choices[] = {
      {"ab", "ba", {512, 512}, f32, f32, "swap", 64 * 64 * 4},
      {"ab", "ba", {501, 501}, f32, f32, "swap", 64 * 64 * 4},
      {"ab", "ba", {517, 517}, u8, u8, "swap", 128 * 128},
      {"ab", "ba", {300, 300}, f64, f64, "swap", 32 * 32 * 8},
      {"abc", "acb", {3, 260, 260}, f32, f32, "swap", 64 * 64 * 4},
      {"abc", "cba", {61, 20, 61}, f32, f32, "swap", 61 * 61 * 4},
      {"abc", "bac", {130, 130, 5}, f32, f32, "swap", 16 * 16 * 5 * 4},
      {"abc", "bac", {20, 20, 1500}, f32, f32, "swap", 1500 * 4},
      {"abc", "bac", {20, 20, 2003}, f32, f32, "swap", 2003 * 4},
      {"abcd", "acdb", {5, 67, 16, 16}, f32, f32, "staged", 67 * 256 * 4},
      {"acdb", "abcd", {5, 3, 64, 64}, f32, f32, "staged", 2 * 3 * 4096 * 4},
      {"abcd", "aBcd16b", {9, 67, 15, 16}, f32, f32, "staged", 2 * 67 * 240 * 4},
      {"aBcd16b", "abcd", {9, 67, 15, 16}, f32, f32, "staged", 80 * 240 * 4},
      {"aBcd16b", "aBcd12b", {9, 67, 15, 16}, f32, bf16, "staged", 80 * 240 * 4},
      {"abcd", "ABcd16b16a", {96, 64, 3, 3}, f32, f32, "staged", 48 * 64 * 9 * 4},
      {"a", "a", {200'000}, f32, bf16, "staged", 128 << 10},
      {"a", "a", {200'000}, bf16, f32, "staged", 128 << 10},
      {"abcd", "acdb", {4, 3, 70, 70}, u8, f32, "staged", 4 * 3 * 4900},
      {"ab", "ba", {512, 1024}, f32, f32, "cycles, staged", 512 << 10},
      {"ab", "ba", {509, 521}, f32, f32, "merge, cycles, staged", 264680},
      {"ab", "ba", {2053, 2063}, u8, u8, "staged, cycles, merge", 705546},
      {"ab", "ba", {2063, 1031}, bf16, bf16, "staged, cycles, merge", 472198},
      {"abc", "cba", {83, 79, 89}, f32, f32, "merge, cycles, staged", 1022892},
      {"abc", "cab", {89, 83, 79}, f32, f32, "staged, cycles", 28124},
      {"abc", "cba", {200, 201, 203}, u8, u8, "staged, cycles, staged", 204015},
      {"abcd", "dcba", {23, 29, 31, 37}, f32, f32, "staged, cycles, staged", 105524},
      {"ab", "ab", {1000, 1000}, f32, f32, "nothing", 0},
  };
  for (const Choice& c : choices) {
    const TensorDesc src = desc(c.src, c.dims, c.src_type), dst = desc(c.dst, c.dims, c.dst_type);
    const InPlacePlan plan = InPlacePlan::make(src, dst);
    EXPECT_EQ(plan.method(), c.method) << plan.explain();
    EXPECT_EQ(plan.scratch_bytes(), c.scratch) << plan.explain();
    EXPECT_EQ(plan.buffer_bytes(), std::max(src.span_bytes(), dst.span_bytes()));
    EXPECT_NE(plan.explain().find("scratch " + std::to_string(c.scratch)), std::string::npos) << plan.explain();
    expect_reference(src, dst, plan);
  }
}

TEST(InPlace, PartsInTheOnlyOrder) {
  const auto step = [](DType src, DType dst) {
    return std::get<StagedStep>(
        InPlacePlan::make(desc("a", {200'000}, src), desc("a", {200'000}, dst)).data().steps[0]);
  };
  EXPECT_FALSE(step(DType::f32, DType::bf16).backwards);
  EXPECT_TRUE(step(DType::bf16, DType::f32).backwards);
  EXPECT_FALSE(step(DType::bf16, DType::f32).independent);
  EXPECT_TRUE(step(DType::s32, DType::f32).independent);
  EXPECT_EQ(parallel_parts(step(DType::bf16, DType::f32)), 1);
  EXPECT_GT(parallel_parts(step(DType::s32, DType::f32)), 1);
}

TEST(InPlace, PaddingFollowsThePolicy) {
  const Dims dims{3, 17, 80, 80};
  for (const Padding& padding : {Padding::zero(), Padding::of(7), Padding::keep()}) {
    Attributes attributes;
    attributes.padding = padding;
    for (const auto& [from, to] : {std::pair("abcd", "aBcd16b"), {"aBcd16b", "aBcd8b"}, {"aBcd16b", "aBcd16b"}}) {
      const TensorDesc src = desc(from, dims), dst = desc(to, dims);
      expect_reference(src, dst, InPlacePlan::make(src, dst, attributes, {1 << 20}), attributes);
    }
    // A matrix of 260 x 260 in memory for 264 x 264. It is transposed by exchanging tiles, and after that its padding
    // is set.
    const Digits cols = {{264, 1}};
    const Digits by_row[] = {{{264, 264}}, cols}, by_col[] = {cols, {{264, 264}}};
    const TensorDesc src(Layout::from_digits({260, 260}, by_row), DType::f32);
    const TensorDesc dst(Layout::from_digits({260, 260}, by_col), DType::f32);
    const InPlacePlan plan = InPlacePlan::make(src, dst, attributes);
    EXPECT_EQ(plan.method(), "swap");
    expect_reference(src, dst, plan, attributes);
    // Matrices along a dim that cannot be cut, because its outermost digit steps within them. They are permuted in
    // cycles whose parts are staged, by plans that do not set the padding.
    const Digits matrices_by_row[] = {{{30, 10'000}, {50, 1}, {200, 50}}, {{1, 0}}};
    const Digits matrices_by_col[] = {{{30, 10'000}, {50, 200}, {200, 1}}, {{2, 300'000}}};
    const TensorDesc rows(Layout::from_digits({300'000, 1}, matrices_by_row), DType::f32);
    const TensorDesc columns(Layout::from_digits({300'000, 1}, matrices_by_col), DType::f32);
    const InPlacePlan staged = InPlacePlan::make(rows, columns, attributes);
    EXPECT_EQ(staged.method(), "staged");
    expect_reference(rows, columns, staged, attributes);
  }
}

TEST(InPlace, ValuesByAttribute) {
  const Dims dims{4, 19, 60, 60};
  Attributes attributes;
  attributes.dst_scale = {std::vector<double>(19, 0.5), 2};
  attributes.dst_scale.values[3] = 4;
  attributes.dst_zero_point = {{3}, 0};
  const TensorDesc src = desc("abcd", dims), dst = desc("acdb", dims, DType::u8);
  const InPlacePlan plan = InPlacePlan::make(src, dst, attributes);
  EXPECT_EQ(plan.method(), "staged");
  expect_reference(src, dst, plan, attributes);
  // With attribute values for each image, an image cannot be a part, and no other parts lie apart.
  attributes.dst_scale = {{1, 2, 3, 4}, 1};
  const Error error = error_of([&] { InPlacePlan::make(src, dst, attributes, {1 << 18}); });
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_EQ(error.limit(), std::to_string(src.span_bytes()));
}

TEST(InPlace, Refuses) {
  const TensorDesc src = desc("ab", {1000, 1000}), dst = desc("ba", {1000, 1000}, DType::bf16);
  const Error converting = error_of([&] { InPlacePlan::make(src, dst); });
  EXPECT_EQ(converting.code(), ErrorCode::unsupported);
  EXPECT_EQ(converting.field(), "max_scratch_bytes");
  EXPECT_EQ(converting.value(), std::to_string(1 << 20));
  EXPECT_EQ(converting.limit(), "4000000");
  EXPECT_NE(converting.message().find("values are converted"), std::string::npos) << converting.message();
  EXPECT_EQ(InPlacePlan::make(src, dst, {}, {4'000'000}).method(), "staged");

  const TensorDesc odd = desc("ba", {509, 521}), even = desc("ab", {509, 521});
  EXPECT_EQ(error_of([&] { InPlacePlan::make(even, odd, {}, {1000}); }).code(), ErrorCode::unsupported);

  Attributes sum;
  sum.beta = 1;
  EXPECT_EQ(error_of([&] { InPlacePlan::make(even, odd, sum); }).field(), "beta");
  EXPECT_EQ(error_of([&] { InPlacePlan::make(even, desc("ab", {509, 522})); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([&] {
              InPlacePlan::make(even, desc("strides:0,1", {509, 521}));
            }).code(),
            ErrorCode::not_injective);

  std::vector<std::byte> buffer(static_cast<std::size_t>(even.span_bytes()) - 1);
  const Error small = error_of([&] { reorder_in_place(even, odd, buffer); });
  EXPECT_EQ(small.code(), ErrorCode::buffer_too_small);
  EXPECT_EQ(small.limit(), std::to_string(even.span_bytes()));
}

TEST(InPlace, CheckedCall) {
  const TensorDesc src = desc("abcd", {2, 17, 9, 7}), dst = desc("aBcd8b", {2, 17, 9, 7});
  std::vector<std::byte> buffer = counting(dst.span_bytes()), expected = buffer;
  reference_reorder(src, buffer.data(), dst, expected.data());
  reorder_in_place(src, dst, buffer);
  EXPECT_EQ(buffer, expected);
  reorder_in_place(desc("ab", {0, 5}), desc("ba", {0, 5}), {});
  EXPECT_EQ(InPlacePlan::make(desc("ab", {0, 5}), desc("ba", {0, 5})).scratch_bytes(), 0);
}

TEST(InPlace, TakesTypedElements) {
  std::vector<float> matrix{1, 2, 3, 4};
  reorder_in_place(desc("ab", {2, 2}), desc("ba", {2, 2}), matrix);
  EXPECT_EQ(matrix, (std::vector<float>{1, 3, 2, 4}));
  std::vector<int32_t> integers{1, 2, 3, 4};
  const Error wrong = error_of([&] { reorder_in_place(desc("ab", {2, 2}), desc("ba", {2, 2}), integers); });
  EXPECT_EQ(wrong.field() + " " + wrong.value() + " " + wrong.limit(), "buffer s32 f32");
  // Where the types differ, the buffer's is one of them.
  const TensorDesc to(desc("ab", {2, 2}).layout, DType::s32);
  reorder_in_place(desc("ab", {2, 2}), to, matrix);
  EXPECT_EQ(std::bit_cast<int32_t>(matrix[1]), 3);
  const TensorDesc from = to;
  reorder_in_place(from, desc("ab", {2, 2}), matrix);
  EXPECT_EQ(matrix, (std::vector<float>{1, 3, 2, 4}));
}

// Where there is scratch for one thread only, a run with more threads gives the same result.
TEST(InPlace, LessScratchFewerThreads) {
  const TensorDesc src = desc("abcd", {6, 33, 31, 32}), dst = desc("acdb", {6, 33, 31, 32});
  const InPlacePlan plan = InPlacePlan::make(src, dst);
  EXPECT_GT(plan.scratch_bytes(3), plan.scratch_bytes());
  EXPECT_EQ(plan.scratch_bytes(1000), plan.scratch_bytes() * parallel_parts(plan.data().steps[0]));
  const std::vector<std::byte> before = counting(plan.buffer_bytes());
  std::vector<std::byte> expected = before, buffer = before;
  run(Plan::make(src, dst), before.data(), expected.data());
  test::Guarded scratch(plan.scratch_bytes(), test::Guarded::Side::end);
  run(plan, buffer.data(), scratch.bytes(), {3});
  EXPECT_EQ(buffer, expected);
  EXPECT_TRUE(scratch.intact());
}

TEST(InPlace, Explains) {
  const auto text = [](const char* from, const char* to, const Dims& dims, DType dst = DType::f32) {
    return InPlacePlan::make(desc(from, dims), desc(to, dims, dst)).explain();
  };
  EXPECT_EQ(text("ab", "ba", {500, 500}),
            "in-place reorder of 500x500\n  from  f32 ab\n  to    f32 ba\n"
            "  swap: 1 part of 500 x 500, tiles of 64 x 64; scratch 16384 bytes a thread\n"
            "  buffer 1000000 bytes, scratch 16384");
  EXPECT_EQ(text("a", "a", {100'000}, DType::f64),
            "in-place reorder of 100000\n  from  f32 a\n  to    f64 a\n"
            "  staged: 4 parts of up to 131072 bytes, the last part first; scratch 131072 bytes a thread\n"
            "  buffer 800000 bytes, scratch 131072");
  EXPECT_EQ(text("ab", "ba", {509, 521}),
            "in-place reorder of 509x521\n  from  f32 ab\n  to    f32 ba\n"
            "  merge: 1 part of 509 rows of 2080 and 4 bytes, taken apart; scratch 2036 bytes a thread\n"
            "  cycles: 1 part of 2036 runs of 520 bytes; scratch 776 bytes a thread\n"
            "  staged: 4 parts of up to 264680 bytes; scratch 264680 bytes a thread\n"
            "  buffer 1060756 bytes, scratch 264680");
}

// Every method alone and after others; on one thread its parts are in their order.
TEST(InPlace, ProgressCountsUpToAllAndChangesNoByte) {
  const Choice choices[] = {{"ab", "ba", {3000, 3000}, DType::f32, DType::f32, "swap", 0},
                            {"abcd", "acdb", {40, 3, 256, 256}, DType::f32, DType::f32, "staged", 0},
                            {"a", "a", {20'000'000}, DType::bf16, DType::f32, "staged", 0},
                            {"ab", "ba", {4001, 2500}, DType::f32, DType::f32, "", 0},
                            {"abc", "bac", {70, 30, 4096}, DType::f32, DType::f32, "", 0},
                            {"abcd", "aBcd16b", {40, 3, 128, 256}, DType::f32, DType::f32, "staged", 0},
                            {"ab", "ba", {5, 7}, DType::f32, DType::f32, "staged", 0}};
  for (const Choice& c : choices) {
    const TensorDesc src = desc(c.src, c.dims, c.src_type), dst = desc(c.dst, c.dims, c.dst_type);
    const InPlacePlan plan = InPlacePlan::make(src, dst);
    if (*c.method != '\0') {
      EXPECT_EQ(plan.method(), c.method);
    }
    const std::vector<std::byte> before = counting(plan.buffer_bytes());
    std::vector<std::byte> expected = before;
    run(Plan::make(src, dst), before.data(), expected.data());
    for (const int threads : {1, 2}) {
      std::vector<std::byte> buffer = before;
      std::vector<std::pair<int64_t, int64_t>> said;
      run(plan, buffer, {threads}, [&](int64_t done, int64_t total) { said.emplace_back(done, total); });
      EXPECT_TRUE(buffer == expected) << plan.explain();
      ASSERT_FALSE(said.empty());
      EXPECT_EQ(said.back().first, said.back().second);
      for (std::size_t i = 1; i < said.size(); ++i) {
        EXPECT_GT(said[i].first, said[i - 1].first);
        EXPECT_EQ(said[i].second, said[0].second);
      }
      EXPECT_EQ(said.size() > 1, plan.buffer_bytes() > 1000) << plan.explain();
    }
  }
}

}  // namespace
}  // namespace relayout::cpu
