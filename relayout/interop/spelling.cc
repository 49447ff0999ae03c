// The list of the systems whose words a layout can be said in.
#include "relayout/interop/spelling.h"

#include <algorithm>
#include <array>

#include "relayout/core/nearest.h"
#include "relayout/interop/c_function.h"
#include "relayout/interop/cudnn.h"
#include "relayout/interop/cute.h"
#include "relayout/interop/directml.h"
#include "relayout/interop/dlpack.h"
#include "relayout/interop/mace.h"
#include "relayout/interop/mdspan.h"
#include "relayout/interop/numpy.h"
#include "relayout/interop/onednn.h"
#include "relayout/interop/pytorch.h"
#include "relayout/interop/triton.h"
#include "relayout/interop/tvm.h"
#include "relayout/interop/xla.h"

namespace relayout {
namespace {

/// The systems that have names for dims.
std::string c_code(const TensorDesc& desc, std::string_view letters) {
  return c_function::code(desc, {.letters = std::string(letters)});
}
std::string cudnn_code(const TensorDesc& desc, std::string_view letters) {
  return cudnn::code(desc, letters.starts_with("oi"));  // weights, but for those in groups, which cuDNN has no dim for
}
std::string tvm_code(const TensorDesc& desc, std::string_view letters) {
  // a, b, ... are what a layout has that names no dims, and TVM has no such axes.
  const bool named = !std::string_view("abcdefghijkl").starts_with(letters);
  return tvm::code(desc, named ? letters : std::string_view());
}

template <std::string (*Code)(const TensorDesc&)>
std::string nameless(const TensorDesc& desc, std::string_view) {
  return Code(desc);
}

struct System {
  std::string_view name;
  std::string (*code)(const TensorDesc& desc, std::string_view letters);
};

constexpr System kSystems[] = {
    {"c", c_code},
    {"cudnn", cudnn_code},
    {"cute", nameless<cute::code>},
    {"directml", nameless<directml::code>},
    {"dlpack", nameless<dlpack::code>},
    {"mace", nameless<mace::code>},
    {"mdspan", nameless<mdspan_code>},
    {"numpy", nameless<numpy::code>},
    {"onednn", nameless<onednn::code>},
    {"pytorch", nameless<pytorch::code>},
    {"triton", nameless<triton::code>},
    {"tvm", tvm_code},
    {"xla", nameless<xla::code>},
};

constexpr auto kNames = [] {
  std::array<std::string_view, std::size(kSystems)> out;
  for (std::size_t k = 0; k < out.size(); ++k) out[k] = kSystems[k].name;
  return out;
}();

}  // namespace

std::span<const std::string_view> systems() { return kNames; }

Spelling spelling(std::string_view system, const TensorDesc& desc, std::string_view letters) {
  const auto found = std::ranges::find(kSystems, system, &System::name);
  if (found == std::end(kSystems)) {
    std::string list;
    for (const std::string_view name : kNames) list += (list.empty() ? "" : ", ") + std::string(name);
    throw Error(ErrorCode::invalid_argument,
                "no system is called \"" + escaped(system) + "\"; there are " + list + did_you_mean(system, kNames),
                "system", escaped(system), list);
  }
  Spelling out{found->name};
  try {
    out.text = found->code(desc, letters);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::internal) throw;
    out.refusal = error.message();
  }
  return out;
}

}  // namespace relayout
