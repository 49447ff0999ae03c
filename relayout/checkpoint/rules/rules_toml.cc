// Rule files: TOML by toml++.
#include "relayout/checkpoint/rules/rules.h"
#include "relayout/core/error.h"
#include "relayout/core/print.h"

#ifdef RELAYOUT_TOMLPP
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#endif

namespace relayout::checkpoint {

#ifdef RELAYOUT_TOMLPP
namespace {

/// A table of the file, and where it stands.
class RuleReader {
 public:
  RuleReader(const std::string& file, const toml::table& table, std::string where, std::string part = "")
      : file_(file), table_(table), where_(std::move(where)), part_(std::move(part)) {}

  /// The line of the key that was asked for last; before that, where the table stands.
  std::string place() const { return line_ == 0 ? where_ : file_ + ", line " + std::to_string(line_) + part_; }
  const std::string& file() const { return file_; }
  [[noreturn]] void fail(const std::string& why) const {
    throw Error(ErrorCode::parse, place() + ": " + why, "rule", place());
  }
  /// Refuses keys that are not among these.
  void only(std::initializer_list<std::string_view> keys) const {
    for (const auto& [key, value] : table_) {
      if (std::ranges::find(keys, key.str()) != keys.end()) continue;
      line_ = key.source().begin.line;
      std::string known;
      for (const std::string_view each : keys) known += (known.empty() ? "" : ", ") + std::string(each);
      fail("there is no \"" + escaped(key.str(), 60) + "\"; it has " + known);
    }
  }
  std::optional<std::string> text(std::string_view key) const {
    const toml::node* node = get(key);
    if (!node) return std::nullopt;
    if (const auto* found = node->as_string()) return found->get();
    fail(std::string(key) + " is a text in quotation marks");
  }
  std::vector<std::string> texts(std::string_view key) const {
    const toml::node* node = get(key);
    if (!node) return {};
    if (node->is_string()) return {*text(key)};
    std::vector<std::string> out;
    if (const toml::array* list = node->as_array()) {
      for (const toml::node& each : *list) {
        if (!each.is_string()) fail(std::string(key) + " is a text or a list of texts");
        out.push_back(each.as_string()->get());
      }
      return out;
    }
    fail(std::string(key) + " is a text or a list of texts");
  }
  std::optional<int64_t> number(std::string_view key) const {
    const toml::node* node = get(key);
    if (!node) return std::nullopt;
    if (const auto* found = node->as_integer()) return found->get();
    fail(std::string(key) + " is a whole number");
  }
  std::vector<int64_t> numbers(std::string_view key) const {
    const toml::node* node = get(key);
    if (!node) return {};
    const toml::array* list = node->as_array();
    if (!list) fail(std::string(key) + " is a list of whole numbers");
    std::vector<int64_t> out;
    for (const toml::node& each : *list) {
      if (!each.is_integer()) fail(std::string(key) + " is a list of whole numbers");
      out.push_back(each.as_integer()->get());
    }
    return out;
  }
  bool flag(std::string_view key) const {
    const toml::node* node = get(key);
    if (!node) return false;
    if (const auto* found = node->as_boolean()) return found->get();
    fail(std::string(key) + " is true or false");
  }
  std::optional<RuleReader> table(std::string_view key) const {
    const toml::node* node = get(key);
    if (!node) return std::nullopt;
    if (const toml::table* found = node->as_table())
      return RuleReader(file_, *found, place() + ", " + std::string(key), ", " + std::string(key));
    fail(std::string(key) + " is a table: { dim = 0, ... }");
  }
  int dim() const {
    const auto out = other_dim("dim");
    if (!out) fail("it has no dim");
    return *out;
  }
  std::optional<int> other_dim(std::string_view key) const {
    const auto out = number(key);
    if (!out) return std::nullopt;
    if (*out < -kMaxDims || *out >= kMaxDims) fail(std::string(key) + " " + std::to_string(*out) + " is none");
    return static_cast<int>(*out);
  }
  const std::string& where() const { return where_; }

 private:
  const std::string& file_;
  const toml::table& table_;
  const toml::node* get(std::string_view key) const {
    const toml::node* node = table_.get(key);
    if (node) line_ = node->source().begin.line;
    return node;
  }

