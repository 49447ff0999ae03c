// Each system there and back: see there_and_back.h.
#include "tests/interop/there_and_back.h"

#include <algorithm>
#include <array>
#include <stdexcept>

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
#include "tests/support/mdspan.h"

namespace relayout::test {
namespace {

void require(bool law, const std::string& what) {
  if (!law) throw std::logic_error(what);
}

/// How many elements so many bytes hold.
int64_t elements_in(int64_t bytes, DType dtype) { return bytes * 8 / bits(dtype); }

TensorDesc through_tag(const TensorDesc& desc) {
  const auto tag = tag_of(desc.layout);
  if (!tag) throw Error(ErrorCode::unsupported, "the layout has no tag");
  return {Format::parse(*tag).bind(desc.layout.dims()), desc.dtype};
}

TensorDesc through_numpy(const TensorDesc& desc) { return numpy::from_numpy(numpy::to_numpy(desc)); }

TensorDesc through_buffer(const TensorDesc& desc) {
  return numpy::from_buffer(numpy::to_buffer(desc), numpy::to_numpy(desc).byte_offset);
}

TensorDesc through_pytorch(const TensorDesc& desc) { return pytorch::from_pytorch(pytorch::to_pytorch(desc)); }

/// The offset is the binding's, and none of the description.
TensorDesc through_directml(const TensorDesc& desc) {
  const directml::BufferTensor tensor = directml::to_directml(desc);
  const TensorDesc at_0 = directml::from_directml(tensor.desc());
  const int64_t offset = elements_in(static_cast<int64_t>(tensor.byte_offset), desc.dtype);
  return {Layout::strided(at_0.layout.dims(), at_0.layout.outer_strides(), offset), at_0.dtype};
}

TensorDesc through_dlpack(const TensorDesc& desc) {
  char data = 0;
  dlpack::Tensor tensor = dlpack::to_dlpack(desc, &data);
  const dlpack::View view = dlpack::from_dlpack(tensor.dl_tensor());
  const Layout& layout = view.desc.layout;
  // Without elements there is no data, and no byte where they lie.
  const int64_t offset =
      layout.empty() ? desc.layout.offset0() : elements_in(view.byte_offset, desc.dtype) + layout.offset0();
  return {Layout::strided(layout.dims(), layout.outer_strides(), offset), view.desc.dtype};
}

TensorDesc through_onednn(const TensorDesc& desc) { return onednn::from_onednn(onednn::to_onednn(desc)); }

TensorDesc through_cute(const TensorDesc& desc) { return {cute::from_cute(cute::to_cute(desc.layout)), desc.dtype}; }

TensorDesc through_xla(const TensorDesc& desc) { return xla::from_xla(xla::to_xla(desc)); }

TensorDesc through_triton(const TensorDesc& desc) {
  return {triton::from_triton(triton::to_triton(desc.layout), desc.layout.dims()), desc.dtype};
}

/// With the letters of activations and with letters of no domain.
TensorDesc through_tvm(const TensorDesc& desc) {
  const Layout& layout = desc.layout;
  const std::string_view letters = std::string_view("qbzdefghijkl").substr(0, static_cast<std::size_t>(layout.ndims()));
  const Layout back = tvm::from_tvm(tvm::to_tvm(layout, letters), layout.dims(), letters);
  if (layout.ndims() <= 5)
    require(tvm::from_tvm(tvm::to_tvm(layout), layout.dims()) == back, "tvm: other letters, another layout");
  return {back, desc.dtype};
}

/// Fewer than 4 dims are filled up with dims of 1.
TensorDesc through_cudnn(const TensorDesc& desc) {
  cudnn::TensorDescriptor fields = cudnn::to_cudnn(desc);
  const int ndims = desc.layout.ndims();
  for (int d = ndims; d < fields.ndims; ++d)
    require(fields.dims[static_cast<std::size_t>(d)] == 1, "cudnn: a dim that is filled up is not 1");
  if (ndims == 0) return {Layout(), cudnn::from_cudnn(fields).dtype};
  fields.ndims = ndims;
  return cudnn::from_cudnn(fields);
}

TensorDesc through_mace(const TensorDesc& desc) {
  const Layout& layout = desc.layout;
  const mace::Image first = mace::to_mace(layout);
  for (const mace::Image& image : mace::images_of(layout)) {
    require(mace::from_mace(image.name, layout.dims(), image.extent.pitch) == layout,
            "mace: no " + std::string(image.name));
  }
  return {mace::from_mace(first.name, layout.dims(), first.extent.pitch), desc.dtype};
}

template <std::size_t Rank>
TensorDesc through_mapping(const TensorDesc& desc) {
  using Extents = reference_mdspan::dextents<int64_t, Rank>;
  using Strided = reference_mdspan::layout_stride::mapping<Extents>;
  return {layout_of_mapping(strided_mapping<Strided>(desc.layout)), desc.dtype};
}

TensorDesc through_mdspan(const TensorDesc& desc) {
  switch (desc.layout.ndims()) {
    case 0: return through_mapping<0>(desc);
    case 1: return through_mapping<1>(desc);
    case 2: return through_mapping<2>(desc);
    case 3: return through_mapping<3>(desc);
    case 4: return through_mapping<4>(desc);
    case 5: return through_mapping<5>(desc);
    default: throw Error(ErrorCode::unsupported, "there are mappings of up to 5 dims here");
  }
}

struct System {
  std::string_view name;
  TensorDesc (*through)(const TensorDesc& desc);
};
constexpr System kSystems[] = {
    {"tag", through_tag},         {"numpy", through_numpy},       {"buffer", through_buffer},
    {"pytorch", through_pytorch}, {"directml", through_directml}, {"dlpack", through_dlpack},
    {"onednn", through_onednn},   {"cute", through_cute},         {"xla", through_xla},
    {"tvm", through_tvm},         {"cudnn", through_cudnn},       {"mace", through_mace},
    {"mdspan", through_mdspan},   {"triton", through_triton},
};

constexpr auto kNames = [] {
  std::array<std::string_view, std::size(kSystems)> out;
  for (std::size_t k = 0; k < out.size(); ++k) out[k] = kSystems[k].name;
  return out;
}();

}  // namespace

std::span<const std::string_view> systems_there_and_back() { return kNames; }

TensorDesc there_and_back(std::string_view system, const TensorDesc& desc) {
  const auto found = std::ranges::find(kSystems, system, &System::name);
  require(found != std::end(kSystems), "no system is called " + std::string(system));
  return found->through(desc);
}

}  // namespace relayout::test
