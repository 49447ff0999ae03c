// A layout in the words of other systems, for `relayout describe --as`.
#include "tools/showing/describe_as.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "relayout/interop/spelling.h"
#include "tools/command/common.h"

namespace relayout::tools {
namespace {

/// All that --as takes.
std::vector<std::string_view> known_systems() {
  std::vector<std::string_view> out(systems().begin(), systems().end());
  out.emplace_back("all");
  return out;
}

void check_system(const std::string& system) {
  const std::vector<std::string_view> known = known_systems();
  if (std::ranges::find(known, system) != known.end()) return;
  usage_error(fmt::format("--as: no system is called \"{}\"; there are {}{}", escaped(system), fmt::join(known, ", "),
                          did_you_mean(system, known)),
              "--as", escaped(system), fmt::format("{}", fmt::join(known, ", ")));
}

}  // namespace

std::string systems_text() { return fmt::format("{}", fmt::join(systems(), ", ")); }

int describe_as(const TensorDesc& desc, const std::string& letters, const std::string& system, bool json) {
  check_system(system);
  const bool all = system == "all";
  std::vector<Spelling> spellings;
  if (all) {
    for (const std::string_view name : systems()) spellings.push_back(spelling(name, desc, letters));
  } else {
    spellings.push_back(from_command_line([&] { return spelling(system, desc, letters); }));
    if (const std::string& why = spellings[0].refusal; !why.empty())
      throw Error(ErrorCode::unsupported, why, "--as", system, "a layout that this system can say");
  }
  std::string text;
  Json object = Json::object();
  for (const Spelling& s : spellings) {
    const bool said = s.refusal.empty();
    object[std::string(s.system)] = {{said ? "text" : "refusal", said ? s.text : s.refusal}};
    if (all) text += (text.empty() ? "" : "\n") + bold(std::string(s.system)) + "\n";
    text += (said ? s.text : "no: " + s.refusal) + "\n";
  }
  write_stdout(json ? json_text(object) : text);
  return kOk;
}

}  // namespace relayout::tools
