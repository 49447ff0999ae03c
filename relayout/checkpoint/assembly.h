// A tensor that is put together from views of others (internal to checkpoint): its dims, and the boxes of which it
// consists. Every function gives a new one; nothing moves.
#pragma once

#include <span>
#include <vector>

#include "relayout/checkpoint/piece.h"
#include "relayout/checkpoint/rules/rules.h"

namespace relayout::checkpoint {

struct Assembly {
  Dims dims;
  std::vector<Piece> pieces;
};

/// Index 0 of every dim.
Dims origin(int rank);
/// All of a tensor, seen through a layout over its contents.
Assembly whole(std::size_t source, const Layout& layout);
/// Dim `dim` from 0 on; a negative one counts from the end of `rank`. Error{invalid_argument}.
int checked_dim(int dim, int rank);
/// The indices [first, first + length) of a dim.
Assembly narrowed(const Assembly& all, int dim, int64_t first, int64_t length);
/// The only index of a dim, which goes.
Assembly squeezed(const Assembly& all, int dim);
/// A new dim of extent 1 before dim `dim`.
Assembly unsqueezed(const Assembly& all, int dim);
/// Parts behind each other along a dim. Error{invalid_argument}: they differ in another extent, or in rank.
Assembly joined(std::span<const Assembly> parts, int dim);
/// Equal parts along dim `join`, each cut into the indices of dim `dim`, which it then lacks: part by part.
/// Error{invalid_argument}: the dim is no such parts, or both are one dim.
std::vector<Assembly> unstacked(const Assembly& all, int dim, int join, int parts);
/// Errors: invalid_argument where the dim does not divide as the permutation says.
Assembly permuted(const Assembly& all, const Permutation& permutation);

}  // namespace relayout::checkpoint
