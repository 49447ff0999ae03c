// Mappings of mdspan from layouts and back, with the reference implementation of tests/support, and with the standard
// library's where it has one.
#include "relayout/interop/mdspan.h"

#include <gtest/gtest.h>

#if __has_include(<version>)
#include <version>
#endif
#ifdef __cpp_lib_mdspan
#include <mdspan>
#endif

#include <set>
#include <vector>

#include "relayout/core/format.h"
#include "relayout/core/view.h"
#include "tests/support/mdspan.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

using test::code_of;
using test::each_index;
using test::error_of;
using test::reference_mdspan::dextents;
using test::reference_mdspan::extents;
using test::reference_mdspan::layout_left;
using test::reference_mdspan::layout_right;
using test::reference_mdspan::layout_stride;

using Extents2 = dextents<int64_t, 2>;
using Extents3 = dextents<int64_t, 3>;
using Extents4 = dextents<int64_t, 4>;
using Strided2 = layout_stride::mapping<Extents2>;

/// The offsets of a layout's elements, each once.
std::set<int64_t> offsets_of(const Layout& layout) {
  std::set<int64_t> out;
  each_index(layout.dims(), [&](const Dims& index) { out.insert(layout.offset(index)); });
  return out;
}

/// Whether a step of dim d adds the same everywhere.
bool has_one_stride(const Layout& layout, int d) {
  std::set<int64_t> steps;
  for (int64_t i = 0; i + 1 < layout.dim(d); ++i) steps.insert(layout.dim_offset(d, i + 1) - layout.dim_offset(d, i));
  return steps.size() <= 1;
}

/// Every statement of a mapping of rank 3, against a walk over all indices.
void check_mapping(const Layout& layout, const std::string& what) {
  const mapping<Extents3> m(layout);
  int64_t elements = 0;
  each_index(layout.dims(), [&](const Dims& i) {
    EXPECT_EQ(m(i[0], i[1], i[2]), layout.offset(i)) << what;
    ++elements;
  });
  const auto offsets = offsets_of(layout);
  const int64_t span = offsets.empty() ? 0 : *offsets.rbegin() + 1;
  EXPECT_EQ(m.required_span_size(), span) << what;
  EXPECT_EQ(m.is_unique(), static_cast<int64_t>(offsets.size()) == elements) << what;
  // The standard allows to say no where it is so; broadcasts and what is unique must be known.
  if (m.is_exhaustive()) {
    EXPECT_EQ(static_cast<int64_t>(offsets.size()), span) << what;
  }
  if (m.is_unique()) {
    EXPECT_EQ(m.is_exhaustive(), static_cast<int64_t>(offsets.size()) == span) << what;
  }
  const bool strided = has_one_stride(layout, 0) && has_one_stride(layout, 1) && has_one_stride(layout, 2);
  if (!layout.empty()) {
    EXPECT_EQ(m.is_strided(), strided) << what;
  }
  if (!m.is_strided()) return;
  for (int d = 0; d < 3; ++d) {
    if (layout.dim(d) > 1) {
      EXPECT_EQ(m.stride(static_cast<std::size_t>(d)), layout.dim_offset(d, 1) - layout.dim_offset(d, 0)) << what;
    }
  }
}

TEST(Mdspan, AnyLayoutIsAMapping) {
  for (const char* tag : {"abc", "cab", "aBc4b", "aBC2b2c", "aBc4b@5", "strides:0,4,1", "strides:1,1,1",
                          "strides:100,10,2", "strides:4,0,0@1"}) {
    for (const Dims& dims : {Dims{2, 8, 3}, {2, 7, 3}, {1, 5, 4}, {3, 3, 1}, {1, 1, 1}, {2, 0, 3}}) {
      check_mapping(Format::parse(tag).bind(dims), std::string(tag) + " " + join(dims, "x"));
    }
  }
  check_mapping(flip(Layout::contiguous({2, 3, 4}), 1), "flipped");
  // A dim of two digits, the upper one going back.
  for (const int64_t extent : {1, 2, 3, 4, 5, 6}) {
    const std::vector<Digits> digits{Digits{{2, 1}}, Digits{{2, 7}, {3, -3}}, Digits{{3, 20}}};
    check_mapping(Layout::from_digits({2, extent, 3}, digits, 6), "digits " + std::to_string(extent));
  }
}

