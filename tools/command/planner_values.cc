// The values of flags and operands that the planner knows, for completions.
#include <algorithm>

#include "tools/command/known_values.h"
#include "tools/planning/planning.h"
#include "tools/planning/primitive.h"

namespace relayout::tools {
namespace {

/// The parts of "a, b, c".
std::vector<std::string> parts(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(", ", begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    begin = end + 2;
  }
  return out;
}

}  // namespace

std::vector<std::string> planner_values(std::string_view name) {
  if (name == "--policy") return parts(policy_names());
  if (name == "KIND") return parts(kind_names());
  return {};
}

}  // namespace relayout::tools
