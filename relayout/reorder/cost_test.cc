// What plans are expected to take, against what they took.
#include <gtest/gtest.h>

#include <array>
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

/// A 4th-generation EPYC, and an Intel Xeon whose last level is far, both with AVX-512.
constexpr std::array<Machine, 2> kMachines{Machine{}, Machine{48 << 10, 2 << 20, 480 << 20}};

/// Every third case of the suite in bench/, with its time on one thread of these machines: the median of three runs of
/// five repetitions.
struct Measured {
  std::string_view src, dst;
  Dims dims;
  DType from, to;
  bool scaled;
  std::array<double, 2> nanoseconds;
};

const std::vector<Measured>& measured() {
  static const std::vector<Measured> kMeasured{
      // clang-format off
      {"nchw", "nChw16c", {32, 256, 56, 56}, DType::f32, DType::f32, false, {7940000, 9500000}},
      {"nChw8c", "nchw", {32, 256, 56, 56}, DType::f32, DType::f32, false, {7170000, 12200000}},
      {"nChw16c", "nChw8c", {32, 256, 56, 56}, DType::f32, DType::f32, false, {6220000, 11900000}},
      {"nChw16c", "nhwc", {32, 64, 56, 56}, DType::s32, DType::s32, false, {1270000, 1880000}},
      {"strides:802816,1,14336,256", "nhwc", {32, 64, 56, 56}, DType::f32, DType::f32, false, {2880000, 3610000}},
      {"nchw", "strides:917504,3584,64,1", {32, 256, 56, 56}, DType::f32, DType::f32, false, {7820000, 16700000}},
      {"oihw", "OIhw16i16o", {512, 512, 3, 3}, DType::f32, DType::f32, false, {412000, 738000}},
      {"nhwc", "nchw", {32, 256, 56, 56}, DType::f32, DType::f32, false, {6530000, 12500000}},
      {"nchw", "nhwc", {16, 256, 56, 56}, DType::f64, DType::f64, false, {7890000, 10200000}},
      {"nchw", "nhwc", {24, 192, 61, 53}, DType::f32, DType::f32, false, {4200000, 6430000}},
      {"ab", "ba", {4096, 4096}, DType::f32, DType::f32, false, {5580000, 8190000}},
      {"ab", "ba", {8192, 8192}, DType::f64, DType::f64, false, {49200000, 65500000}},
      {"ab", "ba", {4096, 4096}, DType::u8, DType::u8, false, {1100000, 1320000}},
      {"ab", "ba", {4096, 4096}, DType::bf16, DType::bf16, false, {2450000, 2650000}},
      {"nhwc", "nchw", {32, 256, 56, 56}, DType::u8, DType::u8, false, {1440000, 1970000}},
      {"nchw", "nhwc", {256, 3, 224, 224}, DType::u8, DType::u8, false, {2580000, 3350000}},
      {"ab", "ba", {8191, 8193}, DType::u8, DType::u8, false, {9670000, 12100000}},
      {"nhwc", "nchw", {24, 192, 61, 53}, DType::f16, DType::f16, false, {2430000, 2930000}},
      {"abcde", "ecadb", {33, 17, 65, 41, 45}, DType::f32, DType::f32, false, {29400000, 29900000}},
      {"nchw", "nhwc", {32, 64, 56, 56}, DType::f32, DType::u8, true, {1390000, 1240000}},
      {"nhwc", "nchw", {256, 3, 224, 224}, DType::u8, DType::f32, false, {8030000, 11100000}},
      {"nchw", "nhwc", {32, 256, 56, 56}, DType::f32, DType::u8, false, {5740000, 7600000}},
      {"nhwc", "nchw", {32, 256, 56, 56}, DType::bf16, DType::f32, false, {6130000, 7510000}},
      {"nchw", "nchw", {32, 256, 56, 56}, DType::f32, DType::f16, false, {5440000, 7370000}},
      {"nchw", "nchw", {16, 256, 56, 56}, DType::f64, DType::f32, false, {4750000, 7210000}},
      {"nchw", "nhwc", {1, 64, 56, 56}, DType::f32, DType::f32, false, {18500, 26300}},
      {"nChw16c", "nchw", {1, 64, 56, 56}, DType::f32, DType::f32, false, {17400, 22300}},
      {"nchw", "nhwc", {1, 3, 224, 224}, DType::f32, DType::f32, false, {15500, 13400}},
      {"nhwc", "nchw", {1, 256, 14, 14}, DType::f32, DType::f32, false, {4260, 8120}},
      {"oihw", "OIhw16i16o", {64, 64, 3, 3}, DType::f32, DType::f32, false, {3550, 3740}},
      {"nchw", "nChw16c", {128, 17, 56, 56}, DType::f32, DType::f32, false, {3570000, 3830000}},
      {"nChw16c", "nchw", {128, 17, 56, 56}, DType::f32, DType::f32, false, {4140000, 4090000}},
      {"nChw16c", "nhwc", {128, 17, 56, 56}, DType::s8, DType::s8, false, {491000, 718000}},
      {"nchw", "nChw8c", {1, 8, 4, 4}, DType::f32, DType::f32, false, {17.1, 16.2}},
      {"nchw", "nChw16c", {32, 17, 56, 56}, DType::f32, DType::u8, true, {801000, 493000}},
      {"abcdef", "fcabde", {3, 4, 5, 6, 7, 8}, DType::f32, DType::f32, false, {4240, 3620}}
      // clang-format on
  };
  return kMeasured;
}

TEST(Cost, IsNearWhatWasMeasured) {
  // Most prices are the first machine's.
  static constexpr std::array kPercent{90, 75};
  for (std::size_t i = 0; i < kMachines.size(); ++i) {
    int near = 0;
    for (const Measured& m : measured()) {
      const double ratio = nanoseconds(m.src, m.dst, m.dims, m.from, m.to, m.scaled, kMachines[i]) / m.nanoseconds[i];
      SCOPED_TRACE(std::string(m.src) + " -> " + std::string(m.dst) + " " + join(m.dims, "x") +
                   (i == 0 ? ", near" : ", far"));
      EXPECT_GT(ratio, 0.5);
      EXPECT_LT(ratio, 2);
      near += ratio >= 0.75 && ratio <= 1.25;
    }
    EXPECT_GE(near, static_cast<int>(measured().size()) * kPercent[i] / 100);
  }
}

// What makes a reorder slower makes it cost more, with as many bytes.
TEST(Cost, GrowsWithWhatIsHarder) {
  const double copy = nanoseconds("abc", "abc", {1, 4096, 4096}),
               transposed = nanoseconds("abc", "acb", {1, 4096, 4096});
  EXPECT_LT(copy, transposed);
  // Rows that start anywhere.
  EXPECT_LT(1.2 * transposed, nanoseconds("abc", "acb", {1, 4095, 4097}));
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
