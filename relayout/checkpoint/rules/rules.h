// Rules by which the tensors of a checkpoint become those of another one: their layouts, types, names, orders of
// indices, and how they are cut and put together.
//
//     Rules rules = Rules::from_toml(text);
//     Rules back = rules.inverse();
//
//     [[rule]]                              # the first rule whose pattern matches a name counts
//     match = "*.conv#.weight"              # a glob or "/a regular expression/" (names.h)
//     layout = "oihw -> ohwi"               # layout expressions; the dims are those of the first
//     type = "f32 -> bf16"                  # or "bf16": whatever it was
//     rename = "model.{1}.conv{2}.weight"
//
//     [[rule]]                              # packed weights: the tensors behind "layers.0.q_proj." and its like
//     match = "layers.#.*_proj"
//     from = "gptq"
//     to = "marlin"
//
//     [[rule]]
//     match = "*.w_qkv"
//     split = { dim = 0, into = ["{1}.q", "{1}.k", "{1}.v"], sizes = [4096, 1024, 1024] }
//
// What a rule does to a tensor, in this order: it is read in the layout before the arrow; the indices of a dim are put
// into another order (permute); tensors are put together (merge) or one is cut (split); the result is written in the
// layout behind the arrow and in the type. Rules say all: nothing is guessed from shapes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/checkpoint/rules/names.h"
#include "relayout/checkpoint/rules/repacking.h"
#include "relayout/core/dtype.h"
#include "relayout/core/extents.h"
#include "relayout/core/format.h"

namespace relayout::checkpoint {

/// The key of a checkpoint's metadata that records the rules that were applied.
inline constexpr std::string_view kRulesKey = "relayout.rules";

/// Another order of the indices of a dim, in one of two ways. As axes: the dim is seen as an array of the extents
/// `view`, of which one may be -1, and its axes are put into `order`: view = [32, 2, -1], order = [0, 2, 1] makes
/// interleaved pairs of the halves of 32 heads. As blocks: the dim has as many equal blocks as `blocks` has numbers,
/// and block k of the result is block blocks[k]: [0, 2, 1, 3] makes i g f o of i f g o.
struct Permutation {
  int dim = 0;
  Dims view;
  std::vector<int> order;
  std::vector<int64_t> blocks;
};

/// One tensor becomes several: parts along a dim, in their order. With `stack` each part is one index of the dim, which
/// it then lacks. A single name with {i} stands for as many parts as there are: indices where it is stacked, and
/// otherwise one for each number in `sizes`.
struct Split {
  int dim = 0;
  std::vector<NameTemplate> into;
  std::vector<int64_t> sizes;  // extents of the parts; empty: equal ones
  bool stack = false;
  /// With `stack`: the dim that is cut first, to an equal part for each name in `into`, all of which have {i}.
  std::optional<int> join{};
};

/// Several tensors become one: those whose names give the rule's `rename` the same name. They follow each other along a
/// dim in the order of the patterns and, within one, of the numbers in their names. With `stack` the dim is a new one,
/// of which each tensor is an index.
struct Merge {
  int dim = 0;
  bool stack = false;
  std::vector<int64_t>
      sizes;  // where given: the extents that the parts must have; what an inverse needs where they differ
  /// With `stack`: the tensors of each pattern are stacked, and what comes of the patterns follows each other along
  /// this dim of the result.
  std::optional<int> join{};
};

/// The dim along which each rank of a tensor-parallel model has a part of a tensor (reshard.h). Where the tensor was
/// put together from others before it was cut, as q, k and v are in one, `parts` are their whole extents, each of which
/// was cut.
struct RankCut {
  int dim = 0;
  std::vector<int64_t> parts;
};

struct Rule {
  std::vector<NamePattern> match;  // several only with `merge`
  /// Where given, the rule counts only for arrays of so many dims, as names alone do not tell kernels of convolutions
  /// from other weights. It is the rule that says so, and no guess.
  std::optional<int> rank;
  std::optional<Format> from, to;
  std::optional<DType> from_type, type;
  std::optional<NameTemplate> rename;
  bool skip = false;
  /// Of a rule that has nothing but a name: the rules behind it see the new name, and one that stands behind the rule
  /// that counts renames what that makes.
  bool go_on = false;
  std::optional<Permutation> permute;
  std::optional<Split> split;
  std::optional<Merge> merge;
  std::optional<Repacking> repack;
  std::optional<RankCut> shard;  // alone: only reshard has such rules
  /// Whether it leads back ("inverted = true"). A rule that exchanges two things is its own inverse, and only this
  /// tells what was done to a checkpoint that records it.
  bool inverted = false;
  std::string where;  // "rules.toml, line 12", for messages
};

/// What becomes of tensors that no rule matches.
enum class Unmatched : uint8_t { copy, skip, error };

struct Rules {
  Unmatched unmatched = Unmatched::copy;
  std::vector<Rule> rules;

  /// A rule file in TOML, as above; `file` is its name in messages. Errors: parse (the line, and what is wrong),
  /// invalid_argument (a rule that contradicts itself), unsupported (a build without toml++).
  static Rules from_toml(std::string_view text, const std::string& file);
  /// Tables of Hugging Face's transformers, as JSON (docs/checkpoints.md): WeightRenaming and WeightConverter. Errors
  /// as of from_toml(), also what no rule can say, by its name.
  static Rules from_transformers(std::string_view text, const std::string& file);
  /// Of a rule file, of a table in JSON (NAME.json), or where there is none of that path, the rules of that name that
  /// come with the library (known.h). Errors: io, limit, and those of from_toml().
  static Rules load(const std::string& path_or_name);
  /// A rule in one line: "GLOB: oihw -> ohwi", "GLOB: f16", "GLOB: gptq -> marlin", "GLOB: skip", or
  /// "GLOB: NEW{1}NAME". Behind formats of packed weights may stand ", group 64" and ", requantise". Errors as above.
  static Rule from_line(std::string_view text);
  /// The rules of single lines, and behind them those of load(); or what leads back. An empty path stands for none.
  static Rules given(const std::vector<std::string>& lines, const std::string& path_or_name, bool invert);
  /// The rules as a file that from_toml() reads as the same rules.
  std::string toml() const;
  /// The rules that lead back. Error{invalid_argument} names the rule that loses something, and what.
  Rules inverse() const;
};

/// A rule as a file has it.
std::string toml_of(const Rule& rule);
/// The rule that leads back. Errors as of Rules::inverse().
Rule inverse_of(const Rule& rule);
/// Refuses a rule that contradicts itself, with Error{invalid_argument}.
void check_rule(const Rule& rule);

}  // namespace relayout::checkpoint