TEST(Mdspan, MdspanOfABlockedLayout) {
  const Layout layout = Format::parse("nChw8c").bind({2, 17, 5, 4});
  std::vector<int> data(static_cast<std::size_t>(layout.span()));
  const test::reference_mdspan::mdspan m(data.data(), mapping<Extents4>(layout));
  m(0, 16, 2, 3) = 7;
  EXPECT_EQ(data[408], 7);
  EXPECT_TRUE(layout_of_mapping(m.mapping()) == layout);
  const auto copy = m.mapping();
  EXPECT_TRUE(copy == m.mapping());
  EXPECT_FALSE(copy == mapping<Extents4>(Format::parse("nchw").bind({2, 17, 5, 4})));
}

TEST(Mdspan, LayoutsOfTheStandardsMappings) {
  const Extents3 sizes(std::array<int64_t, 3>{2, 3, 4});
  EXPECT_TRUE(layout_of_mapping(layout_right::mapping<Extents3>(sizes)) == Layout::contiguous({2, 3, 4}));
  EXPECT_TRUE(layout_of_mapping(layout_left::mapping<Extents3>(sizes)) == Layout::strided({2, 3, 4}, {1, 2, 6}));
  const layout_stride::mapping<Extents3> apart(sizes, {40, 2, 8});
  EXPECT_TRUE(layout_of_mapping(apart) == Layout::strided({2, 3, 4}, {40, 2, 8}));
  EXPECT_EQ(layout_of_mapping(layout_right::mapping<dextents<int64_t, 0>>({})), Layout());
  EXPECT_EQ(layout_of_mapping(layout_left::mapping<dextents<int64_t, 0>>({})), Layout());
  // A mapping of somebody else's that has no strides.
  struct Unstrided : layout_right::mapping<Extents3> {
    using layout_right::mapping<Extents3>::mapping;
    static constexpr bool is_strided() { return false; }
  };
  EXPECT_EQ(code_of([&] { layout_of_mapping(Unstrided(sizes)); }), ErrorCode::invalid_argument);
}

TEST(Mdspan, StridedLayoutsAreLayoutStride) {
  for (const Dims& dims : {Dims{2, 3}, {1, 3}, {3, 1}, {1, 1}, {0, 3}, {4, 4}}) {
    for (int64_t a = -2; a <= 8; ++a) {
      for (int64_t b = -2; b <= 8; ++b) {
        const int64_t back = std::min<int64_t>(0, a * (dims[0] - 1)) + std::min<int64_t>(0, b * (dims[1] - 1));
        const Layout layout = Layout::strided(dims, {a, b}, std::max<int64_t>(0, -back));
        const int64_t x = dims[0] == 1 ? 0 : a, y = dims[1] == 1 ? 0 : b;
        // The standard: strides above 0, each at least what the smaller ones reach.
        const bool above = (dims[0] == 1 || a > 0) && (dims[1] == 1 || b > 0);
        const bool nested = dims[0] == 1 || dims[1] == 1 || x >= y * dims[1] || y >= x * dims[0];
        const std::string what = join(dims, "x") + " strides " + join(Dims{a, b});
        if (!layout.empty() && !(above && nested)) {
          EXPECT_EQ(code_of([&] { strided_mapping<Strided2>(layout); }), ErrorCode::invalid_argument) << what;
          continue;
        }
        const auto m = strided_mapping<Strided2>(layout);
        EXPECT_GT(m.stride(0), 0) << what;
        EXPECT_GT(m.stride(1), 0) << what;
        each_index(dims, [&](const Dims& i) { EXPECT_EQ(m(i[0], i[1]), layout.offset(i)) << what; });
        if (!layout.empty()) {
          EXPECT_TRUE(layout_of_mapping(m) == layout) << what;
        }
      }
    }
  }
}

