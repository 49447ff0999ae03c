// Converts one tensor in memory: bind two layouts, plan, run, and look at where an element went.
// The README shows the middle of this file.
#include <relayout/relayout.h>

#include <cstdio>
#include <numeric>
#include <vector>

int main() {
  using namespace relayout;

  const Dims dims{2, 17, 5, 4};
  const TensorDesc src(Format::parse("nchw").bind(dims), DType::f32);
  const TensorDesc dst(Format::parse("nChw8c").bind(dims), DType::f32);

  std::vector<float> in(static_cast<std::size_t>(src.layout.span()));
  std::vector<float> out(static_cast<std::size_t>(dst.layout.span()));
  std::iota(in.begin(), in.end(), 0.0f);

  const Plan plan = cpu::make_plan(src, dst);  // made once, run often
  cpu::run(plan, in.data(), out.data());
  std::puts(plan.explain().c_str());

  const Dims index{0, 16, 2, 3};
  const auto from = static_cast<std::size_t>(src.layout.offset(index));
  const auto to = static_cast<std::size_t>(dst.layout.offset(index));
  std::printf("(0,16,2,3): %g at %zu -> %g at %zu\n", in[from], from, out[to], to);
  // Channels 17..23 fill up the last block of 8: padding, and zero.
  std::printf("padding after it: %g\n", out[to + 1]);
  return in[from] == out[to] && out[to + 1] == 0 ? 0 : 1;
}
