// Predicted costs of plans: more bytes cost more, slower kinds of reorders cost more, and a copy costs least. The
// machines are invented, and no measured times are compared.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "relayout/reorder/plan.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

using test::desc;

double nanoseconds(std::string_view src, std::string_view dst, const Dims& dims, DType from = DType::f32,
                   DType to = DType::f32, bool scaled = false, const Machine& machine = {}) {
  Attributes attributes;
  if (scaled) attributes.src_scale = {{0.5f}, 0};
  return Plan::make(desc(src, dims, from), desc(dst, dims, to), attributes, machine).cost().nanoseconds;
}

/// Two machines with different price lists: the second has a slow, shared last level (Machine::slow_shared_l3()).
constexpr std::array kMachines{Machine{.l1 = 32 << 10, .l2 = 1 << 20, .l3 = 16 << 20},
                               Machine{.l1 = 32 << 10, .l2 = 2 << 20, .l3 = 256 << 20}};

/// Layouts of four dims between which there are all kinds of boxes: copies, transpositions, blocks on one side and on
/// both, blocks that do not nest, and tails where channels are no multiple of a block.
constexpr std::pair<const char*, const char*> kLayouts[] = {
    {"nchw", "nchw"},      {"nchw", "nhwc"},   {"nhwc", "nchw"},       {"nchw", "nChw16c"},
    {"nChw16c", "nchw"},   {"nhwc", "nChw8c"}, {"nChw16c", "nhwc"},    {"nChw16c", "nChw8c"},
    {"aBcd12b", "aBcd8b"}, {"abcd", "dcba"},   {"abcd", "ABcd16a16b"}, {"cdba", "OIhw4i16o4i"}};

/// Calls with each of these pairs on each machine.
template <typename F>
void for_each_case(F&& f) {
  for (const Machine& machine : kMachines) {
    for (const auto& [src, dst] : kLayouts) {
      SCOPED_TRACE(std::string(src) + " -> " + dst + (machine.slow_shared_l3() ? ", far" : ", near"));
      f(src, dst, machine);
    }
  }
}

// The cost grows with the number and with the size of images, whose sizes go from the first cache to memory. The images
// are whole blocks in each layout.
TEST(Cost, GrowsWithTheBytes) {
  for_each_case([](const char* src, const char* dst, const Machine& machine) {
    for (const int grown : {0, 2}) {
      double last = 0;
      for (Dims dims{16, 48, 16, 16}; dims[grown] <= 4096; dims[grown] *= 4) {
        const double cost = nanoseconds(src, dst, dims, DType::f32, DType::f32, false, machine);
        EXPECT_GT(cost, last) << join(dims, "x");
        last = cost;
      }
    }
  });
}

TEST(Cost, GrowsWithTheElements) {
  for_each_case([](const char* src, const char* dst, const Machine& machine) {
    const Dims dims{32, 64, 56, 56};
    double last = 0;
    for (const DType type : {DType::u8, DType::f32, DType::f64}) {
      const double cost = nanoseconds(src, dst, dims, type, type, false, machine);
      EXPECT_GT(cost, last) << name(type);
      last = cost;
    }
  });
}

TEST(Cost, IsLeastForACopy) {
  for_each_case([](const char* src, const char* dst, const Machine& machine) {
    const Dims dims{32, 64, 56, 56};
    const double copy = nanoseconds("nchw", "nchw", dims, DType::f32, DType::f32, false, machine);
    EXPECT_GE(nanoseconds(src, dst, dims, DType::f32, DType::f32, false, machine), copy);
  });
}

// Past the caches, memory limits the speed. So no kind of reorder costs many times as much as a copy, except one that
// fetches a line for each element.
TEST(Cost, OfLargeTensorsIsAFewCopies) {
  for_each_case([](const char* src, const char* dst, const Machine& machine) {
    const Dims dims{32, 256, 56, 56};
    const double copy = nanoseconds("nchw", "nchw", dims, DType::f32, DType::f32, false, machine);
    EXPECT_LT(nanoseconds(src, dst, dims, DType::f32, DType::f32, false, machine), 4 * copy);
  });
}

TEST(Cost, OfConversionsIsThatOfTheirBytesOrMore) {
  for (const Machine& machine : kMachines) {
    const Dims dims{32, 64, 56, 56};
    const auto cost = [&](DType from, DType to, bool scaled) {
      return nanoseconds("nchw", "nhwc", dims, from, to, scaled, machine);
    };
    EXPECT_GT(cost(DType::f32, DType::u8, false), cost(DType::u8, DType::u8, false));
    EXPECT_GE(cost(DType::f32, DType::u8, true), cost(DType::f32, DType::u8, false));
    EXPECT_GT(cost(DType::f64, DType::f32, false), cost(DType::f32, DType::f32, false));
  }
}

// With equal bytes, whatever makes a reorder slower makes it cost more.
TEST(Cost, GrowsWithWhatIsHarder) {
  const double copy = nanoseconds("abc", "abc", {1, 4096, 4096}),
               transposed = nanoseconds("abc", "acb", {1, 4096, 4096});
  EXPECT_LT(copy, transposed);
  // Rows that start anywhere.
  EXPECT_LT(transposed, nanoseconds("abc", "acb", {1, 4095, 4097}));
  // One side apart, and both.
  EXPECT_LT(nanoseconds("abc", "acb", {256, 4096, 16}), transposed);
  // A tail, and padding.
  EXPECT_LT(nanoseconds("nchw", "nChw16c", {64, 16, 56, 56}), nanoseconds("nchw", "nChw16c", {64, 17, 56, 56}));
  // Memory.
  EXPECT_LT(2 * 256 * nanoseconds("ab", "ba", {256, 250}), nanoseconds("ab", "ba", {4096, 4000}));
}

TEST(Cost, OfABroadcastIsWriting) {
  const Dims dims{64, 1 << 20};
  const auto cost = [&](const Layout& src) {
    return Plan::make({src, DType::f32}, desc("ab", dims)).cost().nanoseconds;
  };
  const double once = cost(Layout::strided(dims, {0, 1})), all = cost(Layout::strided(dims, {1 << 20, 1}));
  EXPECT_LT(once, 0.75 * all);
  EXPECT_GT(once, 0.5 * all);
}

TEST(Cost, GrowsWithTheBatch) {
  for (const std::string_view dst : {"nhwc", "nChw16c", "nChw8c"}) {
    const double some = nanoseconds("nchw", dst, {32, 64, 56, 56}), more = nanoseconds("nchw", dst, {64, 64, 56, 56});
    EXPECT_GT(more, 1.9 * some) << dst;
    EXPECT_LT(more, 3 * some) << dst;
  }
}

}  // namespace
}  // namespace relayout
