// XLA's shapes both ways: XLA's own rule as the oracle, its published examples, and tiles found for every layout that
// fills memory.
#include "relayout/interop/xla.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "relayout/core/format.h"
#include "relayout/core/view.h"
#include "tests/support/testing.h"
#include "tests/support/xla_rule.h"

namespace relayout {
namespace {

using test::code_of;
using test::each_index;
using test::error_of;
using xla::from_xla;
using xla::to_xla;

TensorDesc described(std::string_view format, const Dims& dims, DType dtype = DType::f32) {
  return {Format::parse(format).bind(dims), dtype};
}

void expect_xla_message(const std::function<void()>& call, std::string_view part) {
  const std::string message = error_of(call).message();
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(Xla, PublishedExamples) {
  EXPECT_EQ(from_xla("F32[3,5]{1,0:T(2,2)}").layout.offset({2, 3}), 17);
  // Figure 2: 4x8, tiles of 2x4, in which pairs of rows lie side by side.
  const Layout pairs = from_xla("bf16[4,8]{1,0:T(2,4)(2,1)}").layout;
  EXPECT_EQ(pairs.offset({1, 0}), 1);
  EXPECT_EQ(pairs.offset({0, 1}), 2);
  EXPECT_EQ(pairs.offset({1, 7}), 15);
  EXPECT_EQ(pairs.offset({2, 0}), 16);
  // Two tiles of 2x4 below each other, element by element.
  EXPECT_EQ(from_xla("bf16[8,8]{1,0:T(2,4)(2,1,1,1)}").layout.offset({6, 5}), 51);
}

TEST(Xla, TextBothWays) {
  for (const char* text : {"f32[3,5]{1,0:T(2,2)}",
                           "f32[3,5]{1,0}",
                           "f32[3,5]{0,1}",
                           "bf16[100,200]{1,0:T(8,128)(2,1)}",
                           "f32[]",
                           "bf16[32,256]{1,0:T(8,128)(2,1,1,1)}",
                           "s8[64,256]{1,0:T(8,128)(4,1)}",
                           "pred[7]{0}",
                           "s4[3,5]{1,0:E(4)}",
                           "u4[16,16]{1,0:T(8,8)E(4)}",
                           "f8e4m3fn[2,3,4,5]{1,3,2,0}",
                           "f64[2,17,5,4]{3,2,1,0:T(8,1,1)}",
                           "f32[]{:T(128)}",
                           "f32[]{:T(256)}",
                           "s4[]{:T(32)E(4)}",
                           "f32[200]{0:T(8,128)}",
                           "f32[1]{0:T(128)}",
                           "f32[3,1,5]{2,1,0}",
                           "f32[1,1]{1,0}",
                           "f32[2,0,5]{2,1,0}",
                           "s32[3,9]{1,0:T(4,8)}"}) {
    EXPECT_EQ(to_xla(from_xla(text)), text);
  }
  EXPECT_EQ(to_xla(from_xla("f32[3,5]")), "f32[3,5]{1,0}") << "row-major where no layout is given";
  EXPECT_EQ(to_xla(from_xla("f32[3,5]{1,0:T(2,2)S(1)}")), "f32[3,5]{1,0:T(2,2)}") << "a memory space is no layout";
  EXPECT_EQ(from_xla("f32[3]{0:E(32)}"), from_xla("f32[3]"));
  EXPECT_EQ(to_xla(from_xla("f32[]{}")), "f32[]");
  EXPECT_EQ(to_xla(from_xla("f32[]{:S(6)}")), "f32[]");
  const TensorDesc scalar = from_xla("bf16[]{:T(512)(128)(2,1)}");
  EXPECT_EQ(scalar.layout.dims(), Dims());
  EXPECT_EQ(scalar.span_bytes(), 1024);
  EXPECT_EQ(to_xla(scalar), "bf16[]{:T(512)}") << "the same function";
  // All tiles of a scalar are the same bytes as one tile of their size: one element at offset 0, then padding. A dim of
  // one index is another matter, as its padding has places of its own.
  for (const char* tiles : {"(512)", "(512)(128)(2,1)", "(4,128)", "(2)(3,1)", "(8,128)(2,1)", "(2,2)(2,2,1)"}) {
    const std::string text = std::string("f32[]{:T") + tiles + "}";
    const TensorDesc one = from_xla(text);
    EXPECT_EQ(one.layout.offset({}), 0) << text;
    const std::string short_text = "f32[]{:T(" + std::to_string(one.layout.span()) + ")}";
    EXPECT_EQ(to_xla(one), short_text) << text;
    EXPECT_EQ(from_xla(short_text), one) << text;
  }
  const TensorDesc unit = from_xla("bf16[1]{0:T(512)(128)(2,1)}");
  EXPECT_NE(unit, from_xla("bf16[1]{0:T(512)}"));
  EXPECT_EQ(from_xla(to_xla(unit)), unit);
  EXPECT_EQ(from_xla("f32[5]{0:T(8,128)}"), from_xla("f32[5]{0:T(1024)}"));
}

TEST(Xla, TilesOfTags) {
  const auto text = [](std::string_view tag, const Dims& dims) { return to_xla(described(tag, dims)); };
  EXPECT_EQ(text("nhwc", {2, 3, 5, 4}), "f32[2,3,5,4]{1,3,2,0}");
  EXPECT_EQ(text("nhwc", {2, 3, 1, 1}), "f32[2,3,1,1]{1,3,2,0}");
  EXPECT_EQ(text("nchw", {2, 3, 1, 1}), "f32[2,3,1,1]{3,2,1,0}");
  EXPECT_EQ(text("nChw8c", {2, 17, 5, 4}), "f32[2,17,5,4]{3,2,1,0:T(8,1,1)}");
  EXPECT_EQ(text("nChw8c", {2, 5, 5, 4}), "f32[2,5,5,4]{3,2,1,0:T(8,1,1)}") << "one group of channels";
  EXPECT_EQ(to_xla({described("nChw8c", {2, 5, 5, 4}).layout.canonical(), DType::f32}), "f32[2,5,5,4]{1,3,2,0:T(8)}");
  EXPECT_EQ(text("OIhw16i16o", {32, 64, 3, 3}), "f32[32,64,3,3]{3,2,1,0:T(16,1,1)(16,1,1,1,1,1,1)}");
  EXPECT_EQ(text("OIhw16o16i", {32, 64, 3, 3}), "f32[32,64,3,3]{3,2,1,0:T(16,16,1,1)}");
  EXPECT_EQ(text("AB4a128b2a1b", {32, 256}), "f32[32,256]{1,0:T(8,128)(2,1)}");
  // Digits that continue each other are one, and need no tile.
  EXPECT_EQ(text("cute:((2,3),4):((4,8),1)", {6, 4}), "f32[6,4]{1,0}");
  // Of one tile of rows, the outer extent is 1.
  EXPECT_EQ(text("scales:128x4", {128, 8}), "f32[128,8]{1,0:T(32,1)(4,4,1,1)}");
}

/// The order and the tiles of a text, read by itself.
void read(const std::string& text, std::vector<int>& order, std::vector<std::vector<int64_t>>& tiles) {
  std::size_t at = text.find('{') + 1;
  const auto number = [&] {
    int64_t out = 0;
    while (text[at] >= '0' && text[at] <= '9') out = out * 10 + (text[at++] - '0');
    return out;
  };
  while (text[at] != ':' && text[at] != '}') {
    order.push_back(static_cast<int>(number()));
    at += text[at] == ',';
  }
  if (text[at] == ':' && text[at + 1] == 'T') {
    for (at += 2; text[at] == '(';) {
      tiles.emplace_back();
      while (text[at] != ')') {
        ++at;
        tiles.back().push_back(number());
      }
      ++at;
    }
  }
}

TEST(Xla, EveryLayoutThatFillsMemoryHasTiles) {
  std::mt19937 engine(7);
  const auto number = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine); };
  int tiled = 0;
  for (int n = 0; n < 2000; ++n) {
    const int ndims = number(1, 4);
    std::vector<Digits> digits(static_cast<std::size_t>(ndims));
    std::vector<Digit*> all;
    for (Digits& list : digits) {
      for (int k = number(1, 3); k > 0; --k) list.push_back({number(1, 4), 0});
    }
    for (Digits& list : digits) {
      for (Digit& digit : list) all.push_back(&digit);
    }
    std::ranges::shuffle(all, engine);
    int64_t stride = 1;
    for (Digit* digit : all) {
      digit->stride = stride;
      stride *= digit->extent;
    }
    if (stride > 4000) continue;
    Dims dims;
    for (const Digits& list : digits) {
      int64_t capacity = 1;
      for (const Digit& digit : list) capacity *= digit.extent;
      dims.push_back(number(0, 1) == 0 ? capacity : number(1, static_cast<int>(capacity)));
    }
    const TensorDesc desc(Layout::from_digits(dims, digits), DType::f32);
    const std::string text = to_xla(desc);
    ASSERT_EQ(from_xla(text), desc) << text << "  " << digits_expression(desc.layout);
    std::vector<int> order;
    std::vector<std::vector<int64_t>> tiles;
    read(text, order, tiles);
    tiled += !tiles.empty();
    each_index(dims, [&](const Dims& i) {
      ASSERT_EQ(test::xla_offset(dims, order, tiles, i), desc.layout.offset(i)) << text << "  " << join(i);
    });
  }
  EXPECT_GT(tiled, 1000);
}

TEST(Xla, Types) {
  for (const DType dtype : all_dtypes()) {
    if (bits(dtype) == 6)
      EXPECT_EQ(code_of([&] { xla::type_name(dtype); }), ErrorCode::unsupported);
    else
      EXPECT_EQ(xla::dtype_of(xla::type_name(dtype)), dtype);
  }
  EXPECT_EQ(xla::type_name(DType::boolean), "pred");
  EXPECT_EQ(xla::type_name(DType::f8_e4m3), "f8e4m3fn");
  EXPECT_EQ(xla::dtype_of("BF16"), DType::bf16);
  EXPECT_EQ(code_of([] { xla::dtype_of("c64"); }), ErrorCode::unsupported);
  EXPECT_EQ(code_of([] { xla::dtype_of("f8e4m3fnuz"); }), ErrorCode::unsupported);
  EXPECT_EQ(code_of([] { xla::dtype_of("float"); }), ErrorCode::parse);
}

TEST(Xla, Refusals) {
  expect_xla_message([] { from_xla("(f32[3], s32[])"); }, "a tuple");
  expect_xla_message([] { from_xla("f32[<=3,5]{1,0}"); }, "a dim with a bound");
  expect_xla_message([] { from_xla("f32"); }, "its dims in brackets");
  expect_xla_message([] { from_xla("f32[3,5"); }, "']' is missing");
  expect_xla_message([] { from_xla("f32[3,5]{1,0:D(D,C)}"); }, "sparse");
  expect_xla_message([] { from_xla("f32[3,5]{1,0:T(*,2)}"); }, "joins dims");
  expect_xla_message([] { from_xla("s4[3,5]{1,0}"); }, "without E(4), XLA keeps each in a byte of its own");
  expect_xla_message([] { from_xla("pred[3,5]{1,0:E(1)}"); }, "elements of 1 bits");
  expect_xla_message([] { from_xla("f32[3,5]{1,0}.flip(0)"); }, "nothing more");
  const auto refused = [](const Layout& layout) {
    const Error error = error_of([&] { to_xla({layout, DType::f32}); });
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    return error.message();
  };
  const std::string fill = ", and XLA's arrays fill memory from offset 0 on";
  EXPECT_EQ(refused(Layout::strided({2, 3}, {4, 1})),
            "to_xla: dim 0 has the stride 4 where the axes inside fill 3 elements, which leaves a gap" + fill);
  EXPECT_EQ(refused(Layout::strided({2, 3}, {0, 1})), "to_xla: dim 0 has the stride 0" + fill);
  EXPECT_EQ(refused(Layout::strided({3, 2}, {2, 3})),
            "to_xla: dim 0 has the stride 2 where the axes inside fill 1 elements, which leaves a gap" + fill);
  EXPECT_EQ(refused(Layout::strided({3, 2}, {1, 1})),
            "to_xla: dim 0 has the stride 1 within the 2 elements that the axes inside fill" + fill);
  EXPECT_EQ(refused(Format::parse("ab@3").bind({2, 3})), "to_xla: the layout begins at offset 3" + fill);
  EXPECT_EQ(refused(flip(Layout::contiguous({2, 3}), 1)), "to_xla: dim 1 has the stride -1" + fill);
}

TEST(Xla, Code) {
  EXPECT_EQ(xla::code(described("nhwc", {2, 3, 5, 4})),
            "f32[2,3,5,4]{1,3,2,0}\njax.experimental.layout.Layout(major_to_minor=(0, 2, 3, 1))");
  EXPECT_EQ(xla::code(described("AB4a128b2a1b", {32, 256}, DType::bf16)),
            "bf16[32,256]{1,0:T(8,128)(2,1)}\n"
            "jax.experimental.layout.Layout(major_to_minor=(0, 1), tiling=((8, 128), (2, 1)))");
  EXPECT_EQ(
      xla::code(described("x", {7}, DType::s4)),
      "s4[7]{0:E(4)}\njax.experimental.layout.Layout(major_to_minor=(0,), sub_byte_element_size_in_bits=4)\n"
      "# The halves of each byte are swapped: XLA keeps the even element in the high half, this library in the low "
      "one.");
}

}  // namespace
}  // namespace relayout
