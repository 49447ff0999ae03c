// Each answer of decide.h against a loop over all indices, on random layouts of small extents; and the answers that
// people ask for by name.
#include "relayout/core/decide.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "relayout/core/view.h"
#include "relayout/core/wide.h"
#include "tests/support/random_layouts.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

using test::code_of;
using test::each_index;
using test::RandomLayouts;

using test::bound;

TEST(Difference, EqualsALoop) {
  RandomLayouts random(1);
  int same = 0;
  for (int k = 0; k < 4000; ++k) {
    const Dims dims = random.dims();
    const Layout a = random.layout(dims);
    // Half of them differ in few elements: one digit's stride, or the offset.
    Layout b = random.layout(dims);
    if (k % 2 == 0) {
      std::vector<Digits> digits;
      for (int d = 0; d < dims.size(); ++d) digits.push_back(a.digits_of(d));
      Digits& list = digits[static_cast<std::size_t>(random.up_to(dims.size() - 1))];
      list[static_cast<int>(random.up_to(list.size() - 1))].stride += random.up_to(1);
      b = Layout::from_digits(dims, digits, a.offset0());
    }
    std::optional<Dims> first;
    int64_t count = 0;
    each_index(dims, [&](const Dims& i) {
      if (a.offset(i) == b.offset(i)) return;
      if (!first) first = i;
      ++count;
    });
    const auto found = difference(a, b);
    ASSERT_EQ(found.has_value(), first.has_value()) << digits_expression(a) << " " << digits_expression(b);
    same += !found;
    if (!found) continue;
    EXPECT_EQ(found->index, *first) << digits_expression(a) << " " << digits_expression(b);
    EXPECT_EQ(found->count, count);
    EXPECT_EQ(found->offset_a, a.offset(*first));
    EXPECT_EQ(found->offset_b, b.offset(*first));
  }
  EXPECT_GT(same, 400);
}

TEST(Difference, OfTags) {
  const Dims dims{2, 17, 5, 4};
  const auto found = difference(bound("nchw", dims), bound("nhwc", dims));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->index, (Dims{0, 0, 0, 1}));
  EXPECT_EQ(found->offset_a, 1);
  EXPECT_EQ(found->offset_b, 17);
  EXPECT_FALSE(difference(bound("nchw", {2, 1, 5, 4}), bound("nhwc", {2, 1, 5, 4})));
  // Large extents are counted without visiting each element.
  const Dims large{1 << 10, 1 << 10, 1 << 10, 1 << 10};
  EXPECT_EQ(difference(bound("abcd", large), bound("abdc", large))->count, (int64_t{1} << 40) - (int64_t{1} << 30));
  EXPECT_EQ(code_of([] { difference(Layout::contiguous({2}), Layout::contiguous({3})); }), ErrorCode::invalid_argument);
}

TEST(Difference, CountsLargeExtentsByAFormula) {
  // Every index but 0 differs; a table of all differences would need a gigabyte.
  const int64_t many = 14'999'999;
  EXPECT_EQ(difference(Layout::strided({many}, {1}), Layout::strided({many}, {2}))->count, many - 1);
  const int64_t more = int64_t{1} << 40;
  EXPECT_EQ(difference(Layout::strided({more}, {1}), Layout::strided({more}, {2}, 2))->count, more);
  EXPECT_EQ(difference(Layout::strided({more}, {3}), Layout::strided({more}, {2}, 1000))->count, more - 1);
  // Offsets i * k + j and i + j * k are equal where i = j.
  const int64_t k = 1 << 20;
  EXPECT_EQ(difference(Layout::strided({k, k}, {k, 1}), Layout::strided({k, k}, {1, k}))->count, k * k - k);
  // Two digits go by the formula; the other two have 2^22 differences, too many for the table.
  const int64_t h = 1 << 11;
  const Layout wide = Layout::strided({h, h, h, h}, {1, h, h * h, h * h * h});
  EXPECT_FALSE(difference(wide, Layout::strided({h, h, h, h}, {h * h * h, h * h * 2, h * 5, 1}))->count);
}

