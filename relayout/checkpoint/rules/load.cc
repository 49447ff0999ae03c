// Rules by the path of their file, or by their name.
#include "relayout/checkpoint/rules/known.h"
#include "relayout/checkpoint/rules/rules.h"
#include "relayout/core/error.h"
#include "relayout/core/print.h"
#include "relayout/io/text_file.h"

namespace relayout::checkpoint {

Rules Rules::load(const std::string& path_or_name) {
  constexpr int64_t kMostBytes = 8 << 20;
  if (const auto text = io::read_text(path_or_name, kMostBytes))
    return path_or_name.ends_with(".json") ? from_transformers(*text, path_or_name) : from_toml(*text, path_or_name);
  if (const KnownRules* known = find_known_rules(path_or_name)) return from_toml(known->text, path_or_name);
  std::string names;
  for (const KnownRules& each : known_rules()) names += (names.empty() ? "" : ", ") + std::string(each.name);
  throw Error(
      ErrorCode::io,
      "rules \"" + escaped(path_or_name, 200) + "\": there is no such file, nor rules of that name; there are " + names,
      "rules", escaped(path_or_name, 200), names);
}

Rules Rules::given(const std::vector<std::string>& lines, const std::string& path_or_name, bool invert) {
  Rules out;
  if (!path_or_name.empty()) out = load(path_or_name);
  std::vector<Rule> first;
  for (const std::string& line : lines) first.push_back(from_line(line));
  out.rules.insert(out.rules.begin(), first.begin(), first.end());
  return invert ? out.inverse() : out;
}

}  // namespace relayout::checkpoint
