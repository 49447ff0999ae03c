// Padding: a loop over the raw buffer of a padded tensor breaks what primitives rely on, the check that finds it, and
// the loop that leaves padding alone.
//
// oneDNN's "Understanding Memory Formats" has the rule: padding holds zeros, every primitive may rely on it, and so an
// elementwise operation may run over the raw buffer only if it maps 0 to 0. exp does not: exp(0) is 1.
#include <relayout/relayout.h>

#include <cmath>
#include <cstdio>
#include <vector>

using namespace relayout;

namespace {

/// Says whether the padding holds zeros. This is the check to put behind one's own kernels.
void report(const char* what, const TensorDesc& desc, const std::vector<float>& buffer) {
  if (const auto dirty = first_dirty_padding(desc, buffer)) {
    std::printf("%s: padding is not 0 at index %s, offset %lld\n", what, join(dirty->index).c_str(),
                static_cast<long long>(dirty->offset));
  } else {
    std::printf("%s: all padding is 0\n", what);
  }
}

}  // namespace

int main() {
  // 17 channels in blocks of 8: 3 blocks, so that channels 17 to 23 are padding.
  const TensorDesc desc(Format::parse("nChw8c").bind({2, 17, 5, 4}), DType::f32);
  const auto span = static_cast<std::size_t>(desc.layout.span());
  std::vector<float> start(span, 0.5f);
  fill_padding(desc, start);  // zeros

  // Unsafe: padding becomes exp(0) = 1, and a convolution after it would sum 7 channels that do not exist.
  std::vector<float> raw = start;
  for (float& x : raw) x = std::exp(x);
  report("raw buffer", desc, raw);

  // Safe: only runs of elements are visited. The first holds 321 of them, up to channel 16 of the first pixel.
  std::vector<float> runs = start;
  for_each_run(desc.layout, [&](int64_t offset, int64_t length) {
    for (int64_t i = offset; i < offset + length; ++i) {
      float& x = runs[static_cast<std::size_t>(i)];
      x = std::exp(x);
    }
  });
  report("runs", desc, runs);

  // Padding that is dirty can be mended; then both buffers are equal.
  fill_padding(desc, raw);
  std::puts(raw == runs ? "mended: both are equal" : "mended: the elements differ");
  return raw == runs ? 0 : 1;
}
