// Rules applied to the tensors of a checkpoint: start reading at plan_conversion() at the end.
#include "relayout/checkpoint/conversion.h"

#include <algorithm>
#include <map>

#include "relayout/checkpoint/assembly.h"
#include "relayout/checkpoint/conversion_names.h"
#include "relayout/checkpoint/copied.h"
#include "relayout/checkpoint/history.h"
#include "relayout/checkpoint/merge_parts.h"
#include "relayout/checkpoint/packed/plan.h"
#include "relayout/checkpoint/packed/rows.h"
#include "relayout/checkpoint/renames.h"
#include "relayout/core/error.h"
#include "relayout/core/print.h"

namespace relayout::checkpoint {
namespace {

/// A tensor as a rule sees it.
struct Seen {
  Assembly assembly;
  bool already = false, assumed = false;
};

/// How a layout of these dims is recorded, so that two spellings of one are equal.
std::string recorded_text(const Format& format, const Dims& dims) {
  return spec_of(format, dims, DType::u8).layout->text();
}

class Planner {
 public:
  Planner(const Checkpoint& model, const Rules& rules, const ConversionOptions& options)
      : model_(model),
        rules_(rules),
        options_(options),
        history_(model),
        renames_(rules, history_),
        packed_(model, rules, options) {}

  Conversion plan() {
    std::vector<bool> used(rules_.rules.size());
    for (std::size_t i = 0; i < model_.tensors().size(); ++i) take(i, rule_of(i, used));
    for (auto& [key, parts] : merges_) merge(key.first, key.second, parts);
    for (Target& target : out_.targets) renames_.finish(target);
    // Values, which have no record, may be what packed weights became before.
    for (std::size_t r = 0; r < used.size(); ++r)
      if (!used[r] && !renames_.used()[r] && !(rules_.rules[r].repack && history_.applied(rules_.rules[r], "")))
        out_.idle.push_back(r);
    if (options_.strict && !out_.idle.empty())
      throw Error(ErrorCode::invalid_argument, rules_.rules[out_.idle[0]].where + ": no tensor matches it", "rule",
                  rules_.rules[out_.idle[0]].where);
    std::ranges::stable_sort(out_.targets, {}, [](const Target& t) { return first_source(t); });
    check_names(model_, out_.targets);
    record_rules();
    out_.rules = rules_.toml();
    return std::move(out_);
  }

 private:
  const CheckpointTensor& tensor(std::size_t i) const { return model_.tensors()[i]; }

  [[noreturn]] void fail(std::size_t source, std::size_t rule, const std::string& why,
                         ErrorCode code = ErrorCode::invalid_argument) const {
    const std::string name = escaped(tensor(source).name, 200);
    throw Error(code, "tensor \"" + name + "\", " + rules_.rules[rule].where + ": " + why, "tensor", name);
  }

  /// The first rule whose pattern matches the name. Which pattern it was, and its captures, are kept.
  std::optional<std::size_t> rule_of(std::size_t i, std::vector<bool>& used) {
    std::string name = tensor(i).name;
    for (std::size_t r = 0; r < rules_.rules.size(); ++r) {
      const std::vector<NamePattern>& match = rules_.rules[r].match;
      if (rules_.rules[r].go_on) {
        name = renames_.behind(r, std::move(name));
        continue;
      }
      if (rules_.rules[r].repack) {
        if (auto found = packed_.match(i, r, name))
          return captures_ = std::move(*found), name_ = std::move(name), used[r] = true, r;
        continue;
      }
      if (rules_.rules[r].rank && *rules_.rules[r].rank != tensor(i).shape.size()) continue;
      for (pattern_ = 0; pattern_ < match.size(); ++pattern_) {
        auto found = match[pattern_].match(name);
        if (!found) continue;
        captures_ = std::move(*found);
        used[r] = true;
        return r;
      }
    }
    if (rules_.unmatched == Unmatched::error)
      throw Error(ErrorCode::invalid_argument,
                  "tensor \"" + escaped(tensor(i).name, 200) + "\": no rule matches it, and unmatched = \"error\"",
                  "tensor", escaped(tensor(i).name, 200));
    return std::nullopt;
  }

