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

#include <string>
#include <vector>

#include "relayout/checkpoint/target.h"

namespace relayout::checkpoint {

/// Errors, each with the tensor and the rule: invalid_argument (a record that contradicts the rule, dims that do not
/// fit it, a type other than the rule's, two tensors of one name, parts that are missing), unsupported (a type or a
/// packed format that a rule would change), and the problems of tensors that have a target. Cost: some microseconds a
/// tensor.
Conversion plan_conversion(const Checkpoint& model, const Rules& rules, const ConversionOptions& options = {});

/// What a user should know of a conversion, a sentence each: tensors whose layout was taken from a rule, rules that
/// match nothing, tensors that are copied because no rule matches, and those that are left out. A few names each.
std::vector<std::string> notes_of(const Checkpoint& model, const Rules& rules, const Conversion& conversion);

}  // namespace relayout::checkpoint
