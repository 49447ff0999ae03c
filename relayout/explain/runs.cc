// Finds the period of a trace: see runs.h.
#include "relayout/explain/runs.h"

#include <algorithm>
#include <unordered_map>

namespace relayout::explaining {
namespace {

/// Equal numbers for events that do the same to tensors of the same kind.
std::vector<int> signatures(const Trace& trace) {
  std::unordered_map<std::string, int> known;
  std::vector<int> out;
  for (const Event& event : trace.events) {
    std::string text = event.kind + "|" + event.name + "|" + event.implementation + "|" + event.detail;
    for (const Tensor& tensor : event.reads) text += "|" + tensor.key;
    for (const Tensor& tensor : event.writes) text += ">" + tensor.key;
    out.push_back(known.try_emplace(std::move(text), static_cast<int>(known.size())).first->second);
  }
  return out;
}

/// A first run that is longer than one that follows once is only looked for in traces of up to so many events.
constexpr std::size_t kLongTrace = 20'000;

/// For each distance, how many signatures at the end are equal to those that stand so far in front of them: the
/// Z-function of the reversed sequence, found in proportion to its length.
std::vector<std::size_t> equal_at_end(const std::vector<int>& all) {
  const std::size_t count = all.size();
  const auto at = [&](std::size_t i) { return all[count - 1 - i]; };
  std::vector<std::size_t> out(count, 0);
  std::size_t left = 0, right = 0;
  for (std::size_t i = 1; i < count; ++i) {
    if (i < right) out[i] = std::min(right - i, out[i - left]);
    while (i + out[i] < count && at(out[i]) == at(i + out[i])) ++out[i];
    if (i + out[i] > right) left = i, right = i + out[i];
  }
  return out;
}

/// Matches the last `period` signatures, in their order, with events of the first `end`, from the back. Returns where
/// the match begins, or nothing where it has no match or passes over an event that is no reorder.
std::optional<std::size_t> first_run(const Trace& trace, const std::vector<int>& all, std::size_t period,
                                     std::size_t end) {
  std::size_t left = period, at = end;
  while (left > 0 && at > 0) {
    --at;
    if (all[at] == all[all.size() - period + left - 1])
      --left;
    else if (!trace.events[at].reorder)
      return std::nullopt;
  }
  if (left > 0) return std::nullopt;
  while (at > 0 && trace.events[at - 1].reorder) --at;
  return at;
}

struct Period {
  std::size_t length = 0, repeated = 0;
  std::optional<std::size_t> first;  // where a run with more events begins, in front of the repetitions
};

/// The shortest period that the whole trace repeats; else the shortest by which all of it is runs, of which the first
/// has reorders of its own; else the shortest that is at least half of it.
std::optional<Period> find_period(const Trace& trace, const std::vector<int>& all) {
  const std::vector<std::size_t> equal = equal_at_end(all);
  for (std::size_t length = 1; length * 2 <= all.size(); ++length) {
    if (all.size() % length == 0 && equal[length] == all.size() - length)
      return Period{length, all.size() / length, {}};
  }
  std::optional<Period> loose;
  for (std::size_t length = 1; length < all.size(); ++length) {
    const std::size_t repeated = 1 + equal[length] / length;
    if (repeated == 1 && length * 2 > all.size()) break;
    const std::size_t covered = repeated * length;
    if (repeated == 1 && all.size() > kLongTrace) continue;
    const auto first = first_run(trace, all, length, all.size() - covered);
    if (first && *first == 0) return Period{length, repeated, first};
    if (!loose && repeated >= 2 && 2 * covered >= all.size()) loose = Period{length, repeated, first};
  }
  return loose;
}

}  // namespace

Runs find_runs(const Trace& trace, int64_t given) {
  Runs out{.run_of = std::vector<int64_t>(trace.events.size(), 0)};
  const auto events = static_cast<int64_t>(trace.events.size());
  if (!trace.in_order || events == 0) return out;
  if (given > 0) {
    out.count = std::min(given, events);
    for (int64_t i = 0; i < events; ++i)
      out.run_of[static_cast<std::size_t>(i)] =
          std::max<int64_t>(0, out.count - 1 - (events - 1 - i) * out.count / events);
    return out;
  }
  const std::vector<int> all = signatures(trace);
  const std::optional<Period> period = find_period(trace, all);
  if (!period) return out;
  const std::size_t start = all.size() - period->repeated * period->length;
  // What stands in front of the repetitions counts as the first run, unless it only prepares for one.
  const auto begin = trace.events.begin();
  const bool prepares =
      std::all_of(begin, begin + static_cast<std::ptrdiff_t>(start), [](const Event& event) { return event.reorder; });
  const int64_t before = prepares ? 0 : 1;
  for (std::size_t i = start; i < all.size(); ++i)
    out.run_of[i] = before + static_cast<int64_t>((i - start) / period->length);
  out.count = before + static_cast<int64_t>(period->repeated);
  return out;
}

}  // namespace relayout::explaining
