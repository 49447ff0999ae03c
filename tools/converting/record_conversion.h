// relayout convert where a side is a record: a field of it, all fields that two records share, or its values.
#pragma once

#include <optional>
#include <string>

#include "tools/input/tensor_input.h"
#include "tools/input/values.h"

namespace relayout::tools {

struct RecordConversion {
  std::string input, output, to;
  std::optional<std::string> from, dims, to_dtype;
  std::string field, tensor;
  RawOptions raw;
  ValueOptions values;
  int threads = 0;
  bool force = false, dequantize = false, repack = false, requantise = false;
  std::optional<int64_t> group{};  // values that share a scale in the output of repack
};

/// Moves all fields whose names agree to the record that --to says; returns what was done, as JSON. Errors are those of
/// convert.
Json move_fields(const RecordConversion& options);
/// Computes the values of the packed format that --from names, in the layout that --to says; returns the same.
Json compute_values(const RecordConversion& options);

/// --tensor names the tensor in the input and in the output; where the input has no names (`named`), the output's
/// alone. Failure (usage) where neither has any.
void check_output_name(const std::string& tensor, bool named, const std::string& input, const std::string& output);

/// A field of a record as an input: of a raw buffer that --from describes, or of a file of NumPy's structured type.
TensorInput open_field(const RecordConversion& options);

}  // namespace relayout::tools
