// max(0, min(1, alpha s + beta)) and its derivative, which oneDNN 2 does not have.
#include <algorithm>

#include "relayout/execute/own/kernels.h"
#include "relayout/execute/own/padding.h"

namespace relayout::execute {

using graph::Executable;

namespace {

class HardsigmoidExecutable : public Executable {
 public:
  explicit HardsigmoidExecutable(const OwnRequest& r)
      : first_(r.dst().offset_range().first), count_(r.dst().padded_elements()), padding_(r.dst(), DType::f32) {
    const auto& a = r.node.as<graph::EltwiseAttributes>();
    alpha_ = static_cast<float>(a.alpha);
    beta_ = static_cast<float>(a.beta);
  }

  void run(std::span<const void* const> src, std::span<void* const> dst) override {
    const float* from = static_cast<const float*>(src[0]) + first_;
    float* to = static_cast<float*>(dst[0]) + first_;
    if (src.size() == 1) {
      for (int64_t i = 0; i < count_; ++i) to[i] = std::max(0.0f, std::min(1.0f, alpha_ * from[i] + beta_));
    } else {
      const float* diff = static_cast<const float*>(src[1]) + first_;
      for (int64_t i = 0; i < count_; ++i) {
        const float value = alpha_ * from[i] + beta_;
        to[i] = value > 0 && value < 1 ? alpha_ * diff[i] : 0;
      }
    }
    padding_.run(dst[0]);
  }

 private:
  int64_t first_, count_;
  ZeroPadding padding_;
  float alpha_ = 0, beta_ = 0;
};

}  // namespace

std::unique_ptr<Executable> make_hardsigmoid(const OwnRequest& r) {
  for (std::size_t i = 0; i < r.node.src.size(); ++i) {
    if (r.src_tensor(i).dtype != DType::f32 || !(r.src(i) == r.dst())) return nullptr;
  }
  if (r.dst_tensor().dtype != DType::f32 || !r.dst().packed()) return nullptr;
  return std::make_unique<HardsigmoidExecutable>(r);
}

}  // namespace relayout::execute
