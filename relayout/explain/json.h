// JSON from strangers, within limits, for the readers of profiles (internal to explain).
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "relayout/core/error.h"

namespace relayout::explaining {

using Json = nlohmann::ordered_json;

/// Parses a text. Errors: parse (it is no JSON; `what` says which file should have been), limit (nested deeper than
/// 64).
inline Json parse_json(std::string_view text, const char* what) {
  int deepest = 0;
  const auto watch = [&](int depth, Json::parse_event_t, Json&) {
    deepest = std::max(deepest, depth);
    return depth <= 64;
  };
  Json out = Json::parse(text, watch, false);
  if (deepest > 64)
    throw Error(ErrorCode::limit, std::string("explain: ") + what + " is nested deeper than 64", "depth", "", "64");
  if (out.is_discarded()) throw Error(ErrorCode::parse, std::string("explain: ") + what + " is no JSON", "text");
  return out;
}

/// A member's text or number, or a default where there is none of that kind.
inline std::string text_of(const Json& object, const char* key) {
  if (!object.is_object()) return "";
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}
inline std::optional<double> number_of(const Json& object, const char* key) {
  if (!object.is_object()) return std::nullopt;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

}  // namespace relayout::explaining
