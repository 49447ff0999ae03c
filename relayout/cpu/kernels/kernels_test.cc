// Every kernel of every table: right at all sizes and misalignments, and not one byte outside, shown by pages without
// access on both sides of source and destination.
#include "relayout/cpu/kernels/kernels.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <random>

namespace relayout::cpu {
namespace {

/// Memory between two pages that may not be touched. `at_end` places the bytes against the upper one, else they
/// start right after the lower.
class Guarded {
 public:
  Guarded(std::size_t bytes, bool at_end) : bytes_(bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t inner = (bytes + page - 1) / page * page;
    size_ = inner + 2 * page;
    base_ = static_cast<std::byte*>(mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (inner > 0) mprotect(base_ + page, inner, PROT_READ | PROT_WRITE);
    data_ = base_ + page + (at_end ? inner - bytes : 0);
  }
  ~Guarded() { munmap(base_, size_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  std::byte* data() { return data_; }
  std::span<std::byte> bytes() { return {data_, bytes_}; }

 private:
  std::size_t bytes_, size_;
  std::byte *base_, *data_;
};

void randomize(std::span<std::byte> bytes, std::mt19937& rng) {
  for (std::byte& b : bytes) b = static_cast<std::byte>(rng());
}

class EveryTable : public testing::TestWithParam<const Kernels*> {};

TEST_P(EveryTable, Transpose) {
  std::mt19937 rng(1);
  int64_t calls = 0;
  for (int log2 = 0; log2 < kElementSizes; ++log2) {
    const int64_t size = int64_t{1} << log2;
    for (int64_t rows : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 67}) {
      for (int64_t cols : {1, 2, 3, 4, 6, 8, 13, 16, 18, 32, 37, 65}) {
        for (const int64_t misalign : {0, 1, 3, 8}) {
          for (const bool at_end : {false, true}) {
            const int64_t src_stride = rows * size + misalign, dst_stride = cols * size + misalign / 2;
            Guarded src(static_cast<std::size_t>((cols - 1) * src_stride + rows * size), at_end);
            Guarded dst(static_cast<std::size_t>((rows - 1) * dst_stride + cols * size), at_end);
            randomize(src.bytes(), rng);
            randomize(dst.bytes(), rng);
            std::vector<std::byte> expected(dst.bytes().begin(), dst.bytes().end());
            for (int64_t r = 0; r < rows; ++r) {
              for (int64_t c = 0; c < cols; ++c) std::memcpy(&expected[static_cast<std::size_t>(r * dst_stride + c * size)], src.data() + c * src_stride + r * size, static_cast<std::size_t>(size));
            }
            GetParam()->transpose[static_cast<std::size_t>(log2)](src.data(), src_stride, dst.data(), dst_stride, rows, cols);
            ASSERT_TRUE(std::ranges::equal(dst.bytes(), expected)) << size << " bytes, " << rows << " x " << cols;
            ++calls;
          }
        }
      }
    }
  }
  RecordProperty("calls", static_cast<int>(calls));
}

// All 64 misalignments of either side of a tile that is larger than any register.
TEST_P(EveryTable, TransposeAtEveryMisalignment) {
  std::mt19937 rng(2);
  for (int log2 = 0; log2 < kElementSizes; ++log2) {
    const int64_t size = int64_t{1} << log2, rows = 19, cols = 21;
    for (std::size_t shift = 0; shift < 64; ++shift) {
      Guarded src(static_cast<std::size_t>(rows * cols * size) + shift, true), dst(static_cast<std::size_t>(rows * cols * size) + 63 - shift, true);
      randomize(src.bytes(), rng);
      const std::byte* from = src.data();  // ends `shift` bytes before the guard page
      std::byte* to = dst.data();
      GetParam()->transpose[static_cast<std::size_t>(log2)](from, rows * size, to, cols * size, rows, cols);
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < cols; ++c) ASSERT_EQ(0, std::memcmp(to + (r * cols + c) * size, from + (c * rows + r) * size, static_cast<std::size_t>(size)));
      }
    }
  }
}

TEST_P(EveryTable, Copy) {
  std::mt19937 rng(3);
  for (int64_t rows : {1, 2, 5}) {
    for (int64_t bytes = 0; bytes < 300; bytes += 1 + bytes / 16) {
      for (const bool at_end : {false, true}) {
        const int64_t stride = bytes + rows % 3;
        const auto span = static_cast<std::size_t>((rows - 1) * stride + bytes);
        Guarded src(span, at_end), dst(span, at_end);
        randomize(src.bytes(), rng);
        randomize(dst.bytes(), rng);
        std::vector<std::byte> expected(dst.bytes().begin(), dst.bytes().end());
        for (int64_t r = 0; r < rows; ++r) std::copy_n(src.data() + r * stride, bytes, expected.begin() + r * stride);
        GetParam()->copy(src.data(), stride, dst.data(), stride, rows, bytes);
        ASSERT_TRUE(std::ranges::equal(dst.bytes(), expected));
      }
    }
  }
}

// Conversions of every table give the bits of the plain table, at odd addresses too.
TEST_P(EveryTable, ConversionsAreBitEqualToPlain) {
  std::mt19937 rng(4);
  const Kernels& plain = *scalar_kernels();
  constexpr int64_t kCount = 4099;
  alignas(16) static Int128 values[kCount], expected_values[kCount];
  static std::byte stored[kCount * 8 + 1], expected_stored[kCount * 8 + 1];
  const std::size_t value_bytes[] = {4, 8, 16};
  for (std::size_t compute = 0; compute < kComputeTypes; ++compute) {
    for (DType dtype : all_dtypes()) {
      const auto d = static_cast<std::size_t>(dtype);
      if (!plain.load[compute][d]) continue;
      for (int64_t n : {0, 1, 7, 16, 63, 4099}) {
        for (std::size_t shift : {0, 1}) {
          const auto bytes = static_cast<std::size_t>(n) * static_cast<std::size_t>(std::max(1, bits(dtype) / 8));
          Guarded src(bytes, shift == 0);
          randomize(src.bytes(), rng);
          if (kind(dtype) == DTypeKind::floating && bits(dtype) >= 32 && n > 8) {  // half of them near small integers
            for (int64_t i = 0; i < n; i += 2) {
              const double x = (static_cast<double>(rng() % 1200) - 600) / 4;
              const uint64_t encoded = encode(dtype, x);
              std::memcpy(src.data() + i * bits(dtype) / 8, &encoded, static_cast<std::size_t>(bits(dtype) / 8));
            }
          }
          plain.load[compute][d](src.data(), expected_values, n);
          GetParam()->load[compute][d](src.data(), values, n);
          ASSERT_EQ(0, std::memcmp(values, expected_values, static_cast<std::size_t>(n) * value_bytes[compute])) << "load " << name(dtype);
          for (DType to : all_dtypes()) {
            const auto t = static_cast<std::size_t>(to);
            const auto out_bytes = static_cast<std::size_t>(n) * static_cast<std::size_t>(std::max(1, bits(to) / 8));
            plain.store[compute][t](expected_values, expected_stored + shift, n);
            GetParam()->store[compute][t](values, stored + shift, n);
            ASSERT_EQ(0, std::memcmp(stored + shift, expected_stored + shift, out_bytes)) << name(dtype) << " -> " << name(to) << " compute " << compute;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, EveryTable, testing::ValuesIn(all_kernels().begin(), all_kernels().end()),
                         [](const auto& table) { return std::string(table.param->isa); });

TEST(Kernels, TablesAreNamed) {
  ASSERT_FALSE(all_kernels().empty());
  EXPECT_EQ(all_kernels().front()->isa, "scalar");
  for (const Kernels* a : all_kernels()) {
    EXPECT_EQ(std::ranges::count_if(all_kernels(), [&](const Kernels* b) { return a->isa == b->isa; }), 1);
  }
}

}  // namespace
}  // namespace relayout::cpu
