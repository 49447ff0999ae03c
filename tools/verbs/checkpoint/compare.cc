// relayout checkpoint compare: whether two checkpoints hold the same tensors, after rules and whatever their layouts.
#include <fmt/format.h>

#include <algorithm>

#include "relayout/checkpoint/convert.h"
#include "tools/command/progress.h"
#include "tools/verbs/checkpoint/checkpoint.h"
#include "tools/verbs/checkpoint/rules_options.h"

namespace relayout::tools {
namespace {

using checkpoint::Comparison;

struct CheckpointCompareOptions {
  std::string a, b;
  RulesOptions rules;
  std::optional<std::string> max_memory;
  int threads = 0;
  int64_t show = 20;
};

Json difference_json(const Comparison& one) {
  Json out = {{"name", one.name}, {"difference", one.difference}};
  if (one.differ > 0) {
    out["elements"] = one.elements;
    out["differ"] = one.differ;
    out["most"] = one.most;
    out["first"] = one.first;
  }
  return out;
}

std::string line_of(const Comparison& one) {
  std::string out = fmt::format("  {}  {}", escaped(one.name, 200), escaped(one.difference, 300));
  if (one.differ > 0) out += fmt::format(", the first at element {}, at most {:.3g} apart", one.first, one.most);
  return out + "\n";
}

int run_checkpoint_compare(const CheckpointCompareOptions& options, bool json) {
  require_isa();
  const checkpoint::Rules rules = rules_argument(options.rules);
  const checkpoint::Checkpoint a = open_checkpoint(options.a), b = open_checkpoint(options.b);
  const checkpoint::Conversion conversion = from_data([&] { return checkpoint::plan_conversion(a, rules); });
  Progress progress("comparing", ProgressUnit::bytes);
  checkpoint::ConvertOptions how{.threads = options.threads, .max_memory = max_memory_argument(options.max_memory)};
  how.go_on = [&](int64_t done, int64_t total) {
    progress.update(static_cast<double>(done), static_cast<double>(total));
    return true;
  };
  std::vector<Comparison> all = from_command_line([&] { return checkpoint::compare(a, conversion, b, how); });
  std::vector<Comparison> differ;
  std::ranges::copy_if(all, std::back_inserter(differ), [](const Comparison& one) { return !one.difference.empty(); });
  // The worst first: what cannot be compared at all, then the largest differences.
  std::ranges::stable_sort(differ, [](const Comparison& x, const Comparison& y) {
    return (x.differ > 0) != (y.differ > 0) ? x.differ == 0 : x.most > y.most;
  });
  const auto equal = static_cast<int64_t>(all.size() - differ.size());
  if (json) {
    Json tensors = Json::array();
    for (const Comparison& one : differ) tensors.push_back(difference_json(one));
    write_stdout(json_text({{"equal", equal},
                            {"different", differ.size()},
                            {"tensors", std::move(tensors)},
                            {"notes", checkpoint::notes_of(a, rules, conversion)}}));
    return differ.empty() ? kOk : kDiffers;
  }
  std::string text = differ.empty() ? fmt::format("equal: {}\n", counted(equal, "tensor"))
                                    : fmt::format("{} equal, {} not\n", equal, differ.size());
  for (std::size_t i = 0; i < differ.size() && static_cast<int64_t>(i) < options.show; ++i) text += line_of(differ[i]);
  if (static_cast<int64_t>(differ.size()) > options.show)
    text += fmt::format("  and {} more (--show)\n", static_cast<int64_t>(differ.size()) - options.show);
  write_stdout(text);
  return differ.empty() ? kOk : kDiffers;
}

}  // namespace

Verb add_checkpoint_compare(CommandLine& line) {
  auto [command, json] = add_verb(
      line, "checkpoint compare", "Compare the tensors of two checkpoints by their names, the first after rules",
      "  relayout checkpoint compare a.safetensors b.gguf\n"
      "  relayout checkpoint compare torch.safetensors mlx.safetensors --map '*.conv.weight: oihw -> ohwi'\n"
      "The exit code is 0 where all are equal, and 1 where one is not.");
  auto options = std::make_shared<CheckpointCompareOptions>();
  command.add_option("A", options->a, "Checkpoint to which the rules are applied").required();
  command.add_option("B", options->b, "Checkpoint that it is compared with").required();
  add_rules_options(command, options->rules);
  command.add_option("--show", options->show, Range{0, 1'000'000}, "How many differences are listed");
  command.add_option("--max-memory", options->max_memory, "Bytes in memory at once, for example 256M; at least 16M");
  command.add_option("--threads", options->threads, kThreadRange, "Number of threads; 0, the default, is all");
  return {command, [options, json = json] { return run_checkpoint_compare(*options, *json); }, json};
}

}  // namespace relayout::tools
