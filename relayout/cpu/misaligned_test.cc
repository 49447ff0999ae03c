// Whole reorders at addresses of every misalignment, between guard pages, on every ISA: the reference's bytes, and
// nothing beside them. And the documented conversions, run as reorders.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>

#include "relayout/cpu/reorder.h"
#include "relayout/reorder/cast.h"
#include "relayout/reorder/reference.h"
#include "tests/support/documented_conversions.h"
#include "tests/support/guarded.h"
#include "tests/support/scoped_isa.h"
#include "tests/support/slow_tests.h"
#include "tests/support/testing.h"

namespace relayout::cpu {
namespace {

using test::counting;
using test::desc;
using test::Guarded;

/// Bytes from that side's forbidden page, so that the buffer is `misalign` bytes past a multiple of 64.
int64_t slack(int64_t bytes, Guarded::Side side, int64_t misalign) {
  return side == Guarded::Side::start ? misalign : (128 - misalign - bytes % 64) % 64;
}

/// One pair of layouts and types, its plan and what the reference makes of it.
struct Prepared {
  Prepared(const TensorDesc& src_, const TensorDesc& dst_, const Attributes& attributes = {})
      : plan(Plan::make(src_, dst_, attributes)),
        src(counting(src_.span_bytes())),
        before(static_cast<std::size_t>(dst_.span_bytes()), std::byte{0x11}),
        expected(before) {
    reference_reorder(src_, src.data(), dst_, expected.data(), attributes);
  }

  testing::AssertionResult runs(int64_t src_misalign, int64_t dst_misalign, Guarded::Side side) const {
    const auto src_bytes = static_cast<int64_t>(src.size()), dst_bytes = static_cast<int64_t>(before.size());
    Guarded from(src_bytes, side, slack(src_bytes, side, src_misalign));
    Guarded to(dst_bytes, side, slack(dst_bytes, side, dst_misalign));
    std::ranges::copy(src, from.data());
    std::ranges::copy(before, to.data());
    run(plan, from.data(), to.data(), {1});
    if (!std::ranges::equal(to.bytes(), expected)) return testing::AssertionFailure() << "not the reference's bytes";
    if (!std::ranges::equal(from.bytes(), src)) return testing::AssertionFailure() << "the source has changed";
    if (!from.intact() || !to.intact()) return testing::AssertionFailure() << "bytes beside a buffer have changed";
    return testing::AssertionSuccess();
  }

