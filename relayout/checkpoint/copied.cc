// Targets that are copies (copied.h).
#include "relayout/checkpoint/copied.h"

#include "relayout/checkpoint/assembly.h"
#include "relayout/checkpoint/formats/formats.h"
#include "relayout/core/error.h"
#include "relayout/core/print.h"

namespace relayout::checkpoint {

bool has_elements(const CheckpointTensor& tensor) {
  return tensor.dtype && tensor.notes.packed.empty() && !tensor.byte_swapped;
}

Target copied(const CheckpointTensor& tensor, std::size_t i) {
  Target target{.spec = spec_of(tensor)};
  const bool elements = has_elements(tensor);
  if (elements) {
    target.memory = TensorDesc(Layout::contiguous(tensor.shape), *tensor.dtype);
    target.pieces = whole(i, tensor.memory()).pieces;
  } else {
    const Layout bytes = Layout::contiguous(Dims{tensor.byte_size});
    target.memory = TensorDesc(bytes, DType::u8);
    target.pieces = whole(i, bytes).pieces;
    if (!tensor.row_major() || tensor.byte_swapped)
      throw Error(ErrorCode::unsupported,
                  "tensor \"" + escaped(tensor.name, 200) + "\": " +
                      (tensor.byte_swapped ? "its elements are big-endian"
                                           : "it has strides, and a type that is not known here"),
                  "tensor", escaped(tensor.name, 200));
  }
  target.src_type = target.memory.dtype;
  // Those of dims of extent 1 count, as PyTorch tells memory formats by them.
  const bool strided = tensor.strides != row_major_strides(tensor.shape);
  if (elements && strided && !target.spec.layout) target.spec.notes.strides = tensor.strides;
  return target;
}

}  // namespace relayout::checkpoint
