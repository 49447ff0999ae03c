// Every kernel that computes, of every table, must give the same bits as the rules of reorder/cast.h do one element
// after the other, at all lengths and misalignments, and touch no byte outside. The rules themselves are compared with
// the reference by the tests of folder reorder.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "relayout/cpu/kernels/kernels.h"
#include "tests/support/regions.h"

namespace relayout::cpu {
namespace {

using test::Guarded;
using test::kSides;
using test::randomize;

constexpr auto kF32 = static_cast<std::size_t>(ComputeType::f32);

/// Random elements of a type, half of them near small integers.
void random_elements(DType dtype, std::span<std::byte> bytes, std::mt19937& rng) {
  randomize(bytes, rng);
  if (kind(dtype) != DTypeKind::floating || bits(dtype) < 32) return;
  const auto size = static_cast<std::size_t>(bits(dtype) / 8);
  for (std::size_t at = 0; at + size <= bytes.size(); at += 2 * size) {
    const uint64_t encoded = encode(dtype, (static_cast<double>(rng() % 1200) - 600) / 4);
    std::memcpy(&bytes[at], &encoded, size);
  }
}

constexpr int64_t kValueBytes[] = {4, 8, 16};  // by compute type
int64_t dense_bytes(DType dtype) { return std::max(1, bits(dtype) / 8); }

/// f32 as bits: every exponent with the mantissas at which something happens (ties and their neighbours of f16 and
/// bf16, quiet and signalling NaNs with payloads), integers and halves to beyond the range of 16 bits, and random ones.
std::vector<uint32_t> special_floats() {
  std::vector<uint32_t> out;
  for (const uint32_t sign : {0u, 0x80000000u}) {
    for (uint32_t exponent = 0; exponent < 256; ++exponent) {
      for (const uint32_t mantissa :
           {0u,        1u,        0x0fffu,   0x1000u,   0x1001u,   0x2fffu,   0x3000u,   0x3001u,   0x7fffu,
            0x8000u,   0x8001u,   0x17fffu,  0x18000u,  0x18001u,  0x3fffffu, 0x400000u, 0x400001u, 0x555555u,
            0x7fdfffu, 0x7fe000u, 0x7fefffu, 0x7ff000u, 0x7f7fffu, 0x7f8000u, 0x7fffffu})
        out.push_back(sign | exponent << 23 | mantissa);
    }
  }
  for (int quarter = -2400; quarter <= 2400; ++quarter) {
    const float value = static_cast<float>(quarter) / 4;
    for (const float near : {value, std::nextafter(value, -1e9f), std::nextafter(value, 1e9f)})
      out.push_back(std::bit_cast<uint32_t>(near));
  }
  for (const double limit : {65504.0, 65519.0, 65520.0, 65521.0, 32767.5, 2147483520.0, 2147483648.0})
    for (const double signed_limit : {limit, -limit})
      out.push_back(std::bit_cast<uint32_t>(static_cast<float>(signed_limit)));
  std::mt19937 rng(20);
  for (int i = 0; i < 20000; ++i) out.push_back(rng());
  return out;
}

/// f64 as bits: the values above, their neighbours, exponents that f32 has not, ties of f32 and of narrower types and
/// what lies just beside them, the limits of integers and their neighbours, and random bits.
std::vector<uint64_t> special_doubles() {
  std::vector<uint64_t> out;
  for (const uint32_t value : special_floats()) {
    const auto bits = std::bit_cast<uint64_t>(static_cast<double>(std::bit_cast<float>(value)));
    out.insert(out.end(), {bits - 1, bits, bits + 1, bits + 0x0fffffff, bits + 0x10000000, bits + 0x10000001});
  }
  for (uint64_t exponent = 0; exponent < 2048; ++exponent) {
    for (const uint64_t mantissa : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 51, (uint64_t{1} << 52) - 1})
      out.insert(out.end(), {exponent << 52 | mantissa, uint64_t{1} << 63 | exponent << 52 | mantissa});
  }
  for (int exponent = 7; exponent <= 65; ++exponent) {
    for (const double sign : {1.0, -1.0}) {
      const auto bits = std::bit_cast<uint64_t>(std::ldexp(sign, exponent));
      for (const double near : {-1.5, -1.0, -0.5, 0.5, 1.0})
        out.push_back(std::bit_cast<uint64_t>(std::ldexp(sign, exponent) + near));
      out.insert(out.end(), {bits - 2, bits - 1, bits + 1});
    }
  }
  std::mt19937_64 rng(27);
  for (int i = 0; i < 20000; ++i) out.push_back(rng());
  return out;
}

/// Integers of up to 64 bits: every power of two, the ties between it and what types of 2 to 53 bits of mantissa hold
/// next, the neighbours of all of these, all of them negative, and random numbers of every magnitude.
std::vector<uint64_t> special_integers() {
  std::vector<uint64_t> out;
  for (int power = 0; power < 64; ++power) {
    for (int place = 0; place <= power; ++place) {
      for (const uint64_t times : {1, 2, 3}) {
        const uint64_t value = (uint64_t{1} << power) + times * (uint64_t{1} << place);
        for (const uint64_t near : {value - 1, value, value + 1}) out.insert(out.end(), {near, -near});
      }
    }
  }
  std::mt19937_64 rng(28);
  for (int i = 0; i < 20000; ++i) out.push_back(rng() >> rng() % 64);
  return out;
}

/// All elements of a small type, the special ones of a large one.
const std::vector<std::byte>& telling_elements(DType dtype) {
  static std::array<std::vector<std::byte>, kDTypeCount> all;
  std::vector<std::byte>& out = all[static_cast<std::size_t>(dtype)];
  if (!out.empty()) return out;
  const auto size = static_cast<std::size_t>(dense_bytes(dtype));
  const auto append = [&](auto element) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&element);
    out.insert(out.end(), bytes, bytes + size);
  };
  if (size <= 2) {
    for (uint32_t element = 0; element < 1u << (8 * size); ++element) append(element);
  } else if (dtype == DType::f32) {
    for (const uint32_t element : special_floats()) append(element);
  } else {
    for (const uint64_t element : dtype == DType::f64 ? special_doubles() : special_integers()) append(element);
    out.resize(out.size() + 4096 * size);
    std::mt19937 rng(21);
    random_elements(dtype, std::span(out).last(4096 * size), rng);
  }
  return out;
}

