// Views: each law "view.offset(i) == layout.offset(map(i))" over whole domains, and what needs a copy.
#include "relayout/core/view.h"

#include <gtest/gtest.h>

#include <random>

#include "relayout/core/format.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

using test::code_of;
using test::each_index;
using test::error_of;

template <typename Map>
void expect_view(const Layout& view, const Layout& layout, const Map& map) {
  each_index(view.dims(),
             [&](const Dims& index) { ASSERT_EQ(view.offset(index), layout.offset(map(index))) << join(index); });
}

/// The index of `dims` at a row-major position.
Dims at_position(const Dims& dims, int64_t position) {
  Dims index(dims.size(), 0);
  for (int d = dims.size() - 1; d >= 0; --d) {
    index[d] = position % dims[d];
    position /= dims[d];
  }
  return index;
}

const char* const kLayouts[] = {"abcd",   "acdb",           "aBcd4b", "ABcd2b4a2b", "strides:400,90,-8,2",
                                "aBcd8b", "strides:0,1,0,3"};
const Dims kViewDims{3, 17, 4, 5};

TEST(View, PermuteConventions) {
  const Layout l = Format::parse("aBcd4b").bind(kViewDims);
  const int order[] = {2, 0, 3, 1};
  expect_view(permute(l, order), l, [&](const Dims& i) { return Dims{i[1], i[3], i[0], i[2]}; });
  EXPECT_EQ(permute(l, order).dims(), (Dims{4, 3, 5, 17}));       // out[i] = in[order[i]]
  EXPECT_EQ(permute_axes(l, order).dims(), (Dims{17, 5, 3, 4}));  // out[perm[i]] = in[i]
  EXPECT_EQ(transpose(l, 1, -1).dims(), (Dims{3, 5, 4, 17}));
  const int twice[] = {0, 0, 1, 2};
  EXPECT_EQ(code_of([&] { permute(l, twice); }), ErrorCode::invalid_argument);
}

