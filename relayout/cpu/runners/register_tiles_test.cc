// Tiles of registers, and padding past the cache beside them: the reference's bytes, with blocks that are shorter at
// the end of an axis, at addresses where lines start, and at others, on every instruction set.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "relayout/cpu/reorder.h"
#include "relayout/reorder/planner/plan_data.h"
#include "relayout/reorder/reference.h"
#include "tests/support/guarded.h"
#include "tests/support/scoped_isa.h"
#include "tests/support/testing.h"

namespace relayout::cpu {
namespace {

using test::counting;
using test::desc;
using test::Guarded;

struct Pair {
  const char *from, *to;
};

TEST(RegisterTiles, EqualTheReference) {
  constexpr Pair kPairs[] = {{"ABcd4a4b", "AcdB16b48a2b"},   {"AcdB16b16a2b", "BAcd16b16a"},
                             {"ABcd4a8b8a2b", "aBdC64b4c"},  {"aBdc8b", "aCBd2c8b16c2b"},
                             {"aBCd8c16b2c", "aBCd8c8b"},    {"ABcd16b64a4b", "BAcd16b16a"},
                             {"BAcd4b8a8b2a", "aBCd4c16b4c"}};
  const auto isas = available_isas();
  int64_t tiled = 0, shorter = 0, padding = 0;
  for (const DType dtype : {DType::u8, DType::bf16, DType::f32}) {
    for (const auto& [from, to] : kPairs) {
      for (const Dims& dims : {Dims{9, 67, 13, 31}, Dims{32, 64, 9, 8}}) {
        const TensorDesc src = desc(from, dims, dtype), dst = desc(to, dims, dtype);
        // The caches are so small that the destination is larger than them.
        const Plan plan = Plan::make(src, dst, {}, {.l3 = 8});
        SCOPED_TRACE(std::string(from) + " -> " + to + "\n" + plan.explain());
        for (const BoxPlan& box : plan.data().boxes()) {
          const bool tiles = box.as<RegisterTiles>();
          tiled += tiles;
          shorter += tiles &&
                     (box.along_src.count % box.along_src.block != 0 || box.along_dst.count % box.along_dst.block != 0);
        }
        for (const BoxPlan& fill : plan.data().fills()) padding += fill.as<Fill>()->past_cache;
        Guarded from_memory(src.span_bytes(), Guarded::Side::end);
        std::ranges::copy(counting(src.span_bytes()), from_memory.data());
        std::vector<std::byte> expected(static_cast<std::size_t>(dst.span_bytes()), std::byte{0x5c});
        reference_reorder(src, from_memory.data(), dst, expected.data(), {});
        for (const int64_t past : {0, 16}) {
          for (const auto isa : isas) {
            const test::ScopedIsa isa_scope(isa);
            for (const int threads : {1, 2}) {
              Guarded memory(dst.span_bytes(), Guarded::Side::start, past);
              std::ranges::fill(memory.bytes(), std::byte{0x5c});
              run(plan, from_memory.data(), memory.data(), {.threads = threads, .grain_bytes = 1});
              ASSERT_TRUE(std::ranges::equal(memory.bytes(), expected)) << isa << ", " << past << " bytes past a page";
              ASSERT_TRUE(memory.intact());
            }
          }
        }
      }
    }
  }
  EXPECT_GT(tiled, 20);
  EXPECT_GT(shorter, 2);
  EXPECT_GT(padding, 10);
}

}  // namespace
}  // namespace relayout::cpu
