// The list of notations.
#include "relayout/core/format.h"
#include "relayout/core/notations/notation.h"
#include "relayout/core/notations/systems/system.h"

namespace relayout {
namespace {

constexpr Notation kNotations[] = {
    {"digits", read_digits, "digits:(5,4)|(4,1)"},
    {"dml", read_directml, "dml:{2,3},{5,1}"},
    {"mace", read_mace, "mace:in_out_channel"},
    {"cute", read_cute, "cute:((8,3),4):((1,32),8)"},
    {"xla", read_xla, "xla:{1,0:T(8,128)}"},
    {"tvm", read_tvm, "tvm:NCHW16c"},
    {"cudnn", read_cudnn, "cudnn:NC/32HW32", systems::cudnn},
    {"mnn", read_system<systems::mnn>, "mnn:NC4HW4", systems::mnn},
    {"ncnn", read_system<systems::ncnn>, "ncnn:NC4HW4", systems::ncnn},
    {"tflite", read_system<systems::tflite>, "tflite:BHWC", systems::tflite},
    {"tnn", read_system<systems::tnn>, "tnn:NHC4W4", systems::tnn},
    {"acl", read_acl, "acl:OHWIo4"},
    {"scales", read_scales, "scales:128x4"},
};

}  // namespace

std::span<const Notation> all_notations() { return kNotations; }

const Notation* notation_of(std::string_view text) {
  const std::string_view word = text.substr(0, std::min(text.find(':'), text.size()));
  if (word.size() == text.size()) return nullptr;
  for (const Notation& notation : kNotations) {
    if (notation.name == word) return &notation;
  }
  return nullptr;
}

std::vector<std::string> notation_names() {
  std::vector<std::string> out;
  for (const Notation& notation : kNotations) {
    if (notation.system == nullptr) continue;
    for (const SystemName& name : notation.system().names)
      out.push_back(std::string(notation.name) + ":" + std::string(name.name));
  }
  for (const auto& [name, tag] : mace_names()) out.emplace_back(name);
  return out;
}

}  // namespace relayout
