// Lines made by byte permutations: the kernel reads the bytes of its masks alone, and runs of tiles
// and of boxes are the reference's at any address, with any padding, in any parts.
#include "relayout/cpu/runners/permuted_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>

#include "relayout/core/format.h"
#include "relayout/core/view.h"
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
  line.written = uint64_t{rng()} << 32 | rng();
  return line;
}

/// The value that byte b of line i must get, or nothing where the byte is left as it was.
std::optional<std::byte> made(const PermutedLines& lines, int64_t width, const std::byte* src, int64_t i, int64_t b) {
  const PermutedLine& line = lines.lines[(lines.first + i) % lines.period];
  if (lines.store == PermutedLines::Store::masked && !(line.written >> b & 1)) return std::nullopt;
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
  using Store = PermutedLines::Store;
  constexpr int64_t kBytes = 200, kStep = 7, kPeriod = 3, kCount = 10;
  std::mt19937 rng(21);
  for (const Kernels* kernels : all_kernels()) {
    if (!kernels->permute_lines) continue;
    const int64_t width = kernels->permuted_bytes;
    for (int stretches = 1; stretches <= PermutedLine::kStretches; ++stretches) {
      for (const Store store : {Store::past_cache, Store::whole, Store::masked}) {
        if (store == Store::masked && width < 64) continue;
        for (int64_t first = 0; first < kPeriod; ++first) {
          for (const Guarded::Side at : kSides) {
            const int64_t periods = (first + kCount - 1) / kPeriod, past = store == Store::past_cache ? 0 : 19;
            PermutedLine list[kPeriod];
            for (PermutedLine& line : list) line = random_line(width, stretches, kBytes, rng);
            Guarded src(kBytes + periods * kStep, at), dst(kCount * width, at, past);
            randomize(src.bytes(), rng);
            randomize(dst.bytes(), rng);
            const std::byte* const end = src.data() + src.bytes().size();
            const PermutedLines lines{list, first, kPeriod, kCount, kStep, stretches, kFill, store, end};
            std::vector<std::byte> expected(dst.bytes().begin(), dst.bytes().end());
            int64_t b = 0;
            for (std::byte& byte : expected) {
              byte = made(lines, width, src.data(), b / width, b % width).value_or(byte);
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
        for (const Dims& dims : {Dims{2, channels, 13, 33}, Dims{3, channels, 8, 64}}) {
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

/// Some of the channels of images, or all in another order; to planes where the destination has none.
struct Channels {
  const char* what;
  int64_t from_has, to_has, moved;
  bool backwards;
};

Layout channels(int64_t has, int64_t moved, const Dims& dims, bool cropped) {
  Dims whole = dims;
  whole[1] = has;
  whole[3] += cropped ? 5 : 0;
  return slice(slice(Format::parse("nhwc").bind(whole), 1, has - moved, has), 3, 0, dims[3]);
}

TEST(PermutedRun, RowsOfSmallPieces) {
  const Channels cases[] = {{"RGB to BGR", 3, 3, 3, true},        {"3 of 4", 4, 3, 3, false},
                            {"into 3 of 4", 3, 4, 3, false},      {"3 of 4 to 3 of 4, backwards", 4, 4, 3, true},
                            {"1 of 4", 4, 1, 1, false},           {"into 1 of 4", 1, 4, 1, false},
                            {"5 of 7 to 5 of 6", 7, 6, 5, false}, {"1 of 2 to 1 of 3", 2, 3, 1, false},
                            {"3 of 4 to planes", 4, 0, 3, false}};
  int64_t runs = 0, permuted = 0;
  for (const Channels& c : cases) {
    for (const DType type : {DType::u8, DType::u16, DType::f32}) {
      for (const auto& [rows, width, cropped] :
           {std::tuple(1, 40, false), {3, 227, false}, {5, 224, true}, {2, 9, true}}) {
        const Dims dims{2, c.moved, rows, width};
        const Layout from = channels(c.from_has, c.moved, dims, cropped);
        const TensorDesc src(c.backwards ? flip(from, 1) : from, type);
        const TensorDesc dst(
            c.to_has == 0 ? Format::parse("nchw").bind(dims) : channels(c.to_has, c.moved, dims, !cropped && rows > 1),
            type);
        const auto bytes = counting(src.span_bytes());
        std::vector<std::byte> expected(static_cast<std::size_t>(dst.span_bytes()), std::byte{0x5c});
        reference_reorder(src, bytes.data(), dst, expected.data());
        for (const auto stream : {Tuning::Stream::never, Tuning::Stream::always}) {
          const Plan plan = Plan::make(src, dst, {}, kNoPrograms, {.stream = stream});
          SCOPED_TRACE(std::string(c.what) + "\n" + plan.explain());
          permuted +=
              std::ranges::any_of(plan.data().boxes(), [](const BoxPlan& box) { return box.as<PermutedRows>(); });
          for (const std::string_view isa : available_isas()) {
            const test::ScopedIsa isa_scope(isa);
            for (const Guarded::Side side : kSides) {
              const int64_t past = side == Guarded::Side::start ? runs * 7 % 64 : 0;
              Guarded in(src.span_bytes(), side, past), out(dst.span_bytes(), side, (past * 3 + 1) % 64);
              std::ranges::copy(bytes, in.data());
              std::ranges::fill(out.bytes(), std::byte{0x5c});
              run(plan, in.data(), out.data(), {static_cast<int>(1 + runs % 2)});
              ASSERT_TRUE(std::ranges::equal(out.bytes(), expected)) << isa;
              ASSERT_TRUE(in.intact() && out.intact());
              ++runs;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(permuted, 8 * 3 * 4);
}

// Whole boxes in two parts, as two threads have them: each writes just its own bytes, also of a line that both have.
TEST(PermutedRun, PartsOfBoxes) {
  struct Pair {
    const char *src, *dst;
    Dims dims;
    bool gaps;
  };
  const Pair pairs[] = {{"strides:115200,-1,1800,3", "nhwc", {2, 3, 64, 600}, false},  // rows of a region
                        {"strides:153600,1,2400,4", "nhwc", {2, 3, 64, 600}, false},   // one row of columns
                        {"strides:60000,-1,680,3", "nhwc", {2, 3, 80, 224}, false},    // a crop
                        {"strides:153600,1,2400,4", "nchw", {2, 3, 64, 600}, false},   // a few rows
                        {"nhwc", "strides:153792,1,2403,4", {2, 3, 64, 600}, true},
                        {"nhwc", "strides:80000,1,900,4", {2, 3, 80, 224}, true}};
  int64_t runs = 0;
  for (const Pair& pair : pairs) {
    const TensorDesc src = desc(pair.src, pair.dims, DType::u8), dst = desc(pair.dst, pair.dims, DType::u8);
    const auto bytes = counting(src.span_bytes());
    std::vector<std::byte> expected(static_cast<std::size_t>(dst.span_bytes()), std::byte{0x5c});
    reference_reorder(src, bytes.data(), dst, expected.data());
    for (const auto stream : {Tuning::Stream::never, Tuning::Stream::always}) {
      const Plan plan = Plan::make(src, dst, {}, kNoPrograms, {.stream = stream});
      SCOPED_TRACE(plan.explain());
      ASSERT_EQ(plan.data().boxes().size(), 1u);
      const BoxPlan& box = plan.data().boxes()[0];
      ASSERT_GT(box.blocks, 3);
      for (const Kernels* kernels : all_kernels()) {
        if (!kernels->permute_lines || (pair.gaps && kernels->permuted_bytes < 64)) continue;
        for (const int64_t part : {int64_t{1}, int64_t{2}, box.blocks / 2, box.blocks - 1}) {
          Guarded in(src.span_bytes(), kSides[static_cast<std::size_t>(runs % 2)]);
          Guarded out(dst.span_bytes(), kSides[static_cast<std::size_t>(runs % 2)], runs * 5 % 64);
          std::ranges::copy(bytes, in.data());
          std::ranges::fill(out.bytes(), std::byte{0x5c});
          const RunContext context{plan.data(), *kernels, in.data(), out.data()};
          ASSERT_TRUE(box.as<PermutedRows>());
          run_blocks(context, box, plan.data().tables(), part, box.blocks);
          run_blocks(context, box, plan.data().tables(), 0, part);
          ASSERT_TRUE(std::ranges::equal(out.bytes(), expected)) << kernels->isa << ", " << part;
          ASSERT_TRUE(in.intact() && out.intact());
          ++runs;
        }
      }
    }
  }
}

}  // namespace
}  // namespace relayout::cpu
