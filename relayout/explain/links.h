// Who made what an event reads, and who reads what it writes.
#pragma once

#include <optional>
#include <vector>

#include "relayout/explain/runs.h"

namespace relayout::explaining {

/// For each event the places in the trace's list of events, inside the same run. Where tensors have names, these are
/// exact. Where they have not, the maker is the last event before that wrote a tensor of the same description, and the
/// readers are the events behind that read one, up to the next that writes one.
struct Links {
  /// Of the first operand of a reorder, and of the first data operand of other events; nothing where the program or
  /// something that is not in the trace made it.
  std::vector<std::optional<std::size_t>> maker{};
  /// The same of every operand, for events with several.
  std::vector<std::vector<std::optional<std::size_t>>> makers{};
  std::vector<std::vector<std::size_t>> readers{};
};
Links find_links(const Trace& trace, const Runs& runs);

}  // namespace relayout::explaining
