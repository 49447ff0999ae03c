// ExecuTorch's layouts: a dim_order, and the packings of its Vulkan backend.
//
//     executorch:dim_order(0,2,3,1)    acdb: the dims from the outermost to the innermost
//     executorch:CHANNELS_PACKED       nCh|w4c: a texel holds 4 channels
//
// A packed tensor is a texture of three dims: x counts w, y counts h, and z counts n and c, each of them in fours where
// it is the packed one. Here it is the image of all its slices of z, one below the other, which is how a texture is
// copied to and from a buffer; a pitch is that of the copy's rows.
//
// Source: ExecuTorch, runtime/core/exec_aten/util/dim_order_util.h and
// backends/vulkan/runtime/api/containers/Tensor.cpp (calculate_image_extents, with the default axis map).
#include "relayout/core/notations/systems/system.h"

namespace relayout::systems {
namespace {

constexpr SystemName kExecutorch[] = {
    {"CHANNELS_PACKED", "nCh|w4c"},
    {"HEIGHT_PACKED", "ncH|w4h"},
    {"WIDTH_PACKED", "nch|W4w"},
};

}  // namespace

const NamedSystem& executorch() {
  static constexpr NamedSystem kSystem{"executorch", "ExecuTorch", kExecutorch};
  return kSystem;
}

}  // namespace relayout::systems

namespace relayout {

Spelled read_executorch(NotationText& text) {
  const std::size_t from = text.at();
  if (!text.take("dim_order(")) return read_name(text, systems::executorch());
  Spelled out;
  do {
    const std::size_t at = text.at();
    const int64_t dim = text.number("dim", 0);
    if (dim >= kMaxDims) text.fail(at, "a dim is 0 to " + std::to_string(kMaxDims - 1));
    const char letter = static_cast<char>('a' + dim);
    if (out.tag.find(letter) != std::string::npos) text.fail(at, "this dim stands here a second time");
    out.tag += letter;
  } while (text.take(','));
  text.expect(')');
  if (!text.done()) text.fail("expected the end");
  for (std::size_t d = 0; d < out.tag.size(); ++d) {
    if (out.tag.find(static_cast<char>('a' + d)) == std::string::npos)
      text.fail(from, "dim " + std::to_string(d) + " is missing from the dim_order");
  }
  return out;
}

}  // namespace relayout
