// Views in expressions: what bind() makes of them, their letters and dims, gates, and refusals. Random chains against
// NumPy and PyTorch are tests/views.
#include "relayout/core/view_step.h"

#include <gtest/gtest.h>

#include <numeric>

#include "relayout/core/format.h"
#include "relayout/core/gates.h"
#include "relayout/core/view.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

using test::code_of;
using test::each_index;

using test::bound;

const Dims kDims{2, 6, 5, 4};

TEST(ViewStep, EachNameIsTheFunctionOfViewH) {
  const Layout l = bound("nhwc", kDims);
  const int order[] = {2, 0, 3, 1};
  const std::pair<const char*, Layout> cases[] = {
      {".transpose(0,2)", transpose(l, 0, 2)},
      {".permute(2,0,3,1)", permute(l, order)},
      {".permute_axes(2,0,3,1)", permute_axes(l, order)},
      {".submemory(0,2,1,0:2,4,3,1)", submemory(l, {2, 4, 3, 1}, {0, 2, 1, 0})},
      {".narrow(1,2,3)", narrow(l, 1, 2, 3)},
      {".slice(2,1,5)", slice(l, 2, 1, 5)},
      {".slice(2,1,5,2)", slice(l, 2, 1, 5, 2)},
      {".select(-1,3)", select(l, 3, 3)},
      {".flip(1)", flip(l, 1)},
      {".flip(1,-1)", flip(flip(l, 1), 3)},
      {".reshape(2,6,-1)", view(l, {2, 6, 20})},
      {".view(2,6,20)", view(l, {2, 6, 20})},
      {".expand(3,2,6,5,4)", expand(l, {3, 2, 6, 5, 4})},
      {".narrow(0,0,1).squeeze()", squeeze(narrow(l, 0, 0, 1))},
      {".narrow(0,0,1).squeeze(0)", squeeze(narrow(l, 0, 0, 1), 0)},
      {".unsqueeze(2)", unsqueeze(l, 2)},
      {".split(1,2,3)", split(l, 1, {2, 3})},
      {".merge(0,1)", merge(l, 0, 1)},
      {".permute(2, 0, 3, 1)", permute(l, order)},
      {".flatten(2,3)", flatten(l, 2, 3)},
      {".select(1,0).flatten(1)", flatten(select(l, 1, 0), 1)},
      {".unfold(1,4,2)", unfold(l, 1, 4, 2)},
      {".diagonal()", diagonal(l)},
      {".diagonal(-1)", diagonal(l, -1)},
      {".diagonal(1,3,-2)", diagonal(l, 1, 3, 2)},
      {".as_strided(2,3:7,2:5)", as_strided(l, {2, 3}, {7, 2}, 5)},
      {".as_strided(::9)", as_strided(l, {}, {}, 9)},
  };
  std::vector<std::string> used;
  for (const auto& [text, expected] : cases) {
    const Format format = Format::parse("nhwc" + std::string(text));
    EXPECT_EQ(format.bind(kDims), expected) << text;
    for (const ViewStep& step : format.views()) used.push_back(step.name);
  }
  used.emplace_back("reindex");
  for (std::string_view name : view_names()) EXPECT_TRUE(std::ranges::find(used, name) != used.end()) << name;
}

TEST(ViewStep, SubmemoryOfThePublishedExample) {
  const Dims dims{2, 16, 5, 4};
  const Layout part = bound("nchw.submemory(0,8,0,0:2,8,5,4)", dims);
  EXPECT_EQ(part.offset0(), 160);
  EXPECT_EQ(part.outer_strides(), bound("nchw", dims).outer_strides());
  EXPECT_EQ(bound("nChw8c.submemory(0,8,0,0:2,8,5,4)", dims).offset0(), 160);
  EXPECT_EQ(code_of([&] { bound("nChw8c.submemory(0,4,0,0:2,8,5,4)", dims); }), ErrorCode::invalid_argument);
}

