// relayout checkpoint which: which layout each weight probably has, with the evidence.
#include "relayout/checkpoint/which/which.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/command/progress.h"
#include "tools/verbs/checkpoint/checkpoint.h"

namespace relayout::tools {
namespace {

using checkpoint::Certainty;
using checkpoint::Checkpoint;
using checkpoint::Evidence;
using checkpoint::Finding;

struct WhichOptions {
  std::string path, against;
};

std::string joined(const std::vector<std::string>& texts, std::string_view between) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : std::string(between)) + text;
  return out;
}

/// "probably oihw", "cannot tell: oihw or ohwi", "certain: none".
std::string verdict(const Finding& finding) {
  const std::string how(checkpoint::name(finding.certainty));
  constexpr std::size_t kMost = 6;
  std::vector<std::string> layouts = finding.layouts;
  if (layouts.size() > kMost) {
    const std::size_t more = layouts.size() - kMost;
    layouts.resize(kMost);
    layouts.push_back(fmt::format("{} more", more));
  }
  if (finding.certainty == Certainty::cannot_tell) return layouts.empty() ? how : how + ": " + joined(layouts, " or ");
  return how + " " + (layouts.empty() ? "none" : layouts[0]);
}

std::string finding_text(const Checkpoint& model, const Finding& finding) {
  const checkpoint::CheckpointTensor& tensor = model.tensors()[model.find(finding.name)];
  std::string out = fmt::format("  {}  {} {}  {}\n", escaped(finding.name, 200), type_text(tensor),
                                dims_text(tensor.shape), bold(verdict(finding)));
  for (const Evidence& one : finding.evidence) {
    out += fmt::format("    {}: {}", one.kind, one.text);
    if (one.kind != "record" && one.kind != "other" && !one.layouts.empty()) out += ": " + joined(one.layouts, ", ");
    out += "\n";
  }
  return out;
}

Json finding_json(const Checkpoint& model, const Finding& finding) {
  Json evidence = Json::array();
  for (const Evidence& one : finding.evidence)
    evidence.push_back({{"kind", one.kind}, {"text", one.text}, {"layouts", one.layouts}});
  return {{"name", finding.name},
          {"shape", json_of(model.tensors()[model.find(finding.name)].shape)},
          {"certainty", checkpoint::name(finding.certainty)},
          {"layouts", finding.layouts},
          {"evidence", std::move(evidence)}};
}

int run_checkpoint_which(const WhichOptions& options, bool json) {
  require_isa();
  const Checkpoint model = open_checkpoint(options.path);
  Progress progress("looking at tensors");
  const GoOn go_on = [&](int64_t done, int64_t total) {
    progress.update(static_cast<double>(done), static_cast<double>(total));
    return true;
  };
  const std::vector<Finding> all = from_data([&] {
    if (options.against.empty()) return checkpoint::which(model, go_on);
    return checkpoint::which(model, open_checkpoint(options.against), go_on);
  });
  const auto others = static_cast<int64_t>(model.tensors().size() - all.size());
  if (json) {
    Json tensors = Json::array();
    for (const Finding& finding : all) tensors.push_back(finding_json(model, finding));
    write_stdout(json_text({{"tensors", std::move(tensors)}, {"others", others}}));
    return kOk;
  }
  std::string out;
  for (const Finding& finding : all) out += finding_text(model, finding);
  if (others > 0)
    out += fmt::format("{}{} {}\n", all.empty() ? "" : "and ", counted(others, "tensor"),
                       options.against.empty() ? "of one dim or of elements that have no order here"
                                               : "whose elements are not compared");
  write_stdout(out + "Nothing acts on this: rules say which layout a tensor has.\n");
  return kOk;
}

}  // namespace

Verb add_checkpoint_which(CommandLine& line) {
  auto [command, json] = add_verb(
      line, "checkpoint which",
      "Say which layout each weight probably has, with the evidence, or surely by another file",
      "  relayout checkpoint which model.safetensors\n"
      "  relayout checkpoint which mlx.safetensors --against torch.safetensors      the orders of dims that are equal\n"
      "Evidence is what is recorded, the bias of a layer, small and equal extents, neighbours that are alike, and "
      "names.\n"
      "It may be wrong, and nothing acts on it; only records and equal values are certain.");
  auto options = std::make_shared<WhichOptions>();
  command.add_option("FILE", options->path, "Checkpoint: a file, an index of files, or a folder").required();
  command.add_option("--against", options->against, "A checkpoint that has the same weights in a known layout");
  return {command, [options, json = json] { return run_checkpoint_which(*options, *json); }, json};
}

}  // namespace relayout::tools
