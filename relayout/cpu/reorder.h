// The reorder on this machine's CPU: threads and SIMD under a Plan.
//
//     TensorDesc src(Format::parse("nchw").bind(dims), DType::f32);
//     TensorDesc dst(Format::parse("nChw16c").bind(dims), DType::bf16);
//     Plan plan = cpu::make_plan(src, dst);
//     std::vector<float> in(...);                       // src.layout.span() elements
//     std::vector<uint16_t> out(...);                   // the bits of bf16
//     cpu::run(plan, in.data(), out.data());            // unchecked
//     cpu::reorder(src, in, dst, out);                  // types and sizes are checked; plans are kept
//
// Results are bit-equal on every ISA and thread count.
#pragma once

#include "relayout/core/elements.h"
#include "relayout/cpu/arrays.h"
#include "relayout/cpu/isa.h"
#include "relayout/cpu/threads.h"
#include "relayout/reorder/plan.h"

namespace relayout::cpu {

/// Plan::make() for the caches of the machine that this runs on, which Plan::make() itself does not know. tune.h has
/// plans that are chosen by measuring. Errors and cost:
/// those of Plan::make.
Plan make_plan(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes = {},
               const Tuning& tuning = {});

/// make_plan() with the default Tuning, for a plan that will run some hundred times: on a processor with AVX-512 VBMI,
/// and in a build with Xbyak, one that moves bits of at most 128 KiB also has machine code of its own where that is
/// expected to be faster. Elsewhere it is as make_plan(); generated_code_problem() (kept_plan.h) says why. Errors:
/// those of Plan::make. To generate code takes 0.1 ms in the median, 0.4 ms for one plan in ten, and a page of memory
/// or a few.
Plan compiled_plan(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes = {});

/// Runs a plan. `src` and `dst` point at element 0 of their buffers (offset0 is in the plan), hold span_bytes() each,
/// may have any alignment and must not overlap. Both may be null where the tensor is empty. Allocates nothing but what
/// the thread pool does. Never throws: if the pool cannot do the work, the calling thread does it. All work is done
/// even inside a cancelled oneTBB group.
void run(const Plan& plan, const void* src, void* dst, const RunOptions& options = {}) noexcept;

/// The checked form: takes vectors, arrays and spans, of elements or of bytes (core/elements.h). Errors:
/// invalid_argument where elements are of another type than the plan's side, with both types; buffer_too_small gives
/// need and have in bytes; overlap where the buffers share memory.
void run(const Plan& plan, const ConstElements& src, const Elements& dst, const RunOptions& options = {});
/// The same for arrays, as `float x[2][3]`.
template <typename Src, typename Dst>
requires ArrayAmongRanges<Src, Dst>
void run(const Plan& plan, Src& src, Dst& dst, const RunOptions& options = {}) {
  run(plan, ConstElements(src), Elements(dst), options);
}

/// Takes the plan from the plan cache (below), which makes it the first time, and runs it in the checked form. Errors:
/// those of run() and of Plan::make.
void reorder(const TensorDesc& src_desc, const ConstElements& src, const TensorDesc& dst_desc, const Elements& dst,
             const Attributes& attributes = {}, const RunOptions& options = {});

// The plan cache: reorder() keeps the plans that it made last, so that calling it in a loop does not plan again. It is
// one for the whole process and may be used from any thread. A plan is used again only for sides and attributes that
// are equal in every field, under the same instruction set; a hit takes less than 100 ns.

/// Plans that are kept unless set_plan_cache_capacity() says otherwise. A full cache drops the plans that were not used
/// for longest. A typical plan takes a few KiB; one of more than 256 KiB is not kept.
inline constexpr int64_t kPlanCacheCapacity = 256;

/// make_plan() with the default Tuning, or the same plan from the cache. Code is generated for a plan once it was found
/// 256 times, as that takes longer than some runs by it save. Plans with index tables are not kept. Errors:
/// those of Plan::make.
Plan cached_plan(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes = {});

/// Drops all plans of the cache and sets its counts of hits and misses to 0. Plans that somebody holds stay valid.
void clear_plan_cache();
/// Drops all plans, and keeps up to `plans` of them from now on. 0 or less turns the cache off. Where several threads
/// call it, the calls take place one after another. Reorders may run meanwhile.
void set_plan_cache_capacity(int64_t plans);
int64_t plan_cache_capacity();

struct PlanCacheStatistics {
  /// Plans that were found, and those that had to be made.
  int64_t hits = 0, misses = 0;
  /// Plans that are kept.
  int64_t entries = 0;
};
PlanCacheStatistics plan_cache_statistics();

}  // namespace relayout::cpu
