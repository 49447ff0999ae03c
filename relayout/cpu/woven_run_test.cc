// Lines made by byte permutations: the kernel reads the bytes of its masks alone, and runs of tiles are the
// reference's at any address, with any padding.
#include "relayout/cpu/woven_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "relayout/cpu/reorder.h"
#include "relayout/reorder/reference.h"
#include "tests/support/regions.h"
#include "tests/support/testing.h"

namespace relayout::cpu {
namespace {

using test::counting;
using test::desc;
using test::Guarded;
using test::kSides;
using test::randomize;

/// A line of so many stretches, the last of which ends where the source does.
WovenLine random_line(int stretches, int64_t bytes, std::mt19937& rng) {
  WovenLine line{};
  for (int k = 0; k < stretches; ++k)
    line.from[k] = k == stretches - 1 ? bytes - 1 : static_cast<int64_t>(rng()) % bytes;
  for (int64_t i = 0; i < 64; ++i) {
    const auto k = static_cast<std::size_t>(rng()) % static_cast<std::size_t>(stretches + 1);
    if (k == static_cast<std::size_t>(stretches)) {
      line.filled |= uint64_t{1} << i;
      continue;
    }
    const int64_t byte = static_cast<int64_t>(rng()) % std::min<int64_t>(64, bytes - line.from[k]);
    line.mask[k] |= uint64_t{1} << byte;
    line.index[k / 2][i] = static_cast<uint8_t>(byte + static_cast<int64_t>(k % 2) * 64);
    if (k >= 2) line.later |= uint64_t{1} << i;
  }
  return line;
}

TEST(WovenRun, EveryKernel) {
  constexpr int64_t kBytes = 200, kStep = 7, kPeriod = 3, kCount = 10;
  std::mt19937 rng(21);
  for (const Kernels* kernels : all_kernels()) {
    if (!kernels->weave) continue;
    for (int stretches = 1; stretches <= WovenLine::kStretches; ++stretches) {
      for (int64_t first = 0; first < kPeriod; ++first) {
        for (const Guarded::Side at : kSides) {
          const int64_t periods = (first + kCount - 1) / kPeriod;
          WovenLine lines[kPeriod];
          for (WovenLine& line : lines) line = random_line(stretches, kBytes, rng);
          Guarded src(kBytes + periods * kStep, at), dst(kCount * 64, at);
          randomize(src.bytes(), rng);
          std::vector<std::byte> expected;
          for (int64_t i = 0; i < kCount; ++i) {
            const WovenLine& line = lines[(first + i) % kPeriod];
            for (std::size_t b = 0; b < 64; ++b) {
              const auto pair = line.later >> b & 1;
              const auto index = static_cast<int64_t>(line.index[pair][b]);
              const auto from = line.from[2 * pair + static_cast<std::size_t>(index / 64)];
              const bool filled = line.filled >> b & 1;
              expected.push_back(filled ? std::byte{0x3b}
                                        : src.data()[from + index % 64 + (first + i) / kPeriod * kStep]);
            }
          }
          kernels->weave(src.data(), dst.data(), {lines, first, kPeriod, kCount, kStep, stretches, 0x3b});
          kernels->flush();
          ASSERT_TRUE(std::ranges::equal(dst.bytes(), expected)) << kernels->isa << ", " << stretches;
          ASSERT_TRUE(src.intact() && dst.intact());
        }
      }
    }
  }
}

TEST(WovenRun, EqualsTheReference) {
  const std::pair<const char*, const char*> layouts[] = {
      {"aBcd16b", "acdb"},    {"aBcd8b", "acdb"},     {"acdb", "aBcd16b"},     {"acdb", "aBcd5b"},
      {"aBcd16b", "aBcd12b"}, {"aBcd48b", "aBcd32b"}, {"aBcd16b", "aCBd2c16b"}};
  int64_t cases = 0, woven = 0;
  for (const auto& [from, to] : layouts) {
    for (const DType type : {DType::u8, DType::bf16, DType::f32, DType::f64}) {
      for (const int64_t channels : {17, 20, 33, 49}) {
        for (const Dims& dims : {Dims{2, channels, 31, 33}, Dims{3, channels, 16, 64}}) {
          // Padding of one byte again and again, and of others.
          Attributes attributes;
          attributes.padding = Padding::of(cases % 3 == 1 ? 7 : 0);
          const TensorDesc src = desc(from, dims, type), dst = desc(to, dims, type);
          const Plan plan = Plan::make(src, dst, attributes, {}, {.stream = Tuning::Stream::always});
          SCOPED_TRACE(plan.explain());
          for (const BoxPlan& box : plan.boxes())
            woven += std::ranges::any_of(box.parts, [](const BoxPlan& run) { return !run.row_sources.empty(); });
          const auto bytes = counting(src.span_bytes());
          std::vector<std::byte> expected(static_cast<std::size_t>(dst.span_bytes()), std::byte{0x5c});
          reference_reorder(src, bytes.data(), dst, expected.data(), attributes);
          for (const int64_t past : {int64_t{0}, cases * 7 % 64}) {
            Guarded out(dst.span_bytes(), kSides[static_cast<std::size_t>(cases % 2)], past);
            std::ranges::fill(out.bytes(), std::byte{0x5c});
            run(plan, bytes.data(), out.data(), {static_cast<int>(1 + cases % 2)});
            ASSERT_TRUE(std::ranges::equal(out.bytes(), expected)) << past;
            ASSERT_TRUE(out.intact());
          }
          ++cases;
        }
      }
    }
  }
  EXPECT_GT(woven, cases / 2);
}

}  // namespace
}  // namespace relayout::cpu
