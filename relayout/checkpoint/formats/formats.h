// The formats of checkpoints: what reading and writing a file of each consists of.
//
// To add a format: one source file with a function that fills a Source and, where it can be written, one that makes a
// FileImage; its enumerator in FileKind; and its row in kinds.cc, at the same place.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "relayout/checkpoint/metadata.h"
#include "relayout/checkpoint/tensor.h"
#include "relayout/interop/files/file_io.h"
#include "relayout/interop/files/formats.h"
#include "relayout/io/new_file.h"

namespace relayout::checkpoint {

/// Decodes a compressed tensor's bytes, byte_size of them.
using Decode = std::function<std::unique_ptr<std::byte[]>(const GoOn&)>;

/// A file that is read.
struct Source {
  FileBytes file;
  FileLimits limits;
  std::vector<CheckpointTensor> tensors{};
  std::vector<Decode> decoders{};  // one a tensor; empty where it is mapped
  std::vector<MetadataEntry> metadata{};
  /// Recorded layouts that are not in `tensors` yet, as the tensor's name and the text that .safetensors has for it:
  /// the tensor may be in another file.
  std::vector<std::pair<std::string, std::string>> recorded{};

  std::span<const std::byte> bytes() const { return file.bytes(); }
  void add(CheckpointTensor tensor, Decode decode = {}) {
    tensor.mapped = !decode;
    tensors.push_back(std::move(tensor));
    decoders.push_back(std::move(decode));
  }
};

/// A file that is written: what stands in it besides the tensors, and where these go.
struct FileImage {
  std::vector<std::pair<int64_t, std::string>> texts;  // offset, bytes
  std::vector<int64_t> offsets;                        // one a tensor
  std::vector<std::size_t> order;                      // the tensors as they lie in the file
  int64_t size = 0;
  /// Called with each part of a tensor that is written, from byte `at` of it on, and from several threads; may be
  /// empty.
  std::function<void(std::size_t tensor, int64_t at, std::span<const std::byte> bytes)> seen{};
  /// Completes a file that has all of this; empty where nothing is missing.
  std::function<void(const io::NewFile&, const GoOn&)> finish{};
};

struct KindRow {
  FileKind kind;
  std::string_view name;
  std::array<std::string_view, 4> extensions;
  /// Whether a file of that size that begins with these bytes is one of this kind.
  bool (*begins_as)(std::span<const std::byte> bytes);
  /// Reads the headers of source.file. Errors: corrupt, limit, unsupported. What is wrong with one tensor is its
  /// problem.
  void (*open)(Source& source);
  /// Null where the kind is only read. Errors: those of CheckpointWriter::create().
  FileImage (*plan)(std::span<const TensorSpec> specs, std::span<const MetadataEntry> metadata);
  bool metadata = false;  // keeps_metadata()
};
std::span<const KindRow> kind_rows();
const KindRow& row_of(FileKind kind);

bool begins_as_safetensors(std::span<const std::byte> bytes);
void open_safetensors(Source& source);
FileImage plan_safetensors(std::span<const TensorSpec> specs, std::span<const MetadataEntry> metadata);

bool begins_as_gguf(std::span<const std::byte> bytes);
void open_gguf(Source& source);
FileImage plan_gguf(std::span<const TensorSpec> specs, std::span<const MetadataEntry> metadata);

/// The archives of torch.save() with a pickle, and the files of its older format.
bool begins_as_pytorch(std::span<const std::byte> bytes);
void open_pytorch(Source& source);
FileImage plan_pytorch(std::span<const TensorSpec> specs, std::span<const MetadataEntry> metadata);

/// Every other zip archive.
bool begins_as_npz(std::span<const std::byte> bytes);
void open_npz(Source& source);
FileImage plan_npz(std::span<const TensorSpec> specs, std::span<const MetadataEntry> metadata);

/// Row-major strides, also where the product of extents does not fit 63 bits (then 0).
Dims row_major_strides(const Dims& shape);

/// Runs `body`, and puts the file's path in front of the message of its errors.
template <typename Body>
auto about(const std::filesystem::path& path, Body body) {
  try {
    return body();
  } catch (const Error& error) {
    throw Error(error.code(), "\"" + escaped(path.native(), 200) + "\": " + error.message(), error.field(),
                error.value(), error.limit());
  }
}

}  // namespace relayout::checkpoint
