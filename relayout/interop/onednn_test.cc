// oneDNN's fields without the library: the page's examples, padded offsets against oneDNN's own formula, and everything
// that is refused. tests/onednn compares the same with the library.
#include "relayout/interop/onednn.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "relayout/core/format.h"
#include "relayout/core/view.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

using onednn::BlockedDesc;

TensorDesc f32(const Layout& layout) { return {layout, DType::f32}; }

/// Where oneDNN finds an element: memory_desc_wrapper::off_v, from its documentation.
int64_t offset_in(const BlockedDesc& fields, const Dims& index) {
  Dims place = index;
  for (int d = 0; d < fields.ndims; ++d) place[d] += fields.padded_offsets[static_cast<std::size_t>(d)];
  int64_t offset = fields.offset0, stride = 1;
  for (int k = fields.inner_nblks - 1; k >= 0; --k) {
    const int64_t block = fields.inner_blks[static_cast<std::size_t>(k)];
    const int d = static_cast<int>(fields.inner_idxs[static_cast<std::size_t>(k)]);
    offset += place[d] % block * stride;
    place[d] /= block;
    stride *= block;
  }
  for (int d = 0; d < fields.ndims; ++d) offset += place[d] * fields.strides[static_cast<std::size_t>(d)];
  return offset;
}

void each_index(const Dims& dims, const std::function<void(const Dims&)>& f) {
  Dims index(dims.size(), 0);
  while (true) {
    f(index);
    int d = dims.size() - 1;
    while (d >= 0 && ++index[d] == dims[d]) index[d--] = 0;
    if (d < 0) return;
  }
}

/// The code and the field of the error that f() ends with.
std::pair<ErrorCode, std::string> refused(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_FALSE(error.message().empty());
    return {error.code(), error.field()};
  }
  ADD_FAILURE() << "nothing was refused";
  return {ErrorCode::internal, ""};
}

TEST(OneDnnFields, OfABlockedTag) {
  const TensorDesc desc = f32(Format::parse("nChw8c").bind({2, 17, 5, 4}));
  const BlockedDesc fields = onednn::to_onednn(desc);
  EXPECT_EQ(fields, (BlockedDesc{.ndims = 4,
                                 .dims = {2, 17, 5, 4},
                                 .padded_dims = {2, 24, 5, 4},
                                 .strides = {480, 160, 32, 8},
                                 .inner_nblks = 1,
                                 .inner_blks = {8},
                                 .inner_idxs = {1},
                                 .data_type = 3}));
  EXPECT_EQ(onednn::from_onednn(fields), desc);
  EXPECT_EQ(onednn::size(desc), 3840);
  EXPECT_EQ(onednn::from_onednn(onednn::to_onednn(f32(desc.layout.canonical()))), desc);
}

TEST(OneDnnFields, OffsetsGoBothWays) {
  const TensorDesc whole = f32(Format::parse("nChw8c").bind({2, 16, 5, 4}));
  const TensorDesc part = f32(submemory(whole.layout, {2, 8, 5, 4}, {0, 8, 0, 0}));
  BlockedDesc fields = onednn::to_onednn(part);
  EXPECT_EQ(fields.offset0, 160);
  EXPECT_EQ(onednn::size(fields), 0);  // as oneDNN says of every part
  EXPECT_EQ(onednn::from_onednn(fields), part);
  // The same part, as a tensor that begins 8 channels inside its padded dims.
  fields = onednn::to_onednn(part, {0, 8, 0, 0});
  EXPECT_EQ(fields.offset0, 0);
  EXPECT_EQ(fields.padded_offsets[1], 8);
  EXPECT_EQ(fields.padded_dims[1], 16);
  EXPECT_EQ(onednn::from_onednn(fields), part);
  EXPECT_GT(onednn::size(fields), 0);
}

