// What the operations of onednn_views.h have in common: the check of the fields, and errors that name the operation.
#pragma once

#include "relayout/interop/onednn.h"
#include "relayout/interop/onednn_fields.h"

namespace relayout::onednn {

inline std::size_t at(int d) { return static_cast<std::size_t>(d); }
inline std::string text(int64_t value) { return value == kRuntimeDim ? "DNNL_RUNTIME_DIM_VAL" : std::to_string(value); }

/// The operation that an error names, and the descriptor that it is asked of.
struct Request {
  std::string operation;
  const BlockedDesc& fields;

  [[noreturn]] void refuse(ErrorCode code, const std::string& why, const std::string& field, int64_t value,
                           const std::string& allowed) const {
    throw Error(code, operation + ": " + why, field, text(value), allowed);
  }
  int64_t fit(std::optional<int64_t> value, const std::string& what, const std::string& field, int64_t factor) const {
    if (value) return *value;
    refuse(ErrorCode::overflow, what + " overflows int64", field, factor, "a number of 63 bits");
  }
};

/// Refuses fields that cannot be read as a descriptor, and those that oneDNN's check at the start of each operation
/// refuses. `runtime` is the code for runtime dims, `rank_0` the one for no dims.
void check_fields(const Request& request, ErrorCode runtime, ErrorCode rank_0);

/// The product of dim d's inner blocks.
int64_t block_of(const Request& request, int d);

}  // namespace relayout::onednn
