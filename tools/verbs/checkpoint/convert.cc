// relayout checkpoint convert: the tensors of a checkpoint in other layouts, types, names and files, by rules.
#include "relayout/checkpoint/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>

#include "tools/command/progress.h"
#include "tools/verbs/checkpoint/checkpoint.h"
#include "tools/verbs/checkpoint/rules_options.h"

namespace relayout::tools {
namespace {

using checkpoint::Checkpoint;
using checkpoint::Conversion;
using checkpoint::Target;
using checkpoint::TargetState;

struct CheckpointConvertOptions {
  std::string input, output;
  RulesOptions rules;
  bool strict = false, no_records = false, dry_run = false, verify = false, force = false, print_rules = false;
  std::optional<std::string> max_memory, shard_size;
  int threads = 0;
};

/// "f32 oihw 8x3x3x3" of a target: its type, its layout and its dims.
std::string made_text(const Target& target) {
  const TensorSpec& spec = target.spec;
  std::string out = checkpoint::holds_blocks(spec.notes) ? spec.notes.packed
                    : spec.type_name.empty()             ? std::string(name(spec.dtype))
                                                         : escaped(spec.type_name, 30);
  if (!spec.notes.packed.empty() && !checkpoint::holds_blocks(spec.notes)) out = spec.notes.packed + " " + out;
  if (spec.layout) return fmt::format("{} {} {}", out, escaped(spec.layout->text()), dims_text(*spec.dims));
  return out + " " + dims_text(spec.shape);
}

/// The names of a target's sources: "a", or "a + 2 more".
std::string sources_text(const Checkpoint& model, const Target& target) {
  std::vector<std::size_t> sources;
  for (const checkpoint::Piece& piece : target.pieces)
    if (std::ranges::find(sources, piece.source) == sources.end()) sources.push_back(piece.source);
  if (sources.empty()) return "";
  std::string out = escaped(model.tensors()[sources[0]].name, 100);
  return sources.size() == 1 ? out : fmt::format("{} + {} more", out, sources.size() - 1);
}

std::string targets_text(const Checkpoint& model, const Conversion& conversion) {
  std::size_t wide = 0, made = 0;
  for (const Target& target : conversion.targets) {
    wide = std::max(wide, characters(escaped(target.spec.name, 200)));
    made = std::max(made, characters(made_text(target)));
  }
  std::string out;
  for (const Target& target : conversion.targets) {
    const std::string name = escaped(target.spec.name, 200), what = made_text(target);
    const std::string from = sources_text(model, target);
    out += fmt::format("  {}{}  {}{}  {}", name, std::string(wide - characters(name), ' '), what,
                       std::string(made - characters(what), ' '), checkpoint::name(target.state));
    out += (from.empty() || from == name ? "" : " from " + from) + "\n";
  }
  return out;
}

Json target_json(const Checkpoint& model, const Target& target) {
  Json out = {{"name", target.spec.name}, {"state", checkpoint::name(target.state)}};
  Json sources = Json::array();
  std::size_t last = SIZE_MAX;
  for (const checkpoint::Piece& piece : target.pieces) {
    if (piece.source != last) sources.push_back(model.tensors()[piece.source].name);
    last = piece.source;
  }
  out["sources"] = std::move(sources);
  out["dtype"] = target.spec.type_name.empty() ? std::string(name(target.spec.dtype)) : target.spec.type_name;
  out["shape"] = json_of(target.spec.shape);
  if (target.spec.layout) {
    out["layout"] = target.spec.layout->text();
    out["dims"] = json_of(*target.spec.dims);
  }
  if (!target.spec.notes.packed.empty()) {
    out["packed"] = target.spec.notes.packed;
    out["packed_dims"] = json_of(target.spec.notes.packed_dims);
  }
  return out;
}

/// "8 converted, 3 copied, 1 already".
std::string states_text(const Conversion& conversion) {
  std::string out;
  for (const TargetState state : {TargetState::converted, TargetState::copied, TargetState::already}) {
    const std::size_t count = conversion.count(state);
    if (count > 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, checkpoint::name(state));
  }
  return out.empty() ? "nothing" : out;
}

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return std::filesystem::equivalent(a, b, ignored);
}

checkpoint::ConvertOptions convert_options(const CheckpointConvertOptions& options) {
  checkpoint::ConvertOptions how{.threads = options.threads,
                                 .max_memory = max_memory_argument(options.max_memory),
                                 .overwrite = options.force,
                                 .verify = options.verify};
  if (options.shard_size) how.shard_bytes = size_argument(*options.shard_size, "--shard-size");
  return how;
}

checkpoint::Converted write_checkpoint(const CheckpointConvertOptions& options, const Checkpoint& model,
                                       const Conversion& conversion) {
  checkpoint::ConvertOptions how = convert_options(options);
  Progress progress("converting", ProgressUnit::bytes);
  how.go_on = [&](int64_t done, int64_t total) {
    progress.update(static_cast<double>(done), static_cast<double>(total));
    return true;
  };
  return from_command_line([&] { return checkpoint::convert(model, conversion, options.output, how); });
}

std::string done_text(const CheckpointConvertOptions& options, const Conversion& conversion,
                      const checkpoint::Converted& done) {
  const auto count = static_cast<int64_t>(conversion.targets.size());
  std::string out = fmt::format("{}: {}, {}: {}\n", escaped(options.output, 200), counted(count, "tensor"),
                                size_text(done.bytes), states_text(conversion));
  if (done.resumed > 0)
    out += fmt::format("{} had been written by a run that was ended\n",
                       counted(static_cast<int64_t>(done.resumed), "tensor"));
  if (done.paths.size() > 1) out += counted(static_cast<int64_t>(done.paths.size()), "file") + "\n";
  return out;
}

int run_checkpoint_convert(const CheckpointConvertOptions& options, bool json) {
  const auto start = std::chrono::steady_clock::now();
  require_isa();
  const checkpoint::Rules rules = rules_argument(options.rules);
  if (options.print_rules) {
    write_stdout(rules.toml());
    return kOk;
  }
  const Checkpoint model = open_checkpoint(options.input);
  const Conversion conversion = from_data([&] {
    return checkpoint::plan_conversion(model, rules, {.strict = options.strict, .record = !options.no_records});
  });
  std::vector<std::string> notes = checkpoint::notes_of(model, rules, conversion);
  const bool same = conversion.count(TargetState::converted) == 0 && conversion.skipped.empty() &&
                    is_same_file(options.input, options.output);
  std::optional<checkpoint::Converted> done;
  if (!options.dry_run && !same) {
    done = write_checkpoint(options, model, conversion);
    std::ranges::copy(done->notes, std::back_inserter(notes));
  } else if (!same) {
    const auto lost = from_command_line(
        [&] { return checkpoint::check_convert(model, conversion, options.output, convert_options(options)); });
    std::ranges::copy(lost, std::back_inserter(notes));
  }
  if (json) {
    Json out = {{"input", options.input}, {"output", options.output}, {"unchanged", same}, {"notes", notes}};
    Json tensors = Json::array();
    for (const Target& target : conversion.targets) tensors.push_back(target_json(model, target));
    out["tensors"] = std::move(tensors);
    if (done) {
      Json files = Json::array();
      for (const auto& path : done->paths) files.push_back(path.native());
      out["files"] = std::move(files);
      out["bytes"] = done->bytes;
      out["resumed"] = done->resumed;
      Json rounded = Json::array();
      for (const checkpoint::Rounded& one : done->rounded)
        rounded.push_back({{"name", one.name}, {"largest_error", one.largest_error}, {"rms_error", one.rms_error}});
      if (!rounded.empty()) out["rounded"] = std::move(rounded);
      out["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    write_stdout(json_text(out));
    return kOk;
  }
  std::string text;
  if (options.dry_run) text = targets_text(model, conversion) + states_text(conversion) + "; nothing is written\n";
  if (same && !options.dry_run) text = escaped(options.output, 200) + ": nothing to do\n";
  if (done) text = done_text(options, conversion, *done);
  for (const std::string& note : notes) text += "note: " + note + "\n";
  write_stdout(text);
  return kOk;
}

}  // namespace

Verb add_checkpoint_convert(CommandLine& line) {
  auto [command, json] = add_verb(
      line, "checkpoint convert", "Convert the tensors of a checkpoint by rules: layouts, types, names, cuts and joins",
      "  relayout checkpoint convert torch.safetensors mlx.safetensors --map '*.conv.weight: oihw -> ohwi'\n"
      "  relayout checkpoint convert mlx.safetensors torch.safetensors --map '*.conv.weight: oihw -> ohwi' --invert\n"
      "  relayout checkpoint convert gptq.safetensors marlin.safetensors --map '*: gptq -> marlin'\n"
      "  relayout checkpoint convert model.safetensors out.gguf --rules rules.toml --dry-run\n"
      "  relayout checkpoint convert pytorch_model.bin model.safetensors --shard-size 5G\n"
      "The first rule whose pattern matches a tensor's name counts: * is any run of characters, ? one, # a number.\n"
      "The layout of each tensor is recorded in the file. One that is recorded as what its rule makes of it is left\n"
      "as it is, so that a second run changes nothing; one that is recorded as neither side of the rule is an error.\n"
      "Nothing is guessed from shapes. A run that is ended goes on where it stopped when it is started again.");
  auto options = std::make_shared<CheckpointConvertOptions>();
  command.add_option("IN", options->input, "Checkpoint: a file, an index of files, or a folder").required();
  command.add_option("OUT", options->output, "New checkpoint: .safetensors, .gguf, .npz or .pt").required();
  add_rules_options(command, options->rules);
  command.add_flag("--strict", options->strict,
                   "Refuse tensors whose layout is not recorded, and rules that match nothing");
  command.add_flag("--no-records", options->no_records, "Record neither layouts nor rules in the new files");
  command.add_flag("--dry-run", options->dry_run, "Show what would become of each tensor, and write nothing");
  command.add_flag("--print-rules", options->print_rules, "Print the rules as a file, also turned around, and end");
  command.add_flag("--verify", options->verify,
                   "Read the new files and compare every byte with what was to be written");
  command.add_option("--shard-size", options->shard_size, "Most bytes of tensors in a file, for example 5G");
  command.add_option("--max-memory", options->max_memory,
                     "Bytes in memory at once, for example 256M; at least 16M, and 1G unless given");
  command.add_option("--threads", options->threads, kThreadRange, "Number of threads; 0, the default, is all");
  command.add_flag("-f,--force", options->force, "Replace files that exist");
  return {command, [options, json = json] { return run_checkpoint_convert(*options, *json); }, json};
}

}  // namespace relayout::tools
