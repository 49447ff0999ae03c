// The names of packed weights' tensors in checkpoints: what stands before the names of a format's buffers (internal to
// checkpoint).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/checkpoint/checkpoint.h"
#include "relayout/core/packed/packed.h"

namespace relayout::checkpoint {

/// "layers.0.q_proj" and "." of "layers.0.q_proj.qweight"; both are "" where the tensor is called "qweight".
struct PackedName {
  std::string prefix, separator;
  std::string buffer;  // of the format, or a name that belongs to it: its dims', or a table of groups

  /// The tensor of a buffer of the same matrix.
  std::string with(std::string_view other) const { return prefix + separator + std::string(other); }
};

/// The name of a tensor of a format that has tensors of their own for its fields; nothing where it is none's.
std::optional<PackedName> packed_name(const PackedFormat& format, std::string_view tensor);
/// The tensor that has a buffer of the same matrix, under any of the buffer's names.
std::optional<std::size_t> find_buffer(const Checkpoint& model, const PackedFormat& format, const PackedName& name,
                                       std::string_view buffer);
/// The buffers that files have of a format, with those beside the values: the dims, and GPTQ's table of groups, without
/// which its loaders do not load.
std::vector<std::string> stored_buffers(const PackedFormat& format);
/// The buffer that has the codes of values.
std::string_view codes_buffer(const PackedFormat& format);

/// The name of plain values, or of blocks of one buffer, for the matrix of a name: "layers.0.q_proj.weight".
std::string single_name(const PackedName& name);
/// And back: what stands before ".weight", or the whole name.
PackedName name_of_single(std::string_view tensor);

}  // namespace relayout::checkpoint
