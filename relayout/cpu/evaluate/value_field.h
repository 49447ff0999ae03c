// A field of a value expression (core/record/value.h) with its elements.
#pragma once

#include <string>

#include "relayout/core/elements.h"

namespace relayout::cpu {

/// The field's name in the expression, its type and layout, and the buffer in which the layout counts.
struct ValueField {
  std::string name;
  TensorDesc desc;
  ConstElements buffer;
};

}  // namespace relayout::cpu
