// Rows of packed blocks: see rows.h.
#include "relayout/checkpoint/packed/rows.h"

#include "relayout/core/print.h"

namespace relayout::checkpoint {

std::string why_not_changed(const Rule& rule, const CheckpointTensor& tensor) {
  if (tensor.byte_swapped) return "its elements are big-endian";
  const std::string& packed = tensor.notes.packed;
  if (packed.empty())
    return tensor.dtype ? "" : "its type, " + escaped(tensor.type_name, 60) + ", is not converted here";
  if (!holds_blocks(tensor))
    return "it is one of the tensors of a matrix of " + packed + ", which rules convert together";
  if (rule.from || rule.type) return "it holds blocks of " + packed + "; from and to, or a type alone, convert them";
  const int rank = tensor.shape.size();
  const auto is_row = [&](int dim, int among) { return (dim < 0 ? dim + among : dim) == among - 1; };
  const bool stacks = rule.merge && rule.merge->stack;
  if ((rule.permute && is_row(rule.permute->dim, rank)) || (rule.split && is_row(rule.split->dim, rank)) ||
      (rule.merge && is_row(rule.merge->dim, rank + (stacks ? 1 : 0))))
    return "it holds blocks of " + packed + " along its last dim, and only whole rows are moved";
  return "";
}

void record_rows(TensorSpec& spec, const CheckpointTensor& rows_of) {
  const Dims& values = rows_of.notes.packed_dims;
  if (values.empty()) return;
  spec.notes.packed = rows_of.notes.packed;
  spec.notes.packed_dims = spec.shape;
  spec.notes.packed_dims[spec.shape.size() - 1] = values[values.size() - 1];
}

}  // namespace relayout::checkpoint
