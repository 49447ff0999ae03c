// A tensor of a file, as a verb wants it: what the file says, together with what the command line
// says, makes a TensorDesc over the file's bytes.
//
//     TensorInput in = open_tensor({.path = "x.npy", .layout = "nhwc"});
//     in.desc.layout.dims();      // logical, from the physical shape
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "relayout/interop/files/tensor_file.h"
#include "tools/common.h"

namespace relayout::tools {

/// What the command line says of one input, with the names of its flags for messages.
struct InputOptions {
  std::string path;    // "-" is standard input
  std::string tensor;  // name of the tensor; "" is the only one
  /// Where the file's tensors have no names, `tensor` is the output's and not looked for.
  bool tensor_may_name_output = false;
  std::optional<std::string> layout;  // an expression
  std::optional<std::string> dims;
  std::optional<std::string> dtype;
  /// Bytes that may be held in memory: what comes from a pipe, what is decoded or copied. 0 is no limit.
  int64_t max_memory = 0;
  std::string layout_flag = "--from", dtype_flag = "--dtype";
};

struct TensorInput {
  TensorFile file;
  Format format;
  TensorDesc desc;
  std::span<const std::byte> bytes;  // as stored: still swapped where swap_item_bytes says so
  int swap_item_bytes = 0;           // 0 where the bytes are in this machine's order
  bool mapped = false;               // pages may be released
  bool named = false;                // the file's tensors have names
  std::vector<std::byte> copy;       // holds the bytes where the file's own order had to be copied away
};

/// Opens a file and resolves layout, dims and type. Failure: usage (something has to be given, or
/// --dtype contradicts the file), bad data (the file's shape does not fit what was said), io, unsupported.
TensorInput open_tensor(const InputOptions& options);

/// Why the bytes of an input that is not mapped are in memory, for messages: "x.png is decoded into memory".
std::string why_held(const InputOptions& options);

}  // namespace relayout::tools
