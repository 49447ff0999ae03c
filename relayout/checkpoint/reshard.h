// The checkpoints of a tensor-parallel model, one a rank, for another number of ranks.
//
//     const Checkpoint ranks = Checkpoint::join(opened);                    // "0/w", "1/w", ...
//     for (const Conversion& rank : plan_reshard(ranks, 8, rules, 2)) ...   // one for each new rank: convert()
//
// Which dim of a tensor was cut, a rule with `shard` says, and never its shape. A tensor whose rule says nothing, or
// that no rule matches, is the same in all ranks.
#pragma once

#include <vector>

#include "relayout/checkpoint/conversion.h"

namespace relayout::checkpoint {

/// One conversion for each of `to` ranks, of the tensors of `from` ranks. Only `match`, `rank`, `skip` and `shard` of
/// rules count. Errors, each with the tensor: invalid_argument (a rank lacks it, or has another type, shape or record;
/// an extent or a part that does not divide; a rule that does something else; tensors that should be equal and are
/// not), unsupported (blocks of packed formats that are cut). What is the same in all ranks is read and compared here.
std::vector<Conversion> plan_reshard(const Checkpoint& joined, int from, const Rules& rules, int to);

}  // namespace relayout::checkpoint
