// --map and --rules, and the notes of a conversion.
#include "tools/checkpoint/rules_options.h"

#include <fmt/format.h>

#include "relayout/checkpoint/rules/known.h"
#include "relayout/io/text_file.h"

namespace relayout::tools {
namespace {

constexpr int64_t kMostRulesBytes = 8 << 20;
constexpr std::size_t kNamed = 3;

/// "a", "b", "c" and 4 more.
std::string some_names(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), kNamed); ++i)
    out += (i == 0 ? "" : ", ") + ("\"" + escaped(names[i], 100) + "\"");
  return names.size() > kNamed ? fmt::format("{} and {} more", out, names.size() - kNamed) : out;
}

}  // namespace

void add_rules_options(Command& command, RulesOptions& options) {
  command.add_option("--map", options.maps,
                     "A rule, 'GLOB: oihw -> ohwi', 'GLOB: f32 -> bf16', 'GLOB: NEW.{1}' or 'GLOB: skip'; may be given "
                     "several times");
  command.add_option(
      "--rules", options.file,
      "A file of rules, or the name of rules that come with relayout (pytorch-mlx); those of --map come first");
  command.add_flag("--invert", options.invert, "Turn the rules around, so that they lead back");
}

checkpoint::Rules rules_argument(const RulesOptions& options) {
  checkpoint::Rules out;
  if (!options.file.empty()) {
    std::optional<std::string> text = from_data([&] { return io::read_text(options.file, kMostRulesBytes); });
    const checkpoint::KnownRules* known = text ? nullptr : checkpoint::find_known_rules(options.file);
    if (known) text = known->text;
    if (!text) {
      std::string names;
      for (const checkpoint::KnownRules& each : checkpoint::known_rules())
        names += (names.empty() ? "" : ", ") + std::string(each.name);
      throw Failure(kIo, Error(ErrorCode::io,
                               fmt::format("--rules {}: there is no such file, nor rules of that name; there are {}",
                                           escaped(options.file), names),
                               "--rules", escaped(options.file)));
    }
    out = from_command_line([&] { return checkpoint::Rules::from_toml(*text, options.file); });
  }
  std::vector<checkpoint::Rule> first;
  for (const std::string& map : options.maps)
    first.push_back(from_command_line([&] { return checkpoint::Rules::from_line(map); }));
  out.rules.insert(out.rules.begin(), first.begin(), first.end());
  if (options.invert) out = from_command_line([&] { return out.inverse(); });
  return out;
}

std::vector<std::string> notes_of(const checkpoint::Checkpoint& model, const checkpoint::Rules& rules,
                                  const checkpoint::Conversion& conversion) {
  std::vector<std::string> out, assumed, unmatched, skipped;
  for (const checkpoint::Target& target : conversion.targets) {
    if (target.assumed) assumed.push_back(target.spec.name);
    if (!target.rule) unmatched.push_back(target.spec.name);
  }
  for (const std::size_t i : conversion.skipped) skipped.push_back(model.tensors()[i].name);
  const auto add = [&](const std::vector<std::string>& names, std::string_view what) {
    const auto count = static_cast<int64_t>(names.size());
    if (count > 0) out.push_back(fmt::format("{} {}: {}", counted(count, "tensor"), what, some_names(names)));
  };
  if (conversion.done_before) {
    out.emplace_back("the checkpoint says that it was made by these rules, so all is left as it is");
    return out;
  }
  add(assumed, "had no record of a layout, and the rules' was taken (--strict makes that an error)");
  for (const std::size_t r : conversion.idle) out.push_back(rules.rules[r].where + ": no tensor matches it");
  if (!rules.rules.empty()) add(unmatched, "matched no rule and stay as they are");
  add(skipped, "are left out");
  return out;
}

}  // namespace relayout::tools
