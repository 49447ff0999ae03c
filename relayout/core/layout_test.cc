// The laws of layout.h over whole domains of small extents, and what construction refuses.
#include "relayout/core/layout.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "relayout/core/format.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

using test::code_of;
using test::each_index;

/// A random layout of small extents: any digits, also overlapping, negative and zero strides.
Layout random_layout(std::mt19937& rng) {
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution(low, high)(rng); };
  const int ndims = pick(0, 4);
  Dims dims;
  std::vector<Digits> digits(static_cast<std::size_t>(ndims));
  int64_t low = 0;
  for (auto& list : digits) {
    int64_t capacity = 1;
    for (int k = pick(1, 3); k > 0; --k) {
      list.push_back({pick(1, 4), pick(0, 3) == 0 ? pick(-12, 12) : pick(1, 60)});
      capacity *= list.back().extent;
      low += std::min<int64_t>(0, (list.back().extent - 1) * list.back().stride);
    }
    dims.push_back(std::max<int64_t>(1, capacity - pick(0, 3)));
  }
  return Layout::from_digits(dims, digits, pick(0, 3) - low);
}

TEST(Layout, WorkedExample) {
  const Layout l = Format::parse("nChw8c").bind({2, 17, 5, 4});
  EXPECT_EQ(l.offset({0, 16, 2, 3}), 2 * 160 + 2 * 32 + 3 * 8);
  EXPECT_EQ(l.padded_dims(), (Dims{2, 24, 5, 4}));
  EXPECT_EQ(l.outer_strides(), (Dims{480, 160, 32, 8}));
  EXPECT_EQ(l.span(), 960);
  EXPECT_EQ(l.footprint(), 960);
  Dims index;
  EXPECT_EQ(l.inverse(408, &index), Slot::element);
  EXPECT_EQ(index, (Dims{0, 16, 2, 3}));
  EXPECT_EQ(l.inverse(409, &index), Slot::padding);
  EXPECT_EQ(index, (Dims{0, 17, 2, 3}));
  EXPECT_FALSE(l.dense());
  EXPECT_TRUE(l.packed());
  EXPECT_TRUE(l.padded());
}

TEST(Layout, FootprintIsNotSpan) {
  const Layout l = Layout::strided({2, 3}, {5, 1});
  EXPECT_EQ(l.footprint(), 10);
  EXPECT_EQ(l.span(), 8);
  EXPECT_EQ(l.inverse(3, nullptr), Slot::gap);
  EXPECT_EQ(l.inverse(-1, nullptr), Slot::gap);
  EXPECT_EQ(l.inverse(std::numeric_limits<int64_t>::max(), nullptr), Slot::gap);
  EXPECT_EQ(Format::parse("nChw8c").bind({1, 4, 1, 1}).footprint(), 8);
  EXPECT_EQ(Layout::strided({3}, {0}).footprint(), 0);
  EXPECT_EQ(Layout::strided({1, 1}, {5, 7}).footprint(), 1);
  EXPECT_EQ(Layout().footprint(), 1);
}

TEST(Layout, ScalarAndEmpty) {
  const Layout scalar;
  EXPECT_EQ(scalar.elements(), 1);
  EXPECT_EQ(scalar.span(), 1);
  EXPECT_EQ(scalar.offset({}), 0);
  EXPECT_TRUE(scalar.dense());
  EXPECT_TRUE(scalar.contiguous_in(MemoryFormat::contiguous));
  const Layout empty = Layout::contiguous({int64_t{1} << 62, 0, int64_t{1} << 62});
  EXPECT_EQ(empty.elements(), 0);
  EXPECT_EQ(empty.span(), 0);
  EXPECT_EQ(empty.footprint(), 0);
  EXPECT_TRUE(empty.injective());
  EXPECT_EQ(empty.inverse(0, nullptr), Slot::gap);
  EXPECT_EQ(empty, Format::parse("cba").bind(empty.dims()));
}

