// relayout check: checks that a saved plan agrees with its certificate and, with --model, that both fit the model
// (check_saved_plan.h). With --padding it checks the padding of a tensor's file instead (check_padding.h).
#include "tools/checking/check_padding.h"
#include "tools/checking/check_saved_plan.h"

namespace relayout::tools {
namespace {

struct CheckOptions {
  std::string path;
  ModelFlags model;
  PaddingOptions padding;
};

/// Refuses options about the reading of the model where no --model is given.
void check_flags(const CheckOptions& options) {
  refuse_padding_flags(options.padding);
  if (!options.model.path.empty()) return;
  const char* flag = options.model.batch != 0       ? "--batch"
                     : !options.model.dims.empty()  ? "--dim"
                     : options.model.random_weights ? "--random-weights"
                                                    : nullptr;
  if (flag != nullptr)
    usage_error(std::string(flag) + ": it describes the model, so it goes only with --model", flag, "", "--model");
}

int run_check(const CheckOptions& options, bool json) {
  if (options.padding.given) {
    if (!options.model.path.empty())
      usage_error("--model: it belongs to a plan, and --padding checks a tensor's file", "--model");
    return check_padding(options.path, options.padding, json);
  }
  check_flags(options);
  return check_saved_plan(options.path, options.model, json);
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
  auto options = std::make_shared<CheckOptions>();
  command.add_option("PLAN", options->path, "The plan, a .json file; with --padding a tensor's file").required();
  add_saved_plan_options(command, options->model);
  add_padding_options(command, options->padding);
  return {command, [options, json = json] { return run_check(*options, *json); }, json};
}

}  // namespace relayout::tools
