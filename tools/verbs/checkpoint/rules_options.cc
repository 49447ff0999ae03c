// --map and --rules.
#include "tools/verbs/checkpoint/rules_options.h"

namespace relayout::tools {

void add_rules_options(Command& command, RulesOptions& options) {
  command.add_option("--map", options.maps,
                     "A rule, 'GLOB: oihw -> ohwi', 'GLOB: f32 -> bf16', 'GLOB: NEW.{1}' or 'GLOB: skip'; may be given "
                     "several times");
  command.add_option(
      "--rules", options.file,
      "A file of rules, in TOML or a table of transformers in JSON, or the name of rules that come with relayout "
      "(pytorch-mlx); those of --map come first");
  command.add_flag("--invert", options.invert, "Turn the rules around, so that they lead back");
}

checkpoint::Rules rules_argument(const RulesOptions& options) {
  return from_command_line([&] { return checkpoint::Rules::given(options.maps, options.file, options.invert); });
}

}  // namespace relayout::tools
