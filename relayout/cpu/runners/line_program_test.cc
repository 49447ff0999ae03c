// Boxes by line programs against the reference, on every instruction set, in whole and in parts as threads have them.
#include "relayout/reorder/boxes/methods/line_program.h"

#include <gtest/gtest.h>

#include "relayout/cpu/reorder.h"
#include "relayout/cpu/runners/runner.h"
#include "relayout/reorder/reference.h"
#include "tests/support/guarded.h"
#include "tests/support/testing.h"

namespace relayout::cpu {
namespace {

using test::desc;
using test::Guarded;

struct LineCase {
  const char *src, *dst;
  Dims dims;
  DType dtype;
};

TEST(LineProgramRun, WholeAndInParts) {
  const LineCase cases[] = {{"ncw", "nwc", {178, 3, 21}, DType::s16},
                            {"abc", "bac", {51, 19, 4}, DType::f32},
                            {"abc", "bac", {15, 685, 3}, DType::u8},
                            {"abcde", "ceabd", {12, 83, 2, 6, 2}, DType::u8},
                            {"abcdef", "fcadbe", {4, 9, 11, 8, 2, 3}, DType::u32},
                            {"nCw4c", "ncw", {1, 856, 59}, DType::u8},
                            {"nChw6c", "nChw8c", {2, 23, 2, 70}, DType::s32},
                            {"strides:6000,-1,150,3", "nhwc", {2, 3, 40, 50}, DType::u8},
                            {"ndhwc", "nCdhw3c", {4, 7, 11, 29, 1}, DType::boolean},
                            {"abc", "acb", {87, 33, 21}, DType::u8},
                            // Several boxes, blocks that do not nest, and padding.
                            {"nChw6c", "nChw16c", {12, 41, 1, 2}, DType::u8},
                            {"nCw16c", "nCw5c", {7, 163, 31}, DType::boolean},
                            {"nChw7c", "nChw4c", {1, 139, 2, 6}, DType::f32},
                            {"ncw", "nCw16c", {45, 5, 6}, DType::f32},
                            {"nCw8c", "nCw16c", {3, 40, 9}, DType::s16},
                            {"oihw", "OIhw4i8o2i", {13, 9, 3, 3}, DType::f16},
                            {"ABcd16a16b", "abcd", {5, 35, 3, 3}, DType::s8}};
  int64_t runs = 0, programs = 0, padded = 0;
  for (const LineCase& c : cases) {
    const TensorDesc src = desc(c.src, c.dims, c.dtype), dst = desc(c.dst, c.dims, c.dtype);
    std::vector<std::byte> bytes(static_cast<std::size_t>(src.span_bytes()));
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>((i * 37 + i / 251) % 2);
    if (c.dtype != DType::boolean)
      for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 37 + i / 251);
    std::vector<std::byte> expected(static_cast<std::size_t>(dst.span_bytes()), std::byte{0x5c});
    reference_reorder(src, bytes.data(), dst, expected.data());
    for (const int64_t width : {int64_t{16}, int64_t{64}}) {
      const Plan plan = Plan::make(src, dst, {}, Machine{.permuted_bytes = width},
                                   {.stream = Tuning::Stream::never, .way = Tuning::Way::lines});
      SCOPED_TRACE(plan.explain());
      const auto* lines = plan.data().boxes()[0].as<ProgrammedLines>();
      programs += lines != nullptr;
      padded += lines && lines->program->fills;
      for (const Kernels* kernels : all_kernels()) {
        for (const int64_t part : {int64_t{0}, int64_t{1}, int64_t{3}}) {
          Guarded in(src.span_bytes(), runs % 2 ? Guarded::Side::start : Guarded::Side::end);
          Guarded out(dst.span_bytes(), runs % 2 ? Guarded::Side::start : Guarded::Side::end, runs * 5 % 64);
          std::ranges::copy(bytes, in.data());
          std::ranges::fill(out.bytes(), std::byte{0x5c});
          const RunContext context{plan.data(), *kernels, in.data(), out.data()};
          for (const BoxPlan& box : plan.data().boxes()) {
            const int64_t cut = std::min(part, box.blocks);
            run_blocks(context, box, plan.data().tables(), cut, box.blocks);
            run_blocks(context, box, plan.data().tables(), 0, cut);
          }
          for (const BoxPlan& fill : plan.data().fills())
            run_blocks(context, fill, plan.data().tables(), 0, fill.blocks);
          ASSERT_TRUE(std::ranges::equal(out.bytes(), expected)) << kernels->isa << ", " << part;
          ASSERT_TRUE(in.intact() && out.intact());
          ++runs;
        }
      }
    }
  }
  // Of 17 cases by lines of 16 and of 64 bytes; the last five have padding.
  EXPECT_GE(programs, 28);
  EXPECT_GE(padded, 9);
}

/// Counts line programs that write past the cache, those of several phases, and tiles whose runs take turns.
struct Found {
  int past = 0, phases = 0, turns = 0;