TEST(Layout, ADigitWithoutValuesIsTheOutermost) {
  const Layout layout = Format::parse("digits:(0,1)(3,5)").bind({0});
  EXPECT_EQ(layout.capacity(0), 0);
  EXPECT_EQ(digits_expression(layout), "digits:(1,1)(0,5)");
  EXPECT_EQ(tag_of(layout), "a");
  EXPECT_EQ(Format::parse("cute:((2,0,3),4)").default_dims(), Dims({0, 4}));
}

TEST(Layout, RefusesAndNamesTheDim) {
  const auto field_of = [](const auto& action) {
    try {
      action();
    } catch (const Error& e) {
      EXPECT_TRUE(e.code() == ErrorCode::overflow || e.code() == ErrorCode::invalid_argument) << e.what();
      return e.field();
    }
    return std::string("no error");
  };
  constexpr int64_t kBig = int64_t{1} << 62;
  EXPECT_EQ(field_of([] { Layout::contiguous({kBig, 4}); }), "dims[0]");
  EXPECT_EQ(field_of([] { Layout::contiguous({3, kBig, 2}); }), "dims[1]");
  EXPECT_EQ(field_of([] { Layout::strided({kBig, 4}, {0, 0}); }), "dims[0]");
  EXPECT_EQ(field_of([] { TensorDesc(Layout::contiguous({kBig}), DType::f32); }), "dims[0]");
  EXPECT_EQ(field_of([] { TensorDesc(Layout::contiguous({3, kBig / 4}), DType::f32); }), "dims[1]");
  EXPECT_EQ(field_of([] { TensorDesc(Layout::strided({3, 5}, {kBig / 4, 1}), DType::f32); }), "dims[0]");
  EXPECT_EQ(field_of([] { Format::parse("aB16b").bind({int64_t{1} << 59, 17}); }), "dims[0]");
  EXPECT_EQ(field_of([] { Format::parse("strides:-4,-4611686018427387904").bind({5, 4}); }), "dims[1]");
  EXPECT_EQ(field_of([] { Format::parse("ab;align=4611686018427387904").bind({5, 4}); }), "align");
  EXPECT_EQ(field_of([] { Format::parse("A16a").bind({std::numeric_limits<int64_t>::max()}); }), "dims[0]");
  EXPECT_EQ(field_of([] { Layout::strided({3}, {kBig}); }), "dims[0]");
  EXPECT_EQ(field_of([] { Layout::strided({4096, 4, 3}, {1, kBig, 5}); }), "dims[1]");
  EXPECT_EQ(field_of([] { Layout::strided({}, {}, std::numeric_limits<int64_t>::max()); }), "offset0");
  EXPECT_EQ(field_of([] { TensorDesc(Layout::strided({}, {}, kBig), DType::f32); }), "offset0");
  EXPECT_EQ(field_of([] { Layout::strided({2, -1}, {1, 1}); }), "dims[1]");
  EXPECT_EQ(field_of([] { Layout::strided({3}, {-1}); }), "offset0");
  EXPECT_EQ(field_of([] { Layout::strided({3, 0}, {1, 1}, -1); }), "offset0");
  EXPECT_EQ(field_of([] { Layout::strided({1 << 30, kBig}, {1, 1}, -1); }), "dims[1]");
  EXPECT_EQ(field_of([] { TensorDesc(Layout::padded_scalar({{kBig / 2, 1}}), DType::f64); }), "padding");
  EXPECT_EQ(field_of([] { TensorDesc(Layout::padded_scalar({{3, kBig / 4}}), DType::f64); }), "padding");
  EXPECT_EQ(field_of([] { Format::parse("xla:[]{:T(2147483647,2147483647,4)}").bind({}); }), "padding");
  EXPECT_EQ(code_of([] { Layout::strided({3}, {1, 1}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] { parse_dims("1,1,1,1,1,1,1,1,1,1,1,1,1"); }), ErrorCode::limit);
  EXPECT_EQ(code_of([] { Layout::contiguous({2, 3}).offset(Dims{2, 0}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] { Layout::contiguous({2, 3}).offset(Dims{0}); }), ErrorCode::invalid_argument);
}

TEST(Layout, OverflowsSayTheNumbers) {
  const auto message = [](const auto& action) { return test::error_of(action).message(); };
  EXPECT_EQ(
      message([] {
        Format::parse("nChw8c").bind({3, 4611686018427387900, 2, 1});
      }),
      "bind: nChw8c of dims 3,4611686018427387900,2,1: 3 x 4611686018427387904 x 2 x 1 elements overflow 64 bits; "
      "dim 1 (4611686018427387900, padded to 4611686018427387904) is the largest");
  EXPECT_EQ(
      message([] {
        Layout::contiguous({4611686018427387904, 2, 2});
      }),
      "layout: 4611686018427387904 x 2 x 2 elements overflow 64 bits; dim 0 (4611686018427387904) is the largest");
  EXPECT_EQ(message([] {
              TensorDesc(Layout::contiguous({3, 1152921504606846976}), DType::f32);
            }),
            "tensor: 3 x 1152921504606846976 elements of f32 overflow 64 bits of bytes; dim 1 (1152921504606846976) is "
            "the largest");
  EXPECT_EQ(message([] {
              Layout::strided({2, 3}, {1, 4611686018427387904});
            }),
            "layout: the span overflows 64 bits; dim 1 (3) reaches farthest, by 2 x 4611686018427387904");
  EXPECT_EQ(message([] { TensorDesc(Format::parse("xla:[]{:T(2147483647,1073741824)}").bind({}), DType::f64); }),
            "tensor: 2305843008139952128 elements of f64 overflow 64 bits of bytes; a scalar is one element, and the "
            "others are its padding");
  EXPECT_EQ(message([] {
              TensorDesc(Layout::padded_scalar({{3, 1152921504606846976}}), DType::f64);
            }),
            "tensor: 3458764513820540928 elements of f64 overflow 64 bits of bytes; the padding of a scalar reaches "
            "farthest, by 2 x 1152921504606846976");
  EXPECT_EQ(message([] { Format::parse("xla:[]{:T(2147483647,2147483647,4)}").bind({}); }),
            "bind: xla:[]{:T(2147483647,2147483647,4)} of no dims: elements and what their layout adds overflow 64 "
            "bits; a scalar is one element, and the others are its padding");
}

TEST(Layout, AScalarMayHavePadding) {
  const Layout scalar = Layout::padded_scalar({{4, 1}, {1, 3}, {2, 4}}, 5);
  EXPECT_EQ(scalar.ndims(), 0);
  EXPECT_EQ(scalar.elements(), 1);
  EXPECT_EQ(scalar.padded_elements(), 8);
  EXPECT_EQ(scalar.span(), 13);
  EXPECT_EQ(scalar.footprint(), 8);
  EXPECT_TRUE(scalar.padded() && scalar.packed() && !scalar.dense() && scalar.injective_with_padding());
  EXPECT_EQ(scalar.offset(Dims{}), 5);
  Dims index{1};
  EXPECT_EQ(scalar.inverse(4, &index), Slot::gap);
  EXPECT_EQ(scalar.inverse(5, &index), Slot::element);
  EXPECT_EQ(index, Dims{});
  EXPECT_EQ(scalar.inverse(12, &index), Slot::padding);
  EXPECT_EQ(scalar.canonical(), scalar);
  EXPECT_EQ(scalar.as_vector(), Layout::from_digits({1}, std::vector<Digits>{{{8, 1}}}, 5));
  EXPECT_FALSE(scalar == Layout::padded_scalar({{1, 1}}, 5));
  EXPECT_EQ(Layout::padded_scalar({{1, 1}}), Layout());
  const std::string text = digits_expression(scalar);
  EXPECT_EQ(text, "xla:[]{:T(8)}@5");
  EXPECT_EQ(Format::parse(text).bind({}), scalar);
  EXPECT_EQ(code_of([] { Layout::padded_scalar({{int64_t{1} << 62, 2}}); }), ErrorCode::overflow);
}

TEST(Layout, SearchesAgreeWithEnumeration) {
  std::mt19937 rng(20260701);
  int collisions = 0, padded = 0;
  for (int round = 0; round < 4000; ++round) {
    const Layout l = random_layout(rng);
    std::map<int64_t, std::vector<Dims>> at;
    std::set<int64_t> logical;
    int64_t high = -1;
    each_index(l.padded_dims(), [&](const Dims& index) {
      const int64_t offset = l.offset(index);
      at[offset].push_back(index);
      high = std::max(high, offset);
      if (std::ranges::equal(index, l.dims(), std::less<>())) logical.insert(offset);
    });
    EXPECT_EQ(l.span(), high + 1);
    const auto collision = l.collision();
    EXPECT_EQ(static_cast<int64_t>(logical.size()) == l.elements(), !collision);
    EXPECT_EQ(static_cast<int64_t>(at.size()) == l.padded_elements(), l.injective_with_padding());
    if (collision) {
      ++collisions;
      EXPECT_FALSE(collision->first == collision->second);
      EXPECT_EQ(l.offset(collision->first), l.offset(collision->second));
      for (const Dims& index : {collision->first, collision->second})
        EXPECT_TRUE(std::ranges::equal(index, l.dims(), std::less<>()));
    }
    padded += l.padded();
    const bool filled =
        logical.empty() || *logical.rbegin() - *logical.begin() + 1 == static_cast<int64_t>(logical.size());
    EXPECT_EQ(l.dense(), !l.padded() && !collision && filled);
    EXPECT_EQ(l.packed(), at.rbegin()->first - at.begin()->first + 1 == l.padded_elements() &&
                              static_cast<int64_t>(at.size()) == l.padded_elements());
    for (int64_t offset = -1; offset <= high + 1; ++offset) {
      Dims index;
      const Slot slot = l.inverse(offset, &index);
      EXPECT_EQ(slot, logical.contains(offset) ? Slot::element : at.contains(offset) ? Slot::padding : Slot::gap);
      if (slot != Slot::gap) {
        EXPECT_EQ(l.offset(index), offset);
      }
    }
    const Layout simple = l.canonical();
    EXPECT_EQ(simple, l);
    for (int d = 0; d < l.ndims(); ++d) EXPECT_EQ(simple.canonical().digits_of(d), simple.digits_of(d));
    each_index(l.padded_dims(), [&](const Dims& index) { EXPECT_EQ(simple.offset(index), l.offset(index)); });
  }
  EXPECT_GT(collisions, 500);
  EXPECT_GT(padded, 500);
}

TEST(Layout, EqualityIsEqualityOfTheFunction) {
  std::mt19937 rng(7);
  std::vector<Layout> all;
  for (int i = 0; i < 300; ++i) all.push_back(random_layout(rng));
  for (const char* tag : {"abcd", "acdb", "aBcd4b", "bcda", "aBcd2b2b", "aBcd8b"}) {
    for (const Dims& dims : {Dims{2, 4, 3, 1}, Dims{1, 1, 3, 2}, Dims{2, 1, 1, 1}, Dims{3, 4, 1, 1}})
      all.push_back(Format::parse(tag).bind(dims));
  }
  int equal = 0;
  for (const Layout& a : all) {
    for (const Layout& b : all) {
      bool same = a.dims() == b.dims() && a.padded_dims() == b.padded_dims();
      if (same)
        each_index(a.padded_dims(), [&](const Dims& index) { same = same && a.offset(index) == b.offset(index); });
      EXPECT_EQ(a == b, same);
      equal += same;
    }
  }
  EXPECT_GT(equal, static_cast<int>(all.size()));
}

TEST(Layout, InjectiveExactWhereTheStrideRuleRefuses) {
  EXPECT_TRUE(Layout::strided({3, 2}, {2, 3}).injective());
  EXPECT_TRUE(Layout::strided({3, 3}, {2, 3}).injective());
  EXPECT_FALSE(Layout::strided({4, 3}, {2, 3}).injective());
  EXPECT_TRUE(Layout::strided({1 << 20, 1 << 20}, {1 << 20, 1}).injective());
  EXPECT_FALSE(Layout::strided({1 << 20, 1 << 20}, {(1 << 20) - 1, 1}).injective());
}

TEST(Layout, MemoryFormats) {
  const auto formats = [](const char* layout, const Dims& dims) {
    const Layout l = Format::parse(layout).bind(dims);
    return std::array{l.contiguous_in(MemoryFormat::contiguous), l.contiguous_in(MemoryFormat::channels_last),
                      l.contiguous_in(MemoryFormat::channels_last_3d)};
  };
  EXPECT_EQ(formats("nchw", {2, 3, 4, 5}), (std::array{true, false, false}));
  EXPECT_EQ(formats("nhwc", {2, 3, 4, 5}), (std::array{false, true, false}));
  EXPECT_EQ(formats("nhwc", {2, 1, 4, 5}), (std::array{true, true, false}));
  EXPECT_EQ(formats("nchw", {2, 3, 1, 1}), (std::array{true, true, false}));
  EXPECT_EQ(formats("ndhwc", {2, 3, 2, 4, 5}), (std::array{false, false, true}));
  EXPECT_EQ(formats("nChw8c", {2, 16, 4, 5}), (std::array{false, false, false}));
  EXPECT_EQ(formats("nchw", {0, 3, 4, 5}), (std::array{true, false, false}));
  // Without elements, each stride must be the product of the extents inside it, 0 among them, as in PyTorch. A tag has
  // oneDNN's strides, which are others there.
  EXPECT_EQ(formats("channels_last", {0, 3, 4, 5}), (std::array{true, true, false}));
  EXPECT_EQ(formats("channels_last", {2, 0, 4, 5}), (std::array{true, true, false}));
  EXPECT_EQ(formats("channels_last_3d", {2, 3, 0, 4, 5}), (std::array{true, false, true}));
  EXPECT_EQ(formats("nhwc", {0, 3, 4, 5}), (std::array{true, false, false}));
  EXPECT_EQ(Format::parse("contiguous").bind({2, 0, 4}).outer_strides(), (Dims{4, 4, 1}));
  EXPECT_EQ(Format::parse("channels_last").bind({2, 0, 4, 5}).outer_strides(), (Dims{0, 1, 0, 0}));
  EXPECT_TRUE(Layout::strided({2, 0, 4, 4}, {0, 1, 0, 0}).contiguous_in(MemoryFormat::channels_last));
  EXPECT_FALSE(Layout::strided({2, 0, 4, 4}, {16, 1, 4, 1}).contiguous_in(MemoryFormat::channels_last));
  EXPECT_FALSE(Layout::strided({2, 0, 4, 4}, {0, 2, 0, 0}).contiguous_in(MemoryFormat::channels_last));
  // The stride that would be right is 2^80, of which 64 bits are 0.
  const int64_t k = int64_t{1} << 40;
  EXPECT_FALSE(Layout::strided({0, k, k, k}, {0, 1, 0, k}).contiguous_in(MemoryFormat::channels_last));
  // channels_last strides of (1,64,5,4) as PyTorch prints them.
  EXPECT_EQ(Format::parse("channels_last").bind({1, 64, 5, 4}).outer_strides(), (Dims{1280, 1, 256, 64}));
}

}  // namespace
}  // namespace relayout
