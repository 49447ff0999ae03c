// Spellings: for each system and many layouts exactly one of a text and a reason.
#include "relayout/interop/spelling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "relayout/core/format.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

using test::desc;
using test::error_of;

/// A layout of up to 4 dims with 1 to 3 digits each: strides in any order, repeats, gaps, steps back, padding.
Layout random_layout(std::mt19937& random) {
  const auto pick = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  const auto ndims = static_cast<int>(pick(0, 4));
  std::vector<int> owners;  // of each digit, innermost of memory first
  for (int d = 0; d < ndims; ++d) owners.insert(owners.end(), static_cast<std::size_t>(pick(1, 3)), d);
  std::ranges::shuffle(owners, random);
  std::vector<Digits> digits(static_cast<std::size_t>(ndims));
  int64_t stride = 1, offset0 = pick(0, 3) == 0 ? pick(0, 9) : 0;
  for (const int d : owners) {
    const int64_t extent = pick(1, 4), kind = pick(0, 19);
    const int64_t step = kind == 0 ? 0 : kind == 1 ? -stride : stride;
    if (step < 0) offset0 += (extent - 1) * stride;
    digits[static_cast<std::size_t>(d)].push_back({extent, step});
    stride *= kind == 2 ? extent + 1 : extent;
  }
  Dims dims;
  for (const Digits& list : digits) {
    int64_t capacity = 1;
    for (const Digit& digit : list) capacity *= digit.extent;
    dims.push_back(pick(0, 3) == 0 ? pick(0, capacity) : capacity);
  }
  return Layout::from_digits(dims, digits, offset0);
}

TEST(Spelling, IsATextOrAReason) {
  std::mt19937 random(7);
  std::vector<int> texts(systems().size()), refusals(systems().size());
  for (int k = 0; k < 1000; ++k) {
    const DType dtype = all_dtypes()[random() % all_dtypes().size()];
    const TensorDesc tensor(random_layout(random), dtype);
    for (std::size_t s = 0; s < systems().size(); ++s) {
      SCOPED_TRACE(std::string(systems()[s]) + ": " + digits_expression(tensor.layout) + " of dims " +
                   join(tensor.layout.dims()) + ", " + std::string(name(dtype)));
      const Spelling said = spelling(systems()[s], tensor);
      EXPECT_EQ(said.system, systems()[s]);
      EXPECT_NE(said.text.empty(), said.refusal.empty());
      ++(said.refusal.empty() ? texts : refusals)[s];
    }
  }
  for (std::size_t s = 0; s < systems().size(); ++s) {
    EXPECT_GT(texts[s], 0) << systems()[s];
    EXPECT_TRUE(refusals[s] > 0 || systems()[s] == "c") << systems()[s];
  }
}

TEST(Spelling, SystemsAreInOrderAndUnknownOnesAreNamed) {
  EXPECT_TRUE(std::ranges::is_sorted(systems()));
  const Error error = error_of([] { spelling("nympy", desc("ab", {2, 3})); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error.field(), "system");
  for (const std::string_view system : systems())
    EXPECT_NE(error.message().find(system), std::string::npos) << error.message();
}

TEST(Spelling, LettersNameTheDims) {
  const TensorDesc tensor = desc("hwio", {2, 3, 4, 5});
  EXPECT_EQ(spelling("tvm", tensor, "oihw").text, "HWIO");
  EXPECT_EQ(spelling("tvm", tensor).text, "HWCN") << "activations";
  EXPECT_NE(spelling("c", tensor, "oihw").text.find("int64_t o, int64_t i"), std::string::npos);
  EXPECT_NE(spelling("c", tensor).text.find("int64_t i0, int64_t i1"), std::string::npos);
  EXPECT_EQ(spelling("tvm", tensor, "abcd").text, "HWCN") << "letters of dims without names";
}

}  // namespace
}  // namespace relayout
