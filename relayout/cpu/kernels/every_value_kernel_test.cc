// Checks of the kernels that compute, for every_kernel_test.cc: they give the bits of the plain table's loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/support/checked_kernel.h"
#include "tests/support/telling_elements.h"

namespace relayout::cpu {
namespace {

using test::Guarded;
using test::randomize;
using test::steps;

int64_t dense_bytes(DType dtype) { return std::max(1, bits(dtype) / 8); }

/// n elements converted by the loops of the plain table.
std::vector<std::byte> by_plain(DType from, DType to, const std::byte* src, int64_t n) {
  std::vector<std::byte> out(static_cast<std::size_t>(n * dense_bytes(to)));
  scalar_kernels()->convert[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)](src, kFirst, out.data(),
                                                                                          kFirst, 1, n, nullptr, 0);
  return out;
}

/// The destination lies `dst_slack` bytes from a forbidden page. Runs call(kernels, src, dst) with a table's kernels
/// and with those of plain C++, and expects the same bytes.
template <typename Call>
void expect_as_plain(const Checked& k, int64_t src_bytes, int64_t dst_bytes, int64_t dst_slack, Call call) {
  Guarded src(src_bytes, k.side, 5), dst(dst_bytes, k.side, dst_slack);
  randomize(src.bytes(), k.rng);
  std::vector<std::byte> expected(static_cast<std::size_t>(dst_bytes));
  call(*scalar_kernels(), src.data(), expected.data());
  call(k.table, src.data(), dst.data());
  k.flush();
  EXPECT_TRUE(std::ranges::equal(dst.bytes(), expected)) << kernel_name(k.family, k.places);
  EXPECT_TRUE(src.intact() && dst.intact());
}

constexpr int64_t kLengths[] = {0, 1, 7, 16, 33, 131};
constexpr int64_t kComputeBytes[] = {4, 8};  // by compute type

}  // namespace

/// Converts columns while it transposes them into rows that start at lines.
void check_pipelined_conversion(const Checked& k, PipelinedKernel kernel) {
  const DType from = k.type(0), to = k.type(1);
  const int64_t from_size = dense_bytes(from), size = dense_bytes(to), cols = 128 / std::min(from_size, size);
  for (const int64_t rows : {1, 17, 64, 70}) {
    const int64_t column = rows * from_size + 4, row = cols * size + 64;
    Guarded src(cols * column - 4, k.side), dst(rows * row - 64, k.side);
    randomize(src.bytes(), k.rng);
    randomize(dst.bytes(), k.rng);
    std::vector<std::byte> expected(dst.bytes().begin(), dst.bytes().end());
    for (int64_t c = 0; c < cols; ++c) {
      const auto values = by_plain(from, to, src.data() + c * column, rows);
      for (int64_t r = 0; r < rows; ++r)
        std::copy_n(values.begin() + r * size, size, &expected[static_cast<std::size_t>(r * row + c * size)]);
    }
    kernel(src.data(), steps(cols, column).data(), dst.data(), steps(rows, row).data(), nullptr, false, rows, cols,
           nullptr, 64);
    k.flush();
    EXPECT_TRUE(std::ranges::equal(dst.bytes(), expected)) << kernel_name(k.family, k.places);
    EXPECT_TRUE(src.intact() && dst.intact());
  }
}

// What plain C++ does.
void check(const Checked& k, ConvertKernel kernel) {
  const int64_t size = dense_bytes(k.type(1));
  for (const int64_t n : kLengths) {
    const auto call = [&](const Kernels& table, const std::byte* src, std::byte* dst) {
      if (&table == &k.table) return kernel(src, kFirst, dst, kFirst, 1, n, nullptr, 64);
      std::ranges::copy(by_plain(k.type(0), k.type(1), src, n), dst);
    };
    expect_as_plain(k, n * dense_bytes(k.type(0)), n * size, 9, call);
  }
}