  void take(std::size_t i, std::optional<std::size_t> r) {
    const bool skipped = r ? rules_.rules[*r].skip : rules_.unmatched == Unmatched::skip;
    if (skipped) {
      out_.skipped.push_back(i);
      return;
    }
    if (tensor(i).problem) throw *tensor(i).problem;
    if (!r) {
      copy(i);
      return;
    }
    const Rule& rule = rules_.rules[*r];
    if ((rule.permute || rule.split || rule.merge || rule.rename) && history_.applied(rule, tensor(i).name)) {
      if (std::ranges::find(out_.applied_before, *r) == out_.applied_before.end()) out_.applied_before.push_back(*r);
      leave(i, *r);
      return;
    }
    if (rule.repack) {
      if (!packed_.take(i, *r, name_, captures_, out_)) leave(i, *r);
      return;
    }
    if (rule.shard) fail(i, *r, "shard says how ranks are cut, which reshard does and a conversion does not");
    if (rule.merge) {
      merges_[{*r, rule.rename->with(captures_)}].push_back({i, pattern_, merge_number(rule, pattern_, captures_)});
      return;
    }
    convert(i, *r);
  }

  void copy(std::size_t i) { out_.targets.push_back(copied(tensor(i), i)); }

  /// The tensor as it is, as its rule was applied before.
  void leave(std::size_t i, std::size_t r) {
    copy(i);
    out_.targets.back().rule = r;
    out_.targets.back().state = TargetState::already;
  }

  /// The metadata, with the rules that did something behind those of before.
  void record_rules() {
    std::vector<bool> did(rules_.rules.size());
    for (const Target& target : out_.targets)
      if (target.rule && target.state == TargetState::converted) did[*target.rule] = true;
    for (std::size_t r = 0; r < did.size(); ++r)
      if (renames_.used()[r]) did[r] = true;
    for (std::size_t r = 0; r < did.size() && options_.record; ++r)
      if (did[r]) history_.add(rules_.rules[r], not_applied_to(model_, rules_, r, out_.targets));
    for (const MetadataEntry& entry : model_.metadata())
      if (entry.key != kRulesKey) out_.metadata.push_back(entry);
    if (std::string text = history_.text(); !text.empty())
      out_.metadata.push_back({std::string(kRulesKey), MetadataValue::of(std::move(text))});
  }

  /// Whether the record of a tensor says that a rule was applied to it; an error where it says neither.
  bool is_recorded_as_made(std::size_t i, std::size_t r) const {
    const Rule& rule = rules_.rules[r];
    const CheckpointTensor& t = tensor(i);
    if (!rule.from || !t.layout) return false;
    const auto equals = [&](const Format& format) {
      try {
        return recorded_text(*t.layout, *t.dims) == recorded_text(format, *t.dims);
      } catch (const Error&) {
        return false;  // a layout of another rank
      }
    };
    if (equals(*rule.to)) return true;
    if (equals(*rule.from)) return false;
    fail(i, r,
         "it is recorded as " + escaped(t.layout->text()) + " of " + join(*t.dims, "x") + ", and the rule converts " +
             escaped(rule.from->text()) + " to " + escaped(rule.to->text()));
  }

  Seen see(std::size_t i, std::size_t r) const {
    const Rule& rule = rules_.rules[r];
    const CheckpointTensor& t = tensor(i);
    Seen out{.already = is_recorded_as_made(i, r)};
    if (out.already) return out;
    try {
      if (rule.from) {
        const Dims dims = t.layout ? *t.dims : rule.from->dims_from_physical(t.shape);
        out.assumed = !t.layout;
        if (out.assumed && options_.strict) fail(i, r, "its layout is not recorded, and --strict asks for a record");
        out.assembly = whole(
            i, rule.from->physical_shape(dims) ? rule.from->bind_physical(dims, t.strides) : rule.from->bind(dims));
      } else if (t.layout) {
        out.assembly = whole(i, t.layout->physical_shape(*t.dims) ? t.layout->bind_physical(*t.dims, t.strides)
                                                                  : t.layout->bind(*t.dims));
      } else {
        out.assembly = whole(i, t.memory());
      }
      if (rule.permute) {
        if (!history_.undoes(rule)) out.assumed = true;
        if (out.assumed && options_.strict)
          fail(i, r, "the order of its indices is not recorded, and --strict asks for a record");
        out.assembly = permuted(out.assembly, *rule.permute);
      }
    } catch (const Error& error) {
      if (error.message().starts_with("tensor ")) throw;
      fail(i, r, error.message(), error.code());
    }
    return out;
  }

