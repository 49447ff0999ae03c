// Every kernel that kernels.inc lists, of every table, between pages without access: it moves the bytes that it should,
// and touches no other. A line that is added there and has a type of function of its own does not compile here until
// there is a check for that type. The other tests beside this one go through more shapes, kernel by kernel.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "relayout/reorder/cast.h"
#include "tests/support/checked_kernel.h"

namespace relayout::cpu {
namespace {

using test::Guarded;
using test::randomize;
using test::steps;
using Side = Guarded::Side;

struct Move {
  int64_t from, to, bytes;
};

/// Expects that call(src, dst) makes these moves and no others. A destination that need not start at a line starts
/// `slack` bytes from its guard page.
template <typename Call>
void expect_moves(const Checked& k, const std::vector<Move>& moves, int64_t slack, Call call) {
  int64_t src_bytes = 0, dst_bytes = 0;
  for (const Move& move : moves) {
    src_bytes = std::max(src_bytes, move.from + move.bytes);
    dst_bytes = std::max(dst_bytes, move.to + move.bytes);
  }
  const Side side = slack == 0 && dst_bytes % kCacheLine != 0 ? Side::start : k.side;
  Guarded src(src_bytes, k.side, (slack * 3) % 64), dst(dst_bytes, side, slack);
  randomize(src.bytes(), k.rng);
  randomize(dst.bytes(), k.rng);
  const std::vector<std::byte> before(src.bytes().begin(), src.bytes().end());
  std::vector<std::byte> expected(dst.bytes().begin(), dst.bytes().end());
  for (const Move& move : moves) std::copy_n(src.data() + move.from, move.bytes, expected.begin() + move.to);
  call(static_cast<const std::byte*>(src.data()), dst.data());
  k.flush();
  EXPECT_TRUE(std::ranges::equal(dst.bytes(), expected)) << kernel_name(k.family, k.places);
  EXPECT_TRUE(std::ranges::equal(src.bytes(), before) && src.intact() && dst.intact());
}

/// A transposition whose columns and rows have gaps between them.
std::vector<Move> transposed(int64_t rows, int64_t cols, int64_t size, int64_t src_stride, int64_t dst_stride) {
  std::vector<Move> out;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) out.push_back({c * src_stride + r * size, r * dst_stride + c * size, size});
  }
  return out;
}

void check(const Checked& k, TransposeKernel kernel) {
  const int64_t size = k.size();
  for (const int64_t rows : {1, 7, 16, 33, 70}) {
    for (const int64_t cols : {int64_t{3}, int64_t{19}, 64 / size, 192 / size}) {
      const bool lines = k.family.past_cache();
      if (lines && cols * size % 64 != 0) continue;
      const int64_t from = rows * size + 5, to = cols * size + (lines ? 64 : 3);
      expect_moves(k, transposed(rows, cols, size, from, to), lines ? 0 : 13, [&](const auto* src, auto* dst) {
        kernel(src, steps(cols, from).data(), dst, steps(rows, to).data(), rows, cols, 64);
      });
    }
  }
}

void check(const Checked& k, StridedTransposeKernel kernel) {
  const int64_t size = k.size();
  for (const int64_t rows : {1, 7, 16, 33, 70}) {
    for (const int64_t cols : {1, 5, 16, 67}) {
      const int64_t from = rows * size + 5, to = cols * size + 3;
      expect_moves(k, transposed(rows, cols, size, from, to), 13,
                   [&](const auto* src, auto* dst) { kernel(src, from, dst, to, rows, cols, 64); });
    }
  }
}