TEST(Congruent, OfLargeModuli) {
  __extension__ using Unsigned = unsigned __int128;
  std::mt19937_64 random(8);
  int solved = 0;
  for (int k = 0; k < 20'000; ++k) {
    const auto number = [&] { return Wide{1} + (random() >> (random() % 64)); };
    const Wide factor = number(), modulus = number(), low = number(), sum = number() - number();
    const auto found = congruent(factor, sum, modulus, low);
    if (!found) continue;
    ++solved;
    EXPECT_TRUE(found->first >= low && found->first - low < found->step);
    const auto rest = [&](Wide x) {
      return (static_cast<Unsigned>(factor % modulus) * static_cast<Unsigned>(x % modulus)) %
             static_cast<Unsigned>(modulus);
    };
    EXPECT_TRUE(rest(found->first) == static_cast<Unsigned>((sum % modulus + modulus) % modulus));
    EXPECT_TRUE(rest(found->first + found->step) == rest(found->first));
  }
  EXPECT_GT(solved, 5'000);
}

/// Layouts whose offsets, differences of offsets or extents come near the limits of 64 bits.
TEST(Limits, DifferenceAndOrder) {
  const int64_t big = (int64_t{1} << 61) - 1, most = std::numeric_limits<int64_t>::max();
  const Layout up = Layout::strided({4}, {big}), down = Layout::strided({4}, {-big}, 3 * big);
  const auto found = difference(down, up);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->index, (Dims{0}));
  EXPECT_EQ(found->offset_a, 3 * big);
  EXPECT_EQ(found->offset_b, 0);
  EXPECT_EQ(found->count, 4);
  EXPECT_EQ(same_memory_order(down, up).answer, Answer::no);
  EXPECT_EQ(same_memory_order(up, up).answer, Answer::yes);
  const Overlap shared = overlap(up, down);
  EXPECT_EQ(shared.answer, Answer::yes);
  EXPECT_EQ(up.offset(shared.index_a), down.offset(shared.index_b));
  // The digits that both have in common reach up to index 7 of the second layout, behind its capacity.
  const std::vector<Digits> split{{{4, 1}, {2, 4}}};
  const Layout blocked = Layout::from_digits({5}, split), plain = Layout::strided({5}, {int64_t{3} << 59});
  EXPECT_EQ(same_memory_order(blocked, plain).answer, Answer::yes);
  EXPECT_EQ(difference(blocked, plain)->count, 4);
  // No element, beside an extent that has no product with another.
  const Layout none = Layout::contiguous({0, int64_t{1} << 62, int64_t{1} << 62});
  EXPECT_FALSE(difference(none, none));
  EXPECT_EQ(same_memory_order(none, none).answer, Answer::yes);
  EXPECT_EQ(overlap(none, up).answer, Answer::no);
  EXPECT_FALSE(not_dense(none));
  // A scalar may lie at any offset but the last one, whose span would be 2^63.
  EXPECT_EQ(code_of([&] { Layout::strided({}, {}, most); }), ErrorCode::overflow);
  EXPECT_EQ(code_of([&] { Layout::strided({2}, {-1}, most); }), ErrorCode::overflow);
  const Layout scalar = Layout::strided({}, {}, most - 1);
  EXPECT_EQ(scalar.span(), most);
  EXPECT_EQ(difference(scalar, Layout())->offset_a, most - 1);
  EXPECT_EQ(overlap(scalar, scalar).answer, Answer::yes);
  EXPECT_EQ(same_memory_order(scalar, Layout()).answer, Answer::yes);
}

Answer order_by_loop(const Layout& a, const Layout& b) {
  std::vector<std::pair<int64_t, int64_t>> offsets;
  each_index(a.dims(), [&](const Dims& i) { offsets.emplace_back(a.offset(i), b.offset(i)); });
  for (const auto& x : offsets) {
    for (const auto& y : offsets) {
      if ((x.first < y.first) != (x.second < y.second)) return Answer::no;
    }
  }
  return Answer::yes;
}

TEST(MemoryOrder, EqualsALoop) {
  RandomLayouts random(3);
  int yes = 0;
  for (int k = 0; k < 3000; ++k) {
    const Dims dims = random.dims();
    const Layout a = random.layout(dims);
    Layout b = random.layout(dims);
    if (k % 3 == 0) {  // the same order with gaps
      std::vector<Digits> digits;
      for (int d = 0; d < dims.size(); ++d) {
        digits.push_back(a.digits_of(d));
        for (Digit& digit : digits.back()) digit.stride *= 3;
      }
      b = Layout::from_digits(dims, digits, 3 * a.offset0());
    }
    const MemoryOrder found = same_memory_order(a, b);
    ASSERT_EQ(found.answer, order_by_loop(a, b)) << digits_expression(a) << " " << digits_expression(b);
    if (found.answer == Answer::yes) {
      ++yes;
      continue;
    }
    EXPECT_NE(a.offset(found.i) < a.offset(found.j), b.offset(found.i) < b.offset(found.j))
        << digits_expression(a) << " " << digits_expression(b);
  }
  EXPECT_GT(yes, 600);
}

TEST(MemoryOrder, OfTags) {
  const Dims dims{20, 170, 50, 40};
  EXPECT_EQ(same_memory_order(bound("nhwc", dims), bound("nhwc;align=64", dims)).answer, Answer::yes);
  EXPECT_EQ(same_memory_order(bound("nhwc", dims), bound("nChw8c", dims)).answer, Answer::no);
}

