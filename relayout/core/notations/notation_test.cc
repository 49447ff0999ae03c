// The notations of other systems: what they mean, by oracles written from each system's own definition, what they
// refuse, and the way back from any layout to the text of its digits.
#include "relayout/core/notations/notation.h"

#include <gtest/gtest.h>

#include <random>

#include "relayout/core/format.h"
#include "tests/support/testing.h"
#include "tests/support/xla_rule.h"

namespace relayout {
namespace {

using test::code_of;
using test::each_index;
using test::error_of;

using test::bound;

std::string parse_error(std::string_view text) {
  const Error error = error_of([&] { Format::parse(text); });
  EXPECT_EQ(error.code(), ErrorCode::parse) << text;
  return error.message();
}

void expect_refused(std::string_view text, std::string_view why) {
  const std::string message = parse_error(text);
  EXPECT_NE(message.find(why), std::string::npos) << message;
}

TEST(Notations, AreFoundByTheirNames) {
  for (const Notation& notation : all_notations()) {
    EXPECT_EQ(notation_of(std::string(notation.name) + ":"), &notation);
    EXPECT_EQ(notation_of(notation.name), nullptr) << "without a colon it is a tag";
  }
  EXPECT_EQ(notation_of("nchw"), nullptr);
  EXPECT_EQ(notation_of("strides:1"), nullptr);
}

// --- digits ----------------------------------------------------------------------------------------------------------

TEST(DigitsNotation, SaysAnyLayout) {
  const Layout blocked = bound("digits:(2,480)|(8,1)(3,160)|(5,32)|(4,8)", {2, 17, 5, 4});
  EXPECT_EQ(blocked, bound("nChw8c", {2, 17, 5, 4}));
  const Format format = Format::parse("digits:(2,480)|(8,1)(3,160)|(5,32)|(4,8)@7");
  EXPECT_EQ(format.default_dims(), (Dims{2, 24, 5, 4}));
  EXPECT_EQ(format.rank(), 4);
  EXPECT_EQ(format.bind({2, 24, 5, 4}).offset0(), 7);
  EXPECT_EQ(bound("digits:", {}), Layout());
  EXPECT_EQ(bound("digits:(3,-2)|(4,7)", {3, 4}).offset0(), 4) << "the smallest offset is 0";
  EXPECT_EQ(bound("digits:(4,2).narrow(0,1,2)", {4}), Layout::strided({2}, {2}, 2));
}

TEST(DigitsNotation, IsTheTextOfEveryLayout) {
  const std::pair<std::string_view, Dims> layouts[] = {
      {"nchw", {2, 3, 5, 4}},
      {"nChw8c", {2, 17, 5, 4}},
      {"OIhw4i16o4i", {17, 20, 3, 3}},
      {"strides:-3,0,1@9", {3, 2, 3}},
      {"nh|Cw4c;pitch=64", {1, 9, 4, 5}},
      {"scales:128x4", {130, 5}},
      {"nchw", {2, 0, 5, 4}},
      {"x", {7}},
      {"strides:", {}},
      {"nchw@5", {1, 1, 1, 1}},
      {"xla:{0,1:T(8,128)(2,1)}", {100, 200}},
  };
  for (const auto& [text, dims] : layouts) {
    const Layout layout = bound(text, dims);
    const std::string digits = digits_expression(layout);
    EXPECT_EQ(bound(digits, dims), layout) << digits;
    EXPECT_EQ(digits_expression(bound(digits, dims)), digits);
  }
  EXPECT_EQ(digits_expression(bound("nChw8c", {2, 17, 5, 4})), "digits:(2,480)|(8,1)(3,160)|(5,32)|(4,8)");
  EXPECT_EQ(digits_expression(bound("strides:-1@2", {3})), "digits:(3,-1)@2");
}

TEST(DigitsNotation, Refusals) {
  expect_refused("digits:(2,480", "expected ')'");
  expect_refused("digits:(2)", "expected ','");
  expect_refused("digits:(-1,2)", "0 or more");
  expect_refused("digits:(2,3)|", "expected '('");
  expect_refused("digits:(2,3)x", "expected '('");
  expect_refused("digits:(99999999999999999999,1)", "64 bits");
  EXPECT_EQ(code_of([] { bound("digits:(2,3)", {3}); }), ErrorCode::invalid_argument) << "over its capacity";
  EXPECT_EQ(code_of([] { Format::parse("digits:(4611686018427387904,1)(4,1)").default_dims(); }), ErrorCode::overflow);
  std::string many = "digits:";
  for (int k = 0; k < 49; ++k) many += "(1,1)";
  expect_refused(many, "more than 48 digits");
}

// --- CuTe ------------------------------------------------------------------------------------------------------------

TEST(CuteNotation, ModesAreDimsAndTheirModesAreDigits) {
  EXPECT_EQ(bound("cute:((8,3),4):((1,32),8)", {24, 4}), bound("digits:(8,1)(3,32)|(4,8)", {24, 4}));
  EXPECT_EQ(Format::parse("cute:((8,3),4):((1,32),8)").default_dims(), (Dims{24, 4}));
  EXPECT_EQ(bound("cute:(_128,_64):(_1,_128)", {128, 64}), Layout::strided({128, 64}, {1, 128}));
  EXPECT_EQ(bound("cute:((2, (2, 2)), 5):((1, (6, 3)), 40)", {8, 5}), bound("digits:(2,1)(2,6)(2,3)|(5,40)", {8, 5}));
  EXPECT_EQ(bound("cute:8:2", {8}), Layout::strided({8}, {2}));
  EXPECT_EQ(bound("cute:(8,):(2,)", {8}), Layout::strided({8}, {2})) << "as Python prints it";
  EXPECT_EQ(bound("cute:():()", {}), Layout());
  EXPECT_EQ(bound("cute:(4,(2,3))", {4, 6}), bound("digits:(4,1)|(2,4)(3,8)", {4, 6})) << "leftmost innermost";
}

TEST(CuteNotation, Refusals) {
  expect_refused("cute:(4,2):(1)", "different forms");
  expect_refused("cute:(4,2):((1,2),2)", "different forms");
  expect_refused("cute:((4,2),2):(1,2)", "different forms");
  expect_refused("cute:(4,2", "expected ','");
  expect_refused("cute:(4,()):(1,())", "without extents");
  expect_refused("cute:(-4):(1)", "0 or more");
  expect_refused("cute:(4,8):(1@0,1@1)", "coordinates");
  expect_refused(
      "cute:(4,8):(8,-1)",
      "dim 1 has the stride -1: the elements would begin 7 before the pointer; write the strides above 0 and "
      ".flip(1) behind them");
  expect_refused("cute:8:-2", "dim 0 has the stride -2: the elements would begin 14 before the pointer");
  expect_refused("cute:(4,(2,3)):(1,(4,-8))", "begin 16 before the pointer; digits: says such a layout");
  expect_refused("cute:(3,3):(4611686018427387904,-4611686018427387905)", "do not fit 64 bits");
  EXPECT_EQ(bound("cute:(4,1):(1,-9)", {4, 1}), Layout::strided({4, 1}, {1, 0})) << "one index has no steps";
  EXPECT_EQ(bound("cute:(4,8):(8,1).flip(1)", {4, 8}), bound("digits:(4,8)|(8,-1)", {4, 8}));
  expect_refused("cute:Sw<3,4,3>", "expected o, CuTe's sign of a composition");
  expect_refused("cute:(8,8):(8,1) o (4):(1)", "composition");
  expect_refused("cute:(8,8):(8,1)x", "expected the end");
  expect_refused("cute:" + std::string(40, '('), "parentheses");
}

// --- XLA -------------------------------------------------------------------------------------------------------------

TEST(XlaNotation, PublishedExample) {
  EXPECT_EQ(bound("xla:{1,0:T(2,2)}", {3, 5}).offset(Dims{2, 3}), 17);
  EXPECT_EQ(Format::parse("xla:[3,5]{1,0:T(2,2)}").fixed_dims(), (Dims{3, 5}));
}

TEST(XlaNotation, MeansWhatXlaSays) {
  struct Case {
    std::string_view text;
    Dims dims;
    std::vector<int> order;
    std::vector<std::vector<int64_t>> tiles;
  };
  const Case cases[] = {
      {"xla:{1,0}", {3, 5}, {1, 0}, {}},
      {"xla:{0,1}", {3, 5}, {0, 1}, {}},
      {"xla:{3,0,2,1:T(8,4)(2,1)}", {3, 5, 6, 7}, {3, 0, 2, 1}, {{8, 4}, {2, 1}}},
      {"xla:{1,0:T(8,4)(2,1)S(5)}", {9, 13}, {1, 0}, {{8, 4}, {2, 1}}},
      {"xla:{0:T(16)(4)(2,1)}", {37}, {0}, {{16}, {4}, {2, 1}}},
      {"xla:{1,0:T(4)(2,2)}", {5, 11}, {1, 0}, {{4}, {2, 2}}},
      {"xla:{2,1,0:T(1,8)}", {2, 3, 9}, {2, 1, 0}, {{1, 8}}},
      {"xla:{}", {}, {}, {}},
      {"xla:[]", {}, {}, {}},
      {"xla:[]{}", {}, {}, {}},
      {"xla:[]{:T(128)}", {}, {}, {{128}}},
      {"xla:[]{:T(8,128)(2,1)S(6)}", {}, {}, {{8, 128}, {2, 1}}},
      {"xla:{0:T(2,2)}", {5}, {0}, {{2, 2}}},
      {"xla:{1,0:T(2,8,4)(2)(2,1)}", {5, 11}, {1, 0}, {{2, 8, 4}, {2}, {2, 1}}},
      {"xla:[3,5]", {3, 5}, {1, 0}, {}},
      {"xla:[2,3,4]", {2, 3, 4}, {2, 1, 0}, {}},
  };
  for (const Case& c : cases) {
    const Layout layout = bound(c.text, c.dims);
    each_index(c.dims, [&](const Dims& i) {
      ASSERT_EQ(layout.offset(i), test::xla_offset(c.dims, c.order, c.tiles, i)) << c.text << " " << join(i);
    });
  }
  EXPECT_EQ(Format::parse("xla:{1,0:T(8,128)(2,1)}").generic_tag(2), "AB4a128b2a");
  EXPECT_EQ(Format::parse("xla:{0:T(16)(4)(2,1)}").generic_tag(1), std::nullopt) << "digits in another order";
}

TEST(XlaNotation, TilesOfMoreExtentsThanDims) {
  const Format scalar = Format::parse("xla:[]{:T(2,128)}");
  EXPECT_EQ(scalar.rank(), 0);
  EXPECT_EQ(scalar.fixed_dims(), Dims());
  EXPECT_EQ(scalar.generic_tag(0), std::nullopt);
  EXPECT_EQ(scalar.physical_shape({}), (Dims{2, 128}));
  EXPECT_EQ(scalar.dims_from_physical({2, 128}), Dims());
  const Layout layout = scalar.bind({});
  EXPECT_EQ(layout.elements(), 1);
  EXPECT_EQ(layout.padded_elements(), 256);
  EXPECT_EQ(layout.span(), 256);
  EXPECT_EQ(Format::parse("xla:[]{:T(1)}").bind({}), Layout());
  // The dims of an array keep their meaning, and what the tile adds is padding.
  const Layout rows = bound("xla:{0:T(8,128)}", {200});
  EXPECT_EQ(rows.span(), 2048);
  EXPECT_EQ(rows.capacity(0), 2048);
  EXPECT_EQ(rows.offset(Dims{199}), 1024 + 71);
  EXPECT_TRUE(rows.packed());
}

TEST(XlaNotation, Refusals) {
  expect_refused("xla:{1,0:T(8,128)(3,1)}", "does not divide");
  expect_refused("xla:{1,1}", "a second time");
  expect_refused("xla:{2,0}", "the last is 1");
  expect_refused("xla:{1,0:T(0)}", "1 or more");
  expect_refused("xla:{:T(1,1,1,1,1,1,1,1,1,1,1,1,1)}", "can be cut");
  expect_refused("xla:{1,0:T(*,128)}", "joins dims");
  // The caret stands under the user's own text.
  EXPECT_EQ(parse_error("xla:{0:T(5000000000)}"),
            "layout: an extent of a tile of over 2147483648\n  xla:{0:T(5000000000)}\n           ^");
  std::string tiles = "xla:{1,0:T";
  for (int k = 31; k > 11; --k) {
    const std::string extent = std::to_string(int64_t{1} << k);
    tiles.append("(").append(extent).append(",").append(extent).append(")");
  }
  expect_refused(tiles + "}", "more than 36 blocks");
  expect_refused("xla:[3,5]x", "expected '{'");
  expect_refused("xla:{1,0:E(4)}", "bits of an element");
  expect_refused("xla:{1,0:D(D,C)}", "sparse");
  expect_refused("xla:{1,0:L(128)}", "end of the buffer");
  expect_refused("xla:f32[3,5]{1,0}", "no element type");
  expect_refused("xla:[3]{1,0}", "of a shape of 1");
  expect_refused("xla:{1,0", "expected");
}

// --- tags in other letters -------------------------------------------------------------------------------------------

TEST(FrameworkNotations, AreTags) {
  const Dims dims{2, 17, 5, 4};
  const std::pair<std::string_view, std::string_view> same[] = {
      {"tvm:NCHW16c", "nChw16c"},     {"tvm:NHWC", "nhwc"},
      {"tvm:NCHW2n8c", "NChw2n8c"},   {"tvm:OIHW4i16o4i", "OIhw4i16o4i"},
      {"tvm:HWIO", "hwio"},           {"cudnn:NCHW", "nchw"},
      {"cudnn:NC/32HW32", "nChw32c"}, {"cudnn:NC/4HW4", "nChw4c"},
      {"cudnn:KRSC", "ohwi"},         {"mnn:NC4HW4", "nChw4c"},
      {"mnn:C4NHW4", "Bacd4b"},       {"tnn:NC4HW4", "nChw4c"},
      {"tflite:BHWC", "nhwc"},        {"acl:OHWIo8i4", "OhwI8o4i"},
      {"mnn:NHWC4", "acdB4b"},        {"tnn:NHWC4", "acdB4b"},
      {"tnn:NC2HW2", "nChw2c"},       {"tnn:NHC4W4", "nh|Cw4c"},
      {"acl:OHWIo4", "Ohwi4o"},       {"acl:OHWI", "ohwi"},
  };
  for (const auto& [text, tag] : same) EXPECT_EQ(bound(text, dims), bound(tag, dims)) << text;
  const Dims one{1, 17, 5, 4};
  EXPECT_EQ(bound("tflite:DHWC4", one), bound("nChw4c", one));
  EXPECT_EQ(bound("tflite:HWDC4", one), bound("acdB4b", one));
  EXPECT_EQ(bound("tflite:HDWC4", one), bound("acBd4b", one));
  EXPECT_EQ(bound("ncnn:NC4HW4", one), bound("nChw4c", one));
  EXPECT_EQ(bound("mnn:NC4HW4", one), bound("mnn:C4NHW4", one)) << "the same for one image";
  EXPECT_EQ(Format::parse("tvm:NHCW").generic_tag(4), "acbd") << "any order, which tags refuse";
  EXPECT_EQ(Format::parse("tflite:HDWC4").dim_names(4), "nchw");
}

TEST(FrameworkNotations, AllNamesAreExpressions) {
  for (const std::string& name : notation_names()) {
    const Format format = Format::parse(name);
    const Format::Kind kind = format.kind();
    EXPECT_TRUE(kind == Format::Kind::tag || kind == Format::Kind::memory_format || kind == Format::Kind::digits)
        << name;
  }
  EXPECT_TRUE(Format::parse("tnn:NHC4W4").is_image());
  EXPECT_EQ(bound("tnn:NCDHW", {2, 3, 4, 5, 6}), bound("ncdhw", {2, 3, 4, 5, 6}));
}

TEST(FrameworkNotations, Refusals) {
  expect_refused("tvm:NC16cHW", "not innermost");
  expect_refused("tvm:NCHWc", "a number and a small letter");
  expect_refused("tvm:NCHW16", "small letter");
  expect_refused("tvm:NCHW16o", "not among the capitals");
  expect_refused("tvm:NCHWC", "a second time");
  expect_refused("tvm:MK", "no domain");
  expect_refused("tvm:", "the axes are missing");
  expect_refused("cudnn:NCHW_VECT_C", "NC/4HW4 or NC/32HW32");
  expect_refused("cudnn:NCWH", "no such format");
  expect_refused("acl:OHWIo8i4_bf16", "elements' type");
  expect_refused("acl:OHWIo", "expected a number");
  expect_refused("mnn:NC4HW8", "no such format");
  EXPECT_EQ(code_of([] { bound("tflite:DHWC4", {2, 17, 5, 4}); }), ErrorCode::unsupported);
  EXPECT_EQ(code_of([] { bound("ncnn:NC4HW4", {2, 17, 5, 4}); }), ErrorCode::unsupported);
}

// --- scale factors ---------------------------------------------------------------------------------------------------

TEST(ScalesNotation, TilesOf128By4) {
  for (const Dims& dims : {Dims{256, 64}, Dims{130, 5}, Dims{1, 1}, Dims{128, 4}, Dims{33, 9}}) {
    const Layout layout = bound("scales:128x4", dims);
    const int64_t tiles_k = (dims[1] + 3) / 4;
    each_index(dims, [&](const Dims& i) {
      const int64_t m = i[0], k = i[1];
      const int64_t tile = m / 128 * tiles_k + k / 4;
      EXPECT_EQ(layout.offset(i), tile * 512 + m % 32 * 16 + m % 128 / 32 * 4 + k % 4);
    });
    EXPECT_TRUE(layout.packed());
    EXPECT_EQ(layout.span(), (dims[0] + 127) / 128 * tiles_k * 512) << "whole tiles are memory";
    EXPECT_FALSE(tag_of(layout) && dims[0] > 32) << "no tag says it";
  }
  EXPECT_EQ(Format::parse("scales:128x4").dim_names(2), "mk");
  expect_refused("scales:64x4", "128x4");
}

}  // namespace
}  // namespace relayout