/// Rows that start anywhere in lines: all but the last 64 bytes of each are written, from its first whole line on.
template <typename Call>
void check_carried(const Checked& k, int64_t size, Call call) {
  for (const int64_t rows : {16, 33, 67}) {
    for (const int64_t lines : {1, 2, 3}) {
      const int64_t cols = lines * 64 / size, from = rows * size + 8, to = lines * 64 + 20;
      alignas(64) std::byte carry[67 * 64];
      std::vector<Move> moves;
      // The destination starts 12 bytes after a line, and is long enough for every line that may be written.
      for (const Move& m : transposed(rows, cols, size, from, to)) {
        for (int64_t b = 0; b < size; ++b) {
          const int64_t skip = -(m.to / to * to + 12) & 63, byte = m.to % to + b;
          if (byte >= skip && byte < skip + (lines - 1) * 64) moves.push_back({m.from + b, m.to + b, 1});
        }
      }
      const int64_t last = (rows - 1) * to;
      if (moves.empty()) moves.push_back({0, last, 0});
      Checked at_start = k;
      at_start.side = Side::start;
      const auto columns = steps(cols, from), starts = steps(rows, to);
      moves.push_back({(cols - 1) * from + rows * size, last, 0});
      expect_moves(at_start, moves, 12, [&](const auto* src, auto* dst) {
        call(src, columns.data(), dst, starts.data(), carry, rows, cols);
        for (int64_t r = 0; r < rows; ++r) {
          for (int64_t c = 0; c < 64 / size; ++c)
            EXPECT_TRUE(std::equal(carry + r * 64 + c * size, carry + r * 64 + (c + 1) * size,
                                   src + columns[static_cast<std::size_t>(cols - 64 / size + c)] + r * size));
        }
      });
    }
  }
}

void check(const Checked& k, CarriedTransposeKernel kernel) {
  check_carried(k, k.size(),
                [&](auto* src, Starts from, auto* dst, Starts to, auto* carry, int64_t rows, int64_t cols) {
                  kernel(src, from, dst, to, carry, true, rows, cols, 64);
                });
}

void check(const Checked& k, PipelinedKernel kernel) {
  if (k.family.by[0] == "type") return check_pipelined_conversion(k, kernel);
  const int64_t size = k.size(), cols = 128 / size;
  for (const int64_t rows : {1, 17, 64, 70}) {
    const int64_t from = rows * size + 5, to = cols * size + 64;
    expect_moves(k, transposed(rows, cols, size, from, to), 0, [&](const auto* src, auto* dst) {
      kernel(src, steps(cols, from).data(), dst, steps(rows, to).data(), nullptr, false, rows, cols, nullptr, 64);
    });
  }
  check_carried(k, size, [&](auto* src, Starts cs, auto* dst, Starts rs, auto* carry, int64_t rows, int64_t n) {
    kernel(src, cs, dst, rs, carry, true, rows, n, nullptr, 64);
  });
}

void check(const Checked& k, InterleaveKernel kernel) {
  const int64_t size = k.size(), few = k.few();
  for (const int64_t rows : {1, 7, 16, 33, 130}) {
    const int64_t from = rows * size + 5;
    expect_moves(k, transposed(rows, few, size, from, few * size), 13,
                 [&](const auto* src, auto* dst) { kernel(src, steps(few, from).data(), dst, rows); });
  }
}

void check(const Checked& k, DeinterleaveKernel kernel) {
  const int64_t size = k.size(), few = k.few();
  const bool lines = k.family.past_cache();
  for (const int64_t cols : {int64_t{5}, int64_t{33}, 64 / size, 192 / size}) {
    if (lines && cols * size % 64 != 0) continue;
    const int64_t to = cols * size + (lines ? 64 : 3);
    expect_moves(k, transposed(few, cols, size, few * size, to), lines ? 0 : 13,
                 [&](const auto* src, auto* dst) { kernel(src, dst, steps(few, to).data(), cols); });
  }
}

/// Three rows and two columns of runs, whose rows are backwards in the destination.
struct Runs {
  int64_t bytes, gap, pitch = bytes + gap;
  std::vector<int64_t> src_rows = steps(3, 2 * pitch), cols = steps(2, pitch), dst_rows{4 * pitch, 2 * pitch, 0};

  std::vector<Move> moves() const {
    std::vector<Move> out;
    for (std::size_t r = 0; r < 3; ++r) {
      for (const int64_t col : cols) out.push_back({src_rows[r] + col, dst_rows[r] + col, bytes});
    }
    return out;
  }
};

void check(const Checked& k, CopyKernel kernel) {
  for (const int64_t bytes : {1, 3, 8, 16, 31, 64, 100, 200, 2000}) {
    const Runs runs{bytes, 7};
    expect_moves(k, runs.moves(), 13, [&](const auto* src, auto* dst) {
      kernel(src, runs.src_rows.data(), runs.cols.data(), dst, runs.dst_rows.data(), runs.cols.data(), 3, 2, bytes, 64);
    });
  }
}

void check(const Checked& k, StridedCopyKernel kernel) {
  for (const int64_t bytes : {1, 3, 8, 16, 31, 64, 100, 200, 2000}) {
    const int64_t rows = 5, cols = 3;
    expect_moves(k, transposed(rows, cols, bytes, rows * bytes, cols * bytes + 1), 13, [&](const auto* src, auto* dst) {
      kernel(src, {bytes, rows * bytes}, dst, {cols * bytes + 1, bytes}, rows, cols, bytes);
    });
  }
}

