// relayout check: checks that a saved plan agrees with its certificate and, with --model, that both fit the model. With
// --padding it checks the padding of a tensor's file instead (check_padding.h).
#include <fmt/format.h>

#include "tools/check_padding.h"
#include "tools/check_steps.h"
#include "tools/model.h"
#include "tools/plan_file.h"

namespace relayout::tools {
namespace {

constexpr std::size_t kMostLeftOut = std::size_t{1} << 31;

struct Options {
  std::string path;
  ModelFlags model;
  PaddingOptions padding;
};

/// Refuses a plan that is not one for this model, or in which a step reads what no earlier step has written.
void check_model(const JsonItem& plan, const check::CertificateFile& file, ModelFlags flags) {
  flags.training = read_training(plan);
  const graph::Graph graph = load_model(flags);
  read_plan(plan, graph);
  check::compare_model(file, graph, tensor_names(graph));
}

/// Refuses options about the reading of the model where no --model is given.
void check_flags(const Options& options) {
  refuse_padding_flags(options.padding);
  if (!options.model.path.empty()) return;
  const char* flag = options.model.batch != 0 ? "--batch" : options.model.random_weights ? "--random-weights" : nullptr;
  if (flag != nullptr)
    usage_error(std::string(flag) + ": it describes the model, so it goes only with --model", flag, "", "--model");
}

/// Reads the plan. Where the file is none and is not named like one, the error says how a tensor's file is checked.
FileJson plan_of_file(const std::string& path) {
  try {
    return read_plan_json(path, "primitives");
  } catch (const Failure& failure) {
    const Error& error = failure.error();
    if (error.code() != ErrorCode::corrupt || path.ends_with(".json")) throw;
    throw Failure(failure.exit_code(),
                  Error(error.code(), error.message() + "; with --padding, the padding of a tensor's file is checked",
                        error.field(), error.value(), error.limit()));
  }
}

int run(const Options& options, bool json) {
  if (options.padding.given) {
    if (!options.model.path.empty())
      usage_error("--model: it belongs to a plan, and --padding checks a tensor's file", "--model");
    return check_padding(options.path, options.padding, json);
  }
  check_flags(options);
  const FileJson content = plan_of_file(options.path);
  const JsonItem plan{content, ""};
  if (!plan.has("certificate")) {
    bad_item("certificate",
             escaped(options.path, 4096) + " has no certificate; relayout plan --policy optimal -o writes one");
  }
  const check::CertificateFile file = check::read_certificate(plan["certificate"]);
  const check::Verdict verdict = from_data([&] { return check::prove(plan, file); });
  check::compare_plan(plan, file);
  const bool of_model = !options.model.path.empty();
  if (of_model) check_model(plan, file, options.model);
  const int left_out = plan.has("left_out") ? plan["left_out"].index(kMostLeftOut) : 0;
  std::string of = of_model ? "; the model's" : "";
  if (left_out > 0) {
    of += fmt::format("; this holds for the layouts that are listed, and the planner says that it left out {} others",
                      left_out);
  }
  if (json) {
    write_stdout(json_text({{"valid", true},
                            {"optimal", verdict.optimal},
                            {"cost_us", verdict.cost},
                            {"bound_us", verdict.bound},
                            {"gap", verdict.gap},
                            {"left_out", left_out},
                            {"model", of_model}}));
  } else if (verdict.optimal) {
    write_stdout(fmt::format("optimal: {} proven{}\n", time_text(verdict.cost), of));
  } else {
    write_stdout(fmt::format("not proven optimal: {}, of which {} are proven (gap {:.2g}%){}\n",
                             time_text(verdict.cost), time_text(verdict.bound), 100 * verdict.gap, of));
  }
  return kOk;
}

}  // namespace

Verb add_check(CommandLine& line) {
  auto [command, json] = add_verb(
      line, "check", "Check a saved plan by its certificate, or the padding of a tensor's file",
      "  relayout plan net.onnx -o plan.json\n"
      "  relayout check plan.json\n"
      "  relayout check plan.json --model net.onnx\n"
      "  relayout check x.bin --layout nChw8c --dims 2,17,5,4 --dtype f32 --padding\n"
      "The certificate lists every choice that the planner had, with its cost. The check proves that the plan is one "
      "of\n"
      "these choices, costs what it claims, and that no other choice costs less. With --model it also proves that the\n"
      "choices are ones of this model's primitives and that the plan can run. It cannot prove that the costs are\n"
      "right and that no choice is missing.\n"
      "A plan that does not agree with its certificate is bad data (exit code 3); the message says where it differs.\n"
      "With --padding, the index and the offset of the first place of the padding that does not hold 0 are shown, and\n"
      "the exit code is 1 where there is one. -0.0 is 0. Gaps that strides leave are not looked at.");
  auto options = std::make_shared<Options>();
  command.add_option("PLAN", options->path, "The plan, a .json file; with --padding a tensor's file").required();
  command.add_option("--model", options->model.path,
                     "The model that the plan was made for, an .onnx file or model:NAME");
  command.add_option("--batch", options->model.batch, kBatchRange,
                     "Batch size of the plan; that of the model's file unless given");
  command.add_option("--random-weights", options->model.random_weights, "The seed that the plan was made with");
  add_padding_options(command, options->padding);
  return {command, [options, json = json] { return run(*options, *json); }, json};
}

}  // namespace relayout::tools
