// Windows, diagonals and strides over a buffer: the law of views over whole domains, with blocks and padding, and what
// needs a copy. Random chains against NumPy and PyTorch are tests/views.
#include <gtest/gtest.h>

#include "relayout/core/format.h"
#include "relayout/core/view.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

using test::code_of;
using test::each_index;
using test::error_of;

const char* const kWindowLayouts[] = {"abcd",   "acdb",           "aBcd4b", "ABcd2b4a2b", "strides:400,90,-8,2",
                                      "aBcd8b", "strides:0,1,0,3"};
const Dims kWindowDims{3, 17, 4, 5};

template <typename Map>
void expect_window(const Layout& view, const Layout& layout, const Map& map) {
  each_index(view.dims(),
             [&](const Dims& index) { ASSERT_EQ(view.offset(index), layout.offset(map(index))) << join(index); });
}

/// No padding of a view is an element of the layout, or lies outside its buffer.
void expect_own_padding(const Layout& view, const Layout& layout) {
  each_index(view.padded_dims(), [&](const Dims& index) {
    bool padding = false;
    for (int d = 0; d < view.ndims(); ++d) padding |= index[d] >= view.dim(d);
    if (!padding) return;
    Dims found;
    const int64_t offset = view.offset(index);
    ASSERT_LT(offset, layout.span());
    ASSERT_NE(layout.inverse(offset, &found), Slot::element) << join(index);
  });
}

TEST(Unfold, EveryWindow) {
  int views = 0, copies = 0;
  for (const char* text : kWindowLayouts) {
    const Layout l = Format::parse(text).bind(kWindowDims);
    for (int64_t size = 0; size <= 17; ++size) {
      for (int64_t step = 1; step <= 18; ++step) {
        try {
          const Layout v = unfold(l, 1, size, step);
          ++views;
          ASSERT_EQ(v.dims(), (Dims{3, (17 - size) / step + 1, 4, 5, size}));
          expect_window(v, l, [&](const Dims& i) { return Dims{i[0], i[1] * step + i[4], i[2], i[3]}; });
          if (l.injective()) expect_own_padding(v, l);
        } catch (const Error& error) {
          ASSERT_EQ(error.code(), ErrorCode::needs_copy);
          ASSERT_EQ(error.value(), "1");
          ++copies;
        }
      }
    }
  }
  EXPECT_GT(views, 1300);
  EXPECT_GT(copies, 400);
  const Layout blocked = Format::parse("aBcd4b").bind({1, 16, 1, 1});
  EXPECT_EQ(unfold(blocked, 1, 4, 4).dims(), (Dims{1, 4, 1, 1, 4}));
  EXPECT_EQ(unfold(blocked, 1, 8, 4).dims(), (Dims{1, 3, 1, 1, 8}));
  EXPECT_EQ(unfold(Format::parse("aBcd4b").bind({1, 16, 2, 1}), 1, 8, 4).dims(), (Dims{1, 3, 2, 1, 8}));
  EXPECT_EQ(code_of([&] { unfold(Format::parse("aBcd4b").bind({1, 16, 2, 1}), 1, 3, 2); }), ErrorCode::needs_copy);
}