// Units of a line of two windows, a line of one, and a line of which every other byte is written, backwards.
void check(const Checked& k, LineProgramKernel kernel) {
  const int64_t width = k.places[0].index == 0 ? 16 : 64, half = width / 2;
  LineProgram program;
  program.width = width;
  program.indices.resize(4);
  std::vector<Move> unit;
  const auto window = [&](int64_t from) {
    program.from.push_back(from);
    return program.indices.front().at + (static_cast<int64_t>(program.from.size()) - 1) * width;
  };
  const auto take = [&](uint8_t* index, int64_t line, int64_t i, int64_t place) {
    index[i] = static_cast<uint8_t>(LineProgram::kTaken | place);
    unit.push_back({program.from.back() + place, program.lines[static_cast<std::size_t>(line)].dst + i, 1});
  };
  const uint64_t all = ~uint64_t{0} >> (64 - width);
  program.masked = width == 64;
  program.lines = {{0, 0, 2, all}, {width, 2, 1, all}};
  if (program.masked) program.lines.push_back({2 * width, 3, 1, 0x5555555555555555});
  for (const int64_t h : {0, 1}) {
    uint8_t* const index = window(7 + h * 2 * width);
    for (int64_t i = 0; i < half; ++i) take(index, 0, h * half + i, width - 1 - i);
  }
  uint8_t* index = window(3);
  for (int64_t i = 0; i < width; ++i) take(index, 1, i, (5 * i + 2) % width);
  index = program.masked ? window(0) : index;
  for (int64_t i = 0; program.masked && i < width; i += 2) take(index, 2, i, width - 1 - i);
  constexpr int64_t kUnits = 5, kSrcStep = 21;
  // All lines from `first` on.
  const auto expect_units = [&](const Checked& checked, int64_t dst_step, int64_t first, int64_t misaligned,
                                bool past) {
    std::vector<Move> moves;
    for (int64_t u = 0; u < kUnits; ++u) {
      for (const Move& move : unit) {
        if (move.to >= first * width) moves.push_back({move.from + u * kSrcStep, move.to + u * dst_step, move.bytes});
      }
    }
    const auto lines = static_cast<int64_t>(program.lines.size());
    expect_moves(checked, moves, misaligned, [&](const auto* src, auto* dst) {
      kernel(src, dst, program, {kUnits, kSrcStep, dst_step, first, lines - first, past});
    });
  };
  for (const int64_t first : {0, 1}) expect_units(k, 3 * width + 5, first, 13, false);
  // Past the cache no line is masked, and all start at lines.
  if (program.masked) program.lines.pop_back();
  std::erase_if(unit, [&](const Move& move) { return move.to >= 2 * width; });
  program.masked = false;
  Checked at_start = k;
  at_start.side = Side::start;
  expect_units(at_start, 128, 0, 0, true);
}

// Runs of rows and of columns of two tiles and a part, without permutations.
void check(const Checked& k, TileKernel kernel) {
  const int64_t size = k.size(), rows = 37, cols = 41, from = rows * size + 3, to = cols * size + 5;
  std::vector<uint8_t> same(16);
  std::iota(same.begin(), same.end(), uint8_t{0});
  expect_moves(k, transposed(rows, cols, size, from, to), 13, [&](const auto* src, auto* dst) {
    kernel(src, steps(rows, size).data(), steps(cols, from).data(), dst, steps(rows, to).data(),
           steps(cols, size).data(), {rows, cols, rows, cols, same.data(), same.data()});
  });
}

