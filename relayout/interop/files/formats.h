// What stands behind TensorFile and TensorWriter, and what each file format offers to them.
//
// To add a format: one source file with an open function that fills an Impl (and a header writer
// where the format can be written), and its line in any_format.cc.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "relayout/interop/files/file_io.h"
#include "relayout/interop/files/tensor_file.h"

namespace relayout {

/// Where a tensor's bytes are: a part of the file, or the result of `decode` once somebody asks.
struct Content {
  std::span<const std::byte> bytes;
  std::function<std::unique_ptr<std::byte[]>()> decode;  // makes byte_size bytes; none for parts of the file
  std::unique_ptr<std::byte[]> decoded;
};

struct TensorFile::Impl {
  FileFormat format = FileFormat::raw;
  std::string path;  // escaped, for messages
  FileLimits limits;
  std::string wanted;  // the one tensor that matters, or ""
  FileBytes file;
  std::vector<StoredTensor> tensors;
  std::vector<Content> contents;  // one a tensor
  int64_t decoded_bytes = 0;      // so far, all tensors together
  std::mutex mutex;               // guards contents and decoded_bytes

  void add(StoredTensor tensor, std::span<const std::byte> bytes) {
    tensors.push_back(std::move(tensor));
    contents.push_back({bytes, {}, {}});
  }
  void add(StoredTensor tensor, std::function<std::unique_ptr<std::byte[]>()> decode) {
    tensors.push_back(std::move(tensor));
    contents.push_back({{}, std::move(decode), {}});
  }
  /// A tensor that does not matter.
  void add_name(std::string name) { add({.name = std::move(name)}, std::span<const std::byte>()); }
};

/// Whether the tensor of that name is to be read.
inline bool is_wanted(std::string_view name, std::string_view wanted) { return wanted.empty() || name == wanted; }

/// Each reads impl.file and fills tensors and contents. Errors: corrupt, limit, unsupported.
void open_npy(TensorFile::Impl& impl);
void open_npz(TensorFile::Impl& impl);
void open_safetensors(TensorFile::Impl& impl);
void open_raw(TensorFile::Impl& impl);
void open_png(TensorFile::Impl& impl);
void open_jpeg(TensorFile::Impl& impl);

/// A decoded image as a tensor: u8, shape {1,H,W,C}, layout nhwc, dims {1,C,H,W}. Error{limit} where
/// it has more bytes than may be decoded.
StoredTensor image_tensor(int64_t width, int64_t height, int64_t channels, const FileLimits& limits);

/// How a tensor becomes a file: `head`, the tensor's bytes, and `tail_bound` bytes that finish() may
/// need. finish() completes the file in place and returns its final size; none where head and data
/// are all of it.
struct FilePlan {
  std::string head;
  int64_t data_bytes = 0;
  int64_t tail_bound = 0;
  std::function<int64_t(std::span<std::byte>)> finish;
};

FilePlan plan_npy(const TensorSpec& spec);
FilePlan plan_npz(const TensorSpec& spec);
FilePlan plan_safetensors(const TensorSpec& spec);
FilePlan plan_raw(const TensorSpec& spec);

/// Bytes of spec's elements. Errors: invalid_argument (a negative extent), overflow.
int64_t spec_bytes(const TensorSpec& spec);

/// Error{unsupported}: this build lacks `library`, which `format` needs.
[[noreturn]] void throw_missing_library(std::string_view format, std::string_view library);

}  // namespace relayout
