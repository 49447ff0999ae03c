// Rules as values: what contradicts itself, rules in one line, and rules as TOML.
#include "relayout/checkpoint/rules/rules.h"

#include <algorithm>
#include <charconv>

#include "relayout/checkpoint/rules/repacking.h"
#include "relayout/core/error.h"
#include "relayout/core/print.h"

namespace relayout::checkpoint {
namespace {

[[noreturn]] void fail_rule(const Rule& rule, const std::string& why) {
  throw Error(ErrorCode::invalid_argument, rule.where + ": " + why, "rule", rule.where);
}

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t"), last = text.find_last_not_of(" \t");
  return first == text.npos ? "" : std::string(text.substr(first, last - first + 1));
}

void check_permutation(const Rule& rule, const Permutation& permutation) {
  const bool axes = !permutation.view.empty() || !permutation.order.empty();
  if (axes == !permutation.blocks.empty()) fail_rule(rule, "permute has either view and order, or blocks");
  std::vector<int64_t> numbers = permutation.blocks;
  if (axes) numbers.assign(permutation.order.begin(), permutation.order.end());
  if (axes && static_cast<std::size_t>(permutation.view.size()) != permutation.order.size())
    fail_rule(rule, "permute: order has as many axes as view");
  std::ranges::sort(numbers);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i] != static_cast<int64_t>(i))
      fail_rule(rule, std::string("permute: ") + (axes ? "order" : "blocks") + " has each number from 0 on once");
}

void check_split(const Rule& rule, const Split& split) {
  const bool counted = (split.into.size() == 1 || split.join) && split.into[0].names(0);
  if (split.into.empty()) fail_rule(rule, "split names the tensors that it makes: into = [\"a\", \"b\"]");
  if (split.stack && !split.sizes.empty()) fail_rule(rule, "split: parts that are stacked have no sizes");
  if (counted && !split.stack && split.sizes.empty())
    fail_rule(rule, "split: a name with {i} needs sizes, or stack = true");
  const auto is_counted = [](const NameTemplate& name) { return name.names(0); };
  if (split.join && (!split.stack || split.into.size() < 2 || !std::ranges::all_of(split.into, is_counted)))
    fail_rule(rule, "split: join goes with stack = true and with several names that have {i}");
  for (std::size_t k = 1; k < split.into.size(); ++k)
    for (std::size_t j = 0; j < k; ++j)
      if (split.into[j].text() == split.into[k].text())
        fail_rule(rule, "split: two of its parts are called \"" + escaped(split.into[k].text(), 200) + "\"");
  if (!counted && split.into.size() < 2) fail_rule(rule, "split makes two tensors or more");
  if (!counted && !split.sizes.empty() && split.sizes.size() != split.into.size())
    fail_rule(rule, "split: sizes has as many numbers as into has names");
  if (rule.rename) fail_rule(rule, "split gives the names in into; rename does not go with it");
}

std::string toml_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

template <typename List>
std::string list_of(const List& numbers) {
  std::string out;
  for (const auto number : numbers) out += (out.empty() ? "" : ", ") + std::to_string(number);
  return "[" + out + "]";
}

std::string names_of(const auto& names) {
  std::string out;
  for (const auto& name : names) out += (out.empty() ? "" : ", ") + toml_text(name.text());
  return "[" + out + "]";
}

std::string toml_of(const Permutation& permutation) {
  const std::string dim = "{ dim = " + std::to_string(permutation.dim);
  if (!permutation.blocks.empty()) return dim + ", blocks = " + list_of(permutation.blocks) + " }";
  return dim + ", view = " + list_of(permutation.view) + ", order = " + list_of(permutation.order) + " }";
}

