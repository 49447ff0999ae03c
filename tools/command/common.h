// What every verb of the command shares: exit codes, errors with their origin, output, and the
// reading of values from the command line.
//
// A verb is a function that adds a subcommand and says how to run it:
//
//     Verb add_describe(CommandLine& line);
//
// Errors carry an exit code by where the value came from: the same Error{overflow} is a usage error for
// --dims and bad data for a file's shape. from_command_line() and from_data() say which it is.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "relayout/core/format.h"
#include "relayout/core/nearest.h"
#include "relayout/show/memory_text.h"
#include "tools/command/command_line.h"
#include "tools/command/words.h"

namespace relayout::tools {

using Json = nlohmann::ordered_json;

enum ExitCode : int {
  kOk = 0,
  kDiffers = 1,      // the answer is no: compare, diff, check of padding, image
  kUsage = 2,        // flags, layout expressions, dims
  kBadData = 3,      // a file contradicts itself or what was said of it
  kIo = 4,           // the operating system refused
  kUnsupported = 5,  // well-formed, but not in this build
  kInternal = 70,
  kInterrupted = 130,
};

/// An error with the exit code that it ends the command with.
class Failure : public std::exception {
 public:
  Failure(int exit_code, Error error) : exit_code_(exit_code), error_(std::move(error)) {}
  const char* what() const noexcept override { return error_.what(); }
  int exit_code() const { return exit_code_; }
  const Error& error() const { return error_; }

 private:
  int exit_code_;
  Error error_;
};

/// The exit code of an error. The codes io, unsupported and internal have an exit code of their own; all others give
/// `otherwise`.
int exit_code(const Error& error, int otherwise);

/// Runs f, whose values come from the command line: an error about one is a usage error.
template <typename F>
auto from_command_line(F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    throw Failure(exit_code(error, kUsage), error);
  }
}

/// Runs f, whose values come from a file: an error about one is bad data.
template <typename F>
auto from_data(F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    throw Failure(exit_code(error, kBadData), error);
  }
}

[[noreturn]] void usage_error(std::string message, std::string field = {}, std::string value = {},
                              std::string limit = {});

/// One subcommand: how to run it, and whether --json was given (its errors are then JSON too).
struct Verb {
  Command command{};
  std::function<int()> run;
  std::shared_ptr<bool> json;
};

Verb add_describe(CommandLine& line);
Verb add_diff(CommandLine& line);
Verb add_offset(CommandLine& line);
Verb add_index(CommandLine& line);
Verb add_record(CommandLine& line);
Verb add_banks(CommandLine& line);
Verb add_show(CommandLine& line);
Verb add_image(CommandLine& line);
Verb add_convert(CommandLine& line);
Verb add_redistribute(CommandLine& line);
Verb add_compare(CommandLine& line);
Verb add_bench(CommandLine& line);
/// All verbs of the group checkpoint.
std::vector<Verb> add_checkpoint(CommandLine& line);
Verb add_plan(CommandLine& line);
Verb add_check(CommandLine& line);
Verb add_run(CommandLine& line);
Verb add_explain(CommandLine& line);
Verb add_any(CommandLine& line);
Verb add_tags(CommandLine& line);
Verb add_doctor(CommandLine& line);
Verb add_help(CommandLine& line);
Verb add_completion(CommandLine& line);

/// A subcommand with its description, examples and --json.
std::pair<Command, std::shared_ptr<bool>> add_verb(CommandLine& line, const std::string& verb,
                                                   const std::string& description, const std::string& examples);

/// Writes to standard output at once. Error{io} where it does not take the text.
void write_stdout(std::string_view text);
/// Writes to standard error. A failure is ignored, as there is nowhere else to report it.
void write_stderr(std::string_view text);
/// "relayout: message", or an {"error": ...} object, as a line.
std::string error_text(const Error& error, bool json);
/// Writes that on standard error.
void print_error(const Error& error, bool json);

/// An object with one field a line, or a list with one object a line; values are compact unless they are
/// long lists of objects.
std::string json_text(const Json& json);
Json json_of(const Dims& dims);

/// `text` with control bytes and all that is not ASCII as \xNN; line ends are kept.
std::string printable(std::string_view text);

// Values from the command line; all errors are usage errors.
Format layout_argument(const std::string& text);
Dims dims_argument(const std::string& text, std::string_view flag = "--dims");
/// The library's names, and NumPy's (float32, uint8, bfloat16, ...).
DType dtype_argument(const std::string& text, std::string_view flag = "--dtype");
/// "64M", "1.5g", "4096": bytes, in binary units; a fraction of a byte is dropped.
int64_t size_argument(const std::string& text, std::string_view flag);
double number_argument(const std::string& text, std::string_view flag);
/// Bytes of --max-memory, of which 1M is the least; 0 where it is not given.
int64_t max_memory_argument(const std::optional<std::string>& text);
/// The dims of --dims, or those that the layout itself fixes. Dims count before the layout's views.
Dims dims_for(const Format& format, const std::optional<std::string>& text);
/// The dims to bind a destination to, so that behind its views it has `dims`: those of `before_flag`, if it was given
/// as `before`, or else those that follow from the views.
Dims destination_dims(const Format& format, const Dims& dims, const std::optional<std::string>& before,
                      std::string_view before_flag);
/// The layout of an expression and dims that must be given.
Layout bind_argument(const Format& format, const Dims& dims);
/// The tensor of an expression. Errors of the library: those of Format::bind(), and unsupported for a type that
/// DirectML lacks where the expression is one of its descriptions (dml:), which are about its tensors.
TensorDesc bind_tensor(const Format& format, const Dims& dims, DType dtype);

/// What is wrong with RELAYOUT_ISA in the environment; nothing where all is well. The library falls back to
/// the best ISA; a command that was asked for another one says so.
std::optional<Error> isa_problem();
/// Throws it: for verbs that move data.
void require_isa();

/// Elements of an image's texel: its R, G, B and A.
inline constexpr int64_t kTexelLanes = 4;

using show::kNoBreakSpace;
using show::labelled;

}  // namespace relayout::tools
