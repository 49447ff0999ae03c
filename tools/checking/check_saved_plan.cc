// The check of a saved plan: see check_saved_plan.h.
#include "tools/checking/check_saved_plan.h"

#include <fmt/format.h>

#include "tools/checking/check_steps.h"
#include "tools/planning/plan_file.h"

namespace relayout::tools {
namespace {

constexpr std::size_t kMostLeftOut = std::size_t{1} << 31;

/// Refuses a plan that is not one for this model, or in which a step reads what no earlier step has written.
void check_model(const JsonItem& plan, const check::CertificateFile& file, ModelFlags flags) {
  flags.training = read_training(plan);
  const auto dims_of_plan = [&](std::span<const graph::OnnxInput> inputs) { return planned_dims(plan, inputs); };
  const graph::Graph graph = load_model(flags, {.of_plan = dims_of_plan});
  read_plan(plan, graph);
  check::compare_model(file, graph, tensor_names(graph));
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

}  // namespace

void add_saved_plan_options(Command& command, ModelFlags& model) {
  command.add_option("--model", model.path, "The model that the plan was made for, an .onnx file or model:NAME");
  add_dim_flags(command, model, "Batch size of the plan; that of the model's file unless given");
  command.add_option("--random-weights", model.random_weights, "The seed that the plan was made with");
}

int check_saved_plan(const std::string& path, const ModelFlags& model, bool json) {
  const FileJson content = plan_of_file(path);
  const JsonItem plan{content, ""};
  if (!plan.has("certificate")) {
    bad_item("certificate", escaped(path, 4096) + " has no certificate; relayout plan --policy optimal -o writes one");
  }
  const check::CertificateFile file = check::read_certificate(plan["certificate"]);
  const check::Verdict verdict = from_data([&] { return check::prove(plan, file); });
  check::compare_plan(plan, file);
  const bool of_model = !model.path.empty();
  if (of_model) check_model(plan, file, model);
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

}  // namespace relayout::tools
