// Reads enum dnnl_format_tag_t from the header. Each entry counts up, or is an alias of an earlier one.
#include "tag_names.h"

#include <cctype>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <stdexcept>

namespace relayout {
namespace {

int distinct_letters(const std::string& tag) {
  std::set<int> letters;
  for (char ch : tag) {
    if (std::isalpha(static_cast<unsigned char>(ch))) letters.insert(std::tolower(static_cast<unsigned char>(ch)));
  }
  return static_cast<int>(letters.size());
}

/// The lines of the enum, without comments.
std::vector<std::string> enum_lines(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  std::vector<std::string> lines;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    line = line.substr(0, line.find("//"));
    if (line.find("dnnl_format_tag_undef") != std::string::npos) inside = true;
    if (inside && line.find('}') != std::string::npos) break;
    if (inside) lines.push_back(line);
  }
  return lines;
}

}  // namespace

std::vector<TagName> onednn_tag_names() {
  const std::regex entry(R"(\s*dnnl_(\w+)\s*(?:=\s*(\w+)\s*)?,?\s*)");
  std::vector<TagName> names;
  std::map<std::string, TagName> by_name;
  int next = 0;
  bool aliases = false;
  for (const std::string& line : enum_lines(RELAYOUT_DNNL_TYPES_H)) {
    std::smatch match;
    if (!std::regex_match(line, match, entry)) {
      if (line.find("dnnl_") != std::string::npos) throw std::runtime_error("cannot read the entry " + line);
      continue;
    }
    std::string name = match[1];
    if (name == "format_tag_last") {
      aliases = true;
      continue;
    }
    if (name == "format_tag_undef") name = "undef";
    if (name == "format_tag_any") name = "any";
    TagName tag{name, name, dnnl_format_tag_undef, 0};
    if (aliases) {
      const auto of = by_name.find(match[2].str().substr(5));  // the entry it names may itself be an alias
      if (of == by_name.end()) throw std::runtime_error("unknown alias " + line);
      tag.canonical = of->second.canonical;
      tag.tag = of->second.tag;
      tag.ndims = of->second.ndims;
    } else {
      tag.tag = static_cast<dnnl_format_tag_t>(next++);
      tag.ndims = next <= 2 ? 0 : distinct_letters(name);
    }
    by_name.emplace(name, tag);
    names.push_back(tag);
  }
  return names;
}

}  // namespace relayout
