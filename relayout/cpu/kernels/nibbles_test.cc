// Kernels that unpack and pack elements of 4 bits, of every table: at every place in memory, and nothing else is read
// or written.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "relayout/cpu/kernels/kernels.h"
#include "relayout/reorder/cast.h"
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

uint8_t nibble(const Guarded& memory, int64_t i) { return read_element<DType::u4>(memory.data(), i); }

void check_unpacked(const Kernels& kernels, const Lines& lines, const Guarded& memory, Guarded& bytes, bool sign) {
  constexpr std::byte kBefore{0x5c};
  std::ranges::fill(bytes.bytes(), kBefore);
  kernels.unpack_nibbles[sign ? 1 : 0](memory.data(), lines.first, lines.starts().data(), 3, lines.n, bytes.data(),
                                       lines.step());
  std::vector<std::byte> expected(bytes.bytes().size(), kBefore);
  for (int64_t line = 0; line < 3; ++line) {
    for (int64_t i = 0; i < lines.n; ++i) {
      const int64_t place = lines.place(line, i);
      expected[static_cast<std::size_t>(line * lines.step() + i)] =
          sign ? static_cast<std::byte>(read_element<DType::s4>(memory.data(), place))
               : static_cast<std::byte>(nibble(memory, place));
    }
  }
  ASSERT_TRUE(std::ranges::equal(bytes.bytes(), expected));
  ASSERT_TRUE(bytes.intact());
}

void check_packed(const Kernels& kernels, const Lines& lines, const Guarded& bytes, Guarded& memory) {
  std::vector<std::byte> expected(memory.bytes().size());
  std::ranges::fill(expected, std::byte{0xb7});
  for (int64_t line = 0; line < 3; ++line) {
    for (int64_t i = 0; i < lines.n; ++i) {
      write_element<DType::u4>(expected.data(), lines.place(line, i),
                               static_cast<uint8_t>(bytes.data()[line * lines.step() + i]) & 15);
    }
  }
  for (const bool shared : {false, true}) {
    std::ranges::fill(memory.bytes(), std::byte{0xb7});
    kernels.pack_nibbles(bytes.data(), lines.step(), memory.data(), lines.first, lines.starts().data(), 3, lines.n,
                         shared);
    ASSERT_TRUE(std::ranges::equal(memory.bytes(), expected));
  }
  ASSERT_TRUE(memory.intact());
}

class Nibbles : public testing::TestWithParam<const Kernels*> {};

// Two threads write the two halves of the same bytes again and again; each finds its own values afterwards.
TEST_P(Nibbles, TwoThreadsWriteHalvesOfTheSameBytes) {
  constexpr int64_t kBytes = 8, kTurns = 20000;
  std::array<std::byte, kBytes> memory{};
  const auto write = [&](int64_t half) {
    const std::array<int64_t, kBytes> lines{0, 2, 4, 6, 8, 10, 12, 14};
    for (int64_t turn = 0; turn < kTurns; ++turn) {
      std::array<std::byte, kBytes> values;
      for (int64_t i = 0; i < kBytes; ++i)
        values[static_cast<std::size_t>(i)] = static_cast<std::byte>(turn + i + half);
      GetParam()->pack_nibbles(values.data(), 1, memory.data(), half, lines.data(), kBytes, 1, true);
    }
  };
  std::thread other(write, 1);
  write(0);
  other.join();
  for (int64_t i = 0; i < 2 * kBytes; ++i)
    EXPECT_EQ(read_element<DType::u4>(memory.data(), i), (kTurns - 1 + i / 2 + i % 2) & 15) << i;
}

TEST_P(Nibbles, ToBytesAndBack) {
  std::mt19937 rng(17);
  for (const int64_t n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 23, 31, 32, 33, 63, 64, 65, 127, 130, 200}) {
    for (const int64_t first : {0, 1, 2, 3}) {
      for (const int64_t gap : {0, 1, 6}) {
        for (const Guarded::Side at : kSides) {
          const Lines lines{n, first, n + gap};
          SCOPED_TRACE(std::to_string(n) + " elements from " + std::to_string(first) + " on, " + std::to_string(gap) +
                       " between lines");
          Guarded memory((lines.end() + 1) / 2, at), bytes(2 * lines.step() + n, at);
          randomize(memory.bytes(), rng);
          check_unpacked(*GetParam(), lines, memory, bytes, true);
          check_unpacked(*GetParam(), lines, memory, bytes, false);
          randomize(bytes.bytes(), rng);
          check_packed(*GetParam(), lines, bytes, memory);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, Nibbles, testing::ValuesIn(all_kernels().begin(), all_kernels().end()),
                         [](const auto& table) { return std::string(table.param->isa); });

}  // namespace
}  // namespace relayout::cpu