  Plan plan;
  std::vector<std::byte> src, before, expected;
};

constexpr std::pair<DType, DType> kTypes[] = {
    {DType::u8, DType::u8},    {DType::bf16, DType::bf16}, {DType::f32, DType::f32}, {DType::f64, DType::f64},
    {DType::f32, DType::s8},   {DType::s8, DType::f32},    {DType::f64, DType::f32}, {DType::f32, DType::f64},
    {DType::f32, DType::bf16}, {DType::u4, DType::f32},    {DType::f32, DType::s4},  {DType::s64, DType::u32},
    {DType::f64, DType::s16},  {DType::u4, DType::u4}};

// copy, transpose, gather (nothing contiguous), blocked with tails and padding to fill, blocks that do not nest.
constexpr std::pair<const char*, const char*> kLayouts[] = {{"abcd", "abcd"},
                                                            {"abcd", "acdb"},
                                                            {"strides:2,6,114,798", "strides:1400,70,10,2"},
                                                            {"abcd", "aBcd8b"},
                                                            {"aBcd12b", "aBcd8b"}};

TEST(Misaligned, EveryMisalignmentOfEitherSide) {
  const Dims dims{3, 19, 7, 5};
  const bool slow = test::slow_tests();
  int64_t cases = 0, pairs = 0;
  for (const auto& [from, to] : kLayouts) {
    for (const auto& [from_type, to_type] : kTypes) {
      const Prepared prepared(desc(from, dims, from_type), desc(to, dims, to_type));
      ++pairs;
      int64_t isas = 0;
      for (std::string_view isa_name : available_isas()) {
        const test::ScopedIsa isa_scope(isa_name);
        ++isas;
        for (int64_t misalign = 0; misalign < 64; ++misalign) {
          for (const Guarded::Side side : {Guarded::Side::start, Guarded::Side::end}) {
            // Each side alone is misaligned, then both by the same amount, and both by different amounts.
            const std::pair<int64_t, int64_t> both[] = {
                {misalign, 0}, {0, misalign}, {misalign, misalign}, {misalign, (misalign * 5 + 3) % 64}};
            // The slow tests have all of these, the others one, which changes with the types and the ISA.
            const int64_t turn = misalign + pairs + isas;
            for (const auto& [a, b] :
                 std::span(both).subspan(slow ? 0 : static_cast<std::size_t>(turn % 4), slow ? 4 : 1)) {
              ASSERT_TRUE(prepared.runs(a, b, side))
                  << name(from_type) << " " << from << " -> " << name(to_type) << " " << to << ", misaligned by " << a
                  << " and " << b << " on " << isa_name;
              ++cases;
            }
          }
        }
      }
    }
  }
  std::printf("misaligned reorders: %lld\n", static_cast<long long>(cases));
}

TEST(Misaligned, ArithmeticToo) {
  const Dims dims{3, 19, 7, 5};
  Attributes a;
  a.src_scale = {std::vector<double>(19, 0.37), 2};
  a.beta = 0.5f;
  for (const auto& [from, to] : kLayouts) {
    for (const auto& [from_type, to_type] : {std::pair(DType::f32, DType::f32),
                                             {DType::f64, DType::f64},
                                             {DType::f32, DType::s8},
                                             {DType::u8, DType::f64}}) {
      const Prepared prepared(desc(from, dims, from_type), desc(to, dims, to_type), a);
      for (int64_t misalign = 1; misalign < 64; ++misalign) {
        ASSERT_TRUE(prepared.runs(misalign, (misalign * 7) % 64, Guarded::Side::end)) << from << " -> " << to;
      }
    }
  }
}

// Tails read nothing past the end of the source's memory.
TEST(Misaligned, TailsReadNothingPastTheSource) {
  constexpr std::pair<const char*, const char*> kTails[] = {
      {"acdb", "aBCd8b8c"}, {"aBdC48b2c", "aBCd16b16c"}, {"abcd", "aBcd16b"}, {"cdba", "ABcd4a16b"},
      {"abcd", "abcD32d"},  {"Abcd16a", "aBCd4b8c2b"},   {"dcab", "aBcD4d4b"}};
  const Dims dims{17, 67, 13, 15};
  for (const auto& [from, to] : kTails) {
    for (const DType type : {DType::u8, DType::bf16}) {
      const Prepared prepared(desc(from, dims, type), desc(to, dims, type));
      const int64_t src_end = (128 - prepared.plan.src().span_bytes() % 64) % 64;
      const int64_t dst_end = (128 - prepared.plan.dst().span_bytes() % 64) % 64;
      for (std::string_view isa_name : available_isas()) {
        const test::ScopedIsa isa_scope(isa_name);
        ASSERT_TRUE(prepared.runs(src_end, dst_end, Guarded::Side::end))
            << name(type) << " " << from << " -> " << to << " on " << isa_name;
      }
    }
  }
}

// Whole reorders of odd sizes right next to the guard pages, on every ISA.
TEST(Misaligned, TouchesOnlyItsBuffers) {
  const Dims dims{3, 17, 7, 9};
  const char* const formats[] = {"abcd",
                                 "acdb",
                                 "bcda",
                                 "dcba",
                                 "aBcd16b",
                                 "aBcd12b",
                                 "ABcd4a8b",
                                 "nh|Cw4c",
                                 "strides:1300,71,10,1",
                                 "strides:1,3,51,-357"};
  int64_t cases = 0;
  for (const char* from : formats) {
    for (const char* to : formats) {
      for (const auto& [from_type, to_type] : kTypes) {
        const Prepared prepared(desc(from, dims, from_type), desc(to, dims, to_type));
        for (std::string_view isa_name : available_isas()) {
          const test::ScopedIsa isa_scope(isa_name);
          for (const Guarded::Side side : {Guarded::Side::start, Guarded::Side::end}) {
            const int64_t src_end = side == Guarded::Side::end ? (128 - prepared.plan.src().span_bytes() % 64) % 64 : 0;
            const int64_t dst_end = side == Guarded::Side::end ? (128 - prepared.plan.dst().span_bytes() % 64) % 64 : 0;
            ASSERT_TRUE(prepared.runs(src_end, dst_end, side))
                << name(from_type) << " " << from << " -> " << name(to_type) << " " << to << " on " << isa_name;
            ++cases;
          }
        }
      }
    }
  }
  std::printf("guarded reorders: %lld\n", static_cast<long long>(cases));
}

// Every documented conversion as a reorder: one element alone, and many between others, so that whole registers and
// their remainders both see it.
TEST(SpecialValues, AreAsDocumentedOnEveryIsa) {
  const auto rows = test::documented_conversions();
  ASSERT_GE(rows.size(), 150u);
  for (const test::DocumentedConversion& row : rows) {
    for (const int64_t count : {1, 67}) {
      const TensorDesc from = desc("a", {count}, row.from), to = desc("a", {count}, row.to);
      const Plan plan = Plan::make(from, to);
      std::vector<std::byte> src(static_cast<std::size_t>(from.span_bytes()));
      std::vector<std::byte> want(static_cast<std::size_t>(to.span_bytes()));
      for (int64_t i = 0; i < count; ++i) {
        with_dtype(row.from,
                   [&](auto type) { write_element<type()>(src.data(), i, read_element<type()>(&row.source, 0)); });
        with_dtype(row.to,
                   [&](auto type) { write_element<type()>(want.data(), i, read_element<type()>(&row.want, 0)); });
      }
      for (std::string_view isa_name : available_isas()) {
        const test::ScopedIsa isa_scope(isa_name);
        std::vector<std::byte> have(want.size());
        run(plan, src.data(), have.data(), {1});
        EXPECT_EQ(have, want) << row.text << " to " << name(row.to) << ", " << count << " elements on " << isa_name;
      }
    }
  }
  std::printf("documented conversions: %zu on %zu ISAs\n", rows.size(), available_isas().size());
}

}  // namespace
}  // namespace relayout::cpu
