// relayout explain of ONNX models: their transpositions, and the model without those that can go.
#pragma once

#include <optional>
#include <string>

#include "relayout/explain/report.h"
#include "tools/command/common.h"

namespace relayout::tools {

struct ExplainedModel {
  explaining::Report report;
  /// What --fix did, as a sentence; empty without it.
  std::string done{};
  Json json{};  // the same; null without it
};

/// Reads the model and, with `fix`, writes a new one there. Both are run first, on the same random inputs, and nothing
/// is written where they differ. Failures: bad data, io, usage (`fix` exists, without `force`), unsupported.
ExplainedModel explain_model(const std::string& path, const std::optional<std::string>& fix, bool force,
                             const explaining::MachineTimes& machine);

}  // namespace relayout::tools
