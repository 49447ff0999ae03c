// relayout convert where a side is a record: a field of it, all fields that two records share, or its values.
#pragma once

#include <optional>
#include <string>

#include "tools/tensor_input.h"

namespace relayout::tools {

struct RecordConversion {
  std::string input, output, to;
  std::optional<std::string> from, dims, to_dtype;
  std::string field, tensor;
  RawOptions raw;
  int threads = 0;
  bool force = false, dequantize = false, repack = false, requantise = false;
  std::optional<int64_t> group{};  // values that share a scale in the output of repack
};

/// Whether the flags ask for a conversion that convert_record() does: --to is a record, or --from is a packed format
/// whose values are to be computed.
bool converts_record(const RecordConversion& options);
/// Does it; returns what was done, as JSON. Errors are those of convert.
Json convert_record(const RecordConversion& options);

/// A field of a record as an input: of a raw buffer that --from describes, or of a file of NumPy's structured type.
TensorInput open_field(const RecordConversion& options);

}  // namespace relayout::tools