TEST(Unfold, Refusals) {
  const Layout l = Layout::contiguous({2, 3});
  EXPECT_EQ(error_of([&] { unfold(l, 1, 4, 1); }).message(),
            "unfold: windows of 4 at steps of 1 of dim 1, whose extent is 3");
  EXPECT_EQ(code_of([&] { unfold(l, 1, -1, 1); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { unfold(l, 1, 2, 0); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { unfold(l, 2, 2, 1); }), ErrorCode::invalid_argument);
  EXPECT_EQ(unfold(Layout::contiguous({0, 3}), 0, 0, 2).dims(), (Dims{1, 3, 0}));
  EXPECT_EQ(code_of([] { unfold(Layout::contiguous(Dims(12, 1)), 0, 1, 1); }), ErrorCode::limit);
}

TEST(Diagonal, EveryOffsetOfEveryPair) {
  int views = 0, copies = 0;
  for (const char* text : {"abcd", "acdb", "aBcd4b", "ABcd2b4a2b", "strides:400,90,-8,2", "AbCd4a4c", "AbCd4a2c",
                           "AbCd4c6a", "aBcd8b", "strides:0,1,0,3"}) {
    for (const Dims& dims : {kWindowDims, Dims{12, 5, 12, 2}, Dims{7, 8, 7, 3}}) {
      const Layout l = Format::parse(text).bind(dims);
      for (int d0 = 0; d0 < 4; ++d0) {
        for (int d1 = 0; d1 < 4; ++d1) {
          if (d0 == d1) continue;
          for (int64_t offset = -13; offset <= 13; ++offset) {
            try {
              const Layout v = diagonal(l, offset, d0, d1);
              ++views;
              expect_window(v, l, [&](const Dims& i) {
                Dims index(4, 0);
                for (int d = 0, k = 0; d < 4; ++d) {
                  if (d != d0 && d != d1) index[d] = i[k++];
                }
                index[d0] = i[2] + std::max<int64_t>(-offset, 0);
                index[d1] = i[2] + std::max<int64_t>(offset, 0);
                return index;
              });
              if (l.injective()) expect_own_padding(v, l);
            } catch (const Error& error) {
              ASSERT_EQ(error.code(), ErrorCode::needs_copy);
              ++copies;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(views, 7000);
  EXPECT_GT(copies, 200);
}

TEST(Diagonal, LengthsAndRefusals) {
  const Layout l = Layout::contiguous({2, 3});
  EXPECT_EQ(diagonal(l).dims(), (Dims{2}));
  EXPECT_EQ(diagonal(l, 2).dims(), (Dims{1}));
  EXPECT_EQ(diagonal(l, 3).dims(), (Dims{0}));
  EXPECT_EQ(diagonal(l, std::numeric_limits<int64_t>::min()).dims(), (Dims{0}));
  EXPECT_EQ(diagonal(l, std::numeric_limits<int64_t>::max()).dims(), (Dims{0}));
  EXPECT_EQ(diagonal(l, -1, 1, 0).offset0(), 1);
  EXPECT_EQ(code_of([&] { diagonal(l, 0, 1, -1); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] { diagonal(Layout::contiguous({3})); }), ErrorCode::invalid_argument);
}

TEST(AsStrided, StaysInsideTheLayout) {
  const Layout l = Layout::strided({3, 4}, {4, 1}, 2);
  EXPECT_EQ(as_strided(l, {2, 3}, {5, 1}), Layout::strided({2, 3}, {5, 1}, 2));
  EXPECT_EQ(as_strided(l, {2, 2}, {-1, 3}, 1).offset({1, 1}), 3);
  EXPECT_EQ(as_strided(l, {14}, {1}, 0).span(), 14);
  EXPECT_EQ(code_of([&] { as_strided(l, {14}, {1}, 1); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { as_strided(l, {2}, {-1}, 0); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { as_strided(l, {2}, {}, 0); }), ErrorCode::invalid_argument);
  EXPECT_EQ(as_strided(l, {0}, {1}, 100).elements(), 0);
}

TEST(Flatten, IsAViewWithOneStride) {
  const Layout nhwc = Format::parse("nhwc").bind({2, 3, 4, 5});
  EXPECT_EQ(flatten(nhwc, 2), Layout::strided({2, 3, 20}, {60, 1, 3}));
  EXPECT_EQ(flatten(nhwc, -2, -1), flatten(nhwc, 2, 3));
  EXPECT_EQ(flatten(Layout::contiguous({2, 3, 4})), Layout::contiguous({24}));
  EXPECT_EQ(flatten(Layout()), Layout::contiguous({1}));
  EXPECT_EQ(flatten(nhwc, 1, 1), nhwc);
  EXPECT_EQ(flatten(Layout::contiguous({2, 0, 3})).dims(), (Dims{0}));
  EXPECT_EQ(error_of([&] { flatten(nhwc, 1); }).value(), "1 and 2");
  EXPECT_EQ(code_of([&] { flatten(nhwc, 2, 1); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { flatten(nhwc, 0, 4); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] {
              flatten(Layout::contiguous({int64_t{1} << 40, int64_t{1} << 40, 0}), 0, 1);
            }),
            ErrorCode::overflow);
}

}  // namespace
}  // namespace relayout
