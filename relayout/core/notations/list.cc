// The list of notations.
#include <algorithm>

#include "relayout/core/format.h"
#include "relayout/core/notations/formula.h"
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
    {"tensorrt", read_system<systems::tensorrt>, "tensorrt:CHW4", systems::tensorrt},
    {"cublaslt", read_system<systems::cublaslt>, "cublaslt:COL32", systems::cublaslt},
    {"ascend", read_system<systems::ascend>, "ascend:NC1HWC0", systems::ascend},
    {"tenstorrent", read_system<systems::tenstorrent>, "tenstorrent:TILE", systems::tenstorrent},
    {"vllm", read_system<systems::vllm>, "vllm:LBHNC", systems::vllm},
    {"executorch", read_executorch, "executorch:dim_order(0,2,3,1)", systems::executorch},
    {"amx", read_system<systems::amx>, "amx:B", systems::amx},
    {"vnni", read_system<systems::vnni>, "vnni:B", systems::vnni},
    {"audio", read_system<systems::audio>, "audio:interleaved", systems::audio},
    {"yuv", read_system<systems::yuv>, "yuv:NV12:UV", systems::yuv},
    {"mdspan", read_mdspan, "mdspan:layout_left_padded<8>"},
    {"zarr", read_chunks, "zarr:chunks(64,32)"},
    {"hdf5", read_chunks, "hdf5:chunks(64,32)"},
    {"tiff", read_tiff, "tiff:tiles(16,32)"},
    {"acl", read_acl, "acl:OHWIo4"},
    {"scales", read_scales, "scales:128x4"},
};

}  // namespace

std::span<const Notation> all_notations() { return kNotations; }

std::vector<LayoutSystem> layout_systems() {
  const auto example_dims = [](int rank) {  // no block divides most of them
    if (rank == 2) return Dims{40, 70};
    if (rank == 3) return Dims{17, 40, 70};
    return rank == 4 ? Dims{2, 17, 40, 70} : Dims{2, 17, 5, 40, 70};
  };
  std::vector<LayoutSystem> out;
  for (const Notation& notation : kNotations) {
    if (notation.system == nullptr) continue;
    const NamedSystem& system = notation.system();
    out.push_back({std::string(system.name), std::string(system.title), {}});
    for (const SystemName& name : system.names) {
      const bool any_rank = name.layout == "contiguous";
      const Spelled spelled = spelled_name(name, system.type);
      const int rank = any_rank         ? 4
                       : spelled.digits ? static_cast<int>(spelled.digits->size())
                                        : *Format::parse(spelled.tag).rank();
      Dims dims = example_dims(rank);
      if (name.limit) dims[name.limit->dim] = name.limit->least;
      // A dim of digits may have few indices, as channels have.
      if (spelled.formula && spelled.formula->dims[0].size() == 1 && spelled.formula->dims[0][0].extent.constant())
        dims[0] = *spelled.formula->dims[0][0].extent.value(dims);
      out.back().layouts.push_back({std::string(system.name) + ":" + std::string(name.name), dims});
    }
  }
  std::ranges::sort(out, {}, &LayoutSystem::name);
  return out;
}

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
    for (const SystemName& name : notation.system().names) {  // a name of several ranks stands there several times
      std::string text = std::string(notation.name) + ":" + std::string(name.name);
      if (out.empty() || out.back() != text) out.push_back(std::move(text));
    }
  }
  for (const auto& [name, tag] : mace_names()) out.emplace_back(name);
  return out;
}

}  // namespace relayout
