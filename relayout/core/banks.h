// Banks: how often accesses of a GPU's warp to a tile in shared memory collide, and the swizzle that keeps them apart.
//
// NVIDIA's shared memory has 32 banks of 4 bytes: word w of it lies in bank w % 32. The 32 lanes of a warp access it
// together, and each bank gives one word at a time. A *wavefront* is what all banks give at once. Lanes that read the
// same word get it from one wavefront (a broadcast); as many different words as lanes want of one bank, so many
// wavefronts it takes. Lanes that access 8 bytes go by halves of a warp, those of 16 bytes by quarters, and ldmatrix
// takes a matrix of 8 rows of 16 bytes at a time. Such a part of a request is a *phase* here: one wavefront at best.
//
//     const TensorDesc tile(Format::parse("ab").bind({64, 64}), DType::f16);
//     banks::count(tile, banks::Access::parse("ldmatrix")).wavefronts;     // 512: 64 phases, each of 8 wavefronts
//     banks::find(tile, accesses);                                         // Sw<3,3,3>, with which there are 64
//
// The tile begins at bank 0, as tiles that are aligned to 128 bytes do. Rows are the last dim but one, columns the
// last; dims in front of these are tiles of their own.
//
// Source: NVIDIA, CUDA C++ Programming Guide, "Shared Memory" of compute capability 5.x; PTX ISA, "ldmatrix".
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/core/layout.h"

namespace relayout::banks {

inline constexpr int kBanks = 32, kBankBytes = 4, kLanes = 32;

/// What the lanes of a warp access at once. Each lane has `elements` elements that follow each other along the last
/// dim.
struct Access {
  enum class Kind : uint8_t {
    row,       // lane after lane along a row, and on in the next row
    column,    // lane after lane down a column, and on in the next column
    ldmatrix,  // 8 lanes a matrix: each has a row of 16 bytes
    lanes,     // the lanes of one request, each with its index
  };
  Kind kind = Kind::row;
  int64_t elements = 1;  // of ldmatrix: as many as 16 bytes hold
  std::vector<Dims> lanes;

  /// "row", "row:8", "column", "column:2", "ldmatrix", "lanes:0,0/1,0/2,0", "lanes:8:0,0/1,0". Error{parse}.
  static Access parse(std::string_view text);
  std::string text() const;
};

/// Lanes of one phase that want different words of one bank.
struct Collision {
  int64_t request = 0, phase = 0;  // which of all requests, which phase of it
  int bank = 0;
  std::vector<int> lanes;
  std::vector<Dims> indices;  // of each lane's first element
};

struct Count {
  int64_t requests = 0, phases = 0, wavefronts = 0;
  /// Wavefronts of the worst phase, and its lanes; nothing where no lanes collide.
  int64_t ways = 1;
  std::optional<Collision> worst;

  bool free() const { return wavefronts == phases; }
};

/// Counts the accesses of the whole tile. Errors: invalid_argument (a lane's elements that do not follow each other in
/// memory or do not begin at a multiple of their bytes; an extent that they do not divide; more than 16 bytes a lane,
/// or no power of two; an index outside the tile; no dim, or one dim where columns are asked for), limit (over 2^26
/// elements).
Count count(const TensorDesc& tile, const Access& access);

/// The swizzle with the fewest bits, and then the lowest base and the shortest shift, with which all of the accesses
/// are free of collisions: Swizzle() where they are without one, nothing where none does it. What is found has been
/// counted over the whole tile, and so has each that was left out. Errors: as count(), and invalid_argument where the
/// tile is swizzled already or no access is given.
std::optional<Swizzle> find(const TensorDesc& tile, std::span<const Access> accesses);

}  // namespace relayout::banks
