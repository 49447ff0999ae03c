// A build without Xbyak generates no code.
#include "relayout/cpu/generated/generate.h"
#include "relayout/cpu/kernels/list.h"

namespace relayout::cpu {

std::string_view code_problem(const Machine&) {
  return generated_code_left_out() ? kLeftOutByUser : "this build is without Xbyak";
}

std::shared_ptr<const Code> generate_code(const PlanData&) { return nullptr; }

}  // namespace relayout::cpu
