// Generated code for small reorders that move bits: machine code for one plan, which takes the place of the runners
// (internal to cpu).
//
// Where both sides together are in the caches, a reorder takes a few hundred nanoseconds, of which lists of rows, loops
// over few elements and tables of line programs take most. Generated code has none of these: what is known of the plan
// are constants in the instructions.
//
//     origins    where each element of the destination comes from
//     patterns   the destination is cut into patches; those that lie alike in the source are a pattern
//     lines      how the lines of a pattern are put together from windows of the source, and the price
//     emitter    the instructions
#pragma once

#include <string_view>

#include "relayout/reorder/machine.h"
#include "relayout/reorder/planner/code.h"

namespace relayout::cpu {

/// Both sides together have at most so many bytes.
inline constexpr int64_t kMostGenerated = 128 << 10;
/// Kernels::permuted_bytes of the instruction sets that code is generated for: those with AVX-512 VBMI.
inline constexpr int64_t kGeneratedBytes = 64;
/// The code_problem() of users who want none.
inline constexpr std::string_view kLeftOutByUser = "RELAYOUT_KERNEL leaves it out";

/// Why no code is generated for any plan of a machine in this process, as generated_code_problem() says it; else empty.
std::string_view code_problem(const Machine& machine);

/// Generates code for a plan that moves bits, if it is expected to be faster; null elsewhere, and where there is a
/// code_problem(). Cost: 20 to 300 us.
std::shared_ptr<const Code> generate_code(const PlanData& plan);

}  // namespace relayout::cpu
