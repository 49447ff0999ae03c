// Records on the command line: as an expression, a packed format's name, or JSON; and the bytes of files that hold
// them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "relayout/core/record/record_format.h"
#include "relayout/interop/files/tensor_file.h"
#include "tools/input/tensor_input.h"

namespace relayout::tools {

/// A record and, where it is one of several buffers, the name of its buffer; `value` is the formula of a packed
/// format.
struct NamedRecord {
  std::string buffer;
  Record record;
  std::string value{}, code{};
};
/// The records that a text means: the one of record_argument(), one for each buffer of a packed format whose fields
/// have buffers of their own, or those of a list in JSON, as `relayout record` prints it. `group`: the values that
/// share a coefficient where the format leaves it open; 0 is the format's own. All errors are usage errors.
std::vector<NamedRecord> records_argument(const std::string& text, const Dims& dims, int64_t group = 0);

/// The record that a text means; {"fields": [...]} as record_json() writes it is one too. All errors are usage errors.
RecordFormat record_argument(const std::string& text);
/// Whether the text of a layout argument is a record rather than a layout: record{...}, JSON, or a packed format that
/// is no layout by itself.
bool is_record(const std::string& text);

/// {"bytes": 36, "fields": [{"name": "d", "dtype": "f16", "dims": [2,1], "layout": "digits:(2,9)|(1,9)"}, ...]}
Json record_json(const Record& record);

/// What `relayout record` prints of records, for people or as JSON.
std::string records_text(const std::string& title, const Dims& dims, const std::vector<NamedRecord>& records,
                         bool json);

/// relayout describe of a record: what `relayout record` prints. `flag` is one that is given and that only a layout
/// takes, or "".
int describe_record(const std::string& record, const std::optional<std::string>& dims_text, std::string_view flag,
                    bool json);

/// The bytes of a record in a file: all of raw bytes but those before --file-offset, with --slack those that the record
/// has; of other files those of the tensor, whatever its shape. Failure (bad data) where there are fewer or more.
struct RecordBytes {
  TensorFile file;
  std::span<const std::byte> bytes;
  bool named = false;  // the file's tensors have names
};
/// The tensor of that name; where the file's has none, the name is the output's, and it is that one.
std::size_t find_or_only(const TensorFile& file, const std::string& tensor);
/// Failure (unsupported): an array whose bytes are not those of its elements in their order, in Fortran order or of the
/// other byte order.
void check_plain_bytes(const StoredTensor& stored, const std::string& shown);
RecordBytes record_bytes(const std::string& path, const std::string& tensor, const RawOptions& raw, int64_t need);

}  // namespace relayout::tools
