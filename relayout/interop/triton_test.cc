// Linear layouts against loops over the bits of every place, and texts there and back.
#include "relayout/interop/triton.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "relayout/core/format.h"
#include "relayout/core/view.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

using test::each_index;
using test::error_of;

/// The definition: the exclusive or of the bases of a place's bits.
Dims index_at(const std::vector<Dims>& bases, int64_t place, int rank) {
  Dims out(rank, 0);
  for (std::size_t bit = 0; bit < bases.size(); ++bit) {
    for (int d = 0; d < rank && (place >> bit & 1); ++d) out[d] ^= bases[bit][d];
  }
  return out;
}

void expect_shared(const std::string& text, const Dims& shape) {
  const triton::LinearLayout linear = triton::parse(text, shape);
  const Layout layout = triton::to_layout(linear);
  ASSERT_EQ(layout.dims(), shape) << text;
  std::set<std::string> seen;
  const auto& bases = linear.in[0].bases;
  for (int64_t offset = 0; offset < int64_t{1} << bases.size(); ++offset) {
    const Dims index = index_at(bases, offset, shape.size());
    if (!seen.insert(join(index)).second) continue;  // a basis of zeros
    ASSERT_EQ(layout.offset(index), offset) << text << " at " << join(index);
  }
  ASSERT_EQ(static_cast<int64_t>(seen.size()), layout.elements()) << text;
  const std::string again = triton::to_triton(layout);
  ASSERT_EQ(triton::from_triton(again, shape), layout) << text << " -> " << again;
}

TEST(Triton, SharedMemoryByTheDefinition) {
  // As Triton prints them; rows of the second and third have their columns exchanged.
  expect_shared("#ttg.shared_linear<{offset = [[0, 1], [0, 2], [1, 0], [2, 2]]}, alignment = 16>", {4, 4});
  expect_shared(
      "#ttg.shared_linear<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 4], [4, 8], [8, 0]]}, "
      "alignment = 512>",
      {16, 16});
  expect_shared("{\"offset\": [[0, 1], [0, 2], [0, 4], [1, 1], [2, 2], [4, 4]]}", {8, 8});
  expect_shared("offset = [[1, 0], [2, 0], [0, 1], [0, 2]], block = []", {4, 4});
  expect_shared("offset = [[0, 1], [0, 0], [1, 0]]", {2, 2});
  expect_shared("offset = [[1], [2], [4]]", {8});
  const Layout tile = triton::from_triton("offset = [[0, 1], [0, 2], [1, 0], [2, 2]]");
  EXPECT_EQ(tile.offset({2, 1}), 11);
  EXPECT_TRUE(tile.swizzled());
}

// swizzled_shared<{vec, perPhase, maxPhase, order = [1, 0]}> of Triton: row r has its groups of vec columns XORed by
// r / perPhase % maxPhase.
TEST(Triton, SwizzledSharedIsASwizzle) {
  int swizzled = 0;
  for (const int64_t vec : {1, 2, 4, 8}) {
    for (const int64_t per_phase : {1, 2, 4}) {
      for (const int64_t max_phase : {1, 2, 4, 8}) {
        const Dims shape{32, 64};
        std::string bases;
        for (int64_t c = 1; c < shape[1]; c *= 2) bases += "[0, " + std::to_string(c) + "], ";
        for (int64_t r = 1; r < shape[0]; r *= 2)
          bases += "[" + std::to_string(r) + ", " + std::to_string(vec * (r / per_phase % max_phase)) + "], ";
        const Layout layout = triton::from_triton("offset = [" + bases.substr(0, bases.size() - 2) + "]");
        each_index(shape, [&](const Dims& index) {
          const int64_t moved = index[1] ^ (vec * (index[0] / per_phase % max_phase));
          ASSERT_EQ(layout.offset(index), index[0] * shape[1] + moved) << bases;
        });
        EXPECT_EQ(layout.swizzled(), max_phase > 1);
        swizzled += layout.swizzled();
        EXPECT_EQ(triton::from_triton(triton::to_triton(layout)), layout);
      }
    }
  }
  EXPECT_EQ(swizzled, 36);
}

TEST(Triton, RegistersByTheDefinition) {
  const std::string text =
      "#ttg.linear<{register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 0], [16, "
      "0]], block = []}>";
  const triton::LinearLayout linear = triton::parse(text);
  EXPECT_EQ(linear.shape, (Dims{32, 8}));
  const Layout layout = triton::to_layout(linear);
  ASSERT_EQ(layout.dims(), (Dims{4, 32, 4, 1}));
  each_index(layout.dims(), [&](const Dims& place) {
    Dims index(2, 0);
    for (int d = 0; d < place.size(); ++d) {
      const Dims own = index_at(linear.in[static_cast<std::size_t>(d)].bases, place[d], 2);
      for (int k = 0; k < 2; ++k) index[k] ^= own[k];
    }
    ASSERT_EQ(layout.offset(place), index[0] * 8 + index[1]);
  });
  EXPECT_FALSE(layout.injective()) << "warps hold the same elements";
}

