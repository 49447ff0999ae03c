// Permutations of groups of bytes that follow each other, every size of them, by every table.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "relayout/cpu/kernels/kernels.h"
#include "tests/support/regions.h"

namespace relayout::cpu {
namespace {

constexpr int64_t kMost = 64, kGroups = 7;

class EveryRegroup : public testing::TestWithParam<const Kernels*> {};

TEST_P(EveryRegroup, PermutesEachGroup) {
  std::mt19937 rng(31);
  for (int64_t bytes = 1; bytes <= kMost; ++bytes) {
    uint8_t pattern[kMost] = {};
    for (int64_t i = 0; i < bytes; ++i) pattern[i] = static_cast<uint8_t>(i);
    std::shuffle(pattern, pattern + bytes, rng);
    test::Guarded memory(kGroups * bytes + 2 * kMost, test::Guarded::Side::end);
    test::randomize(memory.bytes(), rng);
    std::vector<std::byte> expected;
    const std::byte* const src = memory.data() + kMost;
    for (int64_t i = 0; i < kGroups * bytes; ++i) expected.push_back(src[i / bytes * bytes + pattern[i % bytes]]);
    // The result goes to other memory, and then to memory a line before the source.
    test::Guarded other(kGroups * bytes + kMost, test::Guarded::Side::end);
    GetParam()->regroup(src, other.data(), kGroups, bytes, pattern);
    ASSERT_TRUE(std::ranges::equal(other.bytes().first(expected.size()), expected)) << bytes;
    GetParam()->regroup(src, memory.data(), kGroups, bytes, pattern);
    ASSERT_TRUE(std::ranges::equal(memory.bytes().first(expected.size()), expected)) << bytes;
    ASSERT_TRUE(memory.intact() && other.intact());
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, EveryRegroup, testing::ValuesIn(all_kernels().begin(), all_kernels().end()),
                         [](const auto& table) { return std::string(table.param->isa); });

}  // namespace
}  // namespace relayout::cpu
