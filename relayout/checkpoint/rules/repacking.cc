// Rules of packed weights: see repacking.h.
#include "relayout/checkpoint/rules/repacking.h"

#include <algorithm>
#include <charconv>

#include "relayout/core/error.h"
#include "relayout/core/packed/packed.h"
#include "relayout/core/print.h"

namespace relayout::checkpoint {
namespace {

constexpr std::string_view kAnyGgml = "ggml";

std::string without_spaces(std::string_view text) {
  const auto first = text.find_first_not_of(' '), last = text.find_last_not_of(' ');
  return first == text.npos ? "" : std::string(text.substr(first, last - first + 1));
}

/// Whether a text names a packed format, be it one that is refused or misspelt, and no field of one.
bool names_packed(const std::string& text) {
  return text == kAnyGgml || (!text.empty() && packed_length(text) == text.size() && text.find('.') == text.npos);
}

bool has_open_groups(const PackedFormat& format) {
  return std::ranges::any_of(format.fields,
                             [](const PackedField& field) { return field.group[0] == 0 || field.group[1] == 0; });
}

void take_option(Repacking& out, const std::string& option) {
  constexpr std::string_view kGroup = "group ";
  if (option == "requantise") {
    out.requantise = true;
    return;
  }
  const char* end = option.data() + option.size();
  const bool is_group = option.starts_with(kGroup);
  const auto [at, error] = std::from_chars(option.data() + (is_group ? kGroup.size() : 0), end, out.group);
  if (!is_group || error != std::errc() || at != end || out.group < 1)
    throw Error(ErrorCode::invalid_argument,
                "behind the formats stand \"group 64\" and \"requantise\", and not \"" + escaped(option, 60) + "\"",
                "rule", escaped(option, 60));
}

}  // namespace

std::optional<Repacking> repacking_of_line(std::string_view text) {
  const std::size_t arrow = text.find("->");
  if (arrow == text.npos) return std::nullopt;
  std::string_view rest = text.substr(arrow + 2);
  const std::size_t comma = std::min(rest.find(','), rest.size());
  Repacking out{.from = without_spaces(text.substr(0, arrow)), .to = without_spaces(rest.substr(0, comma))};
  if (!names_packed(out.from) && !names_packed(out.to)) return std::nullopt;
  rest.remove_prefix(comma);
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::size_t end = std::min(rest.find(','), rest.size());
    take_option(out, without_spaces(rest.substr(0, end)));
    rest.remove_prefix(end);
  }
  return out;
}

std::optional<DType> type_of_side(const std::string& side) {
  const auto type = find_packed(side) ? std::nullopt : find_dtype(side);
  return type && is_floating(*type) ? type : std::nullopt;
}

std::string wrong_in(const Repacking& repacking) {
  const bool from_values = type_of_side(repacking.from).has_value(), to_values = type_of_side(repacking.to).has_value();
  if (from_values && to_values) return "neither side is a packed format; type = \"f32 -> f16\" converts types";
  if (repacking.from != kAnyGgml && !from_values) (void)packed_format(repacking.from);
  if (!to_values) (void)packed_format(repacking.to);
  if (repacking.from == kAnyGgml && !to_values) return "ggml is any of its formats, which become values: ggml -> f16";
  if (repacking.from == repacking.to && repacking.group == 0) return "both sides are " + repacking.from;
  if (!to_values && repacking.group != 0 && !has_open_groups(packed_format(repacking.to)))
    return repacking.to + " has groups of its own, so group does not go with it";
  if (repacking.group < 0) return "group is a number of values, from 1 on";
  if (to_values && (repacking.group != 0 || repacking.requantise))
    return "values have neither groups nor codes, so group and requantise do not go with " + repacking.to;
  return "";
}

std::string toml_of(const Repacking& repacking) {
  std::string out = "from = \"" + repacking.from + "\"\nto = \"" + repacking.to + "\"\n";
  if (repacking.group != 0) out += "group = " + std::to_string(repacking.group) + "\n";
  if (repacking.requantise) out += "requantise = true\n";
  return out;
}

std::string lost_by(const Repacking& repacking) {
  if (type_of_side(repacking.from)) return repacking.from + " -> " + repacking.to + " rounds values";
  if (type_of_side(repacking.to)) return "the values of " + repacking.from + " would be rounded anew";
  if (repacking.requantise) return "requantise rounds values";
  if (repacking.group != 0) return "it does not say how many values shared a scale before";
  return "";
}

}  // namespace relayout::checkpoint
