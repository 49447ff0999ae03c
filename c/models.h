// The handle of a model, and lists of named inputs and outputs in the model's order.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "c/handles.h"
#include "relayout/core/nearest.h"
#include "relayout/execute/run/execute.h"
#include "relayout/graph/plan/cost.h"
#include "relayout/relayout_models_c.h"

namespace relayout::c {

std::vector<std::string> input_names(const graph::Graph& graph);
/// "a", "b" and "c".
std::string listed(const std::vector<std::string>& names);
/// Error{invalid_argument} for a list of the caller's whose names are not the model's. `list` is what the list is
/// called, and `problem` what is wrong.
[[noreturn]] void refuse_list(std::string_view list, const std::string& problem, const std::string& value,
                              const std::vector<std::string>& names);

/// The caller's sources or destinations by the model's names: where each stands in the list, or nothing where it is not
/// there. A list without names has one for each.
template <typename Given>
std::vector<std::optional<std::size_t>> places_of(std::span<const Given> given, const std::vector<std::string>& names,
                                                  std::string_view list) {
  std::vector<std::optional<std::size_t>> out(names.size());
  const auto unnamed = [](const Given& one) { return one.name == nullptr; };
  if (std::ranges::all_of(given, unnamed)) {
    if (given.size() != names.size())
      refuse_list(list, "has " + std::to_string(given.size()), std::to_string(given.size()), names);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = i;
    return out;
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (unnamed(given[i])) refuse_list(list, "names some and not others", std::to_string(i), names);
    const auto found = std::ranges::find(names, given[i].name);
    const std::string quoted = "\"" + escaped(given[i].name) + "\"";
    if (found == names.end()) {
      const std::vector<std::string_view> known(names.begin(), names.end());
      refuse_list(list, "names " + quoted + did_you_mean(given[i].name, known), escaped(given[i].name), names);
    }
    std::optional<std::size_t>& place = out[static_cast<std::size_t>(found - names.begin())];
    if (place) refuse_list(list, "names " + quoted + " twice", escaped(given[i].name), names);
    place = i;
  }
  return out;
}

/// The caller's list; Error{invalid_argument} where it is null and should not be.
template <typename Given>
std::span<const Given> checked_list(const Given* given, size_t count, std::string_view list) {
  if (given == nullptr && count != 0) refuse(list, "is null, but its count is " + std::to_string(count));
  if (count > (size_t{1} << 28)) refuse(list, "has a count of " + std::to_string(count));
  return {given, count};
}

/// A planned model and what is said of it.
struct PlannedModel {
  execute::Model model;
  std::string explanation, warnings;
  std::optional<graph::Calibration> speeds;  // nothing where costs are measured
};

}  // namespace relayout::c

struct relayout_model : relayout::c::Tagged {
  explicit relayout_model(relayout::c::PlannedModel made);
  /// The names of inputs and outputs.
  const std::vector<std::string> inputs, outputs;
  const std::string explanation, warnings;
  const std::optional<relayout::graph::Calibration> speeds;
  mutable std::mutex running;  // one thread at a time may run a model
  mutable relayout::execute::Model model;
};

template <>
struct relayout::c::HandleKind<relayout_model> {
  static constexpr uint64_t kNumber = 0x6c65646f'6d6c7265U;
  static constexpr const char* kName = "relayout_model";
};
