// Checkpoints: the tensors of a model by their names, in one file or in several, whatever the files' format.
//
//     Checkpoint model = Checkpoint::open("model.safetensors.index.json");   // or a file, or a folder of one model
//     for (const CheckpointTensor& t : model.tensors()) { t.name; t.dtype; t.shape; t.layout; }
//     Contents w = model.contents(model.find("encoder.weight"));             // the file's pages
//
// Only headers are read when a checkpoint is opened, and the files are mapped. One bad tensor, or one of a type that
// nobody here knows, never hides the others: it is listed with its `problem`. No pickle is ever run.
//
// A format is a file in formats/ (formats/formats.h has their contract). writer.h writes checkpoints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "relayout/checkpoint/metadata.h"
#include "relayout/checkpoint/tensor.h"

namespace relayout::checkpoint {

/// A tensor's bytes. They live as long as this, and where they are a mapping only as long as the Checkpoint or a copy
/// of it does.
struct Contents {
  std::span<const std::byte> bytes;
  std::shared_ptr<const std::byte[]> owner;  // of what was decoded; nothing for a mapping
};

/// One of the files of a checkpoint.
struct CheckpointFile {
  std::filesystem::path path;
  FileKind kind = FileKind::safetensors;
  int64_t byte_size = 0;
  /// Why it cannot be read. Then the tensors that an index says it has are listed with the same problem.
  std::optional<Error> problem;
  /// Which rules its metadata says were applied to it (kRulesKey).
  std::string rules;
};

class Checkpoint {
 public:
  /// A file of any kind, which is found by its first bytes; an index of files, *.index.json; the first file of a GGUF
  /// model that was split (NAME-00001-of-00003.gguf), with which all are opened; or a folder with one index, or else
  /// with one file of such a kind. Errors: io, corrupt, unsupported, limit; each names the file.
  static Checkpoint open(const std::filesystem::path& path, const FileLimits& limits = {});

  /// The tensors of several checkpoints as one, in which tensor NAME of number k is called "k/NAME". Metadata is that
  /// of the first. Cost: in proportion to the tensors; nothing is opened again.
  static Checkpoint join(std::span<const Checkpoint> parts);

  /// What another reader found in a file of a kind that is not read here (hdf5): its tensors, of which those with a
  /// decoder are decoded by it, and all others lie in the file at their offsets; what is recorded of them, as names and
  /// the texts that .safetensors has; and metadata. Strides that are empty stand for row-major ones. Errors: io;
  /// corrupt, for elements beyond the file and for two tensors of one name; invalid_argument, for another number of
  /// decoders.
  using Decoder = std::function<std::unique_ptr<std::byte[]>(const GoOn&)>;
  static Checkpoint described(const std::filesystem::path& path, FileKind kind, std::vector<CheckpointTensor> tensors,
                              std::vector<Decoder> decoders,
                              std::vector<std::pair<std::string, std::string>> recorded = {},
                              std::vector<MetadataEntry> metadata = {});

  std::span<const CheckpointTensor> tensors() const;
  std::span<const CheckpointFile> files() const;
  /// Of all files, in their order; a key that several have is there once, with the first file's value. .safetensors'
  /// own layout header and GGUF's recorded layouts are not part of it.
  std::span<const MetadataEntry> metadata() const;
  /// The value of a key, or nothing.
  const MetadataValue* find_metadata(std::string_view key) const;
  /// Index of the tensor of that name. Error{invalid_argument} suggests names that are near.
  std::size_t find(std::string_view tensor_name) const;
  /// The same, or nothing where there is none.
  std::optional<std::size_t> lookup(std::string_view tensor_name) const;

  /// The tensor's `byte_size` bytes, as stored. What is compressed is decoded anew in each call. Throws the tensor's
  /// problem. Safe to call from several threads. Errors: corrupt, limit, interrupted.
  Contents contents(std::size_t tensor, const GoOn& go_on = {}) const;

  struct Impl;
  explicit Checkpoint(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace relayout::checkpoint
