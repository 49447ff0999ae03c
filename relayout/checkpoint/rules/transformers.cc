// Tables of Hugging Face's transformers as rules. Their JSON has what the objects of Python hold:
//
//     {"weight_mapping": [
//       {"kind": "WeightRenaming", "sources": ["LayerNorm.gamma"], "targets": ["LayerNorm.weight"]},
//       {"kind": "WeightConverter", "sources": ["mlp.experts.*.up_proj.weight"], "targets": ["mlp.experts.up_proj"],
//        "operations": [{"kind": "MergeModulelist", "dim": 0}]}]}
//
// All renamings are applied to a name, one after the other, and then the first converter that matches it.
#include <algorithm>
#include <charconv>

#include "relayout/checkpoint/rules/rules.h"
#include "relayout/checkpoint/rules/transformers_names.h"
#include "relayout/core/error.h"
#include "relayout/core/print.h"
#include "relayout/interop/files/json_walk.h"

namespace relayout::checkpoint {
namespace {

/// What an object of JSON says besides lists: numbers and words as texts.
using Fields = std::vector<std::pair<std::string, std::string>>;

std::string field(const Fields& fields, std::string_view key) {
  const auto found = std::ranges::find(fields, key, &Fields::value_type::first);
  return found == fields.end() || found->second == "null" ? "" : found->second;
}

struct Operation {
  Fields fields;
  std::vector<int64_t> sizes;
};

struct Transform {
  Fields fields;
  std::vector<std::string> sources, targets;
  std::vector<Operation> operations;
  std::string where;
};

[[noreturn]] void refuse_transform(const Transform& transform, const std::string& why,
                                   ErrorCode code = ErrorCode::unsupported) {
  throw Error(code, transform.where + ": " + why, "rule", transform.where);
}

std::vector<Transform> read_transforms(std::string_view text, const std::string& file) {
  constexpr int kMostDepth = 8;
  std::vector<Transform> out;
  bool found = false;
  walk_json(text, kMostDepth, file, [&](const JsonEvent& event) {
    if (event.keys.empty() || event.keys[0] != "weight_mapping") return;
    const std::string value =
        event.kind == JsonEvent::Kind::number ? std::to_string(event.number) : std::string(event.text);
    const std::string_view key = event.keys.back();
    if (event.keys.size() == 1) {
      found = true;
      if (event.kind == JsonEvent::Kind::object) {
        out.emplace_back();
        out.back().where = file + ", entry " + std::to_string(out.size());
      }
    } else if (out.empty()) {
      return;
    } else if (event.kind == JsonEvent::Kind::object) {
      if (key == "operations") out.back().operations.emplace_back();
    } else if (event.kind == JsonEvent::Kind::array) {
      return;
    } else if (event.keys.size() == 2 && key == "sources") {
      out.back().sources.push_back(value);
    } else if (event.keys.size() == 2 && key == "targets") {
      out.back().targets.push_back(value);
    } else if (event.keys.size() == 2) {
      out.back().fields.emplace_back(key, value);
    } else if (!out.back().operations.empty() && key == "sizes") {
      if (event.kind != JsonEvent::Kind::number)
        throw Error(ErrorCode::parse, out.back().where + ": \"sizes\" has something that is no whole number from 0 on",
                    "sizes", escaped(value, 60));
      out.back().operations.back().sizes.push_back(static_cast<int64_t>(event.number));
    } else if (!out.back().operations.empty()) {
      out.back().operations.back().fields.emplace_back(key, value);
    }
  });
  if (!found)
    throw Error(ErrorCode::parse, file + ": it has no \"weight_mapping\", the list of a table's entries", "rules",
                file);
  for (Transform& each : out) each.where += " (" + escaped(field(each.fields, "kind"), 60) + ")";
  return out;
}

/// The rules of one entry.
class Translator {
 public:
  explicit Translator(const Transform& transform) : it_(transform) {}

