// What becomes of the tensors of a checkpoint by some rules: every new tensor, of which parts of which old ones it
// consists, and what is recorded of it. Nothing is read but headers, and every contradiction is found here.
//
//     Conversion c = plan_conversion(model, rules);
//     for (const Target& t : c.targets) { t.spec.name; t.state; t.pieces; }
//
// A new tensor is made of pieces: each is a view of an old tensor and the place of a box in the new one, so that
// layouts, orders of indices, cuts and joins are one thing to whoever moves the data (parts.h).
//
// The layout of every tensor is recorded in the new file. A tensor that is recorded as what a rule makes of it is left
// as it is; one that is recorded as neither side of the rule is an error. So a second run changes nothing. The rules
// that were applied are recorded too, under the metadata's key "relayout.rules", as names and orders of indices have no
// record a tensor.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "relayout/checkpoint/checkpoint.h"
#include "relayout/checkpoint/piece.h"
#include "relayout/checkpoint/rules/rules.h"
#include "relayout/core/layout.h"

namespace relayout::checkpoint {

enum class TargetState : uint8_t {
  copied,     // no rule, or none that does anything to it
  converted,  // by a rule
  already,    // recorded as what its rule would make of it
};
std::string_view name(TargetState state);

struct Target {
  TensorSpec spec;  // as it will be stored
  /// Over the stored array: the logical dims and where each element lies.
  TensorDesc memory;
  std::vector<Piece> pieces;
  TargetState state = TargetState::copied;
  std::optional<std::size_t> rule;  // of Rules::rules
  /// Whether a source had no record, so that the rule's word was taken for its layout or the order of its indices.
  bool assumed = false;
  /// The type of the elements of all pieces: that of the sources.
  DType src_type = DType::u8;
};

struct Conversion {
  std::vector<Target> targets;       // in the order of their first sources
  std::vector<std::size_t> skipped;  // tensors that have no target
  std::vector<std::size_t> idle;     // rules that matched nothing
  std::vector<MetadataEntry> metadata;
  /// Rules that change names or orders and that the file says were applied, so that what they match is left as it is.
  std::vector<std::size_t> applied_before;
  /// How many targets are in a state.
  std::size_t count(TargetState state) const;
};

struct ConversionOptions {
  /// Without it, tensors without a record are taken for what the rule says, and rules that match nothing are listed;
  /// with it both are errors.
  bool strict = false;
  /// Whether layouts and rules are recorded in the new file. Old records of tensors that are copied stay.
  bool record = true;
};

/// Errors, each with the tensor and the rule: invalid_argument (a record that contradicts the rule, dims that do not
/// fit it, a type other than the rule's, two tensors of one name, parts that are missing), unsupported (a type or a
/// packed format that a rule would change), and the problems of tensors that have a target. Cost: some microseconds a
/// tensor.
Conversion plan_conversion(const Checkpoint& model, const Rules& rules, const ConversionOptions& options = {});

/// What a user should know of a conversion, a sentence each: tensors whose layout was taken from a rule, rules that
/// match nothing, tensors that are copied because no rule matches, and those that are left out. A few names each.
std::vector<std::string> notes_of(const Checkpoint& model, const Rules& rules, const Conversion& conversion);

}  // namespace relayout::checkpoint