TEST(OneDnnFields, RandomPaddedOffsetsByOneDnnsFormula) {
  std::mt19937 rng(11);
  const auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(rng); };
  const char* tags[] = {"abc", "acb", "cba", "aBc4b", "ABc2a4b", "bCa8c", "ABc2b4a2b"};
  int parts_of_blocks = 0, whole_blocks = 0;
  for (int round = 0; round < 3000; ++round) {
    const Dims padded{pick(1, 5) * 8, pick(1, 3) * 8, pick(1, 2) * 8};
    BlockedDesc fields = onednn::to_onednn(f32(Format::parse(tags[round % 7]).bind(padded)));
    Dims dims, begins;
    for (int d = 0; d < 3; ++d) {
      const auto at = static_cast<std::size_t>(d);
      begins.push_back(pick(0, 1) == 0 ? pick(0, padded[d] - 1) : pick(0, padded[d] / 8 - 1) * 8);
      dims.push_back(pick(1, std::min<int64_t>(4, padded[d] - begins[d])));
      fields.dims[at] = dims[d];
      fields.padded_offsets[at] = begins[d];
    }
    fields.offset0 = pick(0, 100);
    TensorDesc desc;
    try {
      desc = onednn::from_onednn(fields);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::needs_copy);
      continue;
    }
    each_index(dims, [&](const Dims& index) {
      ASSERT_EQ(desc.layout.offset(index), offset_in(fields, index)) << tags[round % 7] << " at " << join(begins);
    });
    if (testing::Test::HasFailure()) return;
    bool whole = true, multiples = true;
    for (int k = 0; k < fields.inner_nblks; ++k) {
      const auto at = static_cast<std::size_t>(k);
      whole = whole && begins[static_cast<int>(fields.inner_idxs[at])] % fields.inner_blks[at] == 0;
    }
    (whole ? whole_blocks : parts_of_blocks)++;
    for (int d = 0; d < 3; ++d) multiples = multiples && begins[d] % 8 == 0;
    if (multiples) {
      EXPECT_EQ(onednn::to_onednn(desc, begins), fields) << tags[round % 7];
    }
  }
  EXPECT_GT(whole_blocks, 300);
  EXPECT_GT(parts_of_blocks, 300);
}

TEST(OneDnnFields, TheRuleAsAnAnswer) {
  onednn::StrideVerdict verdict = onednn::accepts(f32(Layout::strided({3, 2}, {2, 3})));
  EXPECT_FALSE(verdict.accepted);
  EXPECT_TRUE(verdict.injective);
  EXPECT_EQ(verdict.dim, 1);
  EXPECT_EQ(verdict.within, 0);
  EXPECT_EQ(verdict.stride, 3);
  EXPECT_EQ(verdict.least, 6);
  EXPECT_EQ(verdict.reason, "the stride of dim 1 is 3, and dim 0 covers 6 elements, so that oneDNN demands 6 or more");

  verdict = onednn::accepts(f32(Layout::strided({3, 3}, {2, 3})));
  EXPECT_FALSE(verdict.accepted);
  EXPECT_TRUE(verdict.injective);
  verdict = onednn::accepts(f32(Layout::strided({4, 3}, {2, 4})));  // (2,0) and (0,1) share offset 4
  EXPECT_FALSE(verdict.accepted);
  EXPECT_FALSE(verdict.injective);

  // Stride 0 is accepted, and is not injective; dims of extent 1 and tensors without elements do not count.
  verdict = onednn::accepts(f32(Layout::strided({3, 2}, {0, 1})));
  EXPECT_TRUE(verdict.accepted);
  EXPECT_FALSE(verdict.injective);
  EXPECT_TRUE(onednn::accepts(f32(Layout::strided({3, 1, 2}, {2, 3, 1}))).accepted);
  EXPECT_TRUE(onednn::accepts(f32(Layout::strided({0, 3, 3}, {1, 1, 1}))).accepted);

  EXPECT_TRUE(onednn::accepts(f32(Layout::strided({3, 0}, {-1, 1}))).accepted);

  // A stride within the inner blocks.
  const Digits blocks[] = {{{2, 1}, {3, 2}}, {{4, 1}}};
  EXPECT_TRUE(onednn::accepts(f32(Format::parse("ABc2a4b").bind({3, 5, 2}))).accepted);
  const Digits inside[] = {{{2, 1}, {3, 6}}, {{3, 1}}};
  verdict = onednn::accepts(f32(Layout::from_digits({6, 3}, inside)));
  EXPECT_FALSE(verdict.accepted);
  EXPECT_EQ(verdict.dim, 1);
  EXPECT_EQ(verdict.within, onednn::StrideVerdict::kInnerBlocks);
  EXPECT_EQ(verdict.least, 2);
  EXPECT_FALSE(onednn::accepts(f32(Layout::from_digits({6, 4}, blocks))).accepted);

  // What oneDNN has no descriptor for is refused with the reason.
  verdict = onednn::accepts(f32(flip(Layout::contiguous({2, 3}), 1)));
  EXPECT_FALSE(verdict.accepted);
  EXPECT_TRUE(verdict.injective);
  EXPECT_NE(verdict.reason.find("negative strides"), std::string::npos) << verdict.reason;
}

