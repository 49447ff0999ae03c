// Names of targets: see conversion_names.h.
#include "relayout/checkpoint/conversion_names.h"

#include <algorithm>
#include <unordered_map>

#include "relayout/core/error.h"
#include "relayout/core/print.h"

namespace relayout::checkpoint {

std::size_t first_source(const Target& target) {
  std::size_t out = target.pieces.empty() ? 0 : target.pieces[0].source;
  for (const Piece& piece : target.pieces) out = std::min(out, piece.source);
  return out;
}

void check_names(const Checkpoint& model, std::span<const Target> targets) {
  std::unordered_map<std::string_view, const Target*> known;
  for (const Target& target : targets) {
    const auto [at, is_new] = known.try_emplace(target.spec.name, &target);
    if (is_new) continue;
    const auto from = [&](const Target& t) {
      return "\"" + escaped(model.tensors()[first_source(t)].name, 200) + "\"";
    };
    throw Error(ErrorCode::invalid_argument,
                "tensors " + from(*at->second) + " and " + from(target) + " both become \"" +
                    escaped(target.spec.name, 200) + "\"",
                "tensor", escaped(target.spec.name, 200));
  }
}

}  // namespace relayout::checkpoint
