// The tensors of a packed matrix as a checkpoint has them (internal to checkpoint).
#pragma once

#include <functional>
#include <string>

#include "relayout/checkpoint/packed/group.h"
#include "relayout/checkpoint/packed/names.h"

namespace relayout::checkpoint {

/// A matrix, or several one behind the other, as experts are.
struct PackedSource {
  PackedSide side;
  std::vector<std::pair<std::string, std::size_t>> tensors;  // as PackedGroup::sources
  /// All dims, N and K last: 4096,11008 or 32,4096,11008.
  Dims dims;
  Layout plain;
  /// Every tensor that belongs to it, tables of groups and dims too.
  std::vector<std::size_t> all;
};

/// Throws an error about a tensor.
using RefuseTensor = std::function<void(std::size_t tensor, const std::string& why, ErrorCode code)>;

/// The tensors of a format that has several; `at` is one of them. Reads the matrix' dims and the table of its groups
/// where it has them, and no other contents. Refuses: a tensor that is missing; shapes that do not fit each other.
PackedSource packed_source(const Checkpoint& model, const PackedFormat& format, const PackedName& name, std::size_t at,
                           const RefuseTensor& refuse);
/// Blocks of one buffer, or plain values.
PackedSource single_source(const Checkpoint& model, std::size_t at, const RefuseTensor& refuse);

/// N,K in the order of a format.
Dims in_order(const PackedFormat& format, int64_t n, int64_t k);

}  // namespace relayout::checkpoint
