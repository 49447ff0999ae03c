// The inverse as a layout: its laws over whole domains, and that layouts which are refused have no inverse.
#include "relayout/core/inverse.h"

#include <gtest/gtest.h>

#include <string>

#include "relayout/core/view.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

using test::each_index;
using test::error_of;

/// By offset, the row-major number of its index. Empty unless each offset from 0 to elements() - 1 has exactly one
/// index, no index lies beyond, and there is no padding.
std::vector<int64_t> numbers_by_offset(const Layout& layout) {
  std::vector<int64_t> out(static_cast<std::size_t>(layout.elements()), -1);
  if (layout.padded()) return {};
  bool one_each = true;
  int64_t number = 0;
  each_index(layout.dims(), [&](const Dims& index) {
    const int64_t offset = layout.offset(index);
    if (offset >= layout.elements() || out[static_cast<std::size_t>(offset)] >= 0)
      one_each = false;
    else
      out[static_cast<std::size_t>(offset)] = number;
    ++number;
  });
  return one_each ? out : std::vector<int64_t>{};
}

/// Checks the laws if there is an inverse; if it is refused, checks that there is none. Returns whether there is one.
bool check(const Layout& layout, const std::string& what) {
  const auto numbers = numbers_by_offset(layout);
  const bool exists = layout.empty() || !numbers.empty();
  EXPECT_EQ(exists, layout.empty() || (layout.dense() && layout.offset_range().first == 0)) << what;
  if (!exists) {
    const Error error = error_of([&] { inverse_layout(layout); });
    // A layout may have both gaps and shared offsets. Then the error may name either.
    if (error.code() == ErrorCode::not_injective)
      EXPECT_FALSE(layout.injective()) << what;
    else
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << what;
    return false;
  }
  const Layout inverse = inverse_layout(layout);
  EXPECT_EQ(inverse.dims(), Dims{layout.elements()}) << what;
  for (std::size_t offset = 0; offset < numbers.size(); ++offset) {
    EXPECT_EQ(inverse.offset({static_cast<int64_t>(offset)}), numbers[offset]) << what << " at " << offset;
  }
  if (layout.ndims() > 0 && !layout.empty()) {
    EXPECT_TRUE(inverse_layout(inverse) == merge(layout, 0, layout.ndims() - 1)) << what;
  }
  return true;
}

TEST(Inverse, TheExampleOfTheHeader) {
  const Layout nhwc = Format::parse("nhwc").bind({2, 3, 5, 4});
  const Layout back = inverse_layout(nhwc);
  const Digits expected{{3, 20}, {4, 1}, {5, 4}, {2, 60}};
  EXPECT_EQ(back.digits_of(0), expected);
  EXPECT_EQ(nhwc.offset({1, 2, 0, 3}), 71);
  EXPECT_EQ(back.offset({71}), 103);
}

TEST(Inverse, FormatsWithAndWithoutTails) {
  int64_t found = 0, refused = 0;
  for (const char* tag : {"nchw", "nhwc", "chwn", "acbd", "nChw4c", "nChw2c", "ABcd4b2a", "ABcd2a4b", "ABcd4b2a2b",
                          "aBcD2d2b", "nhwc@3", "nh|Cw4c"}) {
    for (const Dims& dims : {Dims{2, 8, 3, 4}, {4, 4, 2, 2}, {1, 8, 1, 1}, {2, 6, 3, 5}, {3, 1, 1, 7}, {2, 0, 3, 4}}) {
      ++(check(Format::parse(tag).bind(dims), std::string(tag) + " " + join(dims, "x")) ? found : refused);
    }
  }
  EXPECT_GT(found, 30);
  EXPECT_GT(refused, 15);
}

TEST(Inverse, EveryPermutationOfAFlippedTensor) {
  const Layout layout = Layout::contiguous({2, 3, 4});
  int order[] = {0, 1, 2};
  do {
    for (int flipped = 0; flipped < 8; ++flipped) {
      Layout view = permute(layout, order);
      for (int d = 0; d < 3; ++d) {
        if (flipped >> d & 1) view = flip(view, d);
      }
      EXPECT_TRUE(check(view, "flipped " + std::to_string(flipped)));
    }
  } while (std::ranges::next_permutation(order).found);
}

TEST(Inverse, AllSmallStrides) {
  int64_t found = 0;
  for (const Dims& dims : {Dims{2, 2}, {3, 2}, {1, 3}, {2, 4}, {4, 3}}) {
    for (int64_t a = -5; a <= 9; ++a) {
      for (int64_t b = -5; b <= 9; ++b) {
        const int64_t low = std::min<int64_t>(0, (dims[0] - 1) * a) + std::min<int64_t>(0, (dims[1] - 1) * b);
        for (int64_t offset0 = -low; offset0 <= 1 - low; ++offset0) {
          found += check(Layout::strided(dims, {a, b}, offset0),
                         join(dims, "x") + " strides " + join(Dims{a, b}) + " at " + std::to_string(offset0));
        }
      }
    }
  }
  EXPECT_GT(found, 20);
}

TEST(Inverse, AllSmallBlocks) {
  // Two digits of one dim and one of another, any strides.
  for (int64_t a = 0; a <= 8; ++a) {
    for (int64_t b = 0; b <= 8; ++b) {
      for (int64_t c = 0; c <= 8; ++c) {
        const std::vector<Digits> digits{Digits{{2, a}, {3, b}}, Digits{{2, c}}};
        for (const Dims& dims : {Dims{6, 2}, {5, 2}, {2, 2}}) {
          check(Layout::from_digits(dims, digits), join(dims, "x") + " steps " + join(Dims{a, b, c}));
        }
      }
    }
  }
}

TEST(Inverse, ScalarsAndNothing) {
  EXPECT_TRUE(check(Layout(), "scalar"));
  EXPECT_FALSE(check(Layout::strided({}, {}, 2), "scalar at 2"));
  EXPECT_EQ(inverse_layout(Layout::strided({3, 0}, {1, 1}, 5)), Layout::contiguous({0}));
}

TEST(Inverse, ErrorsSayWhy) {
  const auto message = [](const Layout& layout) { return error_of([&] { inverse_layout(layout); }).message(); };
  EXPECT_EQ(message(Format::parse("nChw8c").bind({2, 17, 5, 4})),
            "inverse: dim 1 is padded from 17 to 24, and the offsets of padding have no index");
  EXPECT_EQ(message(Layout::strided({2, 3}, {4, 1})), "inverse: no index has offset 3");
  EXPECT_EQ(message(Layout::strided({2, 3}, {3, 1}, 7)), "inverse: the first offset is 7, not 0");
  EXPECT_EQ(message(Layout::strided({2, 3}, {0, 1})),
            "inverse: indices (0,0) and (1,0) share offset 0, so it has no single index");
}

}  // namespace
}  // namespace relayout
