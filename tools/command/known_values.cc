// Known values by the names of flags and operands, which mean the same in all verbs but for those in the table.
#include "tools/command/known_values.h"

#include "bench/random_cases.h"
#include "relayout/core/format.h"
#include "relayout/interop/spelling.h"
#include "relayout/opencl/image.h"

namespace relayout::tools {
namespace {

using Names = std::vector<std::string>;

Names dtype_names() {
  Names out;
  for (const DType dtype : all_dtypes()) out.emplace_back(name(dtype));
  return out;
}

Names system_names() {
  Names out;
  for (const std::string_view system : systems()) out.emplace_back(system);
  out.emplace_back("all");
  return out;
}

/// The systems whose names `relayout tags --system` lists.
Names named_systems() {
  Names out;
  for (const LayoutSystem& system : layout_systems()) out.push_back(system.name);
  return out;
}

Names channel_names() {
  Names out;
  for (const opencl::ChannelType channel : opencl::kChannelTypes) out.emplace_back(name(channel));
  return out;
}

Names random_kinds() {
  Names out;
  for (const std::string_view kind : bench::random_kind_names()) out.emplace_back(kind);
  return out;
}

bool is_layout(std::string_view verb, std::string_view name) {
  if (verb == "diff" && (name == "A" || name == "B")) return true;
  if (verb == "bench" && (name == "--src" || name == "--dst")) return true;
  return name == "LAYOUT" || name == "--to" || name == "--from" || name.starts_with("--from-") || name == "--layout" ||
         name.ends_with("-layout");
}

}  // namespace

std::vector<std::string> shell_names() { return {"bash", "zsh", "fish"}; }

Names known_values(const VerbText& verb, const OptionText& option, const Names& verbs) {
  if (!option.values.empty()) return option.values;
  const std::string_view name = option.names.back();
  if (is_layout(verb.name, name)) return layout_names();
  if (name.ends_with("dtype") || name.starts_with("--dtype-")) return dtype_names();
  if (name == "--as") return system_names();
  if (name == "--system") return named_systems();
  if (name == "--cost") return {"analytic", "measured"};
  if (name == "--channel") return channel_names();
  if (name == "--kind") return random_kinds();
  if (name == "VERB") return verbs;
  if (name == "SHELL") return shell_names();
  return planner_values(name);
}

bool takes_file(const OptionText& option, const Names& known) {
  return known.empty() && (option.operand || option.value) && (option.type.empty() || option.type == "TEXT");
}

}  // namespace relayout::tools