namespace {

/// Element i of `from` as one of type To, by way of f32, or of f32 rounded to odd.
template <DType From, DType To>
void put_mapped(const std::byte* from, int64_t i, std::vector<std::byte>& to) {
  Storage<From> element;
  std::memcpy(&element, from + i * static_cast<int64_t>(sizeof element), sizeof element);
  Storage<To> out;
  if constexpr (From == DType::f64)
    out = f64_to_f32_odd(element);
  else if constexpr (kBits<From> == 64)
    out = cast_detail::integer_to_f32_odd(element);
  else
    out = store<To, float>(load<float, From>(element));
  std::memcpy(&to[static_cast<std::size_t>(i) * sizeof out], &out, sizeof out);
}

}  // namespace

void check(const Checked& k, MapKernel kernel) {
  const bool odd = k.family.name == "to_odd", decodes = k.family.name == "decode";
  const DType small = odd ? DType::f32 : SmallTypes::dtype(k.places[0].index);
  const DType from = odd ? WideTypes::kTypes[k.places[0].index] : decodes ? small : stored_from(small);
  const DType to = decodes ? read_as(small) : small;
  for (const int64_t n : kLengths) {
    Guarded src(n * dense_bytes(from), k.side, 5), dst(n * dense_bytes(to), k.side, 9);
    test::random_elements(from, src.bytes(), k.rng);
    std::vector<std::byte> expected(dst.bytes().size());
    with_dtype(from, [&]<DType kFrom>(std::integral_constant<DType, kFrom>) {
      with_dtype(to, [&]<DType kTo>(std::integral_constant<DType, kTo>) {
        if constexpr (kBits<kFrom> < 64 || kTo == DType::f32) {
          for (int64_t i = 0; i < n; ++i) put_mapped<kFrom, kTo>(src.data(), i, expected);
        }
      });
    });
    kernel(src.data(), dst.data(), n);
    EXPECT_TRUE(std::ranges::equal(dst.bytes(), expected)) << kernel_name(k.family, k.places);
    EXPECT_TRUE(src.intact() && dst.intact());
    if (decodes || is_floating(to)) continue;
    kernel(src.data(), src.data(), n);  // in place
    EXPECT_TRUE(std::ranges::equal(src.bytes(), expected)) << kernel_name(k.family, k.places);
  }
}

// Some pairs of types of equal and of different sizes; convert_test.cc has all.
void check(const Checked& k, ConvertStreamKernel kernel) {
  constexpr DType kTypes[] = {DType::f32, DType::bf16, DType::u8, DType::s64, DType::f8_e4m3};
  for (const DType from : kTypes) {
    for (const DType to : kTypes) {
      for (const int64_t n : kLengths) {
        const auto call = [&](const Kernels& table, const std::byte* src, std::byte* dst) {
          if (&table == &k.table)
            return kernel(streamed_pair(table, from, to), src, kFirst, dst, kFirst, 1, n, nullptr, 64);
          std::ranges::copy(by_plain(from, to, src, n), dst);
        };
        expect_as_plain(k, n * dense_bytes(from), n * dense_bytes(to), 9, call);
      }
    }
  }
}

void check(const Checked& k, ArithmeticKernel) {
  const std::size_t compute = k.places[0].index;
  const AttributeValues<float> narrow{.src_scale = 0.3f, .dst_scale = 7, .subtracted = 3, .added = -9};
  const AttributeValues<double> wide{.src_scale = 0.3, .dst_scale = 7, .subtracted = 3, .added = -9};
  const AttributeLists<float> in_f32 = lists_of(narrow);
  const AttributeLists<double> in_f64 = lists_of(wide);
  const void* const attributes = compute == 0 ? static_cast<const void*>(&in_f32) : &in_f64;
  for (const int64_t n : kLengths) {
    const int64_t bytes = n * kComputeBytes[compute];
    expect_as_plain(k, bytes, bytes, 9, [&](const Kernels& table, const std::byte* src, std::byte* dst) {
      std::copy_n(src, bytes, dst);
      table.arithmetic[compute](dst, src, attributes, n, 0.5);
    });
  }
}

}  // namespace relayout::cpu