/// NumPy's names are types, too.
std::optional<DType> type_named(const std::string& text) {
  try {
    return parse_dtype(text);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// What stands on both sides of an arrow: two types or two layouts.
void set_arrow(Rule& rule, const std::string& left, const std::string& right) {
  rule.from_type = type_named(left);
  rule.type = type_named(right);
  if (rule.from_type && rule.type) return;
  if (rule.from_type || rule.type) fail_rule(rule, "a type on one side of the arrow and a layout on the other");
  rule.from = Format::parse(left);
  rule.to = Format::parse(right);
}

}  // namespace

std::string toml_of(const Rule& rule) {
  std::string out = "[[rule]]\n";
  const auto line = [&](const char* key, const std::string& value) { out += std::string(key) + " = " + value + "\n"; };
  line("match", rule.match.size() == 1 ? toml_text(rule.match[0].text()) : names_of(rule.match));
  if (rule.rank) line("rank", std::to_string(*rule.rank));
  if (rule.from && rule.to) line("layout", toml_text(rule.from->text() + " -> " + rule.to->text()));
  if (rule.type)
    line("type", toml_text((rule.from_type ? std::string(name(*rule.from_type)) + " -> " : "") +
                           std::string(name(*rule.type))));
  if (rule.repack) out += toml_of(*rule.repack);
  if (rule.rename) line("rename", toml_text(rule.rename->text()));
  if (rule.skip) line("skip", "true");
  if (rule.permute) line("permute", toml_of(*rule.permute));
  if (rule.split) {
    std::string text = "{ dim = " + std::to_string(rule.split->dim) + ", into = " + names_of(rule.split->into);
    if (!rule.split->sizes.empty()) text += ", sizes = " + list_of(rule.split->sizes);
    if (rule.split->join) text += ", join = " + std::to_string(*rule.split->join);
    line("split", text + (rule.split->stack ? ", stack = true }" : " }"));
  }
  if (rule.shard) {
    std::string text = "{ dim = " + std::to_string(rule.shard->dim);
    if (!rule.shard->parts.empty()) text += ", parts = " + list_of(rule.shard->parts);
    line("shard", text + " }");
  }
  if (rule.go_on) line("go_on", "true");
  if (rule.inverted) line("inverted", "true");
  if (rule.merge) {
    std::string text = "{ dim = " + std::to_string(rule.merge->dim);
    if (!rule.merge->sizes.empty()) text += ", sizes = " + list_of(rule.merge->sizes);
    if (rule.merge->join) text += ", join = " + std::to_string(*rule.merge->join);
    line("merge", text + (rule.merge->stack ? ", stack = true }" : " }"));
  }
  return out;
}

void check_rule(const Rule& rule) {
  if (rule.match.empty()) fail_rule(rule, "it has no match");
  if (rule.match.size() > 1 && !rule.merge) fail_rule(rule, "several patterns go with merge alone");
  if (rule.from.has_value() != rule.to.has_value()) fail_rule(rule, "a layout has two sides: \"oihw -> ohwi\"");
  const bool does = rule.from || rule.type || rule.rename || rule.permute || rule.split || rule.merge || rule.repack;
  if (rule.repack && (rule.from || rule.type || rule.permute || rule.split || rule.merge))
    fail_rule(rule, "from and to of packed weights have only rename and rank besides");
  if (rule.repack)
    if (const std::string wrong = wrong_in(*rule.repack); !wrong.empty()) fail_rule(rule, wrong);
  if (rule.shard && (does || rule.skip)) fail_rule(rule, "a rule with shard has nothing else");
  if (rule.skip && does) fail_rule(rule, "what is skipped has nothing else");
  if (rule.split && rule.merge) fail_rule(rule, "split and merge are two rules");
  if (rule.permute) check_permutation(rule, *rule.permute);
  if (rule.split) check_split(rule, *rule.split);
  if (rule.merge && !rule.rename) fail_rule(rule, "merge needs a name for what it makes: rename");
  if (rule.go_on && (!rule.rename || rule.from || rule.type || rule.permute || rule.merge || rule.rank || rule.repack))
    fail_rule(rule, "go_on goes with match and rename alone");
  if (rule.merge && rule.merge->join && (!rule.merge->stack || rule.match.size() < 2))
    fail_rule(rule, "merge: join goes with stack = true and with several patterns");
  if (rule.merge && rule.merge->stack && !rule.merge->sizes.empty())
    fail_rule(rule, "merge: parts that are stacked have no sizes");
  const auto check_names = [&](const NameTemplate& name, bool counts) {
    for (const NamePattern& pattern : rule.match)
      if (name.captures() > pattern.captures())
        fail_rule(rule, "\"" + escaped(name.text()) + "\" has {" + std::to_string(name.captures()) +
                            "}, but the pattern \"" + escaped(pattern.text()) + "\" captures only " +
                            std::to_string(pattern.captures()));
    if (!counts && name.names(0)) fail_rule(rule, "{i} stands in the names of a split alone");
  };
  if (rule.rename) check_names(*rule.rename, false);
  if (rule.split)
    for (const NameTemplate& name : rule.split->into)
      check_names(name, rule.split->into.size() == 1 || rule.split->join);
}

namespace {

Rule rule_of_line(std::string_view text) {
  const std::size_t colon = text.find(": ");
  if (colon == text.npos)
    throw Error(
        ErrorCode::parse,
        "rule \"" + escaped(text, 200) + "\": it is GLOB: LAYOUT -> LAYOUT, GLOB: TYPE, GLOB: NAME or GLOB: skip",
        "rule", escaped(text, 200));
  Rule out{.where = "rule \"" + escaped(text, 200) + "\""};
  out.match.push_back(NamePattern::parse(trimmed(text.substr(0, colon))));
  const std::string does = trimmed(text.substr(colon + 1));
  const std::size_t arrow = does.find("->");
  if (does.starts_with("shard ")) {
    int dim = 0;
    const auto [end, error] = std::from_chars(does.data() + 6, does.data() + does.size(), dim);
    if (error != std::errc() || end != does.data() + does.size()) fail_rule(out, "shard has the number of a dim");
    out.shard = RankCut{.dim = dim};
  } else if (does == "skip") {
    out.skip = true;
  } else if (auto repacking = repacking_of_line(does)) {
    out.repack = std::move(repacking);
  } else if (arrow != does.npos) {
    const std::string left = trimmed(does.substr(0, arrow)), right = trimmed(does.substr(arrow + 2));
    set_arrow(out, left, right);
  } else if (const auto type = type_named(does)) {
    out.type = type;
  } else if (does.find_first_of(".{/") == does.npos) {
    fail_rule(out, "\"" + escaped(does) +
                       "\" is no type, and a new name has a point or a capture, {1}; in a file of "
                       "rules it may be any text");
  } else {
    out.rename = NameTemplate::parse(does);
  }
  check_rule(out);
  return out;
}

}  // namespace

Rule Rules::from_line(std::string_view text) {
  try {
    return rule_of_line(text);
  } catch (const Error& error) {
    if (error.message().starts_with("rule ")) throw;
    throw Error(error.code(), "rule \"" + escaped(text, 200) + "\": " + error.message(), error.field(), error.value(),
                error.limit());
  }
}

std::string Rules::toml() const {
  std::string out;
  if (unmatched != Unmatched::copy)
    out += std::string("unmatched = \"") + (unmatched == Unmatched::skip ? "skip" : "error") + "\"\n";
  for (const Rule& rule : rules) out += (out.empty() ? "" : "\n") + toml_of(rule);
  return out;
}

}  // namespace relayout::checkpoint