  /// Whether the rule changes more than a name. Then the elements must be of a known type.
  bool changes(std::size_t i, const Rule& rule) const {
    const bool retyped = rule.type && tensor(i).dtype != rule.type;
    return rule.from || retyped || rule.permute || rule.split || rule.merge;
  }

  void check_type(std::size_t i, std::size_t r) const {
    const Rule& rule = rules_.rules[r];
    const CheckpointTensor& t = tensor(i);
    if (!changes(i, rule)) return;
    if (const std::string why = why_not_changed(rule, t); !why.empty()) fail(i, r, why, ErrorCode::unsupported);
    if (rule.from_type && *t.dtype != *rule.from_type && *t.dtype != *rule.type)
      fail(i, r,
           "it is " + std::string(name(*t.dtype)) + ", and the rule converts " + std::string(name(*rule.from_type)) +
               " to " + std::string(name(*rule.type)));
  }

  /// A target of a rule: its dims, type and layout are those that the rule or its source says.
  void add(std::string name, const Assembly& assembly, std::size_t source, std::size_t r, bool assumed) {
    const Rule& rule = rules_.rules[r];
    const CheckpointTensor& t = tensor(source);
    const DType dtype = rule.type.value_or(*t.dtype);
    Target target{.rule = r, .assumed = assumed, .src_type = *t.dtype};
    const std::optional<Format> layout = rule.to ? rule.to : t.layout;
    try {
      if (layout) {
        target.spec = spec_of(*layout, assembly.dims, dtype, std::move(name));
        target.memory = TensorDesc(layout->bind(assembly.dims), dtype);
        if (rule.from) target.spec.notes.from = recorded_text(*rule.from, assembly.dims);
        if (!rule.from) target.spec.notes.from = t.notes.from;
      } else {
        target.spec = {.name = std::move(name), .dtype = dtype, .shape = assembly.dims};
        target.memory = TensorDesc(Layout::contiguous(assembly.dims), dtype);
      }
    } catch (const Error& error) {
      fail(source, r, error.message(), error.code());
    }
    record_rows(target.spec, t);
    if (!options_.record && rule.to) target.spec.layout.reset(), target.spec.dims.reset(), target.spec.notes = {};
    target.pieces = assembly.pieces;
    const bool same = target.spec.name == t.name && target.spec.dtype == t.dtype && !changes(source, rule);
    target.state = same ? TargetState::copied : TargetState::converted;
    out_.targets.push_back(std::move(target));
  }

  void convert(std::size_t i, std::size_t r) {
    const Rule& rule = rules_.rules[r];
    const bool more = rule.from || rule.permute || rule.split;
    if (rule.type && !rule.from_type && !more && holds_blocks(tensor(i))) {
      packed_.take_values(i, r, captures_, out_);
      return;
    }
    if (!changes(i, rule) && !has_elements(tensor(i))) {
      copy(i);
      out_.targets.back().rule = r;
      if (rule.rename) rename(out_.targets.back(), rule.rename->with(captures_));
      return;
    }
    check_type(i, r);
    const Seen seen = see(i, r);
    if (seen.already) {
      leave(i, r);
      return;
    }
    if (rule.split) {
      split(i, r, seen);
      return;
    }
    const bool plain_rename = !changes(i, rule);
    if (plain_rename) {
      copy(i);
      out_.targets.back().rule = r;
      if (rule.rename) rename(out_.targets.back(), rule.rename->with(captures_));
      return;
    }
    add(rule.rename ? rule.rename->with(captures_) : tensor(i).name, seen.assembly, i, r, seen.assumed);
  }

  static void rename(Target& target, std::string name) {
    if (target.spec.name == name) return;
    target.spec.name = std::move(name);
    target.state = TargetState::converted;
  }