void check(const Checked& k, FillKernel kernel) {
  for (const uint64_t mask : {~uint64_t{0}, uint64_t{0x8000'00ff'0f0f'0001}, uint64_t{0xf0}}) {
    const auto rows = steps(3, 200), cols = steps(2, 64);
    Guarded dst(2 * 200 + 128, k.side, 16);
    randomize(dst.bytes(), k.rng);
    std::vector<std::byte> expected(dst.bytes().begin(), dst.bytes().end());
    const uint64_t bits = 0x0123456789abcdef;
    for (const int64_t row : rows) {
      for (int64_t i = 0; i < 128; ++i) {
        if (mask >> i % 64 & 1) expected[static_cast<std::size_t>(row + i)] = static_cast<std::byte>(bits >> i % 8 * 8);
      }
    }
    kernel(dst.data(), rows.data(), cols.data(), 3, 2, 64, mask, bits, true);
    EXPECT_TRUE(std::ranges::equal(dst.bytes(), expected) && dst.intact());
  }
}

void check(const Checked& k, RepeatKernel kernel) {
  for (const int64_t piece : {1, 2, 3, 4, 8, 12, 16, 31, 64}) {
    for (const int64_t times : {1, 2, 5, 17, 64, 300}) {
      // Pieces lie and runs start at multiples of their size, and anywhere.
      for (const int64_t slack : {16, 13}) {
        const int64_t bytes = piece * times, from = 3 * piece, to = bytes + 16 * piece + (slack % 2);
        std::vector<Move> moves;
        for (int64_t run = 0; run < 3; ++run) {
          for (int64_t i = 0; i < times; ++i) moves.push_back({run * from, run * to + i * piece, piece});
        }
        expect_moves(k, moves, slack, [&](const auto* src, auto* dst) {
          kernel(src, steps(3, from).data(), piece, dst, steps(3, to).data(), 3, bytes);
        });
      }
    }
  }
}

int bit_of(const std::byte* bytes, int64_t bit) { return std::to_integer<int>(bytes[bit / 8]) >> (bit % 8) & 1; }

void check(const Checked& k, UnpackKernel kernel) {
  const int bits = PackedBits::kBits[k.places[0].index];
  const bool sign = k.places[1].index == 1;
  for (const int64_t n : {1, 5, 32, 77}) {
    Guarded src(((2 * n + 1) * bits + 7) / 8, k.side), dst(2 * n, k.side, 3);
    randomize(src.bytes(), k.rng);
    kernel(src.data(), 1, steps(2, n).data(), 2, n, dst.data(), n);
    for (int64_t i = 0; i < 2 * n; ++i) {
      int value = 0;
      for (int b = 0; b < bits; ++b) value |= bit_of(src.data(), (1 + i) * bits + b) << b;
      if (sign && value >> (bits - 1) != 0) value -= 1 << bits;
      EXPECT_EQ(dst.data()[i], static_cast<std::byte>(value)) << kernel_name(k.family, k.places);
    }
    EXPECT_TRUE(src.intact() && dst.intact());
  }
}

void check(const Checked& k, PackKernel kernel) {
  const int bits = PackedBits::kBits[k.places[0].index];
  for (const int64_t n : {1, 5, 32, 77}) {
    Guarded src(2 * n, k.side, 3), dst(((2 * n + 1) * bits + 7) / 8, k.side);
    randomize(src.bytes(), k.rng);
    randomize(dst.bytes(), k.rng);
    const std::vector<std::byte> before(dst.bytes().begin(), dst.bytes().end());
    kernel(src.data(), n, dst.data(), 1, steps(2, n).data(), 2, n, false);
    for (int64_t bit = 0; bit < 8 * static_cast<int64_t>(before.size()); ++bit) {
      const int64_t element = bit / bits - 1;
      const bool own = element >= 0 && element < 2 * n;
      EXPECT_EQ(bit_of(dst.data(), bit), own ? bit_of(src.data() + element, bit % bits) : bit_of(before.data(), bit))
          << kernel_name(k.family, k.places);
    }
    EXPECT_TRUE(src.intact() && dst.intact());
  }
}

void check(const Checked&, FlushKernel kernel) { kernel(); }

class EveryKernel : public testing::TestWithParam<const Kernels*> {};

TEST_P(EveryKernel, DoesWhatItShouldBetweenGuardPages) {
  std::mt19937 rng(51);
  int64_t checked = 0;
  each_kernel(*GetParam(), [&](const KernelFamily& family, auto kernel, std::span<const KernelPlace> places) {
    if (!kernel) return;
    for (const Side side : test::kSides) check(Checked{*GetParam(), family, places, side, rng}, kernel);
    ++checked;
  });
  std::printf("kernels of %s: %lld\n", std::string(GetParam()->isa).c_str(), static_cast<long long>(checked));
  EXPECT_GT(checked, 100);
}

INSTANTIATE_TEST_SUITE_P(Isa, EveryKernel, testing::ValuesIn(all_kernels().begin(), all_kernels().end()),
                         [](const auto& table) { return std::string(table.param->isa); });

}  // namespace
}  // namespace relayout::cpu
