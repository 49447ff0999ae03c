// The reorder's public face: what it refuses, ISAs, padding, extreme shapes.
#include "relayout/cpu/reorder.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "relayout/core/format.h"
#include "relayout/core/view.h"
#include "relayout/cpu/machine.h"
#include "relayout/reorder/planner/plan_data.h"
#include "relayout/reorder/reference.h"
#include "tests/support/scoped_isa.h"
#include "tests/support/testing.h"

namespace relayout::cpu {
namespace {

using test::counting;
using test::desc;
using test::error_of;

TEST(Reorder, CheckedCallRefuses) {
  const TensorDesc src = desc("abcd", {2, 3, 4, 5}), dst = desc("acdb", {2, 3, 4, 5});
  std::vector<std::byte> a = counting(480), b(480);
  const Error small_src = error_of([&] { reorder(src, std::span(a).first(479), dst, b); });
  EXPECT_EQ(small_src.code(), ErrorCode::buffer_too_small);
  EXPECT_EQ(small_src.field(), "source");
  EXPECT_EQ(small_src.value(), "479");
  EXPECT_EQ(small_src.limit(), "480");
  const Error small_dst = error_of([&] { reorder(src, a, dst, std::span(b).first(479)); });
  EXPECT_EQ(small_dst.code(), ErrorCode::buffer_too_small);
  EXPECT_EQ(small_dst.field(), "destination");
  EXPECT_EQ(error_of([&] { reorder(src, a, dst, a); }).code(), ErrorCode::overlap);
  std::vector<std::byte> both = counting(959);
  EXPECT_EQ(error_of([&] { reorder(src, std::span(both).first(480), dst, std::span(both).subspan(479)); }).code(),
            ErrorCode::overlap);
  EXPECT_EQ(error_of([&] { reorder(src, a, desc("abcd", {2, 3, 4, 6}), b); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([&] {
              reorder(src, a, desc("strides:0,20,5,1", {2, 3, 4, 5}), b);
            }).code(),
            ErrorCode::not_injective);
  const Error overlapping = error_of([&] { Plan::make(desc("ab", {4, 3}), desc("strides:2,3", {4, 3})); });
  EXPECT_EQ(overlapping.code(), ErrorCode::not_injective);
  EXPECT_NE(overlapping.message().find("share offset"), std::string::npos);
  reorder(src, a, dst, b);
  std::vector<std::byte> expected(480);
  reference_reorder(src, a.data(), dst, expected.data());
  EXPECT_EQ(b, expected);
}

// Vectors, arrays and spans of elements go to every checked call, and another type than the description's to none.
TEST(Reorder, TakesTypedElements) {
  const TensorDesc src = desc("ab", {2, 3}), dst = desc("ba", {2, 3});
  const TensorDesc half(dst.layout, DType::bf16);
  const std::vector<float> in{1, 2, 3, 4, 5, 6};
  std::array<float, 6> out{};
  const std::array<float, 6> expected{1, 4, 2, 5, 3, 6};
  reorder(src, in, dst, out);
  EXPECT_EQ(out, expected);
  float matrix[3][2] = {};
  run(make_plan(src, dst), ConstElements(in), matrix);
  EXPECT_EQ(matrix[2][0], 3);
  std::vector<uint16_t> bits(6);
  reorder(src, std::span(in), half, bits);
  EXPECT_EQ(bits, (std::vector<uint16_t>{0x3f80, 0x4080, 0x4000, 0x40a0, 0x4040, 0x40c0}));
  std::vector<int32_t> integers(6);
  const Error wrong_dst = error_of([&] { reorder(src, in, dst, integers); });
  EXPECT_EQ(wrong_dst.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(wrong_dst.field() + " " + wrong_dst.value() + " " + wrong_dst.limit(), "destination s32 f32");
  const Error wrong_src = error_of([&] { reorder(src, integers, half, bits); });
  EXPECT_EQ(wrong_src.field() + " " + wrong_src.value() + " " + wrong_src.limit(), "source s32 f32");
  EXPECT_EQ(error_of([&] { run(make_plan(src, dst), in, std::span(out).first(5)); }).code(),
            ErrorCode::buffer_too_small);
}

// Conversions by stages: both directions, types of one size, attributes a channel, sums, tails and padding, on two
// threads, by every ISA.
TEST(Reorder, PlansForThisMachine) {
  for (const Dims& dims : {Dims{32, 64, 56, 56}, Dims{32, 256, 56, 56}, Dims{1, 64, 28, 28}}) {
    const TensorDesc src = desc("nchw", dims), dst = desc("nhwc", dims);
    EXPECT_EQ(make_plan(src, dst).explain(), Plan::make(src, dst, {}, machine()).explain());
    const Tuning narrow{.stream = Tuning::Stream::always, .panel = 16, .strip = 64};
    EXPECT_EQ(make_plan(src, dst, {}, narrow).explain(), Plan::make(src, dst, {}, machine(), narrow).explain());
    EXPECT_TRUE(make_plan(src, dst, {}, narrow).streams());
    EXPECT_FALSE(make_plan(src, dst, {}, {.stream = Tuning::Stream::never}).streams());
  }
}

TEST(Reorder, ConvertsByStages) {
  const Dims dims{40, 35, 3, 3};
  Attributes scale, channel, zero_point, sum;
  scale.src_scale = {{0.5f}, 0};
  channel.src_scale.mask = 1;
  for (int64_t o = 0; o < dims[0]; ++o) channel.src_scale.values.push_back(0.125f * static_cast<float>(o % 7 + 1));
  zero_point.dst_zero_point = {{3}, 0};
  sum.beta = 0.5f;
  const std::tuple<DType, DType, Attributes> kinds[] = {
      {DType::f32, DType::s8, scale},  {DType::f32, DType::s8, channel}, {DType::f32, DType::u8, zero_point},
      {DType::f32, DType::bf16, {}},   {DType::s8, DType::f32, channel}, {DType::bf16, DType::f32, {}},
      {DType::f32, DType::s32, scale}, {DType::f32, DType::u8, sum},     {DType::u8, DType::f32, sum}};
  for (const std::string_view isa : available_isas()) {
    const test::ScopedIsa isa_scope(isa);
    for (const auto& [src, dst, attributes] : kinds) {
      for (const auto& [from, to] : {std::pair("oihw", "OIhw4i16o4i"), {"OIhw8i16o2i", "hwio"}, {"hwio", "Oihw4o"}}) {
        const TensorDesc a = desc(from, dims, src), b = desc(to, dims, dst);
        // Values are small, so that sums of them are exact.
        std::vector<std::byte> in = counting(a.span_bytes()), out(static_cast<std::size_t>(b.span_bytes()));
        if (src == DType::f32) {
          for (std::size_t i = 0; i < in.size(); i += 4) {
            const float value = static_cast<float>(i / 4 % 301) - 150;
            std::memcpy(&in[i], &value, 4);
          }
        }
        std::vector<std::byte> expected = out;
        const Plan plan = Plan::make(a, b, attributes);
        EXPECT_TRUE(std::ranges::any_of(plan.data().boxes(), [](const BoxPlan& box) { return box.as<Stages>(); }))
            << plan.explain();
        run(plan, in.data(), out.data(), {.threads = 2, .grain_bytes = 1});
        reference_reorder(a, in.data(), b, expected.data(), attributes);
        ASSERT_EQ(out, expected) << isa << "\n" << plan.explain();
      }
    }
  }
}

// Where the last stage converts, it writes whole lines past the cache, wherever the destination starts.
TEST(Reorder, ConvertsByStagesPastTheCache) {
  Machine small;
  small.l3 = 64 << 10;
  for (const auto& [from, dims] : {std::pair("OIhw4i16o4i", Dims{32, 64, 3, 3}),
                                   {"OIhw4i16o4i", {32, 64, 7, 1}},
                                   {"OIhw2i8o4i", {24, 32, 4, 3}}}) {
    const TensorDesc a = desc(from, dims, DType::s8), b = desc("oihw", dims, DType::f32);
    const Plan plan = Plan::make(a, b, {}, small);
    EXPECT_TRUE(plan.streams() && plan.data().boxes()[0].as<Stages>()) << plan.explain();
    const std::vector<std::byte> in = counting(a.span_bytes());
    const auto bytes = static_cast<std::size_t>(b.span_bytes());
    std::vector<std::byte> expected(bytes);
    reference_reorder(a, in.data(), b, expected.data());
    for (const std::string_view isa : available_isas()) {
      const test::ScopedIsa isa_scope(isa);
      for (const std::size_t start : {0, 4, 60, 63}) {
        std::vector<std::byte> out(bytes + 128, std::byte{0x3c});
        run(plan, in.data(), out.data() + start, {.threads = 2, .grain_bytes = 1});
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), out.begin() + static_cast<std::ptrdiff_t>(start)))
            << isa << ", start " << start << "\n"
            << plan.explain();
        EXPECT_TRUE(std::all_of(out.begin() + static_cast<std::ptrdiff_t>(start + bytes), out.end(),
                                [](std::byte v) { return v == std::byte{0x3c}; }));
      }
    }
  }
}

// The columns of a chunk are several axes, and may take several blocks.
TEST(Reorder, ConvertsByStagesOfSeveralBlocks) {
  struct Case {
    const char *from, *to;
    Dims dims;
    DType src;
  };
  for (const auto& [from, to, dims, src] : {Case{"ABc4a8b8a4b", "ABc40a32b", {21, 13, 45}, DType::f32},
                                            {"aBdc48b", "ABcd8a16b2a", {11, 17, 66, 12}, DType::u8},
                                            {"ABc4a8b8a4b", "ABc40a32b", {53, 45, 52}, DType::f32}}) {
    const TensorDesc a = desc(from, dims, src), b = desc(to, dims, DType::bf16);
    std::vector<std::byte> in = counting(a.span_bytes()), out(static_cast<std::size_t>(b.span_bytes()));
    if (src == DType::f32) {
      for (std::size_t i = 0; i < in.size(); i += 4) {
        const float value = static_cast<float>(i / 4 % 257);
        std::memcpy(&in[i], &value, 4);
      }
    }
    std::vector<std::byte> expected = out;
    const Plan plan = Plan::make(a, b, {}, {}, {.way = Tuning::Way::stages});
    run(plan, in.data(), out.data());
    reference_reorder(a, in.data(), b, expected.data());
    EXPECT_EQ(out, expected) << plan.explain();
  }
}

TEST(Reorder, AttributesAreChecked) {
  const TensorDesc src = desc("abcd", {2, 3, 4, 5}), dst = desc("acdb", {2, 3, 4, 5}, DType::u8);
  const auto code = [&](const Attributes& a) { return error_of([&] { Plan::make(src, dst, a); }).code(); };
  Attributes a;
  a.src_scale = {{1.0f, 2.0f}, 2};
  EXPECT_EQ(code(a), ErrorCode::invalid_argument);
  a = {};
  a.dst_scale = {{0.0f}, 0};
  EXPECT_EQ(code(a), ErrorCode::invalid_argument);
  a = {};
  a.dst_zero_point = {{256}, 0};  // the destination is u8
  EXPECT_EQ(code(a), ErrorCode::invalid_argument);
  a = {};
  a.src_scale = {{std::numeric_limits<float>::infinity()}, 0};
  EXPECT_EQ(code(a), ErrorCode::invalid_argument);
}

TEST(Reorder, EmptyTensorsNeedNoBuffers) {
  for (const Dims& dims :
       {Dims{0, 3, 4, 5}, Dims{2, 0, 4, 5}, Dims{2, 3, 4, 0}, Dims{int64_t{1} << 62, 0, int64_t{1} << 62, 1}}) {
    for (const char* to : {"abcd", "acdb", "aBcd16b"}) {
      run(Plan::make(desc("abcd", dims), desc(to, dims, DType::bf16)), nullptr, nullptr);
      reorder(desc("abcd", dims), {}, desc(to, dims), {});
    }
  }
}

TEST(Reorder, IsaIsForced) {
  const auto isas = available_isas();
  const std::string_view before = isa();
  ASSERT_EQ(isas.front(), "scalar");
  for (std::string_view name : isas) {
    const test::ScopedIsa isa_scope(name);
    EXPECT_EQ(isa(), name);
  }
  EXPECT_EQ(isa(), before);
  const Error unknown = error_of([] { set_isa("mmx\x1b"); });
  EXPECT_EQ(unknown.code(), ErrorCode::unsupported);
  EXPECT_EQ(unknown.value(), "mmx\\x1b");
  const test::ScopedIsa best("");
  EXPECT_EQ(isa(), isas.back());
  EXPECT_GE(default_threads(), 1);
}

TEST(Reorder, DirtyPaddingNeverLeaks) {
  const Dims dims{2, 17, 3, 5};
  const TensorDesc src = desc("aBcd16b", dims), dst = desc("aBcd8b", dims);
  auto a = counting(src.span_bytes());
  std::vector<std::byte> b(static_cast<std::size_t>(dst.span_bytes()), std::byte{0xcc});
  const auto padding_values = [&](const Attributes& attributes) {
    std::ranges::fill(b, std::byte{0xcc});
    reorder(src, a, dst, b, attributes);
    std::vector<float> out;
    for (int64_t o = 0; o < dst.layout.span(); ++o) {
      if (dst.layout.inverse(o, nullptr) != Slot::padding) continue;
      float value;
      std::memcpy(&value, &b[static_cast<std::size_t>(o) * 4], 4);
      out.push_back(value);
    }
    return out;
  };
  Attributes a0, a7, keep;
  a7.padding = Padding::of(7.5);
  keep.padding = Padding::keep();
  float kept;
  std::memset(&kept, 0xcc, 4);
  const auto is = [](float want) { return [want](float have) { return std::memcmp(&have, &want, 4) == 0; }; };
  const auto zeros = padding_values(a0);
  EXPECT_EQ(zeros.size(), static_cast<std::size_t>(dst.layout.padded_elements() - dst.layout.elements()));
  EXPECT_TRUE(std::ranges::all_of(zeros, is(0.0f)));
  EXPECT_TRUE(std::ranges::all_of(padding_values(a7), is(7.5f)));
  EXPECT_TRUE(std::ranges::all_of(padding_values(keep), is(kept)));
}

TEST(Reorder, TwelveDimsAndManyBlocks) {
  const Dims dims(12, 2);
  const TensorDesc src = desc("abcdefghijkl", dims, DType::u8), dst = desc("lkjihgfedcba", dims, DType::u8);
  const auto a = counting(src.span_bytes());
  std::vector<std::byte> b(a.size()), expected(a.size());
  reorder(src, a, dst, b);
  reference_reorder(src, a.data(), dst, expected.data());
  EXPECT_EQ(b, expected);
  const TensorDesc odd = desc("ABcd3a5b2a7b2a2b", {31, 77, 2, 2}, DType::u8),
                   plain = desc("dcba", {31, 77, 2, 2}, DType::u8);
  const auto c = counting(odd.span_bytes());
  std::vector<std::byte> d(static_cast<std::size_t>(plain.span_bytes())), e = d;
  reorder(odd, c, plain, d);
  reference_reorder(odd, c.data(), plain, e.data());
  EXPECT_EQ(d, e);
}

// Tails of many dims would need too many boxes, so the shortest dims go by table.
TEST(Reorder, ManyTailsGoByTable) {
  const std::tuple<Dims, const char*, const char*> shapes[] = {
      {{7, 7, 7, 7, 7, 7}, "fedcba", "ABCDEF2a2b2c2d2e2f2a2b2c2d2e2f"},
      {{3, 3, 3, 3, 3, 3, 3, 3, 3, 3}, "abcdefghij", "ABCDEFGHIJ2a2b2c2d2e2f2g2h2i2j"}};
  for (const auto& [dims, plain_tag, blocked_tag] : shapes) {
    for (const auto& [plain_type, blocked_type] :
         {std::pair(DType::u8, DType::u8), {DType::bf16, DType::f32}, {DType::u4, DType::u4}}) {
      const TensorDesc plain = desc(plain_tag, dims, plain_type), blocked = desc(blocked_tag, dims, blocked_type);
      const Plan forth = Plan::make(plain, blocked), back = Plan::make(blocked, plain);
      ASSERT_FALSE(forth.data().tables().empty());
      const auto src = counting(plain.span_bytes());
      std::vector<std::byte> there(static_cast<std::size_t>(blocked.span_bytes()), std::byte{0xcc}), expected = there;
      run(forth, src.data(), there.data());
      reference_reorder(plain, src.data(), blocked, expected.data());
      ASSERT_EQ(there, expected) << name(plain_type) << " -> " << blocked_tag;
      std::vector<std::byte> again(src.size()), expected_again = again;
      run(back, there.data(), again.data());
      reference_reorder(blocked, there.data(), plain, expected_again.data());
      ASSERT_EQ(again, expected_again) << blocked_tag << " -> " << name(plain_type);
    }
  }
}

// Conversions by stages of extents without good divisors: the steps of an axis that no chunk has are a box of their
// own.
TEST(Reorder, ConvertsByStagesOfOddExtents) {
  Attributes scale;
  scale.src_scale = {{0.5f}, 0};
  Machine small;
  small.l3 = 64 << 10;
  const std::tuple<const char*, const char*, Dims, DType, DType> cases[] = {
      {"nhwc", "nchw", {3, 3, 61, 61}, DType::f32, DType::u8},
      {"nchw", "nhwc", {3, 3, 61, 61}, DType::u8, DType::f32},
      {"nChw4c", "nchw", {2, 8, 61, 61}, DType::f32, DType::s8},
      {"nchw", "nChw8c", {2, 8, 61, 61}, DType::bf16, DType::f32},
      {"ab", "ba", {4166, 6}, DType::f32, DType::bf16},
      {"strides:6,1", "ab", {3331, 3}, DType::u8, DType::f32},
      {"ab", "strides:6,1", {3331, 3}, DType::f32, DType::u8}};
  for (const std::string_view isa : available_isas()) {
    const test::ScopedIsa isa_scope(isa);
    for (const auto& [from, to, dims, src, dst] : cases) {
      const TensorDesc a = desc(from, dims, src), b = desc(to, dims, dst);
      const std::vector<std::byte> in = counting(a.span_bytes());
      std::vector<std::byte> expected(static_cast<std::size_t>(b.span_bytes()));
      reference_reorder(a, in.data(), b, expected.data(), scale);
      for (const Machine& machine : {Machine{}, small}) {
        const Plan plan = Plan::make(a, b, scale, machine);
        for (const BoxPlan& box : plan.data().boxes()) EXPECT_LT(box.blocks, 200) << plan.explain();
        for (const int threads : {1, 3}) {
          std::vector<std::byte> out(expected.size() + 3);
          run(plan, in.data(), out.data() + 3, {.threads = threads, .grain_bytes = 1});
          ASSERT_TRUE(std::equal(expected.begin(), expected.end(), out.begin() + 3)) << isa << "\n" << plan.explain();
        }
      }
    }
  }
}

// Sources that lie backwards along one dim or several, and single channels, rows and columns of every kind.
/// Runs a reorder by every ISA, past the caches and not, and compares with the reference.
void expect_reference_on_every_isa(const TensorDesc& a, const TensorDesc& b) {
  Machine small;
  small.l3 = 8 << 10;
  const std::vector<std::byte> in = counting(a.span_bytes());
  std::vector<std::byte> expected(static_cast<std::size_t>(b.span_bytes()));
  reference_reorder(a, in.data(), b, expected.data());
  for (const Machine& machine : {Machine{}, small}) {
    const Plan plan = Plan::make(a, b, {}, machine);
    for (const std::string_view isa : available_isas()) {
      const test::ScopedIsa isa_scope(isa);
      std::vector<std::byte> out(expected.size() + 80);
      const std::size_t start = machine.l3 == small.l3 ? 16 : 0;
      run(plan, in.data(), out.data() + start, {.threads = 3, .grain_bytes = 1});
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), out.begin() + static_cast<std::ptrdiff_t>(start)))
          << isa << "\n"
          << plan.explain();
    }
  }
}

