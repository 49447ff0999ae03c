// A job of evaluate(): what is the same for all tiles of the values, found once (internal to cpu).
//
// A tile is a rectangle of values. It begins where blocks of every field and of the destination begin, and it lies
// inside each group of values that share a coefficient, or holds whole groups.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "relayout/core/record/value.h"
#include "relayout/cpu/evaluate/value_field.h"

namespace relayout::cpu {

/// A field as tiles see it: how many values share one of its elements.
struct Leaf {
  const ValueField* field;
  const std::byte* bytes;
  std::array<int64_t, 2> group;
  std::array<int64_t, 2> extent;  // of the values
  DType tile_type;                // of its elements in a tile

  /// A group that is all of a dim has index 0 in every tile.
  bool whole(int d) const { return group[d] == extent[d]; }
};

/// Where a tile begins and how large it is, in values.
struct Tile {
  std::array<int64_t, 2> begin, size;
};

/// Everything that is the same for all tiles.
struct Job {
  std::vector<ValueExpression::Node> nodes;
  ValueExpression::Affine affine;
  std::vector<Leaf> leaves;                    // by node, of names alone
  std::vector<std::optional<std::size_t>> of;  // the leaf of a node
  std::vector<std::size_t> planes;             // leaves, in the order of the code
  std::array<int64_t, 2> group{};              // of the coefficients together
  TensorDesc dst;
  std::byte* out = nullptr;
  DType code_type = DType::u8;
  bool dense_rows = false, streams = false;
  std::array<int64_t, 2> tile{};

  int64_t grid(int d) const { return ceil_div(dst.layout.dim(d), tile[static_cast<std::size_t>(d)]); }
  Tile at(int64_t n) const {
    Tile t{};
    t.begin = {n / grid(1) * tile[0], n % grid(1) * tile[1]};
    for (int d = 0; d < 2; ++d) t.size[d] = std::min(tile[d], dst.layout.dim(d) - t.begin[d]);
    return t;
  }
};

/// Whether values are stored in the destination as they are computed, which make_job() asks of it.
bool stored_as_computed(const TensorDesc& dst);
/// Error{invalid_argument} where the dims of a field do not divide those of the values.
void check_dims(const ValueField& field, const Dims& values);
/// Error{overlap} where a field shares memory with the destination.
void check_apart(std::span<const ValueField> fields, const TensorDesc& dst, const std::byte* out);

/// Checks the fields and the destination, and cuts the values into tiles. Errors: those of evaluate(). The fields must
/// live as long as the job.
Job make_job(const ValueExpression& expression, std::span<const ValueField> fields, const TensorDesc& dst,
             const Elements& out);

}  // namespace relayout::cpu
