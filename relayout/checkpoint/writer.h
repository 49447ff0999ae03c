// Writes checkpoints: every name, type and shape is declared first, then come the bytes, in any order and in pieces,
// and then the files appear, each whole or not at all.
//
//     CheckpointWriter out = CheckpointWriter::create("model.safetensors", specs, {.shard_bytes = 5 << 30});
//     for (std::size_t i : out.order()) { out.write(i, 0, bytes_of(i)); out.set_written(i); }
//     out.commit();
//
// Where there are over 64 files, each is open only while it is written; then they have temporary names from the start,
// which a process that is killed leaves behind (".NAME.relayout-part").
//
// With a `job`, a writer that ends early leaves its files beside their paths, and the next one of the same job, the
// same tensors and the same metadata goes on with them: it asks written() before it makes a tensor's bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "relayout/checkpoint/checkpoint.h"

namespace relayout::checkpoint {

struct WriteOptions {
  /// .safetensors keeps texts; values of other types are written as JSON. .npz and PyTorch's files keep none and refuse
  /// them.
  std::vector<MetadataEntry> metadata;
  /// What the path's extension says, unless it is given.
  std::optional<FileKind> kind;
  bool overwrite = false;
  /// The most bytes of tensors that a file has, where one tensor has not more; 0: all are in one file. Files are called
  /// NAME-00001-of-00007.safetensors, and NAME.safetensors.index.json lists them; only .safetensors has that. Where one
  /// file is enough it is NAME.safetensors without an index.
  int64_t shard_bytes = 0;
  /// Which file each tensor goes to, counted from 0, in place of shard_bytes: one number a tensor, and no number is
  /// left out. Two files or more.
  std::vector<std::size_t> shards;
  /// What the bytes depend on besides specs and metadata: sources, rules, the version of the program. "": whatever ends
  /// early leaves nothing behind. At most 64 KiB.
  std::string job;
};

class CheckpointWriter {
 public:
  /// Plans the files, reserves their space on the disk, and writes their headers. Errors: io (also where a file exists
  /// and `overwrite` is not set), unsupported (a kind that is not written, a type that it lacks), invalid_argument (two
  /// tensors of one name, notes that do not fit), overflow.
  static CheckpointWriter create(const std::filesystem::path& path, std::span<const TensorSpec> specs,
                                 const WriteOptions& options = {});

  /// The files that commit() would make, in their order, the index last. Errors: those of create() but io.
  static std::vector<std::filesystem::path> paths_of(const std::filesystem::path& path,
                                                     std::span<const TensorSpec> specs,
                                                     const WriteOptions& options = {});
  /// Whether create() would have files to write; nothing is made. Errors: those of create().
  static void check(const std::filesystem::path& path, std::span<const TensorSpec> specs,
                    const WriteOptions& options = {});

  CheckpointWriter(CheckpointWriter&&) noexcept;
  CheckpointWriter& operator=(CheckpointWriter&&) noexcept;
  ~CheckpointWriter();

  /// The files that commit() makes, in their order, the index last.
  std::vector<std::filesystem::path> paths() const;
  /// The tensors in the order in which they lie in the files, which is the quickest to write them in.
  std::span<const std::size_t> order() const;
  /// How many bytes a tensor has, row-major.
  int64_t byte_size(std::size_t tensor) const;
  /// Which of paths() has it.
  std::size_t file_of(std::size_t tensor) const;
  /// Where its first byte is in that file.
  int64_t offset_of(std::size_t tensor) const;

  /// Writes a part of a tensor, from byte `at` of it on. Safe to call from several threads. Errors: io;
  /// invalid_argument where the part reaches beyond the tensor.
  void write(std::size_t tensor, int64_t at, std::span<const std::byte> bytes);
  /// Says that all of a tensor's bytes are written. With a job it is remembered, whenever the process is killed. Safe
  /// to call from several threads. Error{io}.
  void set_written(std::size_t tensor);
  /// Whether that was said, by this writer or by the one that it goes on for. A writer of the same job that ran before
  /// the machine was started anew does not count, as the disk need not have all that it wrote.
  bool written(std::size_t tensor) const;
  /// How many tensors were written when this writer began.
  std::size_t resumed() const;

  /// Completes the files, writes them to the disk, and gives them their names, the index last. Errors: io;
  /// invalid_argument, which names a tensor that was not written; interrupted.
  void commit(const GoOn& go_on = {});
  /// Removes what a later writer of the same job would go on with.
  void discard();

  struct Impl;

 private:
  explicit CheckpointWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace relayout::checkpoint