TEST(Reorder, BackwardsAndSparseSources) {
  const Dims dims{3, 5, 37, 70};
  for (const auto& [src, dst] : {std::pair(DType::u8, DType::u8),
                                 {DType::u16, DType::u16},
                                 {DType::f32, DType::f32},
                                 {DType::f64, DType::f64},
                                 {DType::u8, DType::f32},
                                 {DType::f32, DType::bf16}}) {
    for (const auto& [from, to] : {std::pair("nchw", "nchw"), {"nchw", "nhwc"}, {"nhwc", "nchw"}, {"nhwc", "nhwc"}}) {
      std::vector<Layout> views;
      const Layout whole = Format::parse(from).bind(dims);
      for (const int d : {1, 2, 3}) views.push_back(flip(whole, d));
      views.push_back(flip(flip(whole, 2), 3));
      views.push_back(slice(Format::parse(from).bind({3, 10, 37, 70}), 1, 1, 10, 2));
      views.push_back(slice(Format::parse(from).bind({3, 5, 37, 210}), 3, 2, 210, 3));
      views.push_back(flip(views.back(), 3));
      for (const Layout& view : views) {
        expect_reference_on_every_isa(TensorDesc(view, src), desc(to, dims, dst));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Reorder, BroadcastAndFlippedSources) {
  const Layout row = expand(Layout::contiguous({1, 5}), {4, 5});
  std::vector<float> src{1, 2, 3, 4, 5}, dst(20);
  reorder(TensorDesc(row, DType::f32), std::as_bytes(std::span(src)), desc("ab", {4, 5}),
          std::as_writable_bytes(std::span(dst)));
  for (int r = 0; r < 4; ++r) {
    for (int c = 0; c < 5; ++c) EXPECT_EQ(dst[static_cast<std::size_t>(r * 5 + c)], static_cast<float>(c + 1));
  }
  std::vector<float> back(5);
  reorder(TensorDesc(flip(Layout::contiguous({5}), 0), DType::f32), std::as_bytes(std::span(src)), desc("a", {5}),
          std::as_writable_bytes(std::span(back)));
  EXPECT_EQ(back, (std::vector<float>{5, 4, 3, 2, 1}));
}

}  // namespace
}  // namespace relayout::cpu