TEST(MemoryOrder, OfOppositeSigns) {
  // Both are nested, and index 5 would tell the digits of dim 0 apart. With an extent of 5 there is none.
  const int64_t many = 1 << 22;
  const Layout a = bound("digits:(4,-1)(2,4)|(4194304,8)@3", {5, many});
  const Layout b = bound("digits:(4,-2)(2,1)|(4194304,8)@6", {5, many});
  EXPECT_EQ(same_memory_order(a, b).answer, Answer::yes);
  const Dims longer{6, many};
  const Layout c = bound("digits:(4,-1)(2,4)|(4194304,8)@3", longer);
  const Layout d = bound("digits:(4,-2)(2,1)|(4194304,8)@6", longer);
  const MemoryOrder found = same_memory_order(c, d);
  ASSERT_EQ(found.answer, Answer::no);
  EXPECT_NE(c.offset(found.i) < c.offset(found.j), d.offset(found.i) < d.offset(found.j));
}

TEST(MemoryOrder, OfNestedDigitsInAnyOrder) {
  // One dim of three digits, of strides that are nested in any order and point either way, against a loop.
  RandomLayouts random(7);
  int yes = 0;
  for (int k = 0; k < 6000; ++k) {
    const auto nested = [&] {
      std::vector<int> order{0, 1, 2};
      for (int i = 2; i > 0; --i)
        std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(random.up_to(i))]);
      Digits digits{{2, 0}, {3, 0}, {2, 0}};
      int64_t stride = 1;
      for (const int digit : order) {
        digits[digit].stride = random.up_to(1) == 0 ? stride : -stride;
        stride *= digits[digit].extent;
      }
      return digits;
    };
    const Dims dims{1 + random.up_to(11)};
    const Layout a = Layout::from_digits(dims, std::vector{nested()}, 20);
    const Layout b = Layout::from_digits(dims, std::vector{nested()}, 20);
    const MemoryOrder found = same_memory_order(a, b);
    ASSERT_EQ(found.answer, order_by_loop(a, b))
        << digits_expression(a) << " " << digits_expression(b) << " " << dims[0];
    yes += found.answer == Answer::yes;
    if (found.answer == Answer::yes) continue;
    EXPECT_NE(a.offset(found.i) < a.offset(found.j), b.offset(found.i) < b.offset(found.j));
  }
  EXPECT_GT(yes, 400);
}

TEST(Viewable, TheCopyHasTheView) {
  RandomLayouts random(4);
  int copies = 0;
  for (int k = 0; k < 3000; ++k) {
    const Dims dims = random.dims();
    const Layout layout = random.layout(dims);
    // Other dims of as many elements: the old ones merged and split at random.
    Dims want;
    int64_t rest = layout.elements();
    for (int64_t divisor = 2; divisor <= rest && want.size() < 5;) {
      if (rest % divisor == 0 && random.up_to(2) > 0) {
        want.push_back(divisor);
        rest /= divisor;
      } else {
        ++divisor;
      }
    }
    want.push_back(rest);
    const Viewable found = viewable(layout, want);
    ASSERT_NE(found.view.has_value(), found.copy.has_value());
    EXPECT_EQ(found.axes.empty(), found.view.has_value());
    if (found.view) {
      EXPECT_EQ(*found.view, view(layout, want));
      continue;
    }
    ++copies;
    EXPECT_EQ(code_of([&] { view(layout, want); }), ErrorCode::needs_copy);
    EXPECT_EQ(found.copy->dims(), layout.dims());
    EXPECT_TRUE(found.copy->dense());
    EXPECT_NO_THROW(view(*found.copy, want));
  }
  EXPECT_GT(copies, 300);
}

TEST(Viewable, TheCheapestCopyKeepsTheOtherDims) {
  // Heads and their channels are to be joined, and the batch is innermost in memory: it stays there.
  const Layout heads = Layout::strided({8, 4, 16}, {1, 8, 64});
  const Viewable found = viewable(heads, {8, 64});
  EXPECT_EQ(found.axes, "1 and 2");
  EXPECT_EQ(found.copy->outer_strides(), (Dims{1, 128, 8}));
}

TEST(NotDense, EqualsALoop) {
  RandomLayouts random(5);
  int holes = 0, collisions = 0;
  for (int k = 0; k < 4000; ++k) {
    const Layout layout = random.layout(random.dims());
    const auto found = not_dense(layout);
    ASSERT_EQ(found.has_value(), !layout.dense()) << digits_expression(layout);
    if (!found) continue;
    if (found->collision) {
      ++collisions;
      EXPECT_EQ(layout.offset(found->collision->first), layout.offset(found->collision->second));
      EXPECT_NE(found->collision->first, found->collision->second);
      continue;
    }
    std::vector<int64_t> offsets;
    each_index(layout.dims(), [&](const Dims& i) { offsets.push_back(layout.offset(i)); });
    std::ranges::sort(offsets);
    std::optional<int64_t> hole;
    for (std::size_t i = 1; i < offsets.size() && !hole; ++i) {
      if (offsets[i] > offsets[i - 1] + 1) hole = offsets[i - 1] + 1;
    }
    EXPECT_EQ(found->hole, hole) << digits_expression(layout);
    holes += hole.has_value();
  }
  EXPECT_GT(holes, 400);
  EXPECT_GT(collisions, 400);
}

}  // namespace
}  // namespace relayout
