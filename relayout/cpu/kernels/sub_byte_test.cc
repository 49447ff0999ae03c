// Kernels that unpack and pack sub-byte elements, of every table: at every place in memory, and nothing else is read
// or written.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "relayout/cpu/kernels/kernels.h"
#include "tests/support/regions.h"

namespace relayout::cpu {
namespace {

using test::Guarded;
using test::kSides;
using test::randomize;

/// Three lines of n elements, `apart` from each other, from element `first` of a memory on, and as bytes.
struct Lines {
  int64_t n, first, apart;

  int64_t step() const { return n + 5; }
  int64_t end() const { return first + 2 * apart + n; }
  int64_t place(int64_t line, int64_t i) const { return first + line * apart + i; }
  std::array<int64_t, 3> starts() const { return {0, apart, 2 * apart}; }
};

/// The element at a place of memory, bit by bit.
int line_element(const std::byte* memory, int bits, int64_t place) {
  int out = 0;
  for (int b = 0; b < bits; ++b) {
    const int64_t at = place * bits + b;
    out |= (std::to_integer<int>(memory[at / 8]) >> (at % 8) & 1) << b;
  }
  return out;
}
void set_element(std::byte* memory, int bits, int64_t place, int value) {
  for (int b = 0; b < bits; ++b) {
    const int64_t at = place * bits + b;
    const std::byte bit{static_cast<uint8_t>(1 << at % 8)};
    memory[at / 8] = (value >> b & 1) != 0 ? memory[at / 8] | bit : memory[at / 8] & ~bit;
  }
}

void check_unpacked(const Kernels& kernels, int bits, const Lines& lines, const Guarded& memory, Guarded& bytes,
                    bool sign) {
  constexpr std::byte kBefore{0x5c};
  std::ranges::fill(bytes.bytes(), kBefore);
  unpack_kernel(kernels, bits, sign)(memory.data(), lines.first, lines.starts().data(), 3, lines.n, bytes.data(),
                                     lines.step());
  std::vector<std::byte> expected(bytes.bytes().size(), kBefore);
  for (int64_t line = 0; line < 3; ++line) {
    for (int64_t i = 0; i < lines.n; ++i) {
      const int value = line_element(memory.data(), bits, lines.place(line, i));
      const bool negative = sign && value >> (bits - 1) != 0;
      expected[static_cast<std::size_t>(line * lines.step() + i)] =
          static_cast<std::byte>(negative ? value - (1 << bits) : value);
    }
  }
  ASSERT_TRUE(std::ranges::equal(bytes.bytes(), expected));
  ASSERT_TRUE(bytes.intact());
}

void check_packed(const Kernels& kernels, int bits, const Lines& lines, const Guarded& bytes, Guarded& memory) {
  std::vector<std::byte> expected(memory.bytes().size());
  std::ranges::fill(expected, std::byte{0xb7});
  for (int64_t line = 0; line < 3; ++line) {
    for (int64_t i = 0; i < lines.n; ++i)
      set_element(expected.data(), bits, lines.place(line, i),
                  std::to_integer<int>(bytes.data()[line * lines.step() + i]));
  }
  for (const bool shared : {false, true}) {
    std::ranges::fill(memory.bytes(), std::byte{0xb7});
    pack_kernel(kernels, bits)(bytes.data(), lines.step(), memory.data(), lines.first, lines.starts().data(), 3,
                               lines.n, shared);
    ASSERT_TRUE(std::ranges::equal(memory.bytes(), expected));
  }
  ASSERT_TRUE(memory.intact());
}

class SubByteKernels : public testing::TestWithParam<const Kernels*> {};

// Two threads write every other element of the same bytes again and again; each finds its own values afterwards.
TEST_P(SubByteKernels, TwoThreadsWritePartsOfTheSameBytes) {
  constexpr int64_t kElements = 16, kTurns = 20000;
  for (const int bits : PackedBits::kBits) {
    std::array<std::byte, kElements> memory{};
    const auto write = [&](int64_t odd) {
      std::array<int64_t, kElements / 2> lines;
      for (int64_t i = 0; i < kElements / 2; ++i) lines[static_cast<std::size_t>(i)] = 2 * i;
      for (int64_t turn = 0; turn < kTurns; ++turn) {
        std::array<std::byte, kElements / 2> values;
        for (int64_t i = 0; i < kElements / 2; ++i)
          values[static_cast<std::size_t>(i)] = static_cast<std::byte>(turn + i + odd);
        pack_kernel(*GetParam(), bits)(values.data(), 1, memory.data(), odd, lines.data(), kElements / 2, 1, true);
      }
    };
    std::thread other(write, 1);
    write(0);
    other.join();
    for (int64_t i = 0; i < kElements; ++i)
      EXPECT_EQ(line_element(memory.data(), bits, i), (kTurns - 1 + i / 2 + i % 2) & ((1 << bits) - 1))
          << bits << " " << i;
  }
}

TEST_P(SubByteKernels, ToBytesAndBack) {
  std::mt19937 rng(17);
  for (const int bits : PackedBits::kBits) {
    for (const int64_t n :
         {1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 21, 22, 23, 24, 31, 32, 33, 38, 39, 63, 64, 65, 127, 130, 141, 200}) {
      for (const int64_t first : {0, 1, 2, 3, 4, 5, 6, 7}) {
        for (const int64_t gap : {0, 1, 6}) {
          for (const Guarded::Side at : kSides) {
            const Lines lines{n, first, n + gap};
            SCOPED_TRACE(std::to_string(n) + " elements of " + std::to_string(bits) + " bits from " +
                         std::to_string(first) + " on, " + std::to_string(gap) + " between lines");
            Guarded memory((lines.end() * bits + 7) / 8, at), bytes(2 * lines.step() + n, at);
            randomize(memory.bytes(), rng);
            check_unpacked(*GetParam(), bits, lines, memory, bytes, true);
            check_unpacked(*GetParam(), bits, lines, memory, bytes, false);
            randomize(bytes.bytes(), rng);
            check_packed(*GetParam(), bits, lines, bytes, memory);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, SubByteKernels, testing::ValuesIn(all_kernels().begin(), all_kernels().end()),
                         [](const auto& table) { return std::string(table.param->isa); });

}  // namespace
}  // namespace relayout::cpu
