// The flags of relayout convert, and which of them a conversion takes: a flag that would do nothing is an error.
#pragma once

#include <optional>
#include <string>

#include "tools/converting/convert_opencl.h"
#include "tools/converting/explain_option.h"
#include "tools/converting/record_conversion.h"
#include "tools/converting/tune_option.h"
#include "tools/input/index_tables.h"
#include "tools/input/values.h"

namespace relayout::tools {

struct ConvertOptions {
  std::string input, output, to;
  std::optional<std::string> from, dims, to_dims, dtype, to_dtype;
  ValueOptions values;
  IndexTableOptions index;
  RawOptions raw;
  std::string tensor;
  std::optional<std::string> into, to_tensor;
  std::optional<std::string> max_memory;
  TuneFlag tune;
  ViaOptions via;
  std::string field;
  int threads = 0;
  bool force = false, dequantize = false, repack = false, requantise = false, dry_run = false;
  std::optional<int64_t> group;
  ExplainFlag explain;
};

RecordConversion record_options(const ConvertOptions& options);

/// What a conversion is of.
enum class Conversion : uint8_t {
  tensor,  // a tensor, or a field that a layout expression names
  field,   // --field: a field of a record
  record,  // --to is a record, whose fields are moved
  values,  // --dequantize, or --from is a packed format that is no layout by itself
  repack,  // --repack or --requantise
};

/// Whether a --from is a packed format that is no layout by itself, so that its values are converted.
bool means_values(const std::string& from);

/// What the flags ask for. Failure (usage) for flags that exclude each other, and for one that this conversion does not
/// take, with what to write instead.
Conversion conversion_of(const ConvertOptions& options);

/// Failure (usage) where --to is a packed format that is a layout by itself, and the output of another type than its
/// codes.
void check_codes(const std::string& to, DType dtype);

}  // namespace relayout::tools
