// A tensor of a file that exists, into which parts are written where they lie: what a part costs follows from the part,
// and not from the file.
//
//     WholeTensor whole = WholeTensor::open("model.safetensors", {.tensor = "conv.weight"});
//     whole.write({.desc = part_desc, .bytes = part_bytes}, {0, 8, 0, 0}, {});      // indices 8, 9, ... of dim 1
//
// The file keeps its name, its size, its headers, and every element that is not the part's, padding too. All is checked
// before a byte changes. A write that is ended in between leaves the part's elements new in some places and old in
// others; the same call again writes all of it. In zip archives (.npz, PyTorch's files) the checksum of the member is
// computed anew behind the write, which reads the member once; where that is not reached, readers say that the checksum
// is wrong until a part is written again.
//
// Files: .npy, .npz and PyTorch's files whose members are stored, .safetensors, .gguf, an index of those, .raw and
// .bin. What is compressed, big-endian, or in blocks of a packed format is refused.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "relayout/core/format.h"
#include "relayout/cpu/slab_reorder.h"
#include "relayout/interop/files/tensor_file.h"

namespace relayout::checkpoint {

struct WholeOptions {
  /// The tensor's name; "" where the file has one tensor.
  std::string tensor{};
  /// What the file does not say: the layout (that which is recorded, else row-major), the logical dims (those that are
  /// recorded or that the shape shows), and the type, which raw bytes and NumPy's void types need. A type that
  /// contradicts the file's is an error.
  std::optional<Format> layout{};
  std::optional<Dims> dims{};
  std::optional<DType> dtype{};
};

struct WholeWrite {
  Attributes attributes{};  // `padding` is always kept
  /// Whether values may be rounded; otherwise the file's type must hold every value of the part's. Whoever gives
  /// attributes that change values, such as scales, has asked for it.
  bool may_round = false;
  int threads = 0;
  GoOn go_on{};
};

class WholeTensor {
 public:
  /// Finds the tensor, and opens its file for writing; nothing is written. Errors: io, corrupt, limit, unsupported (a
  /// kind of file or a tensor whose elements cannot be written where they lie), invalid_argument (no such tensor; a
  /// layout, dims or a type that do not fit it).
  static WholeTensor open(const std::filesystem::path& path, const WholeOptions& options = {});

  WholeTensor(WholeTensor&&) noexcept;
  WholeTensor& operator=(WholeTensor&&) noexcept;
  ~WholeTensor();

  /// The layout that its elements have, for messages: "nhwc".
  const Format& format() const;
  const TensorDesc& desc() const;
  /// The file that has it.
  const std::filesystem::path& path() const;

  /// Whether the part fits, with the errors of write().
  void check(const TensorDesc& part, const Dims& begin, const WholeWrite& options = {}) const;
  /// Writes the part to the indices from `begin` on, and the file to the disk. Errors, before a byte is written:
  /// invalid_argument (another number of dims; indices that the whole does not have; values that the type does not hold
  /// without may_round), buffer_too_small, those of Plan::make. Else io; interrupted, where a part of it is written.
  void write(const cpu::SlabSource& part, const Dims& begin, const WholeWrite& options = {});

  struct Impl;

 private:
  explicit WholeTensor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace relayout::checkpoint
