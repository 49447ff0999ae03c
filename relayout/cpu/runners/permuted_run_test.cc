// Lines made by byte permutations: the kernel reads the bytes of its masks alone, and runs of tiles are the reference's
// at any address, with any padding.
#include "relayout/cpu/runners/permuted_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "relayout/core/format.h"
#include "relayout/cpu/reorder.h"
#include "relayout/reorder/plan_data.h"
#include "relayout/reorder/reference.h"
#include "tests/support/regions.h"
#include "tests/support/scoped_isa.h"
#include "tests/support/testing.h"

namespace relayout::cpu {
namespace {

/// A machine for which nothing is planned by line programs, which do some of these boxes in the caches.
constexpr Machine kNoPrograms{.permuted_bytes = 0};

constexpr uint8_t kFill = 0x3b;

using test::counting;
using test::desc;
using test::Guarded;
using test::kSides;
using test::randomize;

/// A random line of `stretches` stretches, of which the last one ends where the source ends.
PermutedLine random_line(int64_t width, int stretches, int64_t bytes, std::mt19937& rng) {
  PermutedLine line{};
  for (int k = 0; k < stretches; ++k)
    line.from[k] = k == stretches - 1 ? bytes - 1 : static_cast<int64_t>(rng()) % bytes;
  if (width < 64) std::ranges::fill(line.index[0], uint8_t{128});
  for (int64_t i = 0; i < width; ++i) {
    const auto k = static_cast<int64_t>(rng()) % (stretches + 1);
    if (k == stretches) {
      line.filled |= uint64_t{1} << i;
      if (width < 64) line.index[1][i] = kFill;
      continue;
    }
    const int64_t byte = static_cast<int64_t>(rng()) % std::min(width, bytes - line.from[k]);
    line.mask[k] |= uint64_t{1} << byte;
    (width < 64 ? line.index[0][k * width + i] : line.index[k / 2][i]) =
        static_cast<uint8_t>(width < 64 ? byte : byte + k % 2 * 64);
    if (k >= 2) line.later |= uint64_t{1} << i;
  }
  return line;
}

/// The value that byte b of line i must get.
std::byte made(const PermutedLines& lines, int64_t width, const std::byte* src, int64_t i, int64_t b) {
  const PermutedLine& line = lines.lines[(lines.first + i) % lines.period];
  if (line.filled >> b & 1) return static_cast<std::byte>(kFill);
  int64_t k = 0, byte = 0;
  if (width < 64) {
    while (line.index[0][k * width + b] >= width) ++k;
    byte = line.index[0][k * width + b];
  } else {
    const int64_t pair = line.later >> b & 1, index = line.index[pair][b];
    k = 2 * pair + index / 64;
    byte = index % 64;
  }
  return src[line.from[k] + byte + (lines.first + i) / lines.period * lines.step];
}

TEST(PermutedRun, EveryKernel) {
  constexpr int64_t kBytes = 200, kStep = 7, kPeriod = 3, kCount = 10;
  std::mt19937 rng(21);
  for (const Kernels* kernels : all_kernels()) {
    if (!kernels->permute_lines) continue;
    const int64_t width = kernels->permuted_bytes;
    for (int stretches = 1; stretches <= PermutedLine::kStretches; ++stretches) {
      for (const bool past_cache : {true, false}) {
        for (int64_t first = 0; first < kPeriod; ++first) {
          for (const Guarded::Side at : kSides) {
            const int64_t periods = (first + kCount - 1) / kPeriod, past = past_cache ? 0 : 19;
            PermutedLine list[kPeriod];
            for (PermutedLine& line : list) line = random_line(width, stretches, kBytes, rng);
            Guarded src(kBytes + periods * kStep, at), dst(kCount * width, at, past);
            randomize(src.bytes(), rng);
            randomize(dst.bytes(), rng);
            const std::byte* const end = src.data() + src.bytes().size();
            const PermutedLines lines{list, first, kPeriod, kCount, kStep, stretches, kFill, past_cache, end};
            std::vector<std::byte> expected(dst.bytes().size());
            int64_t b = 0;
            for (std::byte& byte : expected) {
              byte = made(lines, width, src.data(), b / width, b % width);
              ++b;
            }
            kernels->permute_lines(src.data(), dst.data(), lines);
            kernels->flush();
            ASSERT_TRUE(std::ranges::equal(dst.bytes(), expected)) << kernels->isa << ", " << stretches;
            ASSERT_TRUE(src.intact() && dst.intact());
          }
        }
      }
    }
  }
}

TEST(PermutedRun, EqualsTheReference) {
  const std::pair<const char*, const char*> layouts[] = {
      {"aBcd16b", "acdb"},    {"aBcd8b", "acdb"},     {"acdb", "aBcd16b"},     {"acdb", "aBcd5b"},
      {"aBcd16b", "aBcd12b"}, {"aBcd48b", "aBcd32b"}, {"aBcd16b", "aCBd2c16b"}};
  int64_t cases = 0, permuted = 0;
  for (const auto& [from, to] : layouts) {
    for (const DType type : {DType::u8, DType::bf16, DType::f32, DType::f64}) {
      for (const int64_t channels : {17, 20, 33, 49}) {
        for (const Dims& dims : {Dims{2, channels, 31, 33}, Dims{3, channels, 16, 64}}) {
          // Padding whose bytes are all equal, and padding whose bytes differ.
          Attributes attributes;
          attributes.padding = Padding::of(cases % 3 == 1 ? 7 : 0);
          const TensorDesc src = desc(from, dims, type), dst = desc(to, dims, type);
          const Plan plan = Plan::make(src, dst, attributes, kNoPrograms, {.stream = Tuning::Stream::always});
          SCOPED_TRACE(plan.explain());
          for (const BoxPlan& box : plan.data().boxes()) {
            const auto* tiles = box.as<TileRuns>();
            permuted +=
                tiles && std::ranges::any_of(tiles->runs, [](const TileRun& run) { return !run.rows.pieces.empty(); });
          }
          const auto bytes = counting(src.span_bytes());
          std::vector<std::byte> expected(static_cast<std::size_t>(dst.span_bytes()), std::byte{0x5c});
          reference_reorder(src, bytes.data(), dst, expected.data(), attributes);
          for (const int64_t past : {int64_t{0}, cases * 7 % 64}) {
            Guarded out(dst.span_bytes(), kSides[static_cast<std::size_t>(cases % 2)], past);
            Guarded in(src.span_bytes(), kSides[static_cast<std::size_t>(cases % 2)]);
            std::ranges::copy(bytes, in.data());
            for (const std::string_view isa : available_isas()) {
              const test::ScopedIsa isa_scope(isa);
              std::ranges::fill(out.bytes(), std::byte{0x5c});
              run(plan, in.data(), out.data(), {static_cast<int>(1 + cases % 2)});
              ASSERT_TRUE(std::ranges::equal(out.bytes(), expected)) << isa << ", " << past;
              ASSERT_TRUE(in.intact() && out.intact());
            }
          }
          ++cases;
        }
      }
    }
  }
  EXPECT_GT(permuted, cases / 2);
}

}  // namespace
}  // namespace relayout::cpu
