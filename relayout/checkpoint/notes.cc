// What a user should know of a conversion: its states, how many there are, and its notes.
#include "relayout/checkpoint/notes.h"

#include <algorithm>

#include "relayout/checkpoint/shards.h"
#include "relayout/core/print.h"
#include "relayout/interop/files/file_io.h"

namespace relayout::checkpoint {
namespace {

/// "a", "b", "c" and 4 more.
std::string some_names(const std::vector<std::string>& names) {
  constexpr std::size_t kNamed = 3;
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), kNamed); ++i)
    out += (i == 0 ? "\"" : ", \"") + escaped(names[i], 100) + "\"";
  return names.size() > kNamed ? out + " and " + std::to_string(names.size() - kNamed) + " more" : out;
}

/// Why a rule was applied to nothing.
std::string why_idle(const Checkpoint& model, const Rule& rule) {
  std::string patterns;
  if (rule.repack)
    return "no tensors of " + rule.repack->from + " match \"" + escaped(rule.match[0].text(), 100) +
           "\"; of a format of several tensors it is compared with what stands before their names";
  for (const NamePattern& pattern : rule.match) {
    patterns += (patterns.empty() ? "\"" : ", \"") + escaped(pattern.text(), 100) + "\"";
    for (const CheckpointTensor& tensor : model.tensors())
      if (pattern.match(tensor.name) && (!rule.rank || *rule.rank == tensor.shape.size()))
        return "rules before it take all that " + patterns + " matches";
  }
  return "no tensor matches " + patterns;
}

}  // namespace

std::string_view name(TargetState state) {
  return state == TargetState::copied ? "copied" : state == TargetState::converted ? "converted" : "already";
}

std::size_t Conversion::count(TargetState state) const {
  return static_cast<std::size_t>(std::ranges::count(targets, state, &Target::state));
}

std::vector<std::string> notes_of(const Checkpoint& model, const Rules& rules, const Conversion& conversion) {
  std::vector<std::string> out, assumed, unmatched, skipped;
  for (const Target& target : conversion.targets) {
    if (target.assumed) assumed.push_back(target.spec.name);
    if (!target.rule) unmatched.push_back(target.spec.name);
  }
  for (const std::size_t i : conversion.skipped) skipped.push_back(model.tensors()[i].name);
  const auto add = [&](const std::vector<std::string>& names, const std::string& what) {
    if (!names.empty()) out.push_back(what + ": " + some_names(names));
  };
  add(assumed, "taken for what the rules say, as nothing is recorded of it");
  for (const std::size_t r : conversion.applied_before)
    out.push_back(rules.rules[r].where +
                  ": the checkpoint records that it was applied, so what it matches is left as it is");
  for (const std::size_t r : conversion.idle)
    out.push_back(rules.rules[r].where + ": " + why_idle(model, rules.rules[r]));
  if (rules.rules.empty()) out.emplace_back("there are no rules");
  if (!rules.rules.empty()) add(unmatched, "copied as it is, as no rule matches");
  add(skipped, "left out");
  if (conversion.targets.empty())
    out.push_back(skipped.empty() ? "the checkpoint has no tensors, and neither has the new one"
                                  : "the rules leave out all tensors, and the new checkpoint has none");
  return out;
}

std::vector<std::string> beyond_notes(const Conversion& conversion, const std::map<std::size_t, int64_t>& beyond) {
  std::map<DType, std::vector<std::string>> names;
  std::map<DType, int64_t> values;
  for (const auto& [t, count] : beyond) {
    const Target& target = conversion.targets[t];
    names[target.memory.dtype].push_back(target.spec.name);
    values[target.memory.dtype] += count;
  }
  std::vector<std::string> out;
  for (const auto& [dtype, tensors] : names) {
    const int64_t count = values[dtype];
    out.push_back(std::to_string(count) + (count == 1 ? " value is" : " values are") + " beyond the range of " +
                  std::string(name(dtype)) + " and became what stands for such: " + some_names(tensors));
  }
  return out;
}

std::vector<std::string> lost_in(FileKind kind, const Conversion& conversion) {
  if (keeps_metadata(kind)) return {};
  std::vector<std::string> layouts, packed;
  for (const Target& target : conversion.targets) {
    if (target.spec.layout) layouts.push_back(target.spec.name);
    if (!target.spec.notes.packed.empty()) packed.push_back(target.spec.name);
  }
  std::vector<std::string> out;
  const std::string begin = "a file of " + std::string(name(kind)) + " keeps no metadata, so ";
  if (!layouts.empty()) out.push_back(begin + "the layouts are not recorded of " + some_names(layouts));
  std::vector<std::string> keys;
  for (const MetadataEntry& entry : conversion.metadata) keys.push_back(entry.key);
  if (!keys.empty()) out.push_back(begin + "these are left out of it: " + some_names(keys));
  if (!packed.empty())
    out.push_back(begin + "these are bytes there, and no longer named as packed: " + some_names(packed));
  return out;
}

std::vector<std::filesystem::path> files_of(const std::filesystem::path& path) {
  std::vector<std::filesystem::path> out;
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) out.push_back(path);
  const std::filesystem::path index(path.native() + ".index.json");
  if (!std::filesystem::is_regular_file(index, ignored)) return out;
  try {
    const FileBytes bytes = FileBytes::open(index, 0);
    const std::string_view text(reinterpret_cast<const char*>(bytes.bytes().data()), bytes.bytes().size());
    for (const std::string& name : parse_index(text, {}).files) out.push_back(index.parent_path() / name);
  } catch (const Error&) {
    return out;  // it leads to nothing
  }
  return out;
}

std::vector<std::string> left_notes(const std::vector<std::filesystem::path>& old_files,
                                    const std::vector<std::filesystem::path>& new_files) {
  std::vector<std::string> left;
  std::error_code ignored;
  for (const std::filesystem::path& file : old_files)
    if (std::ranges::find(new_files, file) == new_files.end() && std::filesystem::exists(file, ignored))
      left.push_back(file.native());
  if (left.empty()) return {};
  return {"files of the checkpoint that was there before are left: " + some_names(left)};
}

}  // namespace relayout::checkpoint
