// Names of layouts in other frameworks, by trying them: see names_elsewhere.h.
#include "relayout/interop/names_elsewhere.h"

#include <algorithm>

#include "relayout/core/format.h"
#include "relayout/interop/tvm.h"

namespace relayout {
namespace {

/// Arm's weights: its enum WeightFormat has these numbers of outputs and inputs, in most combinations.
std::vector<std::string> arm_names() {
  std::vector<std::string> out{"acl:HWIO", "acl:OHWI", "acl:OIHW"};
  for (const int outputs : {2, 4, 8, 16, 32, 64, 128}) {
    for (const int inputs : {1, 2, 4, 8})
      out.push_back("acl:OHWIo" + std::to_string(outputs) + (inputs > 1 ? "i" + std::to_string(inputs) : ""));
  }
  return out;
}

bool is_layout(const std::string& name, const Layout& layout) {
  const Format format = Format::parse(name);
  if (const auto rank = format.rank(); rank && *rank != layout.ndims()) return false;
  try {
    return format.bind(layout.dims()) == layout;
  } catch (const Error&) {  // one image alone, a multiplier other than 1, a size that overflows
    return false;
  }
}

}  // namespace

std::vector<std::string> names_of(const Layout& layout) {
  std::vector<std::string> names = arm_names();
  std::ranges::move(notation_names(), std::back_inserter(names));
  std::erase_if(names, [&](const std::string& name) { return !is_layout(name, layout); });
  try {
    names.push_back("tvm:" + tvm::to_tvm(layout));
  } catch (const Error&) {  // it has no text
  }
  std::ranges::stable_sort(names, {}, [](const std::string& name) { return name.substr(0, name.find(':')); });
  return names;
}

}  // namespace relayout
