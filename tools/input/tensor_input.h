// Tensor input: opens a tensor of a file for a verb of the command. What the file says and what the
// command line says are joined to a TensorDesc over the file's bytes.
//
//     TensorInput in = open_tensor({.path = "x.npy", .layout = "nhwc"});
//     in.desc.layout.dims();      // the logical dims, which follow from the physical shape in the file
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "relayout/interop/files/tensor_file.h"
#include "tools/command/common.h"

namespace relayout::tools {

/// Flags about raw bytes of which the tensor is only a part.
struct RawOptions {
  std::optional<std::string> file_offset;  // bytes before the tensor
  bool slack = false;                      // more bytes may follow
};

/// Adds --file-offset and --slack, for a verb of several inputs with "-a" or its like behind them.
void add_raw_options(Command& command, RawOptions& options, const std::string& suffix = "");

/// What the command line says of one input, with the names of its flags for messages.
struct InputOptions {
  std::string path;    // "-" is standard input
  std::string tensor;  // name of the tensor; "" where the file has only one
  /// Where the file's tensors have no names, `tensor` is the name for the output and is not looked for in the file.
  bool tensor_may_name_output = false;
  std::optional<std::string> layout;  // an expression
  std::optional<std::string> dims;
  /// Whether `dims` were said of several files: where this one fixes others by itself, those hold.
  bool dims_shared = false;
  std::optional<std::string> dtype;
  /// What the tensor must be anyway, as the input of a model: this holds where neither the file nor a flag says it. The
  /// verb then has no flags for dims, type and the place of raw bytes. Without dims, files must show them.
  struct Expected {
    std::optional<Dims> dims{};
    DType dtype = DType::f32;
  };
  std::optional<Expected> expected{};
  /// How many bytes may be held in memory: of a pipe, decoded, or copied. 0 is no limit.
  int64_t max_memory = 0;
  RawOptions raw{};
  /// Whether an order of gates that is no layout may be left to the caller, who copies one gate after the other.
  bool gates_apart = false;
  std::string layout_flag = "--from", dims_flag = "--dims", dtype_flag = "--dtype";
  std::string flag_suffix{};  // of --file-offset and --slack
};

struct TensorInput {
  TensorFile file;
  Format format;
  Dims buffer_dims;         // those that `format` is bound to: before its views
  bool dims_given = false;  // by InputOptions::dims
  TensorDesc desc;
  std::span<const std::byte> bytes;        // as stored: still swapped where swap_item_bytes says so
  int swap_item_bytes = 0;                 // 0 where the bytes are in this machine's order
  std::optional<Format::GateOrder> gates;  // the order that `desc` does not have, and the caller sees to
  bool mapped = false;                     // `bytes` are a mapping of the file, whose pages may be released
  bool named = false;                      // the file's tensors have names
  std::vector<std::byte> copy;             // holds `bytes` where the file has them in another order
};

/// Opens a file and finds out layout, dims and type. Failure: usage (a flag is needed, or --dtype contradicts the
/// file), bad data (the file's shape does not fit the layout, dims or type), io, unsupported.
TensorInput open_tensor(const InputOptions& options);

/// The file to open, "/dev/stdin" for "-", and its name for messages, "standard input".
std::string file_path(const InputOptions& options);
std::string shown_path(const InputOptions& options);

/// For messages: why the bytes of an input that is not mapped are in memory, as in "x.png is decoded into memory".
std::string why_held(const InputOptions& options);

}  // namespace relayout::tools
