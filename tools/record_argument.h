// Records on the command line: as an expression, a packed format's name, or JSON; and the bytes of files that hold
// them.
#pragma once

#include <span>
#include <string>

#include "relayout/core/record/record_format.h"
#include "relayout/interop/files/tensor_file.h"
#include "tools/tensor_input.h"

namespace relayout::tools {

/// The record that a text means; {"fields": [...]} as record_json() writes it is one too. All errors are usage errors.
RecordFormat record_argument(const std::string& text);
/// Whether the text of a layout argument is a record rather than a layout: record{...}, JSON, or a packed format that
/// is no layout by itself.
bool is_record(const std::string& text);

/// {"bytes": 36, "fields": [{"name": "d", "dtype": "f16", "dims": [2,1], "layout": "digits:(2,9)|(1,9)"}, ...]}
Json record_json(const Record& record);

/// The bytes of a record in a file: all of raw bytes but those before --file-offset, with --slack those that the record
/// has; of other files those of the tensor, whatever its shape. Failure (bad data) where there are fewer or more.
struct RecordBytes {
  TensorFile file;
  std::span<const std::byte> bytes;
};
/// Failure (unsupported): an array whose bytes are not those of its elements in their order, in Fortran order or of the
/// other byte order.
void check_plain_bytes(const StoredTensor& stored, const std::string& shown);
RecordBytes record_bytes(const std::string& path, const std::string& tensor, const RawOptions& raw, int64_t need);

}  // namespace relayout::tools
