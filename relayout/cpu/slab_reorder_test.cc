// reorder_slabs(): the result of one reorder, whatever the slabs are, with bytes turned round and gates brought in
// order.
#include "relayout/cpu/slab_reorder.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "relayout/core/elements.h"
#include "relayout/core/gates.h"
#include "relayout/reorder/reference.h"
#include "tests/support/testing.h"

namespace relayout::cpu {
namespace {

using test::counting;
using test::desc;

constexpr auto kGoOn = [](int64_t, int64_t) { return true; };

std::vector<std::byte> slabs_by_reference(const TensorDesc& src, const std::vector<std::byte>& bytes,
                                          const TensorDesc& dst, const Attributes& attributes = {}) {
  std::vector<std::byte> out(static_cast<std::size_t>(dst.span_bytes()));
  reference_reorder(src, bytes.data(), dst, out.data(), attributes);
  return out;
}

TEST(SlabReorder, GivesTheSameBytesForAnySlabs) {
  const Dims dims{3, 37, 10, 9};
  for (const char* to : {"acdb", "aBcd4b", "dcba"}) {
    const TensorDesc src = desc("abcd", dims, DType::s16), dst = desc(to, dims, DType::f32);
    const std::vector<std::byte> bytes = counting(src.span_bytes());
    const Attributes attributes{.src_scale = {.values = {0.5, 2, 3}, .mask = 1}};
    const std::vector<std::byte> expected = slabs_by_reference(src, bytes, dst, attributes);
    for (const int swapped : {0, 2}) {
      std::vector<std::byte> stored = bytes;
      swap_bytes(stored, swapped);
      for (const Dims& step : {dims, Dims{1, 8, 10, 9}, Dims{2, 4, 3, 9}, Dims{3, 37, 1, 1}}) {
        std::vector<std::byte> out(expected.size(), std::byte{0xee});
        const SlabSource from{.desc = src, .bytes = stored, .swap_item_bytes = swapped};
        const SlabDestination there{.desc = dst, .bytes = out};
        const SlabGrid grid(dims, step);
        int64_t calls = 0, last = 0;
        EXPECT_TRUE(reorder_slabs(grid, from, there, attributes, {}, [&](int64_t done, int64_t total) {
          EXPECT_GT(done, last);
          last = done;
          ++calls;
          if (grid.count() > 1) {
            EXPECT_EQ(total, grid.count());
          }
          return true;
        }));
        EXPECT_TRUE(out == expected) << to << " " << join(step);
        if (grid.count() > 1) {
          EXPECT_EQ(calls, grid.count());
        }
      }
    }
  }
}

TEST(SlabReorder, EndsWhereItIsAskedTo) {
  const TensorDesc src = desc("ab", {8, 5}), dst = desc("ba", {8, 5});
  const std::vector<std::byte> bytes = counting(src.span_bytes());
  std::vector<std::byte> out(bytes.size());
  int calls = 0;
  EXPECT_FALSE(reorder_slabs(SlabGrid({8, 5}, {2, 5}), {.desc = src, .bytes = bytes}, {.desc = dst, .bytes = out}, {},
                             {}, [&](int64_t, int64_t) { return ++calls < 2; }));
  EXPECT_EQ(calls, 2);
  EXPECT_FALSE(out == slabs_by_reference(src, bytes, dst));
}

TEST(SlabReorder, RefusesBuffersThatAreTooSmall) {
  const TensorDesc src = desc("ab", {8, 5}), dst = desc("ba", {8, 5});
  std::vector<std::byte> bytes(160), small(159);
  for (const SlabGrid& grid : {SlabGrid({8, 5}, {8, 5}), SlabGrid({8, 5}, {8, 1})}) {
    EXPECT_EQ(test::code_of([&] {
                reorder_slabs(grid, {.desc = src, .bytes = small}, {.desc = dst, .bytes = bytes}, {}, {}, kGoOn);
              }),
              ErrorCode::buffer_too_small);
    EXPECT_EQ(test::code_of([&] {
                reorder_slabs(grid, {.desc = src, .bytes = bytes}, {.desc = dst, .bytes = small}, {}, {}, kGoOn);
              }),
              ErrorCode::buffer_too_small);
  }
}

// Orders that are no layout, on one side or both: gate g of the tensor is read where the source has it, written where
// the destination has it, and scaled by scale g.
TEST(SlabReorder, BringsGatesAndTheirScalesInOrder) {
  const Dims dims{1, 2, 3, 4, 5};
  const TensorDesc src = desc("ldigo", dims), dst = desc("ldgoi", dims);
  std::vector<float> values(120);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const auto bytes = std::as_bytes(std::span(values));
  const double scales[] = {1, 10, 100, 1000};
  const Attributes attributes{.src_scale = {.values = {1, 10, 100, 1000}, .mask = 1U << 3}};
  const Dims ours{0, 1, 2, 3}, onnx = gate_places("iofc", "ifco"), other = gate_places("cofi", "ifco");
  for (const Dims& from : {ours, onnx, other}) {
    for (const Dims& to : {ours, onnx, other}) {
      std::vector<float> out(values.size());
      SlabSource source{.desc = src, .bytes = bytes};
      SlabDestination there{.desc = dst, .bytes = std::as_writable_bytes(std::span(out))};
      if (!(from == ours)) source.gates = {3, from};
      if (!(to == ours)) there.gates = {3, to};
      const SlabGrid grid = slab_grid(source, there);
      EXPECT_EQ(grid.count(), from == ours && to == ours ? 1 : 4);
      EXPECT_TRUE(reorder_slabs(grid, source, there, attributes, {}, kGoOn));
      test::each_index(dims, [&](const Dims& index) {
        Dims read = index, written = index;
        read[3] = from[static_cast<int>(index[3])];
        written[3] = to[static_cast<int>(index[3])];
        ASSERT_EQ(out[static_cast<std::size_t>(dst.layout.offset(written))],
                  static_cast<float>(scales[index[3]]) * values[static_cast<std::size_t>(src.layout.offset(read))]);
      });
    }
  }
}

TEST(SlabReorder, WhichGatesAreNoLayout) {
  const Dims lstm{1, 1, 2, 4, 3}, gru{1, 1, 2, 3, 3};
  for (const bool written : {false, true}) {
    EXPECT_TRUE(gates_are_no_layout(Format::parse("ldigo;gates:iofc->ifco"), lstm, written));
    EXPECT_FALSE(gates_are_no_layout(Format::parse("ldigo;gates:iofc->ifco").without_gates(), lstm, written));
    EXPECT_FALSE(gates_are_no_layout(Format::parse("ldigo;gates:ifgo->igfo"), lstm, written));
    EXPECT_FALSE(gates_are_no_layout(Format::parse("ldigo;gates:iofc->ifco.flip(0)"), lstm, written));
    // Of three gates this order is one digit of two and a half: its padding lies on other gates.
    EXPECT_EQ(gates_are_no_layout(Format::parse("ldigo;gates:zrh->rzh"), gru, written), written);
  }
}

TEST(SlabReorder, OneSlabUnlessBytesAreTurnedRound) {
  const TensorDesc src = desc("ab", {4096, 8192}), dst = desc("ba", {4096, 8192});
  SlabSource from{.desc = src, .bytes = std::span(static_cast<const std::byte*>(nullptr), 0)};
  SlabDestination to{.desc = dst};
  EXPECT_EQ(held_bytes(from, to), dst.span_bytes());
  EXPECT_EQ(slab_grid(from, to).count(), 1);
  // They take scratch memory, 4 bytes an element, of which 64 MiB are allowed.
  from.swap_item_bytes = 4;
  EXPECT_EQ(scratch_bytes(from), 4);
  EXPECT_EQ(slab_grid(from, to).count(), 2);
  from.mapped = to.mapped = true;
  EXPECT_EQ(held_bytes(from, to), 0);
}

}  // namespace
}  // namespace relayout::cpu
