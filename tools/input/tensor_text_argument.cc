// Layouts in the words of other programs: see tensor_text_argument.h.
#include "tools/input/tensor_text_argument.h"

#include "relayout/interop/tensor_text.h"
#include "tools/command/common.h"

namespace relayout::tools {

void read_tensor_text(std::string& layout, std::optional<std::string>& dims, std::optional<std::string>& dtype) {
  TypedLayout read = from_command_line([&] { return in_expressions({layout, dims, dtype}); });
  layout = std::move(read.text);
  dims = std::move(read.dims);
  dtype = std::move(read.dtype);
}

void read_tensor_text(std::string& layout, std::optional<std::string>& dims) {
  std::optional<std::string> any_type;
  read_tensor_text(layout, dims, any_type);
}

}  // namespace relayout::tools
