// The rules that lead back, or the rule that loses something.
#include <algorithm>

#include "relayout/checkpoint/rules/repacking.h"
#include "relayout/checkpoint/rules/rules.h"
#include "relayout/checkpoint/values_held.h"
#include "relayout/core/error.h"
#include "relayout/core/print.h"

namespace relayout::checkpoint {
namespace {

[[noreturn]] void fail_invert(const Rule& rule, const std::string& why) {
  throw Error(ErrorCode::invalid_argument, "invert: " + rule.where + ": " + why, "rule", rule.where);
}

Permutation inverse_of(const Permutation& permutation) {
  Permutation out{.dim = permutation.dim};
  out.blocks.resize(permutation.blocks.size());
  for (std::size_t i = 0; i < permutation.blocks.size(); ++i)
    out.blocks[static_cast<std::size_t>(permutation.blocks[i])] = static_cast<int64_t>(i);
  out.order.resize(permutation.order.size());
  for (std::size_t i = 0; i < permutation.order.size(); ++i) {
    out.view.push_back(permutation.view[permutation.order[i]]);
    out.order[static_cast<std::size_t>(permutation.order[i])] = static_cast<int>(i);
  }
  return out;
}

/// What matches the names that a template makes of a pattern's captures, and makes the old names again.
InverseNames names_back(const Rule& rule, const NamePattern& pattern, const NameTemplate& made, bool counts = false) {
  const auto out = inverse_names(pattern, made, counts);
  if (out) return *out;
  fail_invert(rule,
              "\"" + escaped(pattern.text()) + "\" cannot be found again from \"" + escaped(made.text()) +
                  "\": each capture must stand in the new name, and a regular expression have nothing but literal text "
                  "and groups, none inside another");
}

void add_inverse_of_split(Rule& out, const Rule& rule) {
  const Split& split = *rule.split;
  out.merge = Merge{.dim = split.dim, .stack = split.stack, .sizes = split.sizes, .join = split.join};
  for (const NameTemplate& into : split.into) {
    const InverseNames names = names_back(rule, rule.match[0], into, split.into.size() == 1 || split.join.has_value());
    if (names.counted > 0) fail_invert(rule, "a capture of its pattern is not in the names that it makes");
    if (out.rename && out.rename->text() != names.made)
      fail_invert(rule, "its parts have the captures in different orders, so that their names do not lead to one name");
    out.rename = NameTemplate::parse(names.made);
    out.match.push_back(NamePattern::parse(names.pattern));
  }
}

void add_inverse_of_merge(Rule& out, const Rule& rule) {
  const Merge& merge = *rule.merge;
  out.split = Split{.dim = merge.dim, .sizes = merge.sizes, .stack = merge.stack, .join = merge.join};
  const bool counts = rule.match.size() == 1 || merge.join;
  for (const NamePattern& part : rule.match) {
    const InverseNames names = names_back(rule, part, *rule.rename, counts);
    if (counts && names.counted != 1)
      fail_invert(rule, "one number, #, of its pattern must count the parts and be no part of the merged name");
    if (!out.match.empty() && out.match[0].text() != names.pattern)
      fail_invert(rule, "its patterns have other wildcards, so that no single one leads back");
    if (out.match.empty()) out.match.push_back(NamePattern::parse(names.pattern));
    out.split->into.push_back(NameTemplate::parse(names.made));
  }
  if (rule.match.size() == 1 && !merge.stack && merge.sizes.empty())
    fail_invert(rule, "it needs sizes, as nothing else says how many parts there were");
}

}  // namespace

Rule inverse_of(const Rule& rule) {
  Rule out{.go_on = rule.go_on, .inverted = !rule.inverted, .where = "the inverse of " + rule.where};
  if (rule.skip) fail_invert(rule, "what it skips is lost");
  if (rule.rank && (rule.split || rule.merge))
    fail_invert(rule, "a rule of one rank that splits or merges; write the way back by hand");
  out.rank = rule.rank;
  out.from = rule.to;
  out.to = rule.from;
  if (rule.type) {
    if (!rule.from_type)
      fail_invert(
          rule, "it does not say which type the tensors have: type = \"f32 -> " + std::string(name(*rule.type)) + "\"");
    if (!holds_all(*rule.type, *rule.from_type))
      fail_invert(rule, std::string(name(*rule.from_type)) + " -> " + std::string(name(*rule.type)) + " rounds values");
    out.from_type = rule.type;
    out.type = rule.from_type;
  }
  if (rule.repack) {
    if (const std::string lost = lost_by(*rule.repack); !lost.empty()) fail_invert(rule, lost);
    out.repack = Repacking{.from = rule.repack->to, .to = rule.repack->from};
  }
  out.shard = rule.shard;
  if (rule.permute) out.permute = inverse_of(*rule.permute);
  if (rule.split) {
    add_inverse_of_split(out, rule);
  } else if (rule.merge) {
    add_inverse_of_merge(out, rule);
  } else if (rule.rename) {
    const InverseNames names = names_back(rule, rule.match[0], *rule.rename);
    out.match = {NamePattern::parse(names.pattern)};
    out.rename = NameTemplate::parse(names.made);
  } else {
    out.match = rule.match;
  }
  // A permutation of what is split or merged is undone on the other side of it, which is the same where they are of
  // different dims.
  if (rule.permute && ((rule.split && rule.split->stack) || (rule.merge && rule.merge->stack)))
    fail_invert(rule,
                "it permutes a dim of tensors that are stacked; two rule files, one after the other, can be inverted");
  if (rule.permute &&
      ((rule.split && rule.split->dim == rule.permute->dim) || (rule.merge && rule.merge->dim == rule.permute->dim)))
    fail_invert(
        rule,
        "it permutes the dim along which it splits or merges; two rule files, one after the other, can be inverted");
  check_rule(out);
  return out;
}

Rules Rules::inverse() const {
  Rules out{.unmatched = unmatched};
  for (const Rule& rule : rules) out.rules.push_back(inverse_of(rule));
  // Names that went through several rules come back through them in the other order. Among rules of which only the
  // first counts the order stays.
  std::ranges::reverse(out.rules);
  for (auto at = out.rules.begin(); at != out.rules.end();) {
    const auto end = std::find_if(at, out.rules.end(), [&](const Rule& rule) { return rule.go_on != at->go_on; });
    if (!at->go_on) std::reverse(at, end);
    at = end;
  }
  return out;
}

}  // namespace relayout::checkpoint
