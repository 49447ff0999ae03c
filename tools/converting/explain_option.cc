// The plan in words, and its rivals.
#include "tools/converting/explain_option.h"

#include <fmt/format.h>

#include "relayout/cpu/machine.h"
#include "relayout/reorder/offers.h"
#include "tools/command/common.h"

namespace relayout::tools {

void add_explain_option(Command& command, ExplainFlag& flag, const std::string& description) {
  command.add_flag("--explain", flag, description + "; --explain=all shows also the plans that it was chosen from");
}

void check_explain(const ExplainFlag& flag) {
  if (flag.empty() || flag == "true" || flag == "all") return;
  usage_error(fmt::format("--explain={}: it must be --explain or --explain=all", escaped(flag)), "--explain",
              escaped(flag));
}

std::string explained(const Plan& plan, const ExplainFlag& flag) {
  check_explain(flag);
  std::string out = plan.explain();
  if (flag == "all") out += "\n" + offers_text(offers(plan.src(), plan.dst(), plan.attributes(), cpu::machine()));
  while (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

}  // namespace relayout::tools
