// What a rule of packed weights says, as a value and as a text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "relayout/core/dtype.h"

namespace relayout::checkpoint {

/// Packed weights become those of another format (core/packed), values become packed weights, or packed weights values.
/// Where a format has tensors of their own for its fields, a rule's pattern and its new name are what stands before the
/// names of these: "layers.0.q_proj" of "layers.0.q_proj.qweight".
struct Repacking {
  /// Names of packed formats; one of the two may be a floating type. `from` may be "ggml" for any of that system's.
  std::string from, to;
  /// Values that share a scale, where the new format leaves it open; 0: as many as before, or the format's own.
  int64_t group = 0;
  /// Where the formats' grids differ, values are rounded to the new one's.
  bool requantise = false;
};

/// What stands on both sides of an arrow where one of them names a packed format, with what follows behind a comma:
/// "gptq -> mlx:affine, group 64, requantise". Nothing where neither side does. Error{invalid_argument}.
std::optional<Repacking> repacking_of_line(std::string_view text);

/// The floating type that a side names, or nothing.
std::optional<DType> type_of_side(const std::string& side);

/// Why the rule contradicts itself; "" where it does not. Errors: those of packed_format().
std::string wrong_in(const Repacking& repacking);

/// The lines of a rule file.
std::string toml_of(const Repacking& repacking);

/// What is lost on the way back; "" for nothing.
std::string lost_by(const Repacking& repacking);

}  // namespace relayout::checkpoint
