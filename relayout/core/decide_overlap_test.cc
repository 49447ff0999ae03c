// Whether two layouts share an offset: against a loop over all indices, for slices of one array, and where the search
// gives up.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>

#include "relayout/core/decide.h"
#include "relayout/core/view.h"
#include "tests/support/random_layouts.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

using test::each_index;
using test::RandomLayouts;

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

/// A slice of each dim of `whole`, of any step in either direction.
Layout random_slice(RandomLayouts& random, Layout whole) {
  for (int d = 0; d < whole.ndims(); ++d) {
    const int64_t begin = random.up_to(whole.dim(d) / 2);
    whole = slice(whole, d, begin, begin + 1 + random.up_to(whole.dim(d) - begin - 1), 1 + random.up_to(4));
    if (random.up_to(3) == 0) whole = flip(whole, d);
  }
  return whole;
}

TEST(Overlap, OfSlicesWithAnySteps) {
  RandomLayouts random(6);
  int yes = 0, no = 0;
  for (int k = 0; k < 3000; ++k) {
    Dims dims;
    for (int d = 0; d < 3; ++d) dims.push_back(2 + random.up_to(9));
    const Layout whole = permute(Layout::contiguous(dims), std::array{2, 0, 1});
    const Layout a = random_slice(random, whole), b = random_slice(random, whole);
    std::map<int64_t, Dims> at;
    each_index(a.dims(), [&](const Dims& i) { at.emplace(a.offset(i), i); });
    bool meet = false;
    each_index(b.dims(), [&](const Dims& i) { meet = meet || at.contains(b.offset(i)); });
    const Overlap found = overlap(a, b);
    ASSERT_EQ(found.answer, meet ? Answer::yes : Answer::no) << digits_expression(a) << " " << digits_expression(b);
    EXPECT_LT(found.steps, 100) << digits_expression(a) << " " << digits_expression(b);
    (meet ? yes : no)++;
    if (!meet) continue;
    EXPECT_EQ(a.offset(found.index_a), found.offset);
    EXPECT_EQ(b.offset(found.index_b), found.offset);
  }
  EXPECT_GT(yes, 200);
  EXPECT_GT(no, 200);
}

TEST(Overlap, OfSlicesOfLargeArrays) {
  const int64_t rows = 1 << 26;
  const Layout narrow_rows = Layout::contiguous({rows, 4});
  const Overlap columns = overlap(slice(narrow_rows, 1, 0, 1), slice(narrow_rows, 1, 2, 4));
  EXPECT_EQ(columns.answer, Answer::no);
  EXPECT_LT(columns.steps, 100);
  // Every second row of column 1 and every third row of column 2 never meet; those of one column meet in row 0.
  const Layout halves = slice(narrow_rows, 0, 0, rows, 2), thirds = slice(narrow_rows, 0, 0, rows, 3);
  const Overlap apart = overlap(narrow(halves, 1, 1, 1), narrow(thirds, 1, 2, 1));
  EXPECT_EQ(apart.answer, Answer::no);
  EXPECT_LT(apart.steps, 100);
  const Overlap wide_apart = overlap(narrow(halves, 1, 0, 2), narrow(thirds, 1, 2, 2));
  EXPECT_EQ(wide_apart.answer, Answer::no);
  EXPECT_LT(wide_apart.steps, 100);
  const Overlap meet = overlap(narrow(halves, 1, 1, 2), narrow(thirds, 1, 2, 2));
  EXPECT_EQ(meet.answer, Answer::yes);
  EXPECT_EQ(meet.offset % 12, 2);
}

TEST(Overlap, StopsAfterTheStepsItMayTake) {
  // Each stride leaves millions of values to try. Once the search has given up it must try none of them.
  const int64_t many = int64_t{1} << 28;
  const Layout a = Layout::strided({many, many}, {1'000'000'007, 998'244'353}, 5'000'000'000);
  const Layout b = Layout::strided({many, many}, {1'000'000'123, 999'999'937});
  for (const int64_t most : {0, 1, 2}) {
    const Overlap found = overlap(a, b, most);
    EXPECT_EQ(found.answer, Answer::undecided);
    EXPECT_EQ(found.steps, most + 1);
  }
  // Two columns of a large array.
  const int64_t rows = int64_t{1} << 32;
  const Overlap columns = overlap(Layout::strided({rows}, {4}), Layout::strided({rows, 2}, {4, 1}, 2), 10);
  EXPECT_EQ(columns.answer, Answer::no);
  EXPECT_LE(columns.steps, 10);
}

TEST(Overlap, IsNeverWrongWhereItGivesUp) {
  // Many strides of about one size, without a common divisor: an integer program. The indices are known at which b lies
  // where a does, or that it never does, since all offsets of a are even and those of b are odd.
  Dims dims, strides, others, doubled, doubled_others, at_a, at_b;
  int64_t offset_a = 0, offset_b = 0;
  for (int d = 0; d < 12; ++d) {
    dims.push_back(20);
    strides.push_back(1'000'000'007 + 7919 * d * d);
    others.push_back(1'000'000'123 + 104'729 * d);
    doubled.push_back(2 * strides[d]);
    doubled_others.push_back(2 * others[d]);
    at_a.push_back((7 * d + 12) % 20);
    at_b.push_back((5 * d + 3) % 20);
    offset_a += at_a[d] * strides[d];
    offset_b += at_b[d] * others[d];
  }
  const int64_t shift_a = std::max<int64_t>(0, offset_b - offset_a),
                shift_b = std::max<int64_t>(0, offset_a - offset_b);
  const Layout a = Layout::strided(dims, strides, shift_a), b = Layout::strided(dims, others, shift_b);
  ASSERT_EQ(a.offset(at_a), b.offset(at_b));
  EXPECT_EQ(overlap(a, b, 10).answer, Answer::undecided);
  for (const int64_t most : {int64_t{100}, int64_t{10'000}, int64_t{300'000}}) {
    const Overlap found = overlap(a, b, most);
    EXPECT_NE(found.answer, Answer::no);
    EXPECT_LE(found.steps, most + 1);
    EXPECT_TRUE(found.answer != Answer::yes || a.offset(found.index_a) == b.offset(found.index_b));
    const Overlap apart = overlap(Layout::strided(dims, doubled), Layout::strided(dims, doubled_others, 1), most);
    EXPECT_EQ(apart.answer, Answer::no);
  }
}

}  // namespace
}  // namespace relayout
