// relayout checkpoint reshard: the checkpoints of a tensor-parallel model for another number of ranks.
#include "relayout/checkpoint/reshard.h"

#include <fmt/format.h>

#include <filesystem>

#include "relayout/checkpoint/convert.h"
#include "tools/command/progress.h"
#include "tools/verbs/checkpoint/checkpoint.h"
#include "tools/verbs/checkpoint/rules_options.h"

namespace relayout::tools {
namespace {

using checkpoint::Checkpoint;
using checkpoint::Conversion;

struct ReshardOptions {
  std::string input, output;
  int from = 1, to = 1;
  RulesOptions rules;
  std::optional<std::string> max_memory;
  int threads = 0;
  bool force = false, verify = false;
};

/// The path of a rank: {i} is its number. Failure where several ranks would have one path.
std::string rank_path(const std::string& path, int rank, int ranks, const char* operand) {
  const std::size_t at = path.find("{i}");
  if (at != path.npos) return path.substr(0, at) + std::to_string(rank) + path.substr(at + 3);
  if (ranks > 1)
    usage_error(fmt::format("{} {}: it has no {{i}}, the number of the rank, and there are {} ranks", operand,
                            escaped(path), ranks),
                operand, escaped(path));
  return path;
}

int run_reshard(const ReshardOptions& options, bool json) {
  require_isa();
  const checkpoint::Rules rules = rules_argument(options.rules);
  std::vector<std::string> outputs;
  for (int j = 0; j < options.to; ++j) outputs.push_back(rank_path(options.output, j, options.to, "OUT"));
  for (const std::string& path : outputs)
    if (!options.force && std::filesystem::exists(path))
      throw Failure(kIo, Error(ErrorCode::io, fmt::format("{} exists; --force replaces it", escaped(path)), "OUT",
                               escaped(path)));
  std::vector<Checkpoint> opened;
  for (int k = 0; k < options.from; ++k)
    opened.push_back(open_checkpoint(rank_path(options.input, k, options.from, "IN")));
  const Checkpoint joined = Checkpoint::join(opened);
  const std::vector<Conversion> plans =
      from_data([&] { return checkpoint::plan_reshard(joined, options.from, rules, options.to); });
  Progress progress("resharding", ProgressUnit::bytes);
  Json files = Json::array();
  std::string text;
  for (std::size_t j = 0; j < plans.size(); ++j) {
    checkpoint::ConvertOptions how{.threads = options.threads,
                                   .max_memory = max_memory_argument(options.max_memory),
                                   .overwrite = options.force,
                                   .verify = options.verify};
    how.go_on = [&](int64_t done, int64_t total) {
      const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1;
      progress.update(static_cast<double>(j) + share, static_cast<double>(plans.size()));
      return true;
    };
    const auto done = from_command_line([&] { return checkpoint::convert(joined, plans[j], outputs[j], how); });
    files.push_back({{"path", outputs[j]}, {"bytes", done.bytes}, {"resumed", done.resumed}});
    text += fmt::format("{}: {}, {}: {} cut, {} the same in all ranks\n", escaped(outputs[j], 200),
                        counted(static_cast<int64_t>(plans[j].targets.size()), "tensor"), size_text(done.bytes),
                        plans[j].count(checkpoint::TargetState::converted),
                        plans[j].count(checkpoint::TargetState::copied));
  }
  for (const std::size_t r : plans[0].idle) text += "note: " + rules.rules[r].where + ": no tensor matches it\n";
  write_stdout(json ? json_text({{"files", std::move(files)}}) : text);
  return kOk;
}

}  // namespace

Verb add_checkpoint_reshard(CommandLine& line) {
  auto [command, json] = add_verb(
      line, "checkpoint reshard", "Merge, split and cut anew the checkpoints of a tensor-parallel model, one a rank",
      "  relayout checkpoint reshard 'tp-{i}.safetensors' model.safetensors --from 8 --map '*.q_proj.weight: shard 0'\n"
      "  relayout checkpoint reshard model.safetensors 'tp-{i}.safetensors' --to 4 --rules llama-tp.toml\n"
      "  relayout checkpoint reshard 'a-{i}.safetensors' 'b-{i}.safetensors' --from 8 --to 2 --rules llama-tp.toml\n"
      "{i} is the number of the rank, from 0 on. A rule says along which dim tensors are cut: '*.o_proj.weight: shard "
      "1'.\n"
      "What no rule cuts must be the same in all ranks, and is compared.");
  auto options = std::make_shared<ReshardOptions>();
  command.add_option("IN", options->input, "Checkpoints of all ranks, with {i} for the rank's number").required();
  command.add_option("OUT", options->output, "New checkpoints, with {i} for the rank's number").required();
  command.add_option("--from", options->from, Range{1, 4096}, "Ranks of IN; 1 unless given");
  command.add_option("--to", options->to, Range{1, 4096}, "Ranks of OUT; 1 unless given");
  add_rules_options(command, options->rules);
  command.add_flag("--verify", options->verify,
                   "Read the new files and compare every byte with what was to be written");
  command.add_option("--max-memory", options->max_memory,
                     "Bytes in memory at once, for example 256M; at least 16M, and 1G unless given");
  command.add_option("--threads", options->threads, kThreadRange, "Number of threads; 0, the default, is all");
  command.add_flag("-f,--force", options->force, "Replace files that exist");
  return {command, [options, json = json] { return run_reshard(*options, *json); }, json};
}

}  // namespace relayout::tools
