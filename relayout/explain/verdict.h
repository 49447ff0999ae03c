// What a reorder is called in the end.
#pragma once

#include <cstdint>
#include <string_view>

#include "relayout/cxx20.h"

namespace relayout::explaining {

enum class Verdict : uint8_t {
  needed,
  avoidable,     // somebody could take or write the layout as it is
  repeated,      // of weights, in every run
  slow,          // it is needed, and this project's plan takes less than two thirds of its time
  padding_only,  // elements stay in their order; only padding or gaps come and go
};
/// "padding only" etc., as the report has it.
std::string_view name(Verdict verdict);

}  // namespace relayout::explaining
