// Every kernel that computes, of every table, must give the same bits as the rules of reorder/cast.h do one element
// after the other, at all lengths and misalignments, and touch no byte outside. The rules themselves are compared with
// the reference by the tests of folder reorder.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <list>
#include <map>
#include <random>
#include <string_view>
#include <tuple>

#include "relayout/cpu/kernels/conversion.h"
#include "tests/support/regions.h"
#include "tests/support/telling_elements.h"

namespace relayout::cpu {
namespace {

using test::dense_bytes;
using test::Guarded;
using test::kSides;
using test::random_elements;
using test::randomize;
using test::telling_elements;

constexpr auto kF32 = static_cast<std::size_t>(ComputeType::f32);

constexpr int64_t kValueBytes[] = {4, 8, 16};  // by compute type

/// Whether values of a pair of types are converted by way of f32 where they are computed with.
bool computes(DType from, DType to) { return compute_type(from, to, true) == ComputeType::f32; }

/// One element in its compute type C, computed with attributes if there are any, and stored.
template <typename C, DType From, DType To>
Storage<To> convert_one(Storage<From> element, const RunAttributes* attributes, int64_t i) {
  C value = load<C, From>(element);
  if constexpr (std::is_same_v<C, float>) {
    if (attributes) {
      const int64_t k = attributes->entry(i, 0);
      value -= attributes->subtracted[k];
      value *= attributes->src_scale[k];
      value /= attributes->dst_scale[k];
      value += attributes->added[k];
      value = canonical_nan(value);
    }
  }
  return store<To, C>(value);
}

/// The results of reorder/cast.h, element by element, for n elements.
std::vector<std::byte> by_rules(DType from, DType to, const std::byte* src, int64_t n,
                                const RunAttributes* attributes) {
  std::vector<std::byte> out(static_cast<std::size_t>(n * dense_bytes(to)));
  with_dtype(from, [&]<DType kFrom>(std::integral_constant<DType, kFrom>) {
    with_dtype(to, [&]<DType kTo>(std::integral_constant<DType, kTo>) {
      constexpr ComputeType kCompute = compute_type(kFrom, kTo, false);
      using C = std::conditional_t<kCompute == ComputeType::f32, float,
                                   std::conditional_t<kCompute == ComputeType::f64, double, Int128>>;
      for (int64_t i = 0; i < n; ++i) {
        Storage<kFrom> element;
        std::memcpy(&element, src + i * static_cast<int64_t>(sizeof element), sizeof element);
        const Storage<kTo> converted = convert_one<C, kFrom, kTo>(element, attributes, i);
        std::memcpy(&out[static_cast<std::size_t>(i) * sizeof converted], &converted, sizeof converted);
      }
    });
  });
  return out;
}

std::size_t hash_of(const std::vector<std::byte>& bytes) {
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

/// Attribute values of n elements, with a guard page behind them.
class ListedAttributes {
 public:
  ListedAttributes(int64_t n, std::mt19937& rng) : count_(n) {
    for (int k = 0; k < 4; ++k) {
      Guarded& made = memory_.emplace_back(n * static_cast<int64_t>(sizeof(float)), Guarded::Side::end);
      for (int64_t i = 0; i < n; ++i) {
        const float value = static_cast<float>(rng() % 4000 + 1) / (k < 2 ? 900.0f : 11.0f) - (k < 2 ? 0 : 150);
        std::memcpy(made.data() + i * static_cast<int64_t>(sizeof value), &value, sizeof value);
      }
      lists_[k] = reinterpret_cast<const float*>(made.data());
    }
  }
  /// The last n of them.
  RunAttributes last(int64_t n) const {
    return RunAttributes{lists_[0], lists_[1], lists_[2], lists_[3], RunAttributes::Step::element, true}.from(
        count_ - n, 0);
  }

 private:
  int64_t count_;
  std::list<Guarded> memory_;
  const float* lists_[4];
};

class EveryConversion : public testing::TestWithParam<const Kernels*> {
 protected:
  /// Calls f(from, to, kernel) for every pair of types, with the table's conversion and with one that writes past the
  /// cache. Where the types are equal, only values that are computed with are converted.
  template <typename F>
  void each_pair(F&& f) {
    const Kernels& kernels = *GetParam();
    for (DType from : all_dtypes()) {
      for (DType to : all_dtypes()) {
        const Conversion conversion(kernels, from, to);
        f(from, to, [&](auto... arguments) { conversion(arguments...); });
        if (HasFatalFailure()) return;
        if (!kernels.convert_stream) continue;
        f(from, to, [&](auto... arguments) {
          conversion.stream(arguments...);
          kernels.flush();
        });
        if (HasFatalFailure()) return;
      }
    }
  }
};

TEST_P(EveryConversion, ConvertsEveryTellingElement) {
  const float factors[] = {1, 0.37f, -2.5f, 3e38f, 1e-38f, 1e-45f, 0.0f, -0.0f, 255, 1 / 255.0f, 0x1p-24f, 0x1p15f};
  each_pair([&](DType from, DType to, const auto& kernel) {
    const auto& src = telling_elements(from);
    const auto src_size = static_cast<std::size_t>(dense_bytes(from)), size = static_cast<std::size_t>(dense_bytes(to));
    const auto n = static_cast<int64_t>(src.size() / src_size);
    std::vector<AttributeValues<float>> tried;
    for (const float factor : factors) tried.push_back({.src_scale = factor});
    for (const float factor : {0.37f, -3e38f, 1e-40f, 0x1p-24f}) {
      tried.push_back({.src_scale = 1.7f, .dst_scale = factor, .added = 128});
      tried.push_back({.src_scale = factor, .subtracted = -77.3f, .added = 1 << 30});
    }
    for (int s = -1; s < static_cast<int>(tried.size()); ++s) {
      const RunAttributes lists = lists_of(tried[static_cast<std::size_t>(std::max(s, 0))]);
      const RunAttributes* attributes = s < 0 ? nullptr : &lists;
      if (attributes && !computes(from, to)) break;
      std::vector<std::byte> actual(static_cast<std::size_t>(n) * size);
      kernel(src.data(), kFirst, actual.data(), kFirst, 1, n, attributes, 0);
      // Each instruction set has the same results by the rules, of which only a hash is kept: they are 200 MB.
      static std::map<std::tuple<DType, DType, int>, std::size_t> known;
      const auto [hash, is_new] = known.try_emplace({from, to, s});
      if (is_new) hash->second = hash_of(by_rules(from, to, src.data(), n, attributes));
      if (hash_of(actual) == hash->second) continue;
      const auto expected = by_rules(from, to, src.data(), n, attributes);
      const auto at = static_cast<std::size_t>(std::ranges::mismatch(actual, expected).in1 - actual.begin()) / size;
      uint64_t element = 0, have = 0, want = 0;
      std::memcpy(&element, &src[at * src_size], src_size);
      std::memcpy(&have, &actual[at * size], size);
      std::memcpy(&want, &expected[at * size], size);
      FAIL() << std::hex << name(from) << " 0x" << element << " -> " << name(to) << " 0x" << have << " instead of 0x"
             << want << (attributes ? ", attributes " + std::to_string(s) : "");
    }
  });
}

/// n telling elements picked at random, converted at these distances from the guard pages.
template <typename Kernel>
void expect_converted(DType from, DType to, const Kernel& kernel, std::span<const std::byte> telling, int64_t n,
                      int64_t src_slack, int64_t dst_slack, Guarded::Side at, const RunAttributes* attributes,
                      std::mt19937& rng) {
  const int64_t size = dense_bytes(from);
  Guarded src(n * size, at, src_slack), dst(n * dense_bytes(to), at, dst_slack);
  for (int64_t i = 0; i < n; ++i) {
    const std::size_t element = rng() % (telling.size() / static_cast<std::size_t>(size));
    std::copy_n(&telling[element * static_cast<std::size_t>(size)], size, src.data() + i * size);
  }
  const std::vector<std::byte> before(src.bytes().begin(), src.bytes().end());
  kernel(src.data(), kFirst, dst.data(), kFirst, 1, n, attributes, n % 2 ? 100 : 0);
  ASSERT_TRUE(std::ranges::equal(dst.bytes(), by_rules(from, to, before.data(), n, attributes)))
      << n << " of " << name(from) << " -> " << name(to) << (attributes ? ", computed" : "");
  ASSERT_TRUE(std::ranges::equal(src.bytes(), before) && src.intact() && dst.intact());
}

TEST_P(EveryConversion, ConvertsEveryLength) {
  std::mt19937 rng(22);
  const AttributeValues<float> third{.src_scale = 1 / 3.0f};
  const RunAttributes thirds = lists_of(third);
  const ListedAttributes listed(20000, rng);
  each_pair([&](DType from, DType to, const auto& kernel) {
    const auto& telling = telling_elements(from);
    // The longest runs are those that are converted at several places at a time.
    for (int64_t n = 0; n <= 20000; n += n < 100 ? 1 : n < 300 ? 29 : 19693) {
      for (const Guarded::Side at : kSides) {
        const RunAttributes lists = listed.last(n);
        for (const RunAttributes* attributes : {static_cast<const RunAttributes*>(nullptr), &thirds, &lists}) {
          if (attributes && !computes(from, to)) continue;
          expect_converted(from, to, kernel, telling, n, 0, 0, at, attributes, rng);
        }
      }
    }
  });
}

TEST_P(EveryConversion, ConvertsAtEveryMisalignment) {
  std::mt19937 rng(23);
  const AttributeValues<float> scaled{.src_scale = -0.7f};
  const RunAttributes scale = lists_of(scaled);
  each_pair([&](DType from, DType to, const auto& kernel) {
    const auto& telling = telling_elements(from);
    for (int64_t shift = 0; shift < 64; ++shift) {
      for (const Guarded::Side at : kSides)
        expect_converted(from, to, kernel, telling, 67 + shift, shift, (shift * 11 + 1) % 64, at,
                         shift % 2 && computes(from, to) ? &scale : nullptr, rng);
    }
  });
}

// Runs go where the lists say, also with attribute values of their own, and nothing between them is written.
TEST_P(EveryConversion, ConvertsRuns) {
  constexpr int64_t kRuns = 5;
  std::mt19937 rng(25);
  const float scales[kRuns] = {1, 0.5f, 3, -0.25f, 100}, divisors[kRuns] = {0.1f, 1, 2, 3, 4};
  const float subtracted[kRuns] = {0, 128, -5, 7.5f, 1}, added[kRuns] = {-3, 0, 100, 2, 0.25f};
  const RunAttributes of_runs{scales, divisors, subtracted, added, RunAttributes::Step::run, true};
  each_pair([&](DType from, DType to, const auto& kernel) {
    for (const RunAttributes* attributes : {static_cast<const RunAttributes*>(nullptr), &of_runs}) {
      if (attributes && !computes(from, to)) continue;
      for (const int64_t n : {1, 4, 8, 16, 17, 33, 64, 100, 600}) {
        const int64_t src_step = n * dense_bytes(from) + 24, dst_step = n * dense_bytes(to) + 40;
        std::vector<std::byte> dst(static_cast<std::size_t>(kRuns * dst_step + 64), std::byte{0x3c}), expected = dst;
        std::vector<std::byte> src(static_cast<std::size_t>(kRuns * src_step));
        random_elements(from, src, rng);
        int64_t src_runs[kRuns], dst_runs[kRuns];
        for (int64_t r = 0; r < kRuns; ++r) {
          src_runs[r] = (kRuns - 1 - r) * src_step, dst_runs[r] = (r * 2 % kRuns) * dst_step;
          RunAttributes own = of_runs.from(0, r);
          own.step = RunAttributes::Step::none;
          const auto run = by_rules(from, to, src.data() + src_runs[r], n, attributes ? &own : nullptr);
          std::ranges::copy(run, expected.begin() + dst_runs[r]);
        }
        kernel(src.data(), src_runs, dst.data(), dst_runs, kRuns, n, attributes, n % 3 * 64);
        ASSERT_EQ(dst, expected) << n << " of " << name(from) << " -> " << name(to) << (attributes ? ", computed" : "");
      }
    }
  });
}

// Transposes while converting, past the cache: into rows that start at lines, and into rows whose last line is carried.
TEST_P(EveryConversion, ConvertsWhileItTransposes) {
  std::mt19937 rng(26);
  const AttributeValues<float> every{.src_scale = 2.75f, .dst_scale = 0.3f, .subtracted = 3, .added = -5};
  const RunAttributes all = lists_of(every);
  const auto paired = all_dtypes().first(kPairedTypes);
  for (DType from : paired) {
    for (DType to : paired) {
      const auto kernel = GetParam()->convert_pipelined[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
      if (!kernel) continue;
      const int64_t size = dense_bytes(to), src_size = dense_bytes(from), line = 64 / std::min(size, src_size);
      const auto& telling = telling_elements(from);
      for (const int64_t rows : {int64_t{1}, int64_t{13}, line, 2 * line + 5}) {
        for (const int64_t cols : {line, 3 * line, 4 * line}) {
          for (const Guarded::Side at : kSides) {
            const RunAttributes* attributes = rows == line ? nullptr : &all;
            const int64_t column = rows * src_size + 4, row = cols * size + 64;
            Guarded src(cols * column - 4, at), dst(rows * row - 64, at);
            for (std::size_t i = 0, start = rng() % 64 * 8; i < src.bytes().size(); ++i)
              src.bytes()[i] = telling[(start + i) % telling.size()];
            std::ranges::fill(dst.bytes(), std::byte{0x3c});
            std::vector<std::byte> expected(dst.bytes().begin(), dst.bytes().end());
            for (int64_t c = 0; c < cols; ++c) {
              const auto converted = by_rules(from, to, src.data() + c * column, rows, attributes);
              for (int64_t r = 0; r < rows; ++r)
                std::copy_n(&converted[static_cast<std::size_t>(r * size)], size,
                            &expected[static_cast<std::size_t>(r * row + c * size)]);
            }
            const auto columns = test::steps(cols, column), starts = test::steps(rows, row);
            kernel(src.data(), columns.data(), dst.data(), starts.data(), nullptr, false, rows, cols, attributes, 256);
            GetParam()->flush();
            ASSERT_TRUE(std::ranges::equal(dst.bytes(), expected))
                << rows << " of " << name(from) << " -> " << name(to);
            ASSERT_TRUE(src.intact() && dst.intact());
            if (size > src_size) continue;
            std::ranges::fill(dst.bytes(), std::byte{0x3c});
            alignas(64) std::byte carry[133 * 64];
            kernel(src.data(), columns.data(), dst.data(), starts.data(), carry, true, rows, cols, attributes, 0);
            GetParam()->flush();
            for (int64_t r = 0; r < rows; ++r) {
              std::byte* const last = &expected[static_cast<std::size_t>((r + 1) * row - 128)];
              ASSERT_TRUE(std::equal(last, last + 64, carry + r * 64)) << name(from) << " -> " << name(to);
              std::fill_n(last, 64, std::byte{0x3c});
            }
            ASSERT_TRUE(std::ranges::equal(dst.bytes(), expected))
                << rows << " of " << name(from) << " -> " << name(to);
          }
        }
      }
    }
  }
}

/// n values through the formula in compute type C by a table and by the plain one, at these distances from the guard
/// pages, with one value of the attributes for all or one for each.
template <typename C>
void expect_computed(const Kernels& kernels, double beta, bool each, bool divides, int64_t n, int64_t slack,
                     Guarded::Side at, std::mt19937& rng) {
  constexpr std::size_t kCompute = std::is_same_v<C, float> ? 0 : 1;
  const DType type = kCompute == 0 ? DType::f32 : DType::f64;
  const int64_t bytes = n * static_cast<int64_t>(sizeof(C));
  Guarded values(bytes, at, slack), old(bytes, at, 63 - slack);
  random_elements(type, values.bytes(), rng);
  random_elements(type, old.bytes(), rng);
  const int64_t count = each ? n : 1;
  std::list<Guarded> lists;
  const auto list = [&](auto draw) {
    Guarded& made = lists.emplace_back(count * static_cast<int64_t>(sizeof(C)), at, slack / 8 * 8);
    C value{};
    for (int64_t i = 0; i < count; ++i) {
      if (each || i == 0) value = static_cast<C>(draw());
      std::memcpy(made.data() + i * static_cast<int64_t>(sizeof(C)), &value, sizeof(C));
    }
    return reinterpret_cast<const C*>(made.data());
  };
  AttributeLists<C> attributes{.step = each ? AttributeLists<C>::Step::element : AttributeLists<C>::Step::none,
                               .divides = divides};
  attributes.src_scale = list([&] { return static_cast<double>(rng() % 2000) / 512 - 1; });
  attributes.dst_scale = list([&] { return divides ? static_cast<double>(rng() % 2000 + 1) / 777 : 1; });
  attributes.subtracted = list([&] { return static_cast<double>(static_cast<int32_t>(rng())) / 3; });
  attributes.added = list([&] { return static_cast<double>(rng() % 256) - 128; });
  std::vector<std::byte> expected(values.bytes().begin(), values.bytes().end());
  const std::vector<std::byte> before(old.bytes().begin(), old.bytes().end());
  scalar_kernels()->arithmetic[kCompute](expected.data(), before.data(), &attributes, n, beta);
  kernels.arithmetic[kCompute](values.data(), old.data(), &attributes, n, beta);
  ASSERT_TRUE(std::ranges::equal(values.bytes(), expected))
      << name(type) << ", " << n << " values, " << (each ? "an attribute each" : "one attribute") << ", beta " << beta;
  ASSERT_TRUE(std::ranges::equal(old.bytes(), before) && values.intact() && old.intact());
}

TEST_P(EveryConversion, Arithmetic) {
  std::mt19937 rng(24);
  for (const bool each : {false, true}) {
    for (const bool divides : {false, true}) {
      for (const double beta : {0.0, 0.37, -1.0}) {
        for (const int64_t n : {0, 1, 3, 8, 15, 17, 33, 67, 600}) {
          const int64_t slack = n % 2 ? static_cast<int64_t>(rng() % 64) : 0;
          expect_computed<float>(*GetParam(), beta, each, divides, n, slack, kSides[rng() % 2], rng);
          expect_computed<double>(*GetParam(), beta, each, divides, n, slack, kSides[rng() % 2], rng);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// The result of each step is computed by hand, to check the plain table too. What is not given changes nothing.
TEST_P(EveryConversion, ArithmeticByHand) {
  const AttributeValues<float> a{.src_scale = 3, .dst_scale = 0.5f, .subtracted = 10, .added = -7};
  const AttributeValues<float> none{};
  const float old[] = {8, -8, 1}, nan = -std::numeric_limits<float>::quiet_NaN();
  float values[] = {12, 9.5f, nan};
  const RunAttributes given = lists_of(a), nothing = lists_of(none);
  GetParam()->arithmetic[kF32](values, old, &given, 3, 0.25);
  EXPECT_EQ(values[0], ((12 - 10) * 3 + 0.25f * 8) / 0.5f - 7);
  EXPECT_EQ(values[1], ((9.5f - 10) * 3 - 0.25f * 8) / 0.5f - 7);
  EXPECT_EQ(std::bit_cast<uint32_t>(values[2]), 0x7fc00000u);
  float same[] = {-0.0f, 0.0f, 1e-45f};
  GetParam()->arithmetic[kF32](same, nullptr, &nothing, 3, 0);
  EXPECT_EQ(std::bit_cast<uint32_t>(same[0]), 0x80000000u);
  EXPECT_EQ(std::bit_cast<uint32_t>(same[1]), 0u);
  EXPECT_EQ(std::bit_cast<uint32_t>(same[2]), 1u);
}

INSTANTIATE_TEST_SUITE_P(Isa, EveryConversion, testing::ValuesIn(all_kernels().begin(), all_kernels().end()),
                         [](const auto& table) { return std::string(table.param->isa); });

}  // namespace
}  // namespace relayout::cpu