TEST(Triton, RandomBasesOfOneSwizzle) {
  std::mt19937 random(5);
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  int swizzled = 0, refused = 0;
  for (int turn = 0; turn < 2000; ++turn) {
    const int rank = static_cast<int>(pick(1, 3));
    std::vector<std::pair<int, int64_t>> bits;  // dim and place
    Dims shape(rank, 1);
    for (int64_t k = pick(1, 9); k > 0; --k) {
      const int d = static_cast<int>(pick(0, rank - 1));
      bits.emplace_back(d, shape[d]);
      shape[d] *= 2;
    }
    std::ranges::shuffle(bits, random);
    std::vector<Digits> digits(static_cast<std::size_t>(rank), Digits{});
    std::vector<int64_t> stride_of(bits.size());
    for (int d = 0; d < rank; ++d) {
      for (int64_t place = 1; place < shape[d]; place *= 2) {
        const auto at = std::ranges::find(bits, std::pair(d, place)) - bits.begin();
        digits[static_cast<std::size_t>(d)].push_back({2, int64_t{1} << at});
      }
      if (shape[d] == 1) digits[static_cast<std::size_t>(d)].push_back({1, 0});
    }
    const int64_t field = pick(1, 3);
    const Layout layout = Layout::from_digits(shape, digits)
                              .with_swizzle(Swizzle::make(field, pick(0, 4), pick(field, 4) * (pick(0, 2) ? 1 : -1)));
    std::string text;
    try {
      text = triton::to_triton(layout);
    } catch (const Error& error) {  // a gap has the bit that the swizzle sets
      ASSERT_FALSE(layout.dense()) << error.message();
      ++refused;
      continue;
    }
    const triton::LinearLayout linear = triton::parse(text, shape);
    each_index(shape, [&](const Dims& index) {
      ASSERT_EQ(index_at(linear.in[0].bases, layout.offset(index), rank), index) << text;
    });
    ASSERT_EQ(triton::to_layout(linear), layout) << text;
    swizzled += layout.swizzled();
  }
  EXPECT_GT(swizzled, 500);
  EXPECT_LT(refused, 700);
}

TEST(Triton, Refusals) {
  const auto message = [](const char* text, const Dims& shape = {}) {
    return error_of([&] { triton::from_triton(text, shape); }).message();
  };
  EXPECT_NE(message("offset = [[0, 1], [0, 1]]").find("2 bits of the offset move the index"), std::string::npos);
  EXPECT_NE(message("offset = [[0, 1], [0, 1]]", {2, 2}).find("depend on each other"), std::string::npos);
  EXPECT_NE(message("offset = [[0, 1]], block = [[1, 0]]").find("several blocks"), std::string::npos);
  EXPECT_NE(message("offset = [[0, 1]]", {3, 2}).find("3x2 has no linear layout"), std::string::npos);
  EXPECT_NE(message("offset = [[0, 4]]", {2, 2}).find("[0, 4] of offset is outside"), std::string::npos);
  EXPECT_NE(message("offset = [[0, 1], [0, 2], [0, 4], [1, 3], [2, 6]]").find("no one Swizzle"), std::string::npos);
  for (const char* text : {"", "offset", "offset =", "offset = [", "offset = [[0, 1]", "offset = [[0, x]]", "= [[1]]"})
    EXPECT_EQ(error_of([&] { triton::parse(text); }).code(), ErrorCode::parse) << text;
  const auto of_layout = [](const char* text, const Dims& dims) {
    return error_of([&] { triton::to_triton(Format::parse(text).bind(dims)); }).message();
  };
  EXPECT_NE(of_layout("ab", {3, 4}).find("extent 3"), std::string::npos);
  EXPECT_NE(of_layout("ab", {0, 4}).find("without elements"), std::string::npos);
  EXPECT_NE(of_layout("ab@8", {4, 4}).find("begins at offset 8"), std::string::npos);
  EXPECT_NE(of_layout("Ab8a", {4, 4}).find("capacity 8"), std::string::npos);
  EXPECT_NE(of_layout("strides:3,1", {2, 2}).find("(2,3)"), std::string::npos);
  EXPECT_NE(of_layout("strides:1,1", {2, 2}).find("two indices move bit 0"), std::string::npos);
}

}  // namespace
}  // namespace relayout
