// The size of a tensor's elements, and a tensor that was read as one to be written.
#include "relayout/checkpoint/tensor.h"

#include "relayout/core/packed/packed.h"

namespace relayout::checkpoint {

int64_t CheckpointTensor::array_bytes() const {
  const auto elements = checked_product(shape);
  const int64_t stored_bits = elements ? *elements * item_bits : 0;
  return row_major() ? byte_size : stored_bits / 8 + (stored_bits % 8 != 0);
}

bool holds_blocks(const TensorNotes& notes) {
  const PackedFormat* format = find_packed(notes.packed);
  return format != nullptr && format->one_buffer();
}

TensorSpec spec_of(const CheckpointTensor& tensor) {
  TensorSpec out{.name = tensor.name, .shape = tensor.shape};
  out.layout = tensor.layout;
  out.dims = tensor.dims;
  out.notes = tensor.notes;
  if (tensor.dtype) {
    out.dtype = *tensor.dtype;
  } else {
    out.type_name = tensor.type_name;
    out.item_bits = tensor.item_bits;
  }
  return out;
}

}  // namespace relayout::checkpoint