TEST(ViewStep, BufferIsThatBeforeTheViews) {
  const Format format = Format::parse("nchw.narrow(1,1,2).select(0,1)");
  EXPECT_EQ(format.buffer_span(kDims), 240);
  EXPECT_EQ(format.physical_shape(kDims), kDims);
  EXPECT_EQ(format.dims_from_physical(kDims), kDims);
  EXPECT_EQ(format.bind(kDims).dims(), (Dims{2, 5, 4}));
  EXPECT_EQ(format.rank(), 4);
  EXPECT_EQ(format.generic_tag(4), std::nullopt);
  // A Fortran-order array of the buffer, under the same view.
  EXPECT_EQ(format.bind_physical(kDims, {1, 2, 12, 60}).offset({1, 2, 3}), 1 + 2 * 2 + 2 * 12 + 3 * 60);
}

TEST(ViewStep, LettersFollowTheDims) {
  const auto names = [](std::string_view text, int ndims) { return Format::parse(text).dim_names(ndims); };
  EXPECT_EQ(names("nchw.transpose(0,2)", 4), "hcnw");
  EXPECT_EQ(names("nchw.permute(0,2,3,1).narrow(1,0,1)", 4), "nhwc");
  EXPECT_EQ(names("nchw.permute_axes(0,2,3,1)", 4), "nwch");
  EXPECT_EQ(names("nchw.select(1,0)", 3), "nhw");
  EXPECT_EQ(names("nchw.squeeze(-4)", 3), "chw");
  EXPECT_EQ(names("nchw.reshape(4,60)", 2), "ab");
  EXPECT_EQ(names("nchw.unsqueeze(0)", 5), "abcde");
  EXPECT_EQ(Format::parse("strides:1,2.transpose(0,1)").with_names("hw").dim_names(2), "wh");
  EXPECT_EQ(code_of([] { Format::parse("strides:1,2").with_names("nchw"); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] { Format::parse("strides:1,2").with_names("H1"); }), ErrorCode::invalid_argument);
}

TEST(ViewStep, DimsBeforeTheViewsWhereTheyFollow) {
  const auto before = [](std::string_view text, const Dims& after) {
    return Format::parse(text).dims_before_views(after);
  };
  for (const char* text : {"nchw", "nchw.transpose(0,2)", "nchw.permute(2,0,3,1).flip(1)", "nchw.unsqueeze(2)",
                           "nchw.permute_axes(2,0,3,1)", "nchw.unsqueeze(-1).transpose(0,4).squeeze(0)"}) {
    const Dims after = bound(text, kDims).dims();
    EXPECT_EQ(before(text, after), kDims) << text;
  }
  EXPECT_EQ(before("nchw.narrow(0,0,1)", kDims), std::nullopt);
  EXPECT_EQ(before("nchw.unsqueeze(0)", {2, 2, 2, 2, 2}), std::nullopt);
  EXPECT_EQ(before("dml:{2,6}.narrow(0,0,1)", {1, 6}), (Dims{2, 6}));
}