TEST(Mdspan, WhatIsNoLayoutStrideSaysWhy) {
  const auto message = [](const Layout& layout) {
    return error_of([&] { strided_mapping<Strided2>(layout); }).message();
  };
  EXPECT_EQ(message(Format::parse("Ba4b").bind({2, 8})),
            "mdspan: layout_stride has one stride a dim, and dim 1 has blocks");
  EXPECT_EQ(message(Format::parse("aB4b").bind({2, 3})),
            "mdspan: layout_stride has no padding, and dim 1 is padded to 4");
  EXPECT_EQ(message(Format::parse("ab@3").bind({2, 3})),
            "mdspan: layout_stride has no offset, and the layout begins at 3");
  EXPECT_EQ(message(Layout::strided({2, 3}, {0, 1})),
            "mdspan: the stride of dim 0 is 0, and those of layout_stride are above 0");
  EXPECT_EQ(message(Layout::strided({2, 3}, {2, 3})),
            "mdspan: the stride of dim 1 is 3, within what dim 0 reaches; layout_stride demands 4 at least");
}

TEST(Mdspan, ExtentsOfTheType) {
  const Layout layout = Layout::contiguous({2, 300});
  const mapping<extents<int, 2, test::reference_mdspan::dynamic_extent>> half_fixed(layout);
  EXPECT_EQ(half_fixed.extents().extent(1), 300);
  const auto code = [&]<typename E>(std::type_identity<E>) { return code_of([&] { mapping<E>{layout}; }); };
  EXPECT_EQ(code(std::type_identity<extents<int, 3, 300>>()), ErrorCode::invalid_argument);
  EXPECT_EQ(code(std::type_identity<Extents3>()), ErrorCode::invalid_argument);
  EXPECT_EQ(code(std::type_identity<dextents<signed char, 2>>()), ErrorCode::overflow);
}

TEST(Mdspan, Code) {
  const auto code = [](std::string_view format, const Dims& dims) { return mdspan_code(test::desc(format, dims)); };
  EXPECT_EQ(code("nchw", {2, 3, 5, 4}),
            "std::mdspan m(data, std::layout_right::mapping(std::dextents<int64_t, 4>(2, 3, 5, 4)));");
  EXPECT_EQ(code("ba", {2, 3}), "std::mdspan m(data, std::layout_left::mapping(std::dextents<int64_t, 2>(2, 3)));");
  EXPECT_EQ(code("nhwc@7", {2, 3, 5, 4}),
            "std::mdspan m(data + 7, std::layout_stride::mapping(std::dextents<int64_t, 4>(2, 3, 5, 4), "
            "std::array<int64_t, 4>{60, 1, 12, 3}));");
  EXPECT_EQ(code("nChw8c", {2, 17, 5, 4}),
            "std::mdspan m(data, relayout::mapping<std::dextents<int64_t, 4>>(relayout::Format::parse("
            "\"digits:(2,480)|(8,1)(3,160)|(5,32)|(4,8)\").bind({2, 17, 5, 4})));");
  EXPECT_NE(code("strides:0,1", {2, 3}).find("relayout::mapping"), std::string::npos);
  EXPECT_NE(code("strides:-1", {3}).find("\"digits:(3,-1)@2\""), std::string::npos);
  EXPECT_NE(code("ab", {0, 3}).find("layout_right"), std::string::npos);
  EXPECT_EQ(test::code_of([] { mdspan_code(test::desc("ab", {2, 3}, DType::u4)); }), ErrorCode::unsupported);
}

#ifdef __cpp_lib_mdspan
TEST(Mdspan, TheStandardLibrarys) {
  const Layout layout = Format::parse("nChw8c").bind({2, 17, 5, 4});
  std::vector<int> data(static_cast<std::size_t>(layout.span()));
  using Extents = std::dextents<int64_t, 4>;
  const std::mdspan<int, Extents, MdspanLayout> m(data.data(), mapping<Extents>(layout));
  m[std::array<int64_t, 4>{0, 16, 2, 3}] = 7;
  EXPECT_EQ(data[408], 7);
  const Layout nhwc = Format::parse("nhwc").bind({2, 17, 5, 4});
  EXPECT_TRUE(layout_of_mapping(strided_mapping<std::layout_stride::mapping<Extents>>(nhwc)) == nhwc);
  EXPECT_TRUE(layout_of_mapping(std::layout_right::mapping<Extents>(Extents(2, 17, 5, 4))) ==
              Layout::contiguous({2, 17, 5, 4}));
}
#endif

}  // namespace
}  // namespace relayout
