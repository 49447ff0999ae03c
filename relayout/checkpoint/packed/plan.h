// What rules of packed weights make of a checkpoint (internal to checkpoint): the tensors of each matrix by their
// names, whether their shapes fit each other, and the tensors that they become.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "relayout/checkpoint/packed/names.h"
#include "relayout/checkpoint/packed/sources.h"
#include "relayout/checkpoint/target.h"

namespace relayout::checkpoint {

class PackedPlanner {
 public:
  PackedPlanner(const Checkpoint& model, const Rules& rules, const ConversionOptions& options)
      : model_(model), rules_(rules), options_(options) {}

  /// What the rule's pattern captures, where the tensor is one of a matrix that the rule converts or has converted.
  /// `name` is what rules with `go_on` before this one have made of the tensor's name.
  std::optional<Captures> match(std::size_t tensor, std::size_t rule, const std::string& name) const;

  /// Adds what becomes of the matrix of the tensor, at the first of its tensors. False: it is recorded as what the rule
  /// makes of it, and nothing is added. Errors: as of plan_conversion().
  bool take(std::size_t tensor, std::size_t rule, const std::string& name, const Captures& captures, Conversion& out);

  /// The same for a rule that gives blocks of one buffer another type: "*: f16" of "ggml:q4_0".
  void take_values(std::size_t tensor, std::size_t rule, const Captures& captures, Conversion& out);

 private:
  /// A matrix that a tensor belongs to, by its name in the checkpoint.
  struct Found {
    PackedName name;
    bool already = false;
  };
  /// And by the names that rules before have made.
  struct Renamed {
    PackedName matrix;
    std::string tensor;
  };
  std::optional<Found> find(std::size_t tensor, const Repacking& repacking) const;
  /// Nothing where the new name is no tensor's of the format.
  static std::optional<Renamed> renamed(const Found& found, const Repacking& repacking, const std::string& name);
  void check_record(const Repacking& repacking, const PackedName& name, const RefuseTensor& refuse) const;
  void check_source(std::size_t tensor, std::size_t rule, const Repacking& repacking, const PackedSource& source,
                    const RefuseTensor& refuse) const;
  /// The new tensors, each with the buffer that it is.
  std::vector<std::pair<TensorSpec, std::string>> specs_of(std::size_t rule, const Repacking& repacking,
                                                           const Renamed& renamed, const Captures& captures,
                                                           const PackedGroup& group, const Dims& dims) const;
  void plan(std::size_t tensor, std::size_t rule, const Repacking& repacking, const PackedName& name,
            const Renamed& renamed, const Captures& captures, Conversion& out);

  const Checkpoint& model_;
  const Rules& rules_;
  const ConversionOptions& options_;
  std::set<std::pair<std::size_t, std::string>> planned_;  // matrices of several tensors, by their rules
  std::set<std::pair<std::string, std::string>> checked_;
};

}  // namespace relayout::checkpoint
