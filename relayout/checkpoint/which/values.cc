// Likeness of neighbours: see values.h.
#include "relayout/checkpoint/which/values.h"

#include <algorithm>
#include <cmath>

#include "relayout/core/view.h"
#include "relayout/cpu/reorder.h"

namespace relayout::checkpoint {
namespace {

constexpr int64_t kMostValues = 1 << 21;

/// A view of not too many values: halves of the largest dims, which are seldom those of kernels.
Layout sample(Layout layout) {
  while (layout.elements() > kMostValues) {
    int largest = 0;
    for (int d = 1; d < layout.ndims(); ++d)
      if (layout.dim(d) > layout.dim(largest)) largest = d;
    layout = narrow(layout, largest, 0, layout.dim(largest) / 2);
  }
  return layout;
}

}  // namespace

std::vector<Likeness> likeness(const Checkpoint& model, std::size_t tensor) {
  const CheckpointTensor& t = model.tensors()[tensor];
  std::vector<Likeness> out(static_cast<std::size_t>(t.shape.size()));
  const Layout view = sample(t.memory());
  if (view.empty()) return out;
  const Layout dense = Layout::contiguous(view.dims());
  std::vector<float> values(static_cast<std::size_t>(dense.elements()));
  const Contents contents = model.contents(tensor);
  cpu::reorder({view, *t.dtype}, contents.bytes, {dense, DType::f32}, values);
  double sum = 0, squares = 0;
  for (const float value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  for (const float value : values) squares += (value - mean) * (value - mean);
  const double variance = squares / static_cast<double>(values.size());
  if (!(variance > 0) || !std::isfinite(variance)) return out;
  int64_t inner = dense.elements();
  for (int d = 0; d < view.ndims(); ++d) {
    const int64_t extent = view.dim(d), step = inner / extent, blocks = dense.elements() / inner;
    double products = 0;
    for (int64_t block = 0; block < blocks; ++block) {
      const float* first = values.data() + block * inner;
      for (int64_t i = 0; i + step < inner; ++i) products += (first[i] - mean) * (first[i + step] - mean);
    }
    const auto pairs = static_cast<double>(blocks * (inner - step));
    if (extent > 1) out[static_cast<std::size_t>(d)] = {products / pairs / variance, 1 / std::sqrt(pairs)};
    inner = step;
  }
  return out;
}

}  // namespace relayout::checkpoint