  std::vector<Rule> rules() {
    if (it_.sources.empty() || it_.targets.empty())
      refuse_transform(it_, "it has no sources or no targets", ErrorCode::parse);
    for (const std::string& source : it_.sources)
      names_.push_back(source_name(source, field(it_.fields, "scope"), field(it_.fields, "base")));
    const std::string kind = field(it_.fields, "kind");
    if (kind == "WeightRenaming") return renamings();
    if (kind == "WeightConverter") return {converter()};
    refuse_transform(it_, "rules say WeightRenaming and WeightConverter alone");
  }

 private:
  static std::string kind_of(const Operation& operation) { return field(operation.fields, "kind"); }

  int number(const Operation& operation, const char* key, int otherwise) const {
    const std::string text = field(operation.fields, key);
    int out = otherwise;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (!text.empty() && (error != std::errc() || end != text.data() + text.size()))
      refuse_transform(it_, kind_of(operation) + ": " + key + " is no whole number", ErrorCode::parse);
    return out;
  }

  /// What an operation would take from the model or its configuration.
  void refuse_unknown(const Operation& operation) const {
    for (const char* key : {"num_shards_attribute", "permute_layer_names", "subconfig_key"})
      if (!field(operation.fields, key).empty())
        refuse_transform(it_, kind_of(operation) + " with " + key + " depends on the model's configuration");
    if (field(operation.fields, "check_dims") == "true")
      refuse_transform(it_, kind_of(operation) + " with check_dims depends on the model's shapes");
  }

  Rule rule() const {
    Rule out{.where = it_.where};
    for (const SourceName& name : names_) out.match.push_back(NamePattern::parse(name.pattern));
    return out;
  }

  /// The name of what is made, which is the same whichever source matched.
  NameTemplate made(const std::string& target) const {
    const std::string out = target_name(target, names_[0]);
    for (const SourceName& name : names_)
      if (target_name(target, name) != out)
        refuse_transform(it_, "its sources have the parts of their names at different places");
    return NameTemplate::parse(out);
  }

