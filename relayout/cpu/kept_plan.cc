// When code is generated for a plan that is kept, and why it is not.
#include "relayout/cpu/kept_plan.h"

#include "relayout/cpu/generated/generate.h"
#include "relayout/cpu/machine.h"
#include "relayout/reorder/planner/plan_data.h"

namespace relayout::cpu {

std::string_view generated_code_problem() { return code_problem(machine()); }

const Plan& KeptPlan::use() noexcept {
  if (uses_.load(std::memory_order_relaxed) >= kUseOfCode) return plan();
  if (uses_.fetch_add(1, std::memory_order_relaxed) + 1 == kUseOfCode && !plan_.data().code()) {
    try {
      if (auto code = generate_code(plan_.data())) {
        with_code_ = PlanData::handle(plan_.data().with(std::move(code)));
        has_code_.store(true, std::memory_order_release);
      }
    } catch (...) {
      // The plan does as well without.
    }
  }
  return plan();
}

}  // namespace relayout::cpu
