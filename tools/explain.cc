// relayout explain: why the reorders of a program are there, from its log, profile or graph.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "relayout/core/system_error.h"
#include "relayout/explain/readers.h"
#include "relayout/explain/report.h"
#include "tools/common.h"

namespace relayout::tools {
namespace {

/// The most bytes of a log or a profile that are read.
constexpr std::size_t kMostBytes = std::size_t{1} << 30;

struct ExplainOptions {
  std::string source;
  std::optional<std::string> profile;
  std::optional<int64_t> replay;
  int64_t runs = 0;
  bool all = false, elsewhere = false;
};

[[noreturn]] void cannot_read(const std::string& path, int number) {
  throw Failure(kIo,
                SystemError(number, "open \"" + escaped(path) + "\": " + std::strerror(number), "path", escaped(path)));
}

[[noreturn]] void too_long(const std::string& path) {
  throw Failure(kBadData, Error(ErrorCode::limit, "explain: \"" + escaped(path) + "\" has more than 1 GiB", "bytes", "",
                                std::to_string(kMostBytes)));
}

/// All of a file, or of standard input for "-".
std::string text_at(const std::string& path) {
  std::string out;
  char buffer[1 << 16];
  const auto add = [&](std::size_t count) {
    if (out.size() + count > kMostBytes) too_long(path);
    out.append(buffer, count);
  };
  if (path == "-") {
    for (;;) {
      const ssize_t count = read(STDIN_FILENO, buffer, sizeof buffer);
      if (count == 0) return out;
      if (count > 0) {
        add(static_cast<std::size_t>(count));
      } else if (errno != EINTR) {
        cannot_read(path, errno);
      }
    }
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) cannot_read(path, errno == 0 ? EIO : errno);
  while (file.read(buffer, sizeof buffer) || file.gcount() > 0) add(static_cast<std::size_t>(file.gcount()));
  if (file.bad()) cannot_read(path, errno == 0 ? EIO : errno);
  return out;
}

explain::Trace trace_of(const ExplainOptions& options) {
  const std::string text = text_at(options.source);
  const std::string profile = options.profile ? text_at(*options.profile) : "";
  return from_data([&] { return explain::read_any(text, profile); });
}

int run_explain(const ExplainOptions& options, bool json) {
  const explain::Trace trace = trace_of(options);
  const explain::Report report = explain::explain(
      trace, {.machine = options.elsewhere ? explain::MachineTimes{} : explain::this_machine(), .runs = options.runs});
  if (options.replay) {
    const auto number = static_cast<std::size_t>(*options.replay);
    if (number > report.reorders.size())
      usage_error("--replay " + std::to_string(number) + ": there are " +
                      counted(static_cast<int64_t>(report.reorders.size()), "row") + " of reorders",
                  "--replay", std::to_string(number), std::to_string(report.reorders.size()));
    write_stdout(explain::bug_report(report, report.reorders[number - 1]));
    return kOk;
  }
  write_stdout(json ? json_text(Json::parse(from_data([&] { return explain::to_json(report); })))
                    : explain::to_text(report, options.all));
  return kOk;
}

}  // namespace

Verb add_explain(CommandLine& line) {
  auto [command, json] = add_verb(
      line, "explain", "Say why a program's reorders are there, what they cost and which can go",
      "  ONEDNN_VERBOSE=1 ./app | relayout explain -\n"
      "  relayout explain log.txt --all --json\n"
      "  relayout explain log.txt --replay 1\n"
      "  relayout explain layers.json --profile profile.json\n"
      "The source is a log of oneDNN, a profile of ONNX Runtime, the execution graph of OpenVINO, layers of TensorRT\n"
      "(--exportLayerInfo, with --exportProfile), a program of ExecuTorch with dim_order operators, or code of\n"
      "TorchInductor; which one is seen from its text. Each reorder is needed, avoidable, repeated (weights, in each\n"
      "run), slow (this project's plan is predicted to take less than two thirds of its time) or padding only.\n"
      "Copies and plans are those of this machine; --elsewhere leaves them out, for a log of another one.");
  auto options = std::make_shared<ExplainOptions>();
  command.add_option("SOURCE", options->source, "File with the log, profile or graph; - is standard input").required();
  command.add_option("--profile", options->profile, "Of TensorRT's layers: the file of --exportProfile");
  command.add_option("--runs", options->runs, {1, 1000000000},
                     "How often the program ran its model; found out from what repeats unless given");
  command.add_flag("--all", options->all, "Show every reorder in the table, not only the ten that matter");
  command.add_flag("--elsewhere", options->elsewhere,
                   "The source is of another machine: compare nothing with this one");
  command.add_option("--replay", options->replay, {1, 1000000000},
                     "Print a bug report of that row: a program that does it alone, expected and seen times");
  return {command, [options, json = json] { return run_explain(*options, *json); }, json};
}

}  // namespace relayout::tools