TEST(View, SliceEveryRange) {
  int views = 0, copies = 0;
  for (const char* text : kLayouts) {
    const Layout l = Format::parse(text).bind(kViewDims);
    for (int64_t start = 0; start <= 17; ++start) {
      for (int64_t stop = start; stop <= 17; ++stop) {
        for (int64_t step : {1, 2, 3, 4, 5, 8, 16}) {
          try {
            const Layout v = slice(l, 1, start, stop, step);
            ++views;
            EXPECT_EQ(v.dim(1), (stop - start + step - 1) / step);
            expect_view(v, l, [&](const Dims& i) { return Dims{i[0], start + i[1] * step, i[2], i[3]}; });
            EXPECT_LE(v.span(), l.span()) << text;
            // Padding of the view is padding of the layout, too.
            if (!v.empty() && v.padded()) {
              Dims index(4, 0);
              for (index[1] = v.dim(1); index[1] < v.capacity(1); ++index[1])
                EXPECT_EQ(l.inverse(v.offset(index), nullptr), Slot::padding);
            }
          } catch (const Error& e) {
            ++copies;
            EXPECT_EQ(e.code(), ErrorCode::needs_copy) << e.what();
            EXPECT_NE(std::string_view(text).find_first_of("ABCD"), std::string_view::npos) << text;
          }
        }
      }
    }
  }
  EXPECT_GT(views, 5000);
  EXPECT_GT(copies, 100);
  const Layout l = Format::parse("aBcd4b").bind(kViewDims);
  EXPECT_EQ(slice(l, 1, 4, 12).dims(), (Dims{3, 8, 4, 5}));
  EXPECT_EQ(code_of([&] { slice(l, 1, 3, 7); }), ErrorCode::needs_copy);
  EXPECT_EQ(code_of([&] { slice(l, 1, 0, 18); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { narrow(l, 1, 9, std::numeric_limits<int64_t>::max()); }), ErrorCode::invalid_argument);
  const auto message = [&](const auto& view) { return error_of(view).message(); };
  EXPECT_EQ(message([&] { slice(l, 1, 3, 18, 2); }), "slice: the end 18 is over the extent 17 of dim 1");
  EXPECT_EQ(message([&] { slice(l, 1, -1, 3); }), "slice: the start -1 of dim 1 is below 0");
  EXPECT_EQ(message([&] { slice(l, 1, 3, 2); }), "slice: the start 3 of dim 1 is behind the end 2");
  EXPECT_EQ(message([&] { slice(l, 1, 3, 4, 0); }), "slice: the step 0 of dim 1 is below 1");
  EXPECT_EQ(message([&] { narrow(l, 1, 0, 99); }), "narrow: 0 + 99 is over the extent 17 of dim 1");
  EXPECT_EQ(message([&] { narrow(l, -3, 18, 0); }), "narrow: 18 + 0 is over the extent 17 of dim 1");
  EXPECT_EQ(message([&] { narrow(l, 1, -1, 2); }), "narrow: the start -1 of dim 1 is below 0");
  EXPECT_EQ(message([&] { narrow(l, 1, 2, -1); }), "narrow: the length -1 of dim 1 is below 0");
  EXPECT_EQ(message([&] { narrow(l, 1, 3, 4); }), "narrow: 3 + 4 of dim 1 cuts its blocks; copy it first");
  expect_view(select(l, 1, 16), l, [](const Dims& i) { return Dims{i[0], 16, i[1], i[2]}; });
}

TEST(View, SubmemoryRules) {
  const Layout l = Format::parse("aBcd4b").bind(kViewDims);
  const Layout sub = submemory(l, {1, 9, 2, 5}, {2, 8, 1, 0});
  expect_view(sub, l, [](const Dims& i) { return Dims{i[0] + 2, i[1] + 8, i[2] + 1, i[3]}; });
  EXPECT_EQ(sub.outer_strides(), l.outer_strides());
  const Layout inside = submemory(l, {1, 3, 4, 5}, {0, 4, 0, 0});  // a part of one block
  EXPECT_FALSE(inside.padded());
  expect_view(inside, l, [](const Dims& i) { return Dims{i[0], i[1] + 4, i[2], i[3]}; });
  const Layout levels = Format::parse("aBcd4b2b").bind(kViewDims);
  EXPECT_EQ(code_of([&] { submemory(levels, {1, 3, 4, 5}, {0, 8, 0, 0}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { submemory(l, {1, 4, 2, 5}, {0, 2, 0, 0}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { submemory(l, {1, 5, 2, 5}, {0, 4, 0, 0}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { submemory(l, {1, 4, 2, 5}, {3, 4, 0, 0}); }), ErrorCode::invalid_argument);
}

TEST(View, UnitDimsBroadcastAndFlip) {
  const Layout l = Format::parse("acb").bind({3, 1, 5});
  expect_view(expand(l, {2, -1, 4, 5}), l, [](const Dims& i) { return Dims{i[1], 0, i[3]}; });
  EXPECT_TRUE(expand(l, {3, 7, 5}).broadcast());
  EXPECT_EQ(squeeze(l).dims(), (Dims{3, 5}));
  EXPECT_EQ(unsqueeze(l, -1).dims(), (Dims{3, 1, 5, 1}));
  EXPECT_EQ(unsqueeze(l, 0).dims(), (Dims{1, 3, 1, 5}));
  EXPECT_EQ(code_of([&] { squeeze(l, 0); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { expand(l, {2, 1, 5}); }), ErrorCode::invalid_argument);
  for (const char* text : kLayouts) {
    const Layout whole = Format::parse(text).bind(kViewDims);
    for (int d = 0; d < 4; ++d) {
      if (whole.capacity(d) != whole.dim(d)) {
        EXPECT_EQ(code_of([&] { flip(whole, d); }), ErrorCode::needs_copy);
        continue;
      }
      expect_view(flip(whole, d), whole, [&](Dims i) {
        i[d] = kViewDims[d] - 1 - i[d];
        return i;
      });
      EXPECT_EQ(flip(flip(whole, d), d), whole);
    }
  }
}

TEST(View, SplitAndMergeAreInverse) {
  const Layout l = Format::parse("aBcd4b").bind({3, 24, 4, 5});
  const Layout parts = split(l, 1, {3, -1, 2});
  EXPECT_EQ(parts.dims(), (Dims{3, 3, 4, 2, 4, 5}));
  expect_view(parts, l, [](const Dims& i) { return Dims{i[0], (i[1] * 4 + i[2]) * 2 + i[3], i[4], i[5]}; });
  EXPECT_EQ(merge(parts, 1, 3), l);
  expect_view(merge(l, 0, 3), l, [&](const Dims& i) { return at_position(l.dims(), i[0]); });
  const Layout padded = Format::parse("aBcd4b").bind(kViewDims);
  EXPECT_EQ(code_of([&] { merge(padded, 0, 1); }), ErrorCode::needs_copy);
  EXPECT_EQ(merge(padded, 1, 3).dims(), (Dims{3, 340}));
  expect_view(merge(padded, 1, 3), padded, [&](const Dims& i) {
    return Dims{i[0], i[1] / 20, i[1] / 5 % 4, i[1] % 5};
  });
  EXPECT_EQ(code_of([&] { split(l, 1, {8, 3}); }), ErrorCode::needs_copy);
  EXPECT_EQ(code_of([&] { split(l, 1, {5, 5}); }), ErrorCode::invalid_argument);
}

// Compares every reshape of 2x3x4, and of views of it, with PyTorch's rule: it is a view if one stride for each new dim
// can reproduce all offsets.
TEST(View, ReshapeIsExactlyWhatStridesCanSay) {
  std::vector<Layout> layouts;
  for (const char* text : {"abc", "acb", "cba", "bac", "strides:24,8,2", "strides:12,4,1@3", "strides:0,4,1",
                           "strides:0,0,0", "strides:12,-4,-1", "aBc3b", "abC2c", "aCb2c"})
    layouts.push_back(Format::parse(text).bind({2, 3, 4}));
  std::vector<Dims> shapes;
  for (int64_t a = 1; a <= 24; ++a) {
    for (int64_t b = 1; a * b <= 24; ++b) {
      if (24 % (a * b) == 0) shapes.push_back({a, b, 24 / (a * b)});
    }
  }
  shapes.push_back({24});
  shapes.push_back({2, 3, 2, 2});
  shapes.push_back({1, 2, 1, 3, 4, 1});
  int views = 0, copies = 0;
  for (const Layout& l : layouts) {
    for (const Dims& shape : shapes) {
      Dims strides;
      bool possible = true;
      for (int d = 0; d < shape.size(); ++d) {
        Dims one(shape.size(), 0);
        one[d] = shape[d] > 1;
        int64_t position = 0;
        for (int k = 0; k < shape.size(); ++k) position = position * shape[k] + one[k];
        strides.push_back(l.offset(at_position(l.dims(), position)) - l.offset(at_position(l.dims(), 0)));
      }
      for (int64_t p = 0; p < 24; ++p) {
        const Dims index = at_position(shape, p);
        int64_t offset = l.offset(at_position(l.dims(), 0));
        for (int d = 0; d < shape.size(); ++d) offset += index[d] * strides[d];
        possible = possible && offset == l.offset(at_position(l.dims(), p));
      }
      try {
        const Layout v = view(l, shape);
        ++views;
        expect_view(v, l, [&](const Dims& i) {
          int64_t position = 0;
          for (int d = 0; d < shape.size(); ++d) position = position * shape[d] + i[d];
          return at_position(l.dims(), position);
        });
      } catch (const Error& e) {
        ++copies;
        EXPECT_EQ(e.code(), ErrorCode::needs_copy);
        EXPECT_FALSE(possible) << join(shape) << ": " << e.what();
      }
    }
  }
  EXPECT_GT(views, 100);
  EXPECT_GT(copies, 100);
}

TEST(View, ReshapeFindsAMissingExtentAndNamesTheAxesThatNeedACopy) {
  const Layout nhwc = Format::parse("nhwc").bind({2, 3, 4, 5});
  try {
    view(nhwc, {2, 60});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(e.message().find("axes 1 and 2"), std::string::npos) << e.message();
  }
  EXPECT_EQ(view(nhwc, {2, 3, 20}).dims(), (Dims{2, 3, 20}));
  EXPECT_EQ(view(Format::parse("aBcd4b").bind(kViewDims), {3, 17, -1}).dims(), (Dims{3, 17, 20}));
  EXPECT_EQ(view(Layout::contiguous({2, 0, 3}), {0, 7}).dims(), (Dims{0, 7}));
  EXPECT_EQ(code_of([&] { view(nhwc, {7, -1}); }), ErrorCode::invalid_argument);
}

// Blocks become dims where each of these has one stride. Otherwise the error says which merges and splits give the dims
// with several.
TEST(View, ReshapeOfBlocksNamesMergesAndSplits) {
  const Layout blocked = Format::parse("nChw8c").bind({2, 16, 5, 4});
  EXPECT_EQ(view(blocked, {2, 2, 8, 5, 4}), split(blocked, 1, {2, 8}));
  const auto message = [](const Layout& layout, const Dims& dims) {
    try {
      view(layout, dims);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::needs_copy);
      return e.message();
    }
    return std::string();
  };
  const auto says = [&](const Layout& layout, const Dims& dims, std::string_view steps) {
    return message(layout, dims).find("; " + std::string(steps) + " gives these dims, with several strides a dim") !=
           std::string::npos;
  };
  EXPECT_TRUE(says(blocked, {32, 5, 4}, "merge(0,1)")) << message(blocked, {32, 5, 4});
  EXPECT_TRUE(says(blocked, {2, 80, 4}, "merge(1,2)")) << message(blocked, {2, 80, 4});
  EXPECT_TRUE(says(blocked, {32, 1, 20}, "merge(2,3).unsqueeze(2).merge(0,1)")) << message(blocked, {32, 1, 20});
  EXPECT_TRUE(says(blocked, {8, 4, 5, 4}, "merge(0,1).split(0,8,4)")) << message(blocked, {8, 4, 5, 4});
  const Layout padded = Format::parse("nChw8c").bind({2, 17, 5, 4});
  EXPECT_EQ(message(padded, {34, 5, 4}).find("merge"), std::string::npos) << message(padded, {34, 5, 4});
}

TEST(View, ReshapeKeepsDimsThatStay) {
  const Dims shapes[] = {{1, 16, 5, 4}, {1, 17, 5, 4}, {2, 1, 5, 4}, {2, 3, 1, 1}, {1, 1, 1, 1}, {2, 17, 5, 4}};
  for (const char* text : {"abcd", "acdb", "aBcd8b", "ABcd2b4a2b", "dcba"}) {
    for (const Dims& dims : shapes) {
      const Layout l = Format::parse(text).bind(dims);
      EXPECT_EQ(view(l, dims), l) << text << " " << join(dims);
      EXPECT_EQ(view(l, dims).padded_dims(), l.padded_dims());
    }
  }
  const Layout blocked = Format::parse("aBcd8b").bind({1, 16, 5, 4});
  expect_view(view(blocked, {1, 16, 20}), blocked, [](const Dims& i) { return Dims{0, i[1], i[2] / 4, i[2] % 4}; });
  expect_view(view(blocked, {16, 1, 5, 2, 2}), blocked, [](const Dims& i) {
    return Dims{0, i[0], i[2], i[3] * 2 + i[4]};
  });
  const Layout unit_inside = Format::parse("aBcd8b").bind({2, 1, 5, 4});
  expect_view(view(unit_inside, {2, 20}), unit_inside, [](const Dims& i) { return Dims{i[0], 0, i[1] / 4, i[1] % 4}; });
}

TEST(View, SubmemoryKeepsThePaddingBehindTheBorder) {
  const Digits eight{{8, 1}};
  const Layout l = Layout::from_digits({5}, std::span(&eight, 1));
  EXPECT_EQ(submemory(l, {5}, {0}).padded_dims(), (Dims{8}));
  EXPECT_EQ(submemory(l, {3}, {2}).padded_dims(), (Dims{6}));
  EXPECT_EQ(submemory(l, {2}, {2}).padded_dims(), (Dims{2}));
}

TEST(View, ExtremesOverflowNothing) {
  constexpr int64_t kBig = int64_t{1} << 62;
  const Layout empty = Layout::contiguous({kBig, kBig, 0});
  EXPECT_EQ(code_of([&] { merge(empty, 0, 1); }), ErrorCode::overflow);
  EXPECT_EQ(unsqueeze(empty, 0).ndims(), 4);
  EXPECT_EQ(code_of([] { Layout::strided({0}, {1}, std::numeric_limits<int64_t>::min()); }),
            ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace relayout
