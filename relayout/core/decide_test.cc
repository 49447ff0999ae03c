// Each answer of decide.h against a loop over all indices, on random layouts of small extents; and the answers that
// people ask for by name.
#include "relayout/core/decide.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "relayout/core/view.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

using test::code_of;
using test::each_index;

Layout bound(std::string_view text, const Dims& dims) { return Format::parse(text).bind(dims); }

/// Layouts of any digits: nested and not, repeated, reversed, padded.
class RandomLayouts {
 public:
  explicit RandomLayouts(uint32_t seed) : random_(seed) {}

  int64_t up_to(int64_t most) { return std::uniform_int_distribution<int64_t>(0, most)(random_); }

  Dims dims() {
    Dims out;
    for (auto rank = up_to(3); rank >= 0; --rank) out.push_back(up_to(12) == 0 ? 0 : 1 + up_to(5));
    return out;
  }

  Layout layout(const Dims& dims) {
    std::vector<Digits> digits;
    const bool tame = up_to(1) == 0;  // strides as of a dense array, in some order
    int64_t next = 1, low = 0;
    for (const int64_t dim : dims) {
      Digits list;
      int64_t capacity = 1;
      do {
        const int64_t extent = up_to(2) == 0 ? 1 + up_to(3) : std::max<int64_t>(1, dim);
        int64_t stride = tame ? next : up_to(9);
        if (up_to(7) == 0) stride = -stride;
        list.push_back({extent, stride});
        if (stride < 0) low += (extent - 1) * stride;
        capacity *= extent;
        next *= extent;
      } while (capacity < dim);
      digits.push_back(list);
    }
    return Layout::from_digits(dims, digits, -low + up_to(3));
  }

 private:
  std::mt19937 random_;
};

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

TEST(Overlap, EqualsALoop) {
  RandomLayouts random(2);
  int yes = 0, no = 0;
  for (int k = 0; k < 4000; ++k) {
    const Layout a = random.layout(random.dims());
    Layout b = random.layout(random.dims());
    if (k % 2 == 0) {  // further on in the buffer: behind a, or inside it
      std::vector<Digits> digits;
      for (int d = 0; d < b.ndims(); ++d) digits.push_back(b.digits_of(d));
      b = Layout::from_digits(b.dims(), digits, b.offset0() + a.span() / (1 + k % 4 / 2));
    }
    std::map<int64_t, Dims> at;
    each_index(a.dims(), [&](const Dims& i) { at.emplace(a.offset(i), i); });
    bool meet = false;
    each_index(b.dims(), [&](const Dims& i) { meet = meet || at.contains(b.offset(i)); });
    const Overlap found = overlap(a, b);
    ASSERT_EQ(found.answer, meet ? Answer::yes : Answer::no) << digits_expression(a) << " " << digits_expression(b);
    (meet ? yes : no)++;
    if (!meet) continue;
    EXPECT_EQ(a.offset(found.index_a), found.offset);
    EXPECT_EQ(b.offset(found.index_b), found.offset);
    EXPECT_TRUE(std::equal(found.index_a.begin(), found.index_a.end(), a.dims().begin(), std::less<>()));
    EXPECT_TRUE(std::equal(found.index_b.begin(), found.index_b.end(), b.dims().begin(), std::less<>()));
  }
  EXPECT_GT(yes, 400);
  EXPECT_GT(no, 400);
}

TEST(Overlap, OfSlices) {
  const Layout whole = Layout::contiguous({1 << 20, 1 << 20});
  // Even and odd columns, and two halves of the rows, of a large array: decided at once.
  const Overlap columns = overlap(slice(whole, 1, 0, 1 << 20, 2), slice(whole, 1, 1, 1 << 20, 2));
  EXPECT_EQ(columns.answer, Answer::no);
  EXPECT_LT(columns.steps, 100);
  EXPECT_EQ(overlap(narrow(whole, 0, 0, 1 << 19), narrow(whole, 0, 1 << 19, 1 << 19)).answer, Answer::no);
  const Overlap block = overlap(narrow(whole, 0, 5, 10), narrow(narrow(whole, 1, 7, 3), 0, 14, 100));
  EXPECT_EQ(block.answer, Answer::yes);
  EXPECT_EQ(block.index_a[0], 9);
  EXPECT_EQ(block.index_b[0], 0);
  EXPECT_EQ(overlap(whole, Layout::contiguous({0, 3})).answer, Answer::no);
}

TEST(Overlap, IsNeverWrongWhereItGivesUp) {
  // Many strides of about one size, without a common divisor: an integer program. Its answer may be undecided.
  Dims dims, strides, others;
  for (int d = 0; d < 12; ++d) {
    dims.push_back(20);
    strides.push_back(1'000'000'007 + 7919 * d * d);
    others.push_back(1'000'000'123 + 104'729 * d);
  }
  const Layout a = Layout::strided(dims, strides), b = Layout::strided(dims, others, 1);
  const Overlap found = overlap(a, b, 100'000);
  EXPECT_TRUE(found.answer != Answer::yes || a.offset(found.index_a) == b.offset(found.index_b));
  EXPECT_LE(found.steps, 100'000);
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
