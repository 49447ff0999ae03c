// The tensors that a rule merges into one, and whether one of them is missing (internal to checkpoint).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "relayout/checkpoint/assembly.h"
#include "relayout/checkpoint/rules/rules.h"

namespace relayout::checkpoint {

struct MergePart {
  std::size_t source, pattern;  // of the checkpoint's tensors and the rule's patterns
  /// The number in its name that the merged name lacks; nothing where there is no such number, or several.
  std::optional<std::string> number;
};

/// MergePart::number of a name whose pattern captured these texts.
std::optional<std::string> merge_number(const Rule& rule, std::size_t pattern, const Captures& captures);

/// What is wrong with parts in their order: a pattern without a tensor, tensors whose order nothing says, a number
/// between two others that none has. "": nothing.
std::string missing_part(const Rule& rule, std::span<const MergePart> parts);

/// The parts of each pattern, one behind the other along a dim; in the order of the patterns, as the parts are.
std::vector<Assembly> joined_patterns(std::span<const MergePart> parts, std::span<const Assembly> assemblies, int dim);

}  // namespace relayout::checkpoint