/// Whether values of a pair of types are converted by way of f32 where they are computed with.
bool computes(DType from, DType to) { return compute_type(from, to, true) == ComputeType::f32; }

/// One element in its compute type C, computed with attributes if there are any, and stored.
template <typename C, DType From, DType To>
Storage<To> convert_one(Storage<From> element, const AttributeValues* attributes) {
  C value = load<C, From>(element);
  if constexpr (std::is_same_v<C, float>) {
    if (attributes) {
      if (!kIsFloating<From>) value -= static_cast<float>(attributes->src_zero_point);
      value *= attributes->src_scale;
      value /= attributes->dst_scale;
      if (!kIsFloating<To>) value += static_cast<float>(attributes->dst_zero_point);
      value = canonical_nan(value);
    }
  }
  return store<To, C>(value);
}

/// Attributes of a pair of types: floating types have no zero points.
AttributeValues attributes_of(DType from, DType to, AttributeValues values) {
  if (is_floating(from)) values.src_zero_point = 0;
  if (is_floating(to)) values.dst_zero_point = 0;
  return values;
}

/// The results of reorder/cast.h, element by element, for n elements.
std::vector<std::byte> by_rules(DType from, DType to, const std::byte* src, int64_t n,
                                const AttributeValues* attributes) {
  std::vector<std::byte> out(static_cast<std::size_t>(n * dense_bytes(to)));
  with_dtype(from, [&]<DType kFrom>(std::integral_constant<DType, kFrom>) {
    with_dtype(to, [&]<DType kTo>(std::integral_constant<DType, kTo>) {
      constexpr ComputeType kCompute = compute_type(kFrom, kTo, false);
      using C = std::conditional_t<kCompute == ComputeType::f32, float,
                                   std::conditional_t<kCompute == ComputeType::f64, double, Int128>>;
      for (int64_t i = 0; i < n; ++i) {
        Storage<kFrom> element;
        std::memcpy(&element, src + i * static_cast<int64_t>(sizeof element), sizeof element);
        const Storage<kTo> converted = convert_one<C, kFrom, kTo>(element, attributes);
        std::memcpy(&out[static_cast<std::size_t>(i) * sizeof converted], &converted, sizeof converted);
      }
    });
  });
  return out;
}

