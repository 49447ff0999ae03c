// The tensors that a conversion makes of a checkpoint, and what each is made of (conversion.h).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "relayout/checkpoint/checkpoint.h"
#include "relayout/checkpoint/packed/group.h"
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
  /// Of packed weights that change their format: which of Conversion::groups makes it, and as which of the new format's
  /// buffers. Its pieces are then the sources of the group, each as it lies.
  std::optional<std::size_t> group;
  std::string buffer;
};

struct Conversion {
  std::vector<Target> targets;       // in the order of their first sources
  std::vector<PackedGroup> groups;   // packed weights that change their format
  std::vector<std::size_t> skipped;  // tensors that have no target
  std::vector<std::size_t> idle;     // rules that matched nothing
  std::vector<MetadataEntry> metadata;
  std::string rules;  // all of them as a file of TOML, whatever is recorded
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

}  // namespace relayout::checkpoint
