// MACE's images as its page has them: where each element lies, by formulas (for tests and examples; internal).
//
// The formulas share nothing with the layouts that they are compared with. Where the published page is wrong
// (height-major and width-major), they are those of MACE's kernels.
//
// Source: MACE, docs "Memory layout" and mace/ops/opencl/cl/buffer_to_image.cl.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace relayout::opencl::mace_formulas {

struct Texel {
  int64_t x, y, lane;
};
using Four = std::array<int64_t, 4>;  // extents or an index

/// A content type: the image's size for dims e, and the texel of the element with index i. Dims are n,c,h,w; o,i,h,w;
/// m,i,h,w (m = 1); and for "argument" w,1,1,1.
struct Content {
  std::string_view name;
  bool filter;
  std::function<std::array<int64_t, 2>(Four e)> size;  // width, height
  std::function<Texel(Four e, Four i)> texel;
};

inline int64_t up4(int64_t v) { return (v + 3) / 4; }

inline std::vector<Content> contents() {
  const auto size = [](auto width, auto height) {
    return [width, height](Four e) { return std::array<int64_t, 2>{width(e), height(e)}; };
  };
  return {
      {"mace:in_out_channel", false, size([](Four e) { return e[3] * up4(e[1]); }, [](Four e) { return e[0] * e[2]; }),
       [](Four e, Four i) {
         return Texel{i[1] / 4 * e[3] + i[3], i[0] * e[2] + i[2], i[1] % 4};
       }},
      {"mace:in_out_height", false, size([](Four e) { return e[3] * e[1]; }, [](Four e) { return e[0] * up4(e[2]); }),
       [](Four e, Four i) {
         return Texel{i[1] * e[3] + i[3], i[0] * up4(e[2]) + i[2] / 4, i[2] % 4};
       }},
      {"mace:in_out_width", false, size([](Four e) { return up4(e[3]) * e[1]; }, [](Four e) { return e[0] * e[2]; }),
       [](Four e, Four i) {
         return Texel{i[1] * up4(e[3]) + i[3] / 4, i[0] * e[2] + i[2], i[3] % 4};
       }},
      {"mace:conv2d_filter", true, size([](Four e) { return e[1]; }, [](Four e) { return e[2] * e[3] * up4(e[0]); }),
       [](Four e, Four i) {
         return Texel{i[1], (i[0] / 4 * e[2] + i[2]) * e[3] + i[3], i[0] % 4};
       }},
      {"mace:dw_conv2d_filter", true, size([](Four e) { return e[2] * e[3]; }, [](Four e) { return up4(e[1]); }),
       [](Four e, Four i) {
         return Texel{i[2] * e[3] + i[3], i[1] / 4, i[1] % 4};
       }},
      {"mace:argument", true, size([](Four e) { return up4(e[0]); }, [](Four) { return 1; }),
       [](Four, Four i) {
         return Texel{i[0] / 4, 0, i[0] % 4};
       }},
      {"mace:weight_height", true, size([](Four e) { return e[1] * e[2] * e[3]; }, [](Four e) { return up4(e[0]); }),
       [](Four e, Four i) {
         return Texel{(i[2] * e[3] + i[3]) * e[1] + i[1], i[0] / 4, i[0] % 4};
       }},
      {"mace:weight_width", true, size([](Four e) { return up4(e[1]) * e[2] * e[3]; }, [](Four e) { return e[0]; }),
       [](Four e, Four i) {
         return Texel{(i[2] * e[3] + i[3]) * up4(e[1]) + i[1] / 4, i[0], i[1] % 4};
       }},
  };
}

}  // namespace relayout::opencl::mace_formulas
