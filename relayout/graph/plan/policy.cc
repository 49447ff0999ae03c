// Names of the policies, and the layout that a policy of one layout for all gives an activation. See policy.h.
#include "relayout/graph/plan/policy.h"

#include <algorithm>
#include <array>

namespace relayout::graph {
namespace {

constexpr std::array<std::string_view, kPolicyCount> kPolicyNames = {"any", "nchw", "nhwc",     "blocked",
                                                                     "8c",  "16c",  "openvino", "ort"};

}  // namespace

std::string_view name(Policy policy) { return kPolicyNames[static_cast<std::size_t>(policy)]; }

Policy parse_policy(std::string_view text) {
  const auto found = std::ranges::find(kPolicyNames, text);
  if (found != kPolicyNames.end()) return static_cast<Policy>(found - kPolicyNames.begin());
  std::string names;
  for (std::string_view one : kPolicyNames) names += (names.empty() ? "" : ", ") + std::string(one);
  throw Error(ErrorCode::parse, "policy: \"" + escaped(text) + "\" is none of " + names, "policy", escaped(text),
              names);
}

Layout uniform_layout(const Dims& dims, const PropagateOptions& options) {
  if (dims.size() < 3) return Layout::contiguous(dims);
  const auto blocked = [&](int block) { return Format::parse("aBx" + std::to_string(block) + "b").bind(dims); };
  switch (options.policy) {
    case Policy::nhwc: return Format::parse("axb").bind(dims);
    case Policy::blocked: return blocked(options.block);
    case Policy::blocked8: return blocked(8);
    case Policy::blocked16: return blocked(16);
    default: return Layout::contiguous(dims);
  }
}

}  // namespace relayout::graph
