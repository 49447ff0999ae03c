// Bank conflicts against sets of words, written from the definition, and the search against trying all swizzles.
#include "relayout/core/banks.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>

#include "relayout/core/view.h"
#include "tests/support/slow_tests.h"
#include "tests/support/testing.h"

namespace relayout::banks {
namespace {

using test::error_of;

/// All requests of an access of a matrix, each a list of phases, each a list of byte addresses and bytes.
using Phase = std::vector<std::pair<int64_t, int64_t>>;
struct Expected {
  int64_t requests = 0;
  std::vector<Phase> phases;
};

Expected expected_phases(const TensorDesc& tile, const Access& access) {
  const int64_t rows = tile.layout.dim(0), columns = tile.layout.dim(1), bytes = bits(tile.dtype) / 8;
  const bool matrix = access.kind == Access::Kind::ldmatrix;
  const int64_t each = matrix ? 16 / bytes : access.elements, width = each * bytes;
  std::vector<std::pair<int64_t, int64_t>> lanes;  // row and column
  if (access.kind == Access::Kind::row) {
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; c += each) lanes.emplace_back(r, c);
  } else {
    for (int64_t c = 0; c < columns; c += each)
      for (int64_t r = 0; r < rows; ++r) lanes.emplace_back(r, c);
  }
  const std::size_t in_request = matrix ? 8 : 32, in_phase = width == 16 ? 8 : width == 8 ? 16 : 32;
  Expected out;
  for (std::size_t first = 0; first < lanes.size(); first += in_request) {
    ++out.requests;
    for (std::size_t at = first; at < std::min(lanes.size(), first + in_request); at += in_phase) {
      Phase& phase = out.phases.emplace_back();
      for (std::size_t k = at; k < std::min({lanes.size(), first + in_request, at + in_phase}); ++k)
        phase.emplace_back(tile.layout.offset({lanes[k].first, lanes[k].second}) * bytes, width);
    }
  }
  return out;
}

int64_t wavefronts(const Phase& phase) {
  std::map<int64_t, std::set<int64_t>> words;
  for (const auto& [address, width] : phase) {
    for (int64_t byte = address; byte < address + width; ++byte) words[byte / 4 % 32].insert(byte / 4);
  }
  std::size_t most = 0;
  for (const auto& [bank, of_bank] : words) most = std::max(most, of_bank.size());
  return static_cast<int64_t>(most);
}

bool free_of_conflicts(const TensorDesc& tile, const Access& access) {
  for (const Phase& phase : expected_phases(tile, access).phases) {
    if (wavefronts(phase) > 1) return false;
  }
  return true;
}

TensorDesc tile_of(int64_t rows, int64_t columns, DType dtype, const Swizzle& swizzle = {}) {
  return {Layout::contiguous({rows, columns}).with_swizzle(swizzle), dtype};
}

TEST(Banks, CountsAreThoseOfTheDefinition) {
  int collided = 0, free = 0;
  for (const DType dtype : {DType::u8, DType::f16, DType::f32, DType::f64}) {
    for (const int64_t rows : {8, 16, 32, 64}) {
      for (const int64_t columns : {16, 32, 64}) {
        for (const Swizzle& swizzle :
             {Swizzle(), Swizzle::make(3, 3, 3), Swizzle::make(2, 4, 3), Swizzle::make(1, 4, 2)}) {
          const TensorDesc tile = tile_of(rows, columns, dtype, swizzle);
          for (const char* text : {"row", "row:2", "column", "column:2", "ldmatrix"}) {
            const Access access = Access::parse(text);
            const int64_t each = access.kind == Access::Kind::ldmatrix ? 128 / bits(dtype) : access.elements;
            if (swizzle.run() < each && !swizzle.identity()) continue;  // it takes a lane's elements apart
            const Expected expected = expected_phases(tile, access);
            int64_t sum = 0, most = 0;
            for (const Phase& phase : expected.phases) {
              sum += wavefronts(phase);
              most = std::max(most, wavefronts(phase));
            }
            const Count found = count(tile, access);
            ASSERT_EQ(found.requests, expected.requests) << text;
            ASSERT_EQ(found.phases, static_cast<int64_t>(expected.phases.size())) << text;
            ASSERT_EQ(found.wavefronts, sum) << text << " " << name(dtype) << " " << rows << "x" << columns;
            ASSERT_EQ(found.ways, most);
            ASSERT_EQ(found.worst.has_value(), most > 1);
            (found.free() ? free : collided) += 1;
          }
        }
      }
    }
  }
  EXPECT_GT(free, 50);
  EXPECT_GT(collided, 50);
}

TEST(Banks, NamesTheLanesThatCollide) {
  const TensorDesc tile = tile_of(64, 64, DType::f16);
  const Count found = count(tile, Access::parse("ldmatrix"));
  ASSERT_TRUE(found.worst);
  EXPECT_EQ(found.ways, 8);
  EXPECT_EQ(found.worst->lanes, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(found.worst->indices[3], (Dims{3, 0}));
  const Count lanes = count(tile_of(32, 32, DType::f32), Access::parse("lanes:0,0/1,0/0,0/5,1"));
  EXPECT_EQ(lanes.wavefronts, 2);  // lanes 0 and 2 read one word
  EXPECT_EQ(lanes.worst->lanes, (std::vector<int>{0, 1, 2}));
  // Eight bytes a lane go by halves of a warp, sixteen by quarters.
  EXPECT_EQ(count(tile, Access::parse("row:4")).phases, 64 * 64 / 4 / 16);
  EXPECT_EQ(count(tile, Access::parse("row:8")).phases, 64 * 64 / 8 / 8);
  EXPECT_TRUE(count(tile, Access::parse("row:8")).free());
}

/// The fewest bits of a swizzle that frees all accesses, by trying all; -1 where none does.
int fewest_bits(const TensorDesc& tile, std::span<const Access> accesses, int64_t together) {
  const auto frees = [&](const Swizzle& swizzle) {
    const TensorDesc swizzled(tile.layout.with_swizzle(swizzle), tile.dtype);
    return std::ranges::all_of(accesses, [&](const Access& a) { return free_of_conflicts(swizzled, a); });
  };
  if (frees({})) return 0;
  for (int bits = 1; bits <= 5; ++bits) {
    for (int base = 0; base <= 12; ++base) {
      if (int64_t{1} << base < together) continue;  // a lane's elements would not stay together
      for (int shift = bits; shift <= 12; ++shift) {
        if (frees(Swizzle::make(bits, base, shift)) || frees(Swizzle::make(bits, base, -shift))) return bits;
      }
    }
  }
  return -1;
}

TEST(Banks, TheSearchAgreesWithTryingAllSwizzles) {
  int needed = 0, without = 0;
  const int64_t most = test::slow_tests() ? 64 : 32;
  for (const DType dtype : {DType::f16, DType::f32}) {
    const int64_t matrix_columns = 16 / (bits(dtype) / 8);
    for (int64_t rows = 8; rows <= most; rows += test::slow_tests() ? 8 : rows) {
      for (int64_t columns = matrix_columns; columns <= 64; columns += test::slow_tests() ? matrix_columns : columns) {
        const TensorDesc tile = tile_of(rows, columns, dtype);
        const std::vector<std::vector<Access>> lists = {
            {Access::parse("ldmatrix")},
            {Access::parse("row"), Access::parse("column")},
            {Access::parse(dtype == DType::f16 ? "row:8" : "row:4"), Access::parse("ldmatrix")}};
        for (const auto& accesses : lists) {
          const int64_t together =
              accesses.size() == 2 && accesses[1].kind == Access::Kind::column ? 1 : matrix_columns;
          const auto found = find(tile, accesses);
          const int bits = fewest_bits(tile, accesses, together);
          ASSERT_EQ(found ? found->bits() : -1, bits) << rows << "x" << columns << " " << name(dtype);
          if (!found) {
            ++without;
            continue;
          }
          needed += bits > 0;
          for (const Access& access : accesses) {
            EXPECT_TRUE(free_of_conflicts({tile.layout.with_swizzle(*found), dtype}, access));
            EXPECT_TRUE(count({tile.layout.with_swizzle(*found), dtype}, access).free());
          }
        }
      }
    }
  }
  EXPECT_GT(needed, 10);
  EXPECT_GT(without + needed, 20);
}

TEST(Banks, FindsTheUsualSwizzles) {
  const std::vector<Access> accesses = {Access::parse("row:8"), Access::parse("ldmatrix")};
  EXPECT_EQ(find(tile_of(64, 64, DType::f16), accesses), Swizzle::make(3, 3, 3));
  EXPECT_EQ(find(tile_of(64, 32, DType::f16), accesses), Swizzle::make(2, 3, 3));
  EXPECT_EQ(find(tile_of(64, 8, DType::f16), accesses), Swizzle());
  const std::vector<Access> both = {Access::parse("row"), Access::parse("column")};
  EXPECT_EQ(find(tile_of(32, 32, DType::f32), both), Swizzle::make(5, 0, 5));
}

TEST(Banks, Refusals) {
  const TensorDesc tile = tile_of(64, 64, DType::f16);
  const auto message = [&](const char* access, const TensorDesc& of) {
    return error_of([&] { (void)count(of, Access::parse(access)); }).message();
  };
  EXPECT_EQ(message("row:16", tile),
            "banks: row:16: a lane accesses 16 elements of f16 at once; it takes 1 to 16 bytes, a power of two");
  EXPECT_NE(message("row:8", tile_of(8, 12, DType::f16)).find("rows of 12 elements"), std::string::npos);
  EXPECT_NE(message("ldmatrix", tile_of(12, 64, DType::f16)).find("12 rows"), std::string::npos);
  EXPECT_NE(message("row:8", {transpose(tile.layout, 0, 1), DType::f16}).find("do not follow each other"),
            std::string::npos);
  EXPECT_NE(message("column", {Layout::contiguous({8}), DType::f16}).find("the tile has 1 dims"), std::string::npos);
  EXPECT_THROW((void)count(tile, Access::parse("lanes:64,0")), Error);
  EXPECT_THROW((void)find(tile_of(64, 64, DType::f16, Swizzle::make(3, 3, 3)), {}), Error);
  EXPECT_THROW((void)find(tile, {}), Error);
  for (const char* text : {"rows", "row:", "row:x", "row:0", "ldmatrix:4", "lanes:", "lanes:a", ""})
    EXPECT_EQ(error_of([&] { Access::parse(text); }).code() == ErrorCode::internal, false) << text;
  for (const char* text : {"row", "row:8", "column:2", "ldmatrix", "lanes:0,0/1,0", "lanes:8:0,0/1,0"})
    EXPECT_EQ(Access::parse(text).text(), text);
}

}  // namespace
}  // namespace relayout::banks
