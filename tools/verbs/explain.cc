// relayout explain: why the reorders of a program are there, from its log, profile or graph.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "relayout/core/system_error.h"
#include "relayout/explain/onnx_model.h"
#include "relayout/explain/readers.h"
#include "relayout/explain/report.h"
#include "tools/command/common.h"
#include "tools/planning/explain_model.h"

namespace relayout::tools {
namespace {

/// The most bytes of a log or a profile that are read.
constexpr std::size_t kMostBytes = std::size_t{1} << 30;

struct ExplainOptions {
  std::string source;
  std::optional<std::string> profile, model, fix, html;
  std::optional<int64_t> replay;
  int64_t runs = 0;
  bool all = false, elsewhere = false, force = false;
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

explaining::Trace trace_of(const ExplainOptions& options) {
  const std::string text = text_at(options.source);
  const std::string profile = options.profile ? text_at(*options.profile) : "";
  return from_data([&] {
    const auto nodes = options.model ? explaining::named_nodes(*options.model) : std::vector<explaining::NamedNode>();
    return explaining::read_any(text, profile, nodes);
  });
}

/// No output takes the place of what is explained, whatever --force says.
void keep_source(const ExplainOptions& options) {
  for (const auto& [flag, path] : {std::pair{"--fix", options.fix}, {"--html", options.html}}) {
    std::error_code ignored;
    if (path && std::filesystem::equivalent(options.source, *path, ignored))
      usage_error(std::string(flag) + " \"" + escaped(*path) + "\": that is the source; write another file", flag,
                  escaped(*path));
  }
}

/// The report of a log or a profile, or of a model, with what --fix did.
ExplainedModel explained_source(const ExplainOptions& options) {
  keep_source(options);
  const explaining::MachineTimes machine = options.elsewhere ? explaining::MachineTimes{} : explaining::this_machine();
  if (options.source.ends_with(".onnx")) {
    if (options.runs > 0 || options.profile || options.model)
      usage_error("--runs, --profile and --model go with a log or a profile, not with a model", "SOURCE",
                  escaped(options.source));
    return explain_model(options.source, options.fix, options.force, machine);
  }
  if (options.fix) usage_error("--fix goes with a model, MODEL.onnx, not with a log or a profile", "--fix");
  const explaining::Trace trace = trace_of(options);
  return {from_data([&] { return explaining::explain(trace, {.machine = machine, .runs = options.runs}); })};
}

void write_page(const std::string& path, const std::string& html, bool force) {
  std::error_code ignored;
  if (!force && std::filesystem::exists(path, ignored))
    throw Failure(kIo,
                  Error(ErrorCode::io, "create \"" + escaped(path) + "\": the file exists and is not to be overwritten",
                        "overwrite", escaped(path)));
  std::ofstream file(path, std::ios::binary);
  file << html;
  file.close();
  if (!file) throw Failure(kIo, Error(ErrorCode::io, "write \"" + escaped(path) + "\": the system refuses it", "path"));
}

int run_explain(const ExplainOptions& options, bool json) {
  const ExplainedModel found = explained_source(options);
  const explaining::Report& report = found.report;
  if (options.replay) {
    const auto number = static_cast<std::size_t>(*options.replay);
    if (number > report.reorders.size())
      usage_error("--replay " + std::to_string(number) + ": there are " +
                      counted(static_cast<int64_t>(report.reorders.size()), "row") + " of reorders",
                  "--replay", std::to_string(number), std::to_string(report.reorders.size()));
    write_stdout(explaining::bug_report(report, report.reorders[number - 1]));
    return kOk;
  }
  if (options.html) write_page(*options.html, explaining::to_html(report), options.force);
  if (json) {
    Json out = Json::parse(from_data([&] { return explaining::to_json(report); }));
    if (!found.json.is_null()) out["fix"] = found.json;
    write_stdout(json_text(out));
  } else {
    write_stdout(explaining::to_text(report, options.all) + found.done);
  }
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
      "  relayout explain profile.json --model optimised.onnx\n"
      "  relayout explain model.onnx --fix fixed.onnx\n"
      "The source is a log of oneDNN, a profile of ONNX Runtime, the execution graph of OpenVINO, layers of TensorRT\n"
      "(--exportLayerInfo, with --exportProfile), a program of ExecuTorch with dim_order operators, or code of\n"
      "TorchInductor; which one is seen from its text. Each reorder is needed, avoidable, repeated (weights, in each\n"
      "run), slow (this project's plan is predicted to take less than two thirds of its time) or padding only.\n"
      "Of an ONNX model the Transpose nodes are listed, with those that can go; --fix writes the model without them.\n"
      "Copies and plans are those of this machine; --elsewhere leaves them out, for a log of another one.");
  auto options = std::make_shared<ExplainOptions>();
  command
      .add_option("SOURCE", options->source, "File with the log, profile or graph, or MODEL.onnx; - is standard input")
      .required();
  command.add_option("--profile", options->profile, "Of TensorRT's layers: the file of --exportProfile");
  command.add_option("--model", options->model, "Of ONNX Runtime's profile: the optimised model, which names tensors");
  command.add_option("--fix", options->fix, "Of a model: write it to this file without the transpositions that can go");
  command.add_option("--html", options->html, "Write the report as a page to this file as well");
  command.add_flag("-f,--force", options->force, "Replace the file of --fix or --html if it exists");
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
