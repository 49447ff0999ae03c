// Rows of small pieces, such as the channels of pixels: the reference's bytes at any address, in any parts.
#include <gtest/gtest.h>

#include <algorithm>

#include "relayout/core/format.h"
#include "relayout/core/view.h"
#include "relayout/cpu/reorder.h"
#include "relayout/cpu/runners/runner.h"
#include "relayout/reorder/plan_data.h"
#include "relayout/reorder/reference.h"
#include "tests/support/regions.h"
#include "tests/support/scoped_isa.h"
#include "tests/support/testing.h"

namespace relayout::cpu {
namespace {

/// A machine for which nothing is planned by line programs, which do some of these boxes in the caches.
constexpr Machine kNoPrograms{.permuted_bytes = 0};

using test::counting;
using test::desc;
using test::Guarded;
using test::kSides;

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

TEST(SmallPieces, EqualTheReference) {
  const Channels cases[] = {{"RGB to BGR", 3, 3, 3, true},        {"3 of 4", 4, 3, 3, false},
                            {"into 3 of 4", 3, 4, 3, false},      {"3 of 4 to 3 of 4, backwards", 4, 4, 3, true},
                            {"1 of 4", 4, 1, 1, false},           {"into 1 of 4", 1, 4, 1, false},
                            {"5 of 7 to 5 of 6", 7, 6, 5, false}, {"1 of 2 to 1 of 3", 2, 3, 1, false},
                            {"3 of 4 to planes", 4, 0, 3, false}};
  int64_t runs = 0;
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
}

// Whole boxes in two parts, as two threads have them: each writes just its own bytes, also of a line that both have.
TEST(SmallPieces, PartsOfBoxes) {
  struct Pair {
    const char *src, *dst;
    Dims dims;
  };
  const Pair pairs[] = {{"strides:115200,-1,1800,3", "nhwc", {2, 3, 64, 600}},  // rows of a region
                        {"strides:153600,1,2400,4", "nhwc", {2, 3, 64, 600}},   // one row of columns
                        {"strides:60000,-1,680,3", "nhwc", {2, 3, 80, 224}},    // a crop
                        {"strides:153600,1,2400,4", "nchw", {2, 3, 64, 600}},   // a few rows
                        {"nhwc", "strides:153792,1,2403,4", {2, 3, 64, 600}},
                        {"nhwc", "strides:80000,1,900,4", {2, 3, 80, 224}}};
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
        for (const int64_t part : {int64_t{1}, int64_t{2}, box.blocks / 2, box.blocks - 1}) {
          Guarded in(src.span_bytes(), kSides[static_cast<std::size_t>(runs % 2)]);
          Guarded out(dst.span_bytes(), kSides[static_cast<std::size_t>(runs % 2)], runs * 5 % 64);
          std::ranges::copy(bytes, in.data());
          std::ranges::fill(out.bytes(), std::byte{0x5c});
          const RunContext context{plan.data(), *kernels, in.data(), out.data()};
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
