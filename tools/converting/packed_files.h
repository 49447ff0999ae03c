// Files of packed weights: the buffers of a packed format as an input, and repacking into another format.
#pragma once

#include <vector>

#include "relayout/cpu/dequantize.h"
#include "relayout/interop/files/tensor_file.h"
#include "tools/converting/record_conversion.h"

namespace relayout::tools {

/// A packed matrix and its buffers, which live as long as the files.
struct PackedInput {
  cpu::PackedTensor tensor;
  std::vector<TensorFile> files;
  std::vector<cpu::PackedBuffer> buffers;
  std::vector<std::size_t> stored;  // which tensor of the file each buffer is, where they have tensors of their own
  std::string order_name{};         // the tensor that tensor.group_of was read from
};

/// The matrix of the format that --from names, which is given: the file's only tensor where the format has one buffer,
/// else the file's tensors of any of the buffers' names, behind --tensor and '.' or '_'. The types and groups of
/// coefficients are those of the file. Failure: usage (no --dims, no such tensor), bad data.
PackedInput open_packed(const RecordConversion& options);

/// Writes the matrix in the format that --to names: raw bytes, or an .npz or .safetensors of the buffers' names and of
/// the types and shapes that the format's loaders expect. Returns what was done, as JSON.
Json repack(const RecordConversion& options);

}  // namespace relayout::tools