  void note(std::span<const BoxPlan> boxes) {
    for (const BoxPlan& box : boxes) {
      if (const auto* lines = box.as<ProgrammedLines>()) {
        past += box.past_cache;
        phases += lines->program->phases > 1;
      }
      if (const auto* tiles = box.as<TileRuns>(); tiles && tiles->by_lines()) {
        turns += box.along_src.blocks > 1;
        note(tiles->runs[0].boxes);
      }
    }
  }
};

// Past the cache, from every byte of a line on: strips that are moved to where lines start, phases, and what is left of
// lines at both ends of a region.
TEST(LineProgramRun, PastTheCacheFromAnywhereInLines) {
  const LineCase cases[] = {{"strides:84000,1,400,4", "nhwc", {2, 3, 201, 97}, DType::u8},      // RGBA -> RGB
                            {"strides:150000,-1,600,3", "nhwc", {1, 3, 203, 151}, DType::u16},  // rows backwards
                            {"strides:90000,4,1200,16", "nchw", {1, 3, 71, 75}, DType::s8},
                            {"nhwc", "nchw", {1, 6, 131, 167}, DType::s16},   // a program that goes by columns
                            {"nChw8c", "nhwc", {1, 24, 53, 65}, DType::u16},  // rows of 48 bytes
                            {"nCw7c", "nCw12c", {1, 84, 1501}, DType::u16},   // runs that take turns
                            {"nCw7c", "nCw16c", {1, 112, 1300}, DType::u32},  // rows of a line: four phases
                            {"nCw7c", "nCw16c", {1, 112, 1153}, DType::u16},  // rows of half a line; a strip of one row
                            {"nwc", "nCw32c", {1, 37, 1531}, DType::u8},      // padding is set
                            {"nwc", "nCw12c", {1, 3, 4001}, DType::f32},      // lines of padding alone
                            {"nwc", "nCw16c", {1, 3, 4001}, DType::f32},
                            {"abc", "bac", {4001, 19, 7}, DType::u16}};
  Found found;
  int64_t runs = 0;
  for (const LineCase& c : cases) {
    const TensorDesc src = desc(c.src, c.dims, c.dtype), dst = desc(c.dst, c.dims, c.dtype);
    std::vector<std::byte> bytes(static_cast<std::size_t>(src.span_bytes()));
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 37 + i / 251);
    std::vector<std::byte> expected(static_cast<std::size_t>(dst.span_bytes()), std::byte{0x5c});
    reference_reorder(src, bytes.data(), dst, expected.data());
    for (const int64_t width : {int64_t{16}, int64_t{64}}) {
      const Plan plan =
          Plan::make(src, dst, {}, {.l1 = 1 << 10, .l2 = 2 << 10, .l3 = 4 << 10, .permuted_bytes = width});
      SCOPED_TRACE(plan.explain());
      found.note(plan.data().boxes());
      for (const Kernels* kernels : all_kernels()) {
        for (int64_t misaligned = 0; misaligned < kCacheLine; misaligned += misaligned % 16 == 0 ? 3 : 13) {
          const auto side = ++runs % 2 ? Guarded::Side::start : Guarded::Side::end;
          Guarded in(src.span_bytes(), side, runs * 7 % 64), out(dst.span_bytes(), Guarded::Side::start, misaligned);
          std::ranges::copy(bytes, in.data());
          std::ranges::fill(out.bytes(), std::byte{0x5c});
          const RunContext context{.plan = plan.data(),
                                   .kernels = *kernels,
                                   .src = in.data(),
                                   .dst = out.data(),
                                   .readable = {in.data(), in.bytes().size()}};
          for (const BoxPlan& box : plan.data().boxes()) {
            const int64_t cut = std::min(runs % 3, box.blocks);
            run_blocks(context, box, plan.data().tables(), cut, box.blocks);
            run_blocks(context, box, plan.data().tables(), 0, cut);
          }
          for (const BoxPlan& fill : plan.data().fills())
            run_blocks(context, fill, plan.data().tables(), 0, fill.blocks);
          ASSERT_TRUE(std::ranges::equal(out.bytes(), expected)) << kernels->isa << ", " << misaligned;
          ASSERT_TRUE(in.intact() && out.intact());
        }
      }
    }
  }
  EXPECT_GE(found.past, 7);
  EXPECT_GE(found.phases, 1);
  EXPECT_GE(found.turns, 1);
}

}  // namespace
}  // namespace relayout::cpu