  std::vector<Rule> renamings() const {
    // The longest source is looked for first.
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < names_.size(); ++i) order.push_back(i);
    std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t i) { return it_.sources[i].size(); });
    if (it_.targets.size() != 1) refuse_transform(it_, "a renaming has one target");
    std::vector<Rule> out;
    for (const std::size_t i : order) {
      Rule& one = out.emplace_back(Rule{.go_on = true, .where = it_.where});
      one.match.push_back(NamePattern::parse(names_[i].pattern));
      one.rename = NameTemplate::parse(target_name(it_.targets[0], names_[i]));
    }
    return out;
  }

  Rule converter() const {
    std::string kinds;
    for (const Operation& operation : it_.operations) {
      refuse_unknown(operation);
      kinds += (kinds.empty() ? "" : " ") + kind_of(operation);
    }
    const auto at = [&](std::size_t k) -> const Operation& { return it_.operations[k]; };
    const auto dim = [&](std::size_t k) { return number(at(k), "dim", 0); };
    const std::size_t sources = it_.sources.size(), targets = it_.targets.size();
    if (targets == 1 && kinds == "MergeModulelist" && sources == 1) return merged({.dim = dim(0), .stack = true});
    if (targets == 1 && kinds == "MergeModulelist Concatenate" && sources > 1)
      return merged({.dim = dim(0), .stack = true, .join = dim(1)});
    if (targets == 1 && kinds == "MergeModulelist Concatenate") return merged({.dim = dim(0), .stack = true});
    if (targets == 1 && kinds == "Concatenate") return merged({.dim = dim(0)});
    if (sources != 1) refuse_operations(kinds);
    if (kinds == "SplitModulelist" && targets == 1) return cut({.dim = dim(0), .stack = true});
    if (kinds == "Chunk SplitModulelist" && targets > 1) return cut({.dim = dim(1), .stack = true, .join = dim(0)});
    if (kinds == "Chunk" && targets > 1) return cut({.dim = dim(0), .sizes = at(0).sizes});
    if (kinds == "Split" && targets > 1 && !at(0).sizes.empty()) return cut({.dim = dim(0), .sizes = at(0).sizes});
    if (kinds == "Split") refuse_transform(it_, "Split takes its sizes from the model; give them, \"sizes\": [...]");
    if (kinds == "Interleave Chunk" && targets > 1) return cut({.dim = dim(1)}, interleaved(at(0)));
    if (kinds == "PermuteForRope Chunk" && targets > 1) return cut({.dim = dim(1)}, for_rope(at(0)));
    if (targets != 1) refuse_operations(kinds);
    Rule out = rule();
    out.rename = made(it_.targets[0]);
    if (kinds == "Interleave") {
      out.permute = interleaved(at(0));
    } else if (kinds == "PermuteForRope") {
      out.permute = for_rope(at(0));
    } else if (kinds == "Transpose") {
      transpose(out, at(0));
    } else {
      refuse_operations(kinds);
    }
    return out;
  }

  [[noreturn]] void refuse_operations(const std::string& kinds) const {
    refuse_transform(it_, "no rule says the operations " + (kinds.empty() ? "(none)" : escaped(kinds, 200)) + " from " +
                              std::to_string(it_.sources.size()) + " to " + std::to_string(it_.targets.size()) +
                              " tensors");
  }

  Rule merged(Merge merge) const {
    Rule out = rule();
    out.rename = made(it_.targets[0]);
    out.merge = std::move(merge);
    return out;
  }

  Rule cut(Split split, std::optional<Permutation> permute = {}) const {
    Rule out = rule();
    out.permute = std::move(permute);
    for (const std::string& target : it_.targets) split.into.push_back(made(target));
    out.split = std::move(split);
    return out;
  }

  Permutation interleaved(const Operation& operation) const {
    const bool inverse = field(operation.fields, "inverse") == "true";
    return {.dim = number(operation, "dim", 0), .view = inverse ? Dims{2, -1} : Dims{-1, 2}, .order = {1, 0}};
  }

  Permutation for_rope(const Operation& operation) const {
    const int heads = number(operation, "heads", 0);
    if (heads < 1)
      refuse_transform(it_,
                       "PermuteForRope takes the number of heads from the model's configuration; give it, "
                       "\"heads\": 32");
    const bool inverse = field(operation.fields, "inverse") == "true";
    return {.dim = 0, .view = inverse ? Dims{heads, 2, -1} : Dims{heads, -1, 2}, .order = {0, 2, 1}};
  }

  /// Two axes of an array exchanged: another layout of the same tensor, of as many dims as the larger of them needs.
  void transpose(Rule& out, const Operation& operation) const {
    const int first = number(operation, "dim0", 0), second = number(operation, "dim1", 1);
    if (first < 0 || second < 0 || first >= kMaxDims || second >= kMaxDims)
      refuse_transform(it_, "Transpose with a dim that is counted from the end");
    const int least = std::max(first, second) + 1, rank = number(operation, "rank", least);
    if (rank < least || rank > kMaxDims)
      refuse_transform(it_, "Transpose with rank " + std::to_string(rank) + "; it is " + std::to_string(least) +
                                " to " + std::to_string(kMaxDims));
    std::string from, to;
    for (int d = 0; d < rank; ++d) from += static_cast<char>('a' + d);
    to = from;
    std::swap(to.at(static_cast<std::size_t>(first)), to.at(static_cast<std::size_t>(second)));
    out.from = Format::parse(from);
    out.to = Format::parse(to);
  }

  const Transform& it_;
  std::vector<SourceName> names_;
};

}  // namespace

Rules Rules::from_transformers(std::string_view text, const std::string& file) {
  Rules out;
  std::vector<Rule> converters;
  for (const Transform& transform : read_transforms(text, file)) {
    try {
      for (Rule& rule : Translator(transform).rules()) {
        check_rule(rule);
        (rule.go_on ? out.rules : converters).push_back(std::move(rule));
      }
    } catch (const Error& error) {
      if (error.message().starts_with(transform.where)) throw;
      throw Error(error.code(), transform.where + ": " + error.message(), error.field(), error.value(), error.limit());
    }
  }
  std::ranges::move(converters, std::back_inserter(out.rules));
  return out;
}

}  // namespace relayout::checkpoint
