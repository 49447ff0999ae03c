// A build without Xbyak generates no code.
#include "relayout/cpu/generated/generate.h"

namespace relayout::cpu {

std::shared_ptr<const Code> generate_code(const PlanData&) { return nullptr; }

}  // namespace relayout::cpu