TEST(ViewStep, RefusalsNameTheViewAndTheAxes) {
  const auto message = [](std::string_view text, const Dims& dims) -> std::string {
    try {
      bound(text, dims);
    } catch (const Error& error) {
      return error.message();
    }
    return "no error";
  };
  EXPECT_EQ(
      message("nchw.transpose(0,1).reshape(12,-1)", kDims),
      "bind: reshape(12,-1) of dims 6,2,5,4 (c,n,h,w) in nchw.transpose(0,1).reshape(12,-1): view: dims 6,2,5,4 do "
      "not become 12,20 without a copy: axes 0 and 1 stand in the way; merge(2,3).merge(0,1) gives these dims, with "
      "several strides a dim");
  for (const char* text :
       {"nchw.", "nchw.flip", "nchw.flip(", "nchw.flip()", "nchw.flip(1", "nchw.flip(a)", "nchw.flip(1,)",
        "nchw.flip(1)x", "nchw.flip(1:2)", "nchw.submemory(1)", "nchw.spin(1)", "nchw.split(1)", ".flip(0)",
        "nchw.flip(99999999999999999999)", "nchw.reshape(1,1,1,1,1,1,1,1,1,1,1,1,1)", "any.flip(0)", "undef.flip(0)"}) {
    EXPECT_EQ(code_of([&] { Format::parse(text); }), ErrorCode::parse) << text;
  }
  EXPECT_EQ(code_of([] { apply(Layout(), {"spin", "", {}}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] { bound("ab.flip(4294967296)", {2, 3}); }), ErrorCode::invalid_argument);
  // NumPy and PyTorch refuse a dim that is flipped twice, too.
  EXPECT_EQ(code_of([] { bound("ab.flip(0,0)", {2, 3}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] { bound("ab.flip(0,-2)", {2, 3}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(bound("ab.flip(0).flip(0)", {2, 3}), bound("ab", {2, 3}));
}

TEST(Reindex, EveryOrderThatDigitsSay) {
  const Layout base = bound("strides:7,100@3", {4, 5});
  std::vector<std::string> whole, sources;
  for (int64_t extent = 1; extent <= 5; ++extent) {
    const Layout layout = narrow(transpose(base, 0, 1), 0, 0, extent);
    Dims places(static_cast<int>(extent), 0);
    std::iota(places.begin(), places.end(), 0);
    do {
      try {
        const Layout out = reindex(layout, 0, places);
        each_index(out.dims(), [&](const Dims& i) { ASSERT_EQ(out.offset(i), layout.offset({places[i[0]], i[1]})); });
        // What is padded shares elements, and stays inside the dim.
        EXPECT_LE(out.span(), layout.span());
        EXPECT_EQ(out.injective_with_padding(), !out.padded());
        if (extent == 4 && !out.padded()) whole.push_back(join(places, ""));
        if (extent < 5 && out.padded()) sources.push_back(join(places, ""));
      } catch (const Error& error) {
        ASSERT_EQ(error.code(), ErrorCode::needs_copy);
        EXPECT_GT(extent, 2) << "two indices have two orders, and both are layouts";
      }
    } while (std::ranges::next_permutation(places).found);
  }
  EXPECT_EQ(whole, (std::vector<std::string>{"0123", "0213", "1032", "1302", "2031", "2301", "3120", "3210"}));
  EXPECT_EQ(sources, (std::vector<std::string>{"102", "120", "1230", "2103"}));
  EXPECT_EQ(code_of([&] { reindex(base, 0, Dims{0, 1, 1, 2}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { reindex(base, 0, Dims{0, 1, 2}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { reindex(bound("Ab2a", {4, 2}), 0, Dims{3, 2, 1, 0}); }), ErrorCode::needs_copy);
}

TEST(Gates, OrdersOfTheSystems) {
  EXPECT_EQ(gate_places("zrh", "rzh"), (Dims{1, 0, 2}));
  EXPECT_EQ(gate_places("iofc", "ifco"), (Dims{0, 2, 3, 1}));
  for (const char* wrong : {"", "zr", "zrr", "zrx", "rrh"})
    EXPECT_EQ(code_of([&] { gate_places("zrh", wrong); }), ErrorCode::invalid_argument) << wrong;

  const Dims dims{2, 1, 3, 3, 4};
  const Layout onnx = bound("ldigo", dims), rzh = bound("ldigo;gates:zrh->rzh", dims);
  each_index(dims, [&](const Dims& i) {
    Dims stored = i;
    stored[3] = i[3] == 0 ? 1 : i[3] == 1 ? 0 : 2;
    ASSERT_EQ(rzh.offset(i), onnx.offset(stored));
  });
  EXPECT_EQ(code_of([] { Format::parse("nchw;gates:zrh->rzh"); }), ErrorCode::parse);
  EXPECT_EQ(code_of([] { Format::parse("ldigo;gates:zrh"); }), ErrorCode::parse);
  EXPECT_EQ(code_of([&] { bound("ldigo;gates:iofc->ifco", {1, 1, 1, 4, 1}); }), ErrorCode::needs_copy);
}

TEST(Gates, ArraysWithGatesAndOutputsAsOneAxis) {
  const auto dims = [](std::string_view format, const Dims& shape, int64_t gates) {
    const auto out = dims_of_joined_gates(Format::parse(format), shape, gates);
    return out ? join(*out) : "none";
  };
  EXPECT_EQ(dims("ldgoi", {2, 24, 5}, 4), "1,2,5,4,6") << "ONNX's W";
  EXPECT_EQ(dims("ldgoi", {24, 5}, 4), "1,1,5,4,6") << "PyTorch's weights";
  EXPECT_EQ(dims("ldigo", {5, 24}, 3), "1,1,5,3,8") << "Keras's kernel";
  EXPECT_EQ(dims("ldgo", {24}, 4), "1,1,4,6");
  EXPECT_EQ(dims("ldgo", {3, 2, 24}, 4), "3,2,4,6");
  EXPECT_EQ(dims("ldigo;gates:zrh->rzh", {5, 24}, 3), "1,1,5,3,8");
  EXPECT_EQ(dims("ldgoi", {25, 5}, 4), "none");
  EXPECT_EQ(dims("ldgoi", {5}, 4), "none");
  EXPECT_EQ(dims("ldigo", {1, 2, 3, 4, 5}, 4), "none");
  EXPECT_EQ(dims("ldoi", {1, 24, 5}, 4), "none");
  EXPECT_EQ(dims("nchw", {1, 24, 5}, 4), "none");
  EXPECT_EQ(dims("ldgOi8o", {24, 5, 8}, 4), "none");
  // Only layers and directions are left out. A tag has them first, and letters for its dims may say another order.
  const auto named = [](std::string_view tag, const Dims& shape) {
    const auto out = dims_of_joined_gates(Format::parse(tag).with_names("ldigo"), shape, 4);
    return out ? join(*out) : "none";
  };
  EXPECT_EQ(named("badec", {24, 5}), "1,1,5,4,6") << "dlgoi";
  EXPECT_EQ(named("badec", {3, 24, 5}), "3,1,5,4,6") << "dlgoi";
  EXPECT_EQ(named("dabce", {7, 4, 5}), "none") << "gldio";
  EXPECT_EQ(named("cabde", {2, 1, 24}), "none") << "ildgo";
  EXPECT_EQ(named("cabde", {5, 2, 1, 24}), "2,1,5,4,6") << "ildgo";
  EXPECT_EQ(named("deabc", {2, 1, 5}), "none") << "goldi";
  EXPECT_EQ(named("deabc", {24, 2, 1, 5}), "2,1,5,4,6") << "goldi";
  EXPECT_EQ(named("acbde", {2, 5, 24}), "1,5,2,4,6") << "lidgo";
  EXPECT_EQ(named("acbde", {5, 24}), "none") << "lidgo";
  const Format format = Format::parse("ldgoi");
  EXPECT_TRUE(has_joined_gates(format, {1, 24, 4}, {1, 1, 4, 4, 6}));
  EXPECT_FALSE(has_joined_gates(format, {1, 24, 4}, {1, 1, 4, 6, 6}));
  EXPECT_FALSE(has_joined_gates(format, {1, 24, 4}, {1, 1, 24, 4}));
  // The order says how many gates there are; without it the dims must be given.
  EXPECT_EQ(Format::parse("ldgoi;gates:iofc->ifco").dims_from_physical({1, 24, 4}), (Dims{1, 1, 4, 4, 6}));
  const std::string message = test::error_of([&] { format.dims_from_physical({1, 24, 4}); }).message();
  EXPECT_NE(message.find("1,1,4,4,6 of an LSTM, 1,1,4,3,8 of a GRU"), std::string::npos) << message;
  EXPECT_EQ(test::error_of([&] { format.dims_from_physical({7, 4}); }).message().find("LSTM"), std::string::npos);
  const Format gldio = Format::parse("dabce").with_names("ldigo");
  EXPECT_EQ(test::error_of([&] { gldio.dims_from_physical({7, 4, 5}); }).message().find("LSTM"), std::string::npos);
}

TEST(Gates, AnyOrderIsACopyOfEachGate) {
  const Dims dims{2, 1, 3, 4, 5};
  const Layout src = bound("ldigo", dims), dst = bound("ldgoi", dims);
  std::vector<int64_t> in(static_cast<std::size_t>(src.span())), out(static_cast<std::size_t>(dst.span()), -1);
  std::iota(in.begin(), in.end(), 0);
  for (const GateMove& move : permute_gates(src, dst, 3, "iofc", "ifco")) {
    each_index(move.src.dims(), [&](const Dims& i) {
      out[static_cast<std::size_t>(move.dst.offset(i))] = in[static_cast<std::size_t>(move.src.offset(i))];
    });
  }
  const int64_t stored[] = {0, 2, 3, 1};
  each_index(dims, [&](const Dims& i) {
    Dims from = i;
    from[3] = stored[i[3]];
    ASSERT_EQ(out[static_cast<std::size_t>(dst.offset(i))], src.offset(from));
  });
  EXPECT_EQ(code_of([&] { permute_gates(src, dst, 2, "iofc", "ifco"); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] {
              permute_gates(src, bound("ldigo", {2, 1, 3, 4, 6}), 3, "iofc", "ifco");
            }),
            ErrorCode::invalid_argument);
}

TEST(Aligned, RowsBeginAtMultiples) {
  EXPECT_EQ(bound("ab;align=64", {3, 100}).outer_strides(), (Dims{128, 1}));
  EXPECT_EQ(bound("ab;align=64", {3, 128}), bound("ab", {3, 128}));
  EXPECT_EQ(bound("nchw;align=16", {2, 3, 4, 5}).outer_strides(), (Dims{192, 64, 16, 1}));
  EXPECT_EQ(bound("nhwc;align=4", {2, 3, 4, 5}).outer_strides(), (Dims{80, 1, 20, 4}));
  EXPECT_EQ(bound("nChw8c;align=64", {1, 8, 2, 5}).outer_strides(), (Dims{128, 128, 64, 8}));
  EXPECT_EQ(bound("contiguous;align=4", {2, 3}).span(), 7);
  EXPECT_EQ(Format::parse("nh|Cw4c;align=16").image({1, 9, 4, 5}).pitch, 16);
  EXPECT_EQ(Format::parse("ab;align=4").physical_shape({2, 3}), std::nullopt);
  EXPECT_EQ(Format::parse("ab;align=4").generic_tag(2), std::nullopt);
  EXPECT_EQ(code_of([] { bound("a;align=4", {3}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] { bound("ab;align=9223372036854775807", {3, 100}); }), ErrorCode::overflow);
  for (const char* text : {"ab;align=0", "ab;align=", "ab;align=x", "strides:1,2;align=4", "ab;width=4", "any;align=4",
                           "nh|Cw4c;align=4;pitch=8"})
    EXPECT_EQ(code_of([&] { Format::parse(text); }), ErrorCode::parse) << text;
}

TEST(Capitals, PlainNamesOfADomain) {
  for (const char* text : {"NCHW", "NHWC", "OIHW", "HWIO", "NCDHW", "NC", "OI", "TNC", "LDIGO", "GOIHW", "HW", "W"}) {
    std::string small = text;
    for (char& letter : small) letter = static_cast<char>(letter - 'A' + 'a');
    const int rank = static_cast<int>(small.size());
    EXPECT_EQ(Format::parse(text).generic_tag(rank), Format::parse(small).generic_tag(rank)) << text;
  }
  // In a domain's tag with blocks a capital may lack its block, as in oneDNN's OhwI32o.
  EXPECT_EQ(Format::parse("NCHW16c").generic_tag(4), "aBcd16b");
  EXPECT_EQ(Format::parse("NC16n16c").generic_tag(2), "AB16a16b");
  for (const char* text : {"ABCD", "AB", "NChw", "Nchw", "X", "AXB", "NH|CW", "NCHW4"})
    EXPECT_EQ(code_of([&] { Format::parse(text); }), ErrorCode::parse) << text;
}

TEST(DirectMlExpression, FixesItsDims) {
  const Format format = Format::parse("dml:{1, 1, 3, 5},{15, 1, 5, 1}");
  EXPECT_EQ(format.fixed_dims(), (Dims{1, 1, 3, 5}));
  EXPECT_EQ(format.rank(), 4);
  EXPECT_EQ(format.bind({1, 1, 3, 5}).outer_strides(), (Dims{15, 1, 5, 1}));
  EXPECT_EQ(code_of([&] { format.bind({1, 1, 5, 3}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(Format::parse("dml:{2,3}").physical_shape({2, 3}), (Dims{2, 3}));
  EXPECT_EQ(Format::parse("dml:{2,3}").dims_from_physical({2, 3}), (Dims{2, 3}));
  EXPECT_EQ(bound("dml:{2,3}@4.flip(0)", {2, 3}).offset({0, 0}), 7);
  for (const char* text : {"dml:", "dml:{", "dml:{}", "dml:{2,3},", "dml:{2,3}{3,1}", "dml:{2,3},{1}",
                           "dml:{2,3},{3,1},", "dml:{2 3}", "dml:{2,}", "dml:2,3", "dml:{2,3},{3,1}x"})
    EXPECT_EQ(code_of([&] { Format::parse(text); }), ErrorCode::parse) << text;
}

}  // namespace
}  // namespace relayout