  void split(std::size_t i, std::size_t r, const Seen& seen) {
    const Rule& rule = rules_.rules[r];
    const Split& split = *rule.split;
    try {
      const Assembly& all = seen.assembly;
      if (split.join) {
        const std::vector<Assembly> cut = unstacked(all, split.dim, *split.join, static_cast<int>(split.into.size()));
        const std::size_t each = cut.size() / split.into.size();
        for (std::size_t k = 0; k < cut.size(); ++k)
          add(split.into[k / each].with(captures_, static_cast<int64_t>(k % each)), cut[k], i, r, seen.assumed);
        return;
      }
      const int dim = checked_dim(split.dim, all.dims.size());
      const int64_t extent = all.dims[dim];
      const bool counted = split.into.size() == 1;
      const auto parts = split.stack && counted ? extent
                         : counted              ? static_cast<int64_t>(split.sizes.size())
                                                : static_cast<int64_t>(split.into.size());
      if (split.stack ? parts != extent : split.sizes.empty() && extent % parts != 0)
        fail(i, r,
             "dim " + std::to_string(dim) + " of extent " + std::to_string(extent) + " is not " +
                 std::to_string(parts) + (split.stack ? " indices" : " equal parts"));
      int64_t at = 0;
      for (int64_t k = 0; k < parts; ++k) {
        const int64_t length = split.stack           ? 1
                               : split.sizes.empty() ? extent / parts
                                                     : split.sizes[static_cast<std::size_t>(k)];
        if (length < 0 || length > extent - at) break;
        Assembly part = narrowed(all, dim, at, length);
        at += length;
        if (split.stack) part = squeezed(part, dim);
        add(split.into[counted ? 0 : static_cast<std::size_t>(k)].with(captures_, k), part, i, r, seen.assumed);
      }
      if (at != extent)
        fail(i, r,
             "the sizes " + join(split.sizes) + " do not add up to extent " + std::to_string(extent) + " of dim " +
                 std::to_string(dim));
    } catch (const Error& error) {
      if (error.message().starts_with("tensor ")) throw;
      fail(i, r, error.message(), error.code());
    }
  }

  void merge(std::size_t r, const std::string& made, std::vector<MergePart> parts) {
    const Rule& rule = rules_.rules[r];
    const Merge& merge = *rule.merge;
    std::ranges::stable_sort(parts, [&](const MergePart& a, const MergePart& b) {
      if (a.pattern != b.pattern) return a.pattern < b.pattern;
      return names_in_order(tensor(a.source).name, tensor(b.source).name);
    });
    const std::size_t first = parts[0].source;
    if (const std::string missing = missing_part(rule, parts); !missing.empty())
      fail(first, r, "\"" + escaped(made, 200) + "\": " + missing);
    std::vector<Assembly> seen;
    bool assumed = false;
    for (const MergePart& part : parts) {
      check_type(part.source, r);
      if (tensor(part.source).notes.packed != tensor(first).notes.packed)
        fail(part.source, r,
             "\"" + escaped(tensor(first).name, 200) +
                 "\", with which it becomes one tensor, is of another packed format");
      if (tensor(part.source).dtype != tensor(first).dtype)
        fail(part.source, r,
             "it is " + std::string(name(*tensor(part.source).dtype)) + ", and \"" + escaped(tensor(first).name, 200) +
                 "\", with which it becomes one tensor, is " + std::string(name(*tensor(first).dtype)));
      Seen one = see(part.source, r);
      if (one.already) fail(part.source, r, "it is recorded as what the rule makes of it, and should still be merged");
      assumed |= one.assumed;
      seen.push_back(std::move(one.assembly));
    }
    try {
      const int rank = seen[0].dims.size() + (merge.stack ? 1 : 0);
      const int dim = checked_dim(merge.dim, rank);
      if (merge.stack)
        for (Assembly& part : seen) part = unsqueezed(part, dim);
      std::vector<int64_t> sizes;
      for (const Assembly& part : seen) sizes.push_back(part.dims[dim]);
      if (!merge.sizes.empty() && sizes != merge.sizes)
        fail(first, r,
             "the parts of \"" + escaped(made, 200) + "\" have the extents " + join(sizes) + ", and sizes says " +
                 join(merge.sizes));
      if (merge.join) seen = joined_patterns(parts, seen, dim);
      add(made, joined(seen, merge.join ? checked_dim(*merge.join, rank) : dim), first, r, assumed);
    } catch (const Error& error) {
      if (error.message().starts_with("tensor ")) throw;
      fail(first, r, error.message(), error.code());
    }
  }

  const Checkpoint& model_;
  const Rules& rules_;
  const ConversionOptions& options_;
  RuleHistory history_;
  Renames renames_;
  PackedPlanner packed_;
  Conversion out_;
  std::map<std::pair<std::size_t, std::string>, std::vector<MergePart>> merges_;
  // Of the last rule_of().
  std::size_t pattern_ = 0;
  Captures captures_;
  std::string name_;  // what rules with go_on made of the name of packed weights
};

}  // namespace

Conversion plan_conversion(const Checkpoint& model, const Rules& rules, const ConversionOptions& options) {
  return Planner(model, rules, options).plan();
}

}  // namespace relayout::checkpoint
