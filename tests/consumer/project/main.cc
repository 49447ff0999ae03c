// A user of the whole library: reorders 1x3x2x2 from nchw to nhwc and checks each element.
#include <relayout/relayout.h>

#include <array>
#include <cstdio>

int main() {
  using namespace relayout;
  const Dims dims{1, 3, 2, 2};
  const TensorDesc src(Format::parse("nchw").bind(dims), DType::f32);
  const TensorDesc dst(Format::parse("nhwc").bind(dims), DType::f32);

  std::array<float, 12> in{}, out{};
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
  cpu::reorder(src, std::as_bytes(std::span(in)), dst, std::as_writable_bytes(std::span(out)));

  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t p = 0; p < 4; ++p) {
      if (out[p * 3 + c] != in[c * 4 + p]) {
        std::printf("channel %zu, pixel %zu: %g, expected %g\n", c, p, out[p * 3 + c], in[c * 4 + p]);
        return 1;
      }
    }
  }
  std::printf("%s\n", Plan::make(src, dst).explain().c_str());
  // The file part links too.
  return format_of_path("x.npy") == FileFormat::npy ? 0 : 1;
}