TEST(OneDnnFields, RuntimeDimsAreRefusedByName) {
  const BlockedDesc good = onednn::to_onednn(f32(Layout::contiguous({2, 3})));
  const std::pair<const char*, std::function<int64_t&(BlockedDesc&)>> fields[] = {
      {"dims[1]", [](BlockedDesc& f) -> int64_t& { return f.dims[1]; }},
      {"padded_dims[0]", [](BlockedDesc& f) -> int64_t& { return f.padded_dims[0]; }},
      {"padded_offsets[1]", [](BlockedDesc& f) -> int64_t& { return f.padded_offsets[1]; }},
      {"strides[0]", [](BlockedDesc& f) -> int64_t& { return f.strides[0]; }},
      {"offset0", [](BlockedDesc& f) -> int64_t& { return f.offset0; }}};
  for (const auto& [name, field] : fields) {
    BlockedDesc bad = good;
    field(bad) = onednn::kRuntimeDim;
    const std::pair<ErrorCode, std::string> want{ErrorCode::unsupported, name};
    EXPECT_EQ(refused([&] { onednn::from_onednn(bad); }), want);
    EXPECT_EQ(refused([&] { onednn::size(bad); }), want);
  }
}

TEST(OneDnnFields, Refusals) {
  const BlockedDesc good = onednn::to_onednn(f32(Format::parse("aB8b").bind({2, 17})));
  const auto with = [&](auto change) {
    BlockedDesc bad = good;
    change(bad);
    return refused([&] { onednn::from_onednn(bad); });
  };
  using Answer = std::pair<ErrorCode, std::string>;
  const auto invalid = [](const char* field) { return Answer(ErrorCode::invalid_argument, field); };
  EXPECT_EQ(with([](BlockedDesc& f) { f.ndims = 13; }), invalid("ndims"));
  EXPECT_EQ(with([](BlockedDesc& f) { f.ndims = f.inner_nblks = 0; }), Answer(ErrorCode::unsupported, "ndims"));
  EXPECT_EQ(with([](BlockedDesc& f) { f.inner_nblks = -1; }), invalid("inner_nblks"));
  EXPECT_EQ(with([](BlockedDesc& f) { f.inner_idxs[0] = 2; }), invalid("inner_idxs[0]"));
  EXPECT_EQ(with([](BlockedDesc& f) { f.inner_blks[0] = 0; }), invalid("inner_blks[0]"));
  EXPECT_EQ(with([](BlockedDesc& f) { f.dims[0] = -1; }), invalid("dims[0]"));
  EXPECT_EQ(with([](BlockedDesc& f) { f.padded_dims[1] = 16; }), invalid("padded_dims[1]"));
  EXPECT_EQ(with([](BlockedDesc& f) { f.padded_dims[1] = 25; }), invalid("padded_dims[1]"));
  EXPECT_EQ(with([](BlockedDesc& f) { f.padded_offsets[1] = 8; }), invalid("padded_dims[1]"));
  EXPECT_EQ(with([](BlockedDesc& f) { f.data_type = 99; }), Answer(ErrorCode::unsupported, "data_type"));

  const TensorDesc part = f32(Layout::strided({2, 3}, {3, 1}, 6));
  EXPECT_EQ(refused([&] { onednn::to_onednn(part, {1}); }), invalid("padded_offsets"));
  EXPECT_EQ(refused([&] { onednn::to_onednn(part, {3, 0}); }), invalid("padded_offsets[0]"));
  EXPECT_EQ(refused([&] { onednn::to_onednn(f32(Layout())); }), Answer(ErrorCode::unsupported, "ndims"));
  EXPECT_EQ(refused([&] {
              onednn::to_onednn({Layout::contiguous({2}), DType::s16});
            }),
            Answer(ErrorCode::unsupported, "dtype"));
  const Digits gap[] = {{{2, 1}, {2, 4}, {2, 16}}};
  EXPECT_EQ(refused([&] { onednn::to_onednn(f32(Layout::from_digits({8}, gap))); }),
            Answer(ErrorCode::unsupported, "digits"));
}

TEST(OneDnnFields, EveryTypeOfOneDnn) {
  int known = 0;
  for (DType dtype : all_dtypes()) {
    try {
      EXPECT_EQ(onednn::data_type_of_number(onednn::data_type_number(dtype)), dtype);
      ++known;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported);
    }
  }
  EXPECT_EQ(known, 15);
}

TEST(OneDnnFields, Code) {
  const auto code = [](std::string_view format, const Dims& dims, DType dtype = DType::f32) {
    return onednn::code({Format::parse(format).bind(dims), dtype});
  };
  EXPECT_EQ(code("nChw8c", {2, 17, 5, 4}),
            "dnnl::memory::desc md({2, 17, 5, 4}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::aBcd8b);  // "
            "nChw8c, oIhw8i, gOiw8o");
  EXPECT_EQ(code("strides:100,1,20,4", {2, 3, 4, 5}),
            "dnnl::memory::desc md({2, 3, 4, 5}, dnnl::memory::data_type::f32, dnnl::memory::dims{100, 1, 20, 4});");
}