class EveryConversion : public testing::TestWithParam<const Kernels*> {
 protected:
  /// Calls f(from, to, kernel) for every pair of types, with the table's kernel and one that writes past the cache.
  /// Where the types are equal, only values that are computed with are converted.
  template <typename F>
  void each_pair(F&& f) {
    const Kernels& kernels = *GetParam();
    for (DType from : all_dtypes()) {
      for (DType to : all_dtypes()) {
        const ConvertKernel kernel = kernels.convert[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
        ASSERT_TRUE(kernel);
        f(from, to, [&](auto... arguments) { kernel(arguments...); });
        if (HasFatalFailure()) return;
        if (!kernels.convert_stream) continue;
        f(from, to, [&](auto... arguments) {
          kernels.convert_stream(streamed_pair(kernels, from, to), arguments...);
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
    std::vector<AttributeValues> tried;
    for (const float factor : factors) tried.push_back({.src_scale = factor});
    for (const float factor : {0.37f, -3e38f, 1e-40f, 0x1p-24f}) {
      tried.push_back(attributes_of(from, to, {.src_scale = 1.7f, .dst_scale = factor, .dst_zero_point = 128}));
      tried.push_back(attributes_of(from, to, {.src_scale = factor, .src_zero_point = -77, .dst_zero_point = 1 << 30}));
    }
    for (int s = -1; s < static_cast<int>(tried.size()); ++s) {
      const AttributeValues* attributes = s < 0 ? nullptr : &tried[static_cast<std::size_t>(s)];
      if (attributes && !computes(from, to)) break;
      const auto expected = by_rules(from, to, src.data(), n, attributes);
      std::vector<std::byte> actual(expected.size());
      kernel(src.data(), kFirst, actual.data(), kFirst, 1, n, attributes, 0);
      if (actual == expected) continue;
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
                      int64_t src_slack, int64_t dst_slack, Guarded::Side at, const AttributeValues* attributes,
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
  const AttributeValues third{.src_scale = 1 / 3.0f};
  each_pair([&](DType from, DType to, const auto& kernel) {
    const auto& telling = telling_elements(from);
    // The longest runs are those that are converted at several places at a time.
    for (int64_t n = 0; n <= 20000; n += n < 100 ? 1 : n < 300 ? 29 : 19693) {
      for (const Guarded::Side at : kSides) {
        for (const AttributeValues* attributes :
             {static_cast<const AttributeValues*>(nullptr), computes(from, to) ? &third : nullptr})
          expect_converted(from, to, kernel, telling, n, 0, 0, at, attributes, rng);
      }
    }
  });
}

TEST_P(EveryConversion, ConvertsAtEveryMisalignment) {
  std::mt19937 rng(23);
  const AttributeValues scale{.src_scale = -0.7f};
  each_pair([&](DType from, DType to, const auto& kernel) {
    const auto& telling = telling_elements(from);
    for (int64_t shift = 0; shift < 64; ++shift) {
      for (const Guarded::Side at : kSides)
        expect_converted(from, to, kernel, telling, 67 + shift, shift, (shift * 11 + 1) % 64, at,
                         shift % 2 && computes(from, to) ? &scale : nullptr, rng);
    }
  });
}

// Runs go where the lists say, and nothing between them is written.
TEST_P(EveryConversion, ConvertsRuns) {
  constexpr int64_t kRuns = 5;
  std::mt19937 rng(25);
  each_pair([&](DType from, DType to, const auto& kernel) {
    for (const int64_t n : {1, 4, 8, 16, 17, 33, 64, 100}) {
      const int64_t src_step = n * dense_bytes(from) + 24, dst_step = n * dense_bytes(to) + 40;
      std::vector<std::byte> dst(static_cast<std::size_t>(kRuns * dst_step + 64), std::byte{0x3c}), expected = dst;
      std::vector<std::byte> src(static_cast<std::size_t>(kRuns * src_step));
      random_elements(from, src, rng);
      int64_t src_runs[kRuns], dst_runs[kRuns];
      for (int64_t r = 0; r < kRuns; ++r) {
        src_runs[r] = (kRuns - 1 - r) * src_step, dst_runs[r] = (r * 2 % kRuns) * dst_step;
        const auto run = by_rules(from, to, src.data() + src_runs[r], n, nullptr);
        std::ranges::copy(run, expected.begin() + dst_runs[r]);
      }
      kernel(src.data(), src_runs, dst.data(), dst_runs, kRuns, n, nullptr, n % 3 * 64);
      ASSERT_EQ(dst, expected) << n << " of " << name(from) << " -> " << name(to);
    }
  });
}

// Transposes while converting, past the cache: into rows that start at lines, and into rows whose last line is carried.
TEST_P(EveryConversion, ConvertsWhileItTransposes) {
  std::mt19937 rng(26);
  const AttributeValues all{.src_scale = 2.75f, .dst_scale = 0.3f, .src_zero_point = 3, .dst_zero_point = -5};
  for (DType from : all_dtypes()) {
    for (DType to : all_dtypes()) {
      const auto kernel = GetParam()->convert_pipelined[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
      if (!kernel) continue;
      const int64_t size = dense_bytes(to), src_size = dense_bytes(from), line = 64 / std::min(size, src_size);
      const AttributeValues values = attributes_of(from, to, all);
      const auto& telling = telling_elements(from);
      for (const int64_t rows : {int64_t{1}, int64_t{13}, line, 2 * line + 5}) {
        for (const int64_t cols : {int64_t{2}, int64_t{3}, int64_t{4}, line / 4, line / 2, line, 3 * line, 4 * line}) {
          if (cols < line && size > src_size) continue;
          for (const Guarded::Side at : kSides) {
            const AttributeValues* attributes = rows == line ? nullptr : &values;
            const int64_t column = rows * src_size + 4, gap = cols > 4 ? 64 : 0, row = cols * size + gap;
            Guarded src(cols * column - 4, at), dst(rows * row - gap, at);
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
            if (size > src_size || cols < line) continue;
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

/// n values through the steps of `arithmetic` by a table and by the plain one, at these distances from the guard pages.
void expect_computed(const Kernels& kernels, std::size_t compute, const Arithmetic& arithmetic, int64_t stride,
                     int64_t n, int64_t slack, Guarded::Side at, std::mt19937& rng) {
  const DType type = compute == 0 ? DType::f32 : DType::f64;
  const int64_t bytes = n * kValueBytes[compute];
  Guarded values(bytes, at, slack), old(bytes, at, 63 - slack);
  random_elements(type, values.bytes(), rng);
  random_elements(type, old.bytes(), rng);
  std::vector<AttributeValues> attributes(static_cast<std::size_t>(std::max<int64_t>(1, (n - 1) * stride + 1)));
  for (AttributeValues& a : attributes) {
    a.src_scale = static_cast<float>(rng() % 2000) / 512 - 1;
    a.dst_scale = static_cast<float>(rng() % 2000 + 1) / 777;
    a.src_zero_point = static_cast<int32_t>(rng());
    a.dst_zero_point = static_cast<int32_t>(rng() % 256) - 128;
  }
  std::vector<std::byte> expected(values.bytes().begin(), values.bytes().end());
  const std::vector<std::byte> before(old.bytes().begin(), old.bytes().end());
  scalar_kernels()->arithmetic[compute](expected.data(), before.data(), attributes.data(), stride, n, arithmetic);
  kernels.arithmetic[compute](values.data(), old.data(), attributes.data(), stride, n, arithmetic);
  ASSERT_TRUE(std::ranges::equal(values.bytes(), expected))
      << name(type) << ", " << n << " values, stride " << stride << ", steps " << arithmetic.src_scale
      << arithmetic.dst_scale << arithmetic.src_zero_point << arithmetic.dst_zero_point << ", beta " << arithmetic.beta;
  ASSERT_TRUE(std::ranges::equal(old.bytes(), before) && values.intact() && old.intact());
}

TEST_P(EveryConversion, Arithmetic) {
  std::mt19937 rng(24);
  for (std::size_t compute = 0; compute < GetParam()->arithmetic.size(); ++compute) {
    for (int steps = 0; steps < 16; ++steps) {
      for (const float beta : {0.0f, 0.37f, -1.0f}) {
        const relayout::cpu::Arithmetic a{(steps & 1) != 0, (steps & 2) != 0, (steps & 4) != 0, (steps & 8) != 0, beta};
        for (const int64_t stride : {0, 1, 3}) {
          for (const int64_t n : {0, 1, 3, 8, 15, 17, 33, 67, 600}) {
            const int64_t slack = n % 2 ? static_cast<int64_t>(rng() % 64) : 0;
            expect_computed(*GetParam(), compute, a, stride, n, slack, kSides[rng() % 2], rng);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

// The result of each step is computed by hand, to check the plain table too.
TEST_P(EveryConversion, ArithmeticByHand) {
  AttributeValues a;
  a.src_scale = 3, a.dst_scale = 0.5f, a.src_zero_point = 10, a.dst_zero_point = -7;
  const float old[] = {8, -8, 1}, nan = -std::numeric_limits<float>::quiet_NaN();
  float values[] = {12, 9.5f, nan};
  GetParam()->arithmetic[kF32](values, old, &a, 0, 3, {true, true, true, true, 0.25f});
  EXPECT_EQ(values[0], ((12 - 10) * 3 + 0.25f * 8) / 0.5f - 7);
  EXPECT_EQ(values[1], ((9.5f - 10) * 3 - 0.25f * 8) / 0.5f - 7);
  EXPECT_EQ(std::bit_cast<uint32_t>(values[2]), 0x7fc00000u);
}

INSTANTIATE_TEST_SUITE_P(Isa, EveryConversion, testing::ValuesIn(all_kernels().begin(), all_kernels().end()),
                         [](const auto& table) { return std::string(table.param->isa); });

}  // namespace
}  // namespace relayout::cpu