  std::string where_, part_;
  mutable toml::source_index line_ = 0;
};

/// Both sides of "a -> b"; the left one is missing where there is no arrow.
std::pair<std::optional<std::string>, std::string> arrow(const std::string& text) {
  const auto trimmed = [](std::string_view part) {
    const auto first = part.find_first_not_of(' '), last = part.find_last_not_of(' ');
    return first == part.npos ? std::string() : std::string(part.substr(first, last - first + 1));
  };
  const std::size_t at = text.find("->");
  if (at == text.npos) return {std::nullopt, trimmed(text)};
  return {trimmed(std::string_view(text).substr(0, at)), trimmed(std::string_view(text).substr(at + 2))};
}

Permutation permutation_of(const RuleReader& in) {
  in.only({"dim", "view", "order", "blocks"});
  Permutation out{.dim = in.dim(), .blocks = in.numbers("blocks")};
  for (const int64_t extent : in.numbers("view")) {
    if (out.view.size() == kMaxDims) in.fail("view has over " + std::to_string(kMaxDims) + " axes");
    out.view.push_back(extent);
  }
  for (const int64_t axis : in.numbers("order")) out.order.push_back(static_cast<int>(axis));
  return out;
}

Split split_of(const RuleReader& in) {
  in.only({"dim", "into", "sizes", "stack", "join"});
  Split out{.dim = in.dim(), .sizes = in.numbers("sizes"), .stack = in.flag("stack"), .join = in.other_dim("join")};
  for (const std::string& name : in.texts("into")) out.into.push_back(NameTemplate::parse(name));
  return out;
}

Merge merge_of(const RuleReader& in) {
  in.only({"dim", "sizes", "stack", "join"});
  return {.dim = in.dim(), .stack = in.flag("stack"), .sizes = in.numbers("sizes"), .join = in.other_dim("join")};
}

Rule rule_of(const RuleReader& in) {
  in.only({"match", "rank", "layout", "type", "rename", "skip", "permute", "split", "merge", "shard", "go_on",
           "inverted", "from", "to", "group", "requantise"});
  Rule out{.skip = in.flag("skip"), .go_on = in.flag("go_on"), .inverted = in.flag("inverted"), .where = in.where()};
  for (const std::string& pattern : in.texts("match")) out.match.push_back(NamePattern::parse(pattern));
  if (const auto rank = in.number("rank")) {
    if (*rank < 0 || *rank > kMaxDims) in.fail("rank is a number of dims, 0 to " + std::to_string(kMaxDims));
    out.rank = static_cast<int>(*rank);
  }
  if (const auto text = in.text("layout")) {
    const auto [left, right] = arrow(*text);
    if (!left) in.fail("layout has two sides: \"oihw -> ohwi\"");
    out.from = Format::parse(*left);
    out.to = Format::parse(right);
  }
  if (const auto text = in.text("type")) {
    const auto [left, right] = arrow(*text);
    if (left) out.from_type = parse_dtype(*left);
    out.type = parse_dtype(right);
  }
  const auto packed = in.text("from"), made = in.text("to");
  if (packed.has_value() != made.has_value()) in.fail("packed weights have both, from and to");
  if (packed)
    out.repack = Repacking{*packed, *made, in.number("group").value_or(0), in.flag("requantise")};
  else if (in.number("group") || in.flag("requantise"))
    in.fail("group and requantise go with from and to");
  if (const auto text = in.text("rename")) out.rename = NameTemplate::parse(*text);
  if (const auto table = in.table("permute")) out.permute = permutation_of(*table);
  if (const auto table = in.table("split")) out.split = split_of(*table);
  if (const auto table = in.table("merge")) out.merge = merge_of(*table);
  if (const auto table = in.table("shard")) {
    table->only({"dim", "parts"});
    out.shard = RankCut{.dim = table->dim(), .parts = table->numbers("parts")};
  }
  return out;
}

/// Reads a rule and gives its errors the place where it stands.
Rule placed_rule(const RuleReader& in) {
  Rule out;
  const auto placed = [&](const Error& error, const std::string& place) {
    if (error.message().starts_with(in.file() + ", line ")) return error;
    return Error(error.code(), place + ": " + error.message(), error.field(), error.value(), error.limit());
  };
  try {
    out = rule_of(in);
  } catch (const Error& error) {
    throw placed(error, in.place());
  }
  try {
    check_rule(out);
  } catch (const Error& error) {
    throw placed(error, in.where());
  }
  return out;
}

}  // namespace

Rules Rules::from_toml(std::string_view text, const std::string& file) {
  toml::table table;
  try {
    table = toml::parse(text);
  } catch (const toml::parse_error& error) {
    const std::string where = file + ", line " + std::to_string(error.source().begin.line);
    throw Error(ErrorCode::parse, where + ": " + std::string(error.description()), "rules", where);
  }
  const RuleReader in(file, table, file);
  in.only({"unmatched", "rule"});
  Rules out;
  if (const auto unmatched = in.text("unmatched")) {
    constexpr std::array<std::string_view, 3> kNames = {"copy", "skip", "error"};
    const auto found = std::ranges::find(kNames, *unmatched);
    if (found == kNames.end()) in.fail("unmatched is \"copy\", \"skip\" or \"error\"");
    out.unmatched = static_cast<Unmatched>(found - kNames.begin());
  }
  const toml::node* rules = table.get("rule");
  if (!rules) return out;
  const toml::array* list = rules->as_array();
  if (!list) in.fail("rules are written as [[rule]]");
  for (const toml::node& each : *list) {
    const std::string where = file + ", line " + std::to_string(each.source().begin.line);
    if (!each.is_table()) throw Error(ErrorCode::parse, where + ": rules are written as [[rule]]", "rules", where);
    out.rules.push_back(placed_rule(RuleReader(file, *each.as_table(), where)));
  }
  return out;
}
#else
Rules Rules::from_toml(std::string_view, const std::string& file) {
  throw Error(ErrorCode::unsupported, file + ": this build reads no rule files, as it lacks toml++", "toml++");
}
#endif

}  // namespace relayout::checkpoint