TEST(OneDnnFields, CodeSaysWhichVersionHasAName) {
  const auto code = [](std::string_view format, const Dims& dims, DType dtype = DType::f32) {
    return onednn::code({Format::parse(format).bind(dims), dtype});
  };
  EXPECT_EQ(code("AB16b48a", {96, 64}),
            "dnnl::memory::desc md({96, 64}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::AB16b48a);  // "
            "NC16c48n, OI16i48o, TN16n48t; AB16b48a is in oneDNN 3.2, not in 2.6.3");
  EXPECT_EQ(code("Ab8a", {24, 4}),
            "dnnl::memory::desc md({24, 4}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::Ab8a);  // Nc8n, "
            "Oi8o, Tn8t; Ab8a is in oneDNN 3.13, not in 3.2");
  EXPECT_EQ(
      code("ab", {2, 3}, DType::f64),
      "dnnl::memory::desc md({2, 3}, dnnl::memory::data_type::f64, dnnl::memory::format_tag::ab);  // nc, oi, tn, "
      "hw; f64 is in oneDNN 3.2, not in 2.6.3");
  EXPECT_EQ(code("strides:8,1", {2, 3}, DType::u4),
            "dnnl::memory::desc md({2, 3}, dnnl::memory::data_type::u4, dnnl::memory::dims{8, 1});  // u4 is in oneDNN "
            "3.13, not in 3.2");
}

TEST(OneDnnFields, CodeThatNoConstructorMakesIsRefused) {
  const auto refusal = [](std::string_view format, const Dims& dims, DType dtype = DType::f32) {
    return test::error_of([&] { onednn::code({Format::parse(format).bind(dims), dtype}); });
  };
  EXPECT_EQ(
      refusal("strides:2,3", {3, 2}).message(),
      "no constructor of dnnl::memory::desc makes this: the stride of dim 1 is 3, and dim 0 covers 6 elements, so "
      "that oneDNN demands 6 or more; the fields of its descriptor are dims {3, 2}, padded_dims {3, 2}, offset0 "
      "0, strides {2, 3}");
  EXPECT_EQ(refusal("aBcd5b", {2, 17, 5, 4}).message(),
            "no constructor of dnnl::memory::desc makes this: none of oneDNN 2.6.3, 3.2 and 3.13 has a name for the "
            "tag aBcd5b; the fields of its descriptor are dims {2, 17, 5, 4}, padded_dims {2, 20, 5, 4}, offset0 0, "
            "strides {400, 100, 20, 5}, inner_blks {5}, inner_idxs {1}");
  EXPECT_EQ(refusal("nchw@7", {2, 3, 5, 4}).code(), ErrorCode::unsupported);
  EXPECT_EQ(refusal("nchw@7", {2, 3, 5, 4}).field(), "offset0");
  EXPECT_NE(refusal("nchw@7", {2, 3, 5, 4}).message().find("it begins at offset 7, as only a submemory does"),
            std::string::npos);
  EXPECT_EQ(refusal("digits:(3,8)|(8,1)", {3, 5}).field(), "padded_dims");
  // No type is offered that is refused itself.
  const Error boolean = refusal("ab", {2, 3}, DType::boolean), foreign = refusal("ab", {2, 3}, DType::u16);
  for (const Error& error : {boolean, foreign}) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_EQ(error.limit(), "f16, bf16, f32, s32, s8, u8, f64, f8_e5m2, f8_e4m3, s4, u4, e8m0, f4_e2m1, s64");
  }
}

TEST(OneDnnFields, EqualLayoutsHaveDescriptorsHoweverTheyAreSpelled) {
  const TensorDesc spelled = f32(Format::parse("digits:(1,1)(1,1)(31,256)|(31,7936)").bind({1, 10}));
  const BlockedDesc fields = onednn::to_onednn(spelled);
  EXPECT_EQ(onednn::from_onednn(fields), spelled);
  EXPECT_EQ(fields.strides[1], 7936);
  std::string outer = "AB", inner;
  for (int k = 0; k < 13; ++k) inner += k % 2 == 0 ? "2a" : "2b";
  const Error error = test::error_of([&] { onednn::to_onednn(f32(Format::parse(outer + inner).bind({200, 100}))); });
  EXPECT_EQ(error.message(), "to_onednn: 13 blocks; a descriptor has at most 12");
  // Thirteen blocks that continue each other are one.
  const TensorDesc joined = f32(Format::parse("A2a2a2a2a2a2a2a2a2a2a2a2a2a").bind({4}));
  EXPECT_EQ(onednn::from_onednn(onednn::to_onednn(joined)), joined);
}

}  // namespace
}  // namespace relayout
