// Whether a merged tensor has all its parts.
#include "relayout/checkpoint/merge_parts.h"

#include <algorithm>

#include "relayout/core/print.h"

namespace relayout::checkpoint {

std::optional<std::string> merge_number(const Rule& rule, std::size_t pattern, const Captures& captures) {
  const auto pieces = rule.match[pattern].pieces();
  std::optional<std::string> out;
  int capture = 0, found = 0;
  for (const NamePattern::Piece& piece : pieces.value_or(std::vector<NamePattern::Piece>{})) {
    if (piece.wildcard == 0) continue;
    ++capture;
    if (piece.wildcard != '#' || rule.rename->names(capture)) continue;
    out = captures[static_cast<std::size_t>(capture) - 1];
    ++found;
  }
  return found == 1 ? out : std::nullopt;
}

std::string missing_part(const Rule& rule, std::span<const MergePart> parts) {
  constexpr std::size_t kMostDigits = 18;
  for (std::size_t p = 0; p < rule.match.size(); ++p)
    if (std::ranges::none_of(parts, [&](const MergePart& part) { return part.pattern == p; }))
      return "no tensor matches \"" + escaped(rule.match[p].text()) + "\"";
  for (std::size_t k = 1; k < parts.size(); ++k) {
    const MergePart &before = parts[k - 1], &part = parts[k];
    if (part.pattern != before.pattern) continue;
    if (!part.number || !before.number)
      return "several tensors match \"" + escaped(rule.match[part.pattern].text()) +
             "\", and no number, #, that the new name lacks says in which order they stand";
    if (part.number->size() > kMostDigits) continue;
    const int64_t next = std::stoll(*before.number) + 1;
    if (std::stoll(*part.number) > next)
      return "no tensor of number " + std::to_string(next) + " matches \"" + escaped(rule.match[part.pattern].text()) +
             "\"";
  }
  return "";
}

std::vector<Assembly> joined_patterns(std::span<const MergePart> parts, std::span<const Assembly> assemblies, int dim) {
  std::vector<Assembly> out;
  for (std::size_t begin = 0, end = 0; begin < parts.size(); begin = end) {
    while (end < parts.size() && parts[end].pattern == parts[begin].pattern) ++end;
    out.push_back(joined(assemblies.subspan(begin, end - begin), dim));
  }
  return out;
}

}  // namespace relayout::checkpoint
