// Compares the in-place reorder with the reference, over random layouts, types, attributes and scratch sizes. Every
// byte of the buffer counts, even if it is no part of the destination. Buffer and scratch end at a forbidden page.
//
// RELAYOUT_SEED repeats a run, RELAYOUT_CASES sets the number of cases; the slow tests have twice as many.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>

#include "random_case.h"
#include "relayout/core/view.h"
#include "relayout/cpu/in_place.h"
#include "relayout/reorder/in_place/data.h"
#include "relayout/reorder/reference.h"
#include "tests/support/guarded.h"
#include "tests/support/scoped_isa.h"
#include "tests/support/slow_tests.h"
#include "tests/support/testing.h"

namespace relayout::test {
namespace {

/// How many plans there were of each form (or refused), and how many steps of each kind.
using Counts = std::map<std::string, int64_t>;

void check(const Case& c, std::mt19937_64& rng, const InPlaceOptions& options, Counts& counts, bool may_refuse = true) {
  InPlacePlan plan;
  try {
    plan = InPlacePlan::make(c.src, c.dst, c.attributes, options);
  } catch (const Error& error) {
    ASSERT_EQ(error.code(), ErrorCode::unsupported) << c.text << "\n" << error.what();
    ASSERT_TRUE(may_refuse) << c.text << "\n" << error.what();
    ++counts["refused"];
    // The scratch size that the error names must be enough.
    if (!error.limit().empty()) check(c, rng, {std::stoll(error.limit())}, counts, false);
    return;
  }
  if (options.max_scratch_bytes > 0) {
    ASSERT_LE(plan.scratch_bytes(), options.max_scratch_bytes) << c.text;
  }
  static constexpr const char* kKinds[] = {"staged", "swap", "cycles", "merge"};
  for (const InPlaceStep& step : plan.data().steps) ++counts[kKinds[step.index()]];
  ++counts[plan.data().steps.empty() ? "nothing" : plan.data().steps.size() == 1 ? "one step" : "several steps"];
  if (c.src.dtype != c.dst.dtype && !plan.data().steps.empty()) ++counts["converting"];
  std::vector<std::byte> before(static_cast<std::size_t>(plan.buffer_bytes()));
  const auto values = random_bytes(rng, c.src.dtype, c.src.span_bytes());
  for (std::byte& b : before) b = static_cast<std::byte>(rng());
  std::ranges::copy(values, before.begin());
  auto expected = before;
  reference_reorder(c.src, before.data(), c.dst, expected.data(), c.attributes);
  const auto isas = cpu::available_isas();
  const ScopedIsa isa_scope(isas[static_cast<std::size_t>(pick(rng, 0, static_cast<int64_t>(isas.size()) - 1))]);
  const bool both = pick(rng, 0, 2) == 0;
  for (int threads = 1; threads <= (both ? 2 : 1); ++threads) {
    Guarded buffer(plan.buffer_bytes(), Guarded::Side::end), scratch(plan.scratch_bytes(threads), Guarded::Side::end);
    std::ranges::copy(before, buffer.data());
    cpu::run(plan, buffer.data(), scratch.bytes(), {threads});
    ASSERT_TRUE(buffer.intact() && scratch.intact()) << c.text << "\n" << plan.explain();
    const auto differs = std::ranges::mismatch(expected, buffer.bytes()).in1;
    ASSERT_TRUE(differs == expected.end()) << c.text << ", byte " << differs - expected.begin() << ", threads "
                                           << threads << ", isa " << cpu::isa() << "\n"
                                           << plan.explain();
  }
}

void print(const char* what, const Counts& counts) {
  std::printf("in place, %s:", what);
  for (const auto& [method, cases] : counts) std::printf(" %s %lld;", method.c_str(), static_cast<long long>(cases));
  std::printf("\n");
}

int64_t random_limit(std::mt19937_64& rng) { return pick(rng, 0, 2) == 0 ? 0 : int64_t{8} << pick(rng, 0, 10); }

TEST(InPlaceProperty, EqualsTheReference) {
  const auto seed = static_cast<uint64_t>(number_from("RELAYOUT_SEED", 20261121));
  const int64_t total = number_from("RELAYOUT_CASES", slow_tests() ? 10'000 : 5'000);
  Counts counts;
  for (int64_t i = 0; i < total && !HasFatalFailure(); ++i) {
    std::mt19937_64 rng(seed * 1'000'003 + static_cast<uint64_t>(i));
    Case c = random_case(rng, i % 10 == 0 ? 2000 : 200);
    c.attributes.beta = 0;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", case " + std::to_string(i));
    check(c, rng, {random_limit(rng)}, counts);
  }
  print("random", counts);
  EXPECT_GT(counts["staged"], total / 10);
  EXPECT_GT(counts["converting"], total / 10);
}

/// A permutation of dense axes with some equal extents, in a buffer with room behind it and row pitches at times.
Case permutation(std::mt19937_64& rng) {
  const auto ndims = static_cast<int>(pick(rng, 2, 5));
  Dims dims;
  const int64_t square = pick(rng, 2, 40);
  for (int64_t left = 8'000; dims.size() < ndims;) {
    dims.push_back(std::min(left, pick(rng, 0, 1) == 0 ? square : pick(rng, 1, 12)));
    left = std::max<int64_t>(1, left / dims.back());
  }
  std::vector<int> order(static_cast<std::size_t>(ndims));
  const auto strided = [&](const std::vector<int>& by, int64_t pitch) {
    Dims strides(ndims, 0);
    int64_t stride = 1;
    for (std::size_t k = by.size(); k-- > 0;) {
      strides[by[k]] = stride;
      stride *= dims[by[k]];
      if (k == by.size() - 1) stride += pitch;
    }
    return Layout::strided(dims, strides, 0);
  };
  for (int d = 0; d < ndims; ++d) order[static_cast<std::size_t>(d)] = d;
  std::ranges::shuffle(order, rng);
  auto other = order;
  if (pick(rng, 0, 2) == 0) {
    std::ranges::shuffle(other, rng);
  } else {
    const auto a = static_cast<std::size_t>(pick(rng, 0, ndims - 1)),
               b = static_cast<std::size_t>(pick(rng, 0, ndims - 1));
    std::swap(other[a], other[b]);
  }
  const DType dtype =
      std::array{DType::u8, DType::bf16, DType::f32, DType::f64}[static_cast<std::size_t>(pick(rng, 0, 3))];
  const int64_t pitch = pick(rng, 0, 4) == 0 ? pick(rng, 0, 3) : 0,
                other_pitch = pick(rng, 0, 4) == 0 ? pick(rng, 0, 3) : pitch;
  Case c;
  c.src = TensorDesc(strided(order, pitch), dtype);
  c.dst = TensorDesc(strided(other, other_pitch), dtype);
  c.text = "dims " + join(dims) + ", " + std::string(name(dtype)) + " strides " + join(c.src.layout.outer_strides()) +
           " -> " + join(c.dst.layout.outer_strides());
  return c;
}

TEST(InPlaceProperty, PermutationsWithLittleScratch) {
  const auto seed = static_cast<uint64_t>(number_from("RELAYOUT_SEED", 20261121));
  Counts counts;
  for (int64_t i = 0; i < 3000 && !HasFatalFailure(); ++i) {
    std::mt19937_64 rng(seed * 1'000'033 + static_cast<uint64_t>(i));
    const Case c = permutation(rng);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", case " + std::to_string(i));
    check(c, rng, {random_limit(rng)}, counts);
  }
  print("permutations", counts);
  for (const char* method : {"nothing", "staged", "swap", "cycles", "merge", "one step", "several steps"}) {
    EXPECT_GT(counts[method], 100) << method;
  }
}

}  // namespace
}  // namespace relayout::test
