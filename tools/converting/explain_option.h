// --explain: how a conversion is done, for the verbs that move data.
#pragma once

#include <string>

#include "relayout/reorder/plan.h"
#include "tools/command/command_line.h"

namespace relayout::tools {

/// "true" for --explain, "all" for --explain=all, "" without.
using ExplainFlag = std::string;

/// --explain[=all].
void add_explain_option(Command& command, ExplainFlag& flag, const std::string& description);

/// The plan in words, without a line end behind them. With "all", also the plans that the planner chose from on this
/// machine and the times that it expects of them. A usage error where the flag has another value.
std::string explained(const Plan& plan, const ExplainFlag& flag);
/// The same error, before anything is done.
void check_explain(const ExplainFlag& flag);

}  // namespace relayout::tools
