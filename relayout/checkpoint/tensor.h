// What a checkpoint says of a tensor, and the kinds of files that checkpoints consist of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "relayout/core/layout.h"
#include "relayout/interop/files/tensor_file.h"

namespace relayout::checkpoint {

/// HDF5 files, as Keras writes, are opened by whoever can read them, as the Python package can by h5py
/// (Checkpoint::described()).
enum class FileKind : uint8_t { safetensors, gguf, pytorch, npz, hdf5 };
/// "safetensors", "gguf", "pytorch", "npz", "hdf5".
std::string_view name(FileKind kind);
/// Whether files of this kind keep metadata and recorded layouts; the writers of others refuse metadata.
bool keeps_metadata(FileKind kind);
/// The kind that a path's extension says: .safetensors .npz .gguf .pt .pth .bin .ckpt .h5
/// .hdf5.
std::optional<FileKind> kind_of_path(const std::filesystem::path& path);

/// A tensor of a checkpoint: an array as StoredTensor says, and where its bytes are. Blocks of a packed format are an
/// array of bytes, u8 with the blocks of a row as the last axis, whose `notes.packed` names the format. `fortran_order`
/// is always false; `strides` say it.
struct CheckpointTensor : StoredTensor {
  /// Of `shape`, in elements: row-major, but for PyTorch's views and NumPy's Fortran order. None is negative.
  Dims strides;
  /// Which of files() has it.
  std::size_t file = 0;
  /// Where its first element is in that file, in bytes; of a compressed one, where the compressed bytes are.
  /// `byte_size` reaches from its first element to its last one, with what lies between.
  int64_t offset = 0;
  /// Whether the bytes lie in the file as they are.
  bool mapped = true;

  /// Where the elements lie in the bytes of its contents.
  Layout memory() const { return Layout::strided(shape, strides); }
  bool row_major() const { return memory() == Layout::contiguous(shape); }
  /// How many bytes its elements have.
  int64_t array_bytes() const;
};

/// Whether the array is the blocks of a packed format, and not one of several tensors of one.
bool holds_blocks(const TensorNotes& notes);
inline bool holds_blocks(const CheckpointTensor& tensor) { return holds_blocks(tensor.notes); }

/// The same array, row-major, as a tensor to be written. Nothing of its problem is looked at.
TensorSpec spec_of(const CheckpointTensor& tensor);

}  // namespace relayout::checkpoint
