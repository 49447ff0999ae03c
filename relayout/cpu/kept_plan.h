// KeptPlan: a plan that is kept and run many times. reorder() keeps such plans, and Python's conversions are some.
//
//     KeptPlan kept(cpu::make_plan(src, dst));
//     for (...) cpu::run(kept.use(), in, out);     // from the 256th on by code, where that is faster
//
// To generate code for a plan takes as long as some hundred runs by it save. compiled_plan() does so at once, for those
// who know that there will be so many; a KeptPlan waits until there were.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "relayout/cpu/reorder.h"

namespace relayout::cpu {

/// Why no plan has machine code of its own here, whatever it moves: this build is without Xbyak, the instruction set
/// lacks AVX-512 VBMI, the system lets no memory be executed that was written, or RELAYOUT_KERNEL=-generated_code
/// forbids it. Empty where plans can have it. Goes by the instruction set that was in use when the first plan was made.
std::string_view generated_code_problem();

class KeptPlan {
 public:
  /// The use at which code is generated.
  static constexpr int64_t kUseOfCode = 256;

  explicit KeptPlan(Plan plan) : plan_(std::move(plan)) {}

  /// Counts a use, at kUseOfCode of which the plan becomes what compiled_plan() makes, and returns the plan, which
  /// lives as long as this. Any threads may call it at any time; while one generates the code, the others get the plan
  /// without it. Never throws: a plan for which no code can be generated stays as it is.
  const Plan& use() noexcept;
  /// The plan as the next use has it, which is not counted.
  const Plan& plan() const noexcept { return has_code_.load(std::memory_order_acquire) ? with_code_ : plan_; }

 private:
  Plan plan_, with_code_;
  std::atomic<int64_t> uses_ = 0;
  std::atomic<bool> has_code_ = false;  // is set once, when with_code_ is whole
};

}  // namespace relayout::cpu
