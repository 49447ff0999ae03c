// Rules that cut, join and permute rows of packed blocks, which are rows of bytes (internal to checkpoint).
#pragma once

#include <string>

#include "relayout/checkpoint/rules/rules.h"
#include "relayout/checkpoint/tensor.h"

namespace relayout::checkpoint {

/// Why a rule that changes more than a name does not do it to a tensor whose elements are of no type that reorders
/// know, or which are blocks; "" where it does, as it only moves whole rows.
std::string why_not_changed(const Rule& rule, const CheckpointTensor& tensor);

/// Records of a new tensor that it has rows of another one.
void record_rows(TensorSpec& spec, const CheckpointTensor& rows_of);

}  // namespace relayout::checkpoint
