// The derivatives of functions that oneDNN does not have, or not in every version: hardsigmoid and erf of f32.
#include <cmath>
#include <numbers>

#include "relayout/execute/own/kernels.h"
#include "relayout/execute/own/padding.h"

namespace relayout::execute {

using graph::EltwiseAlgorithm;
using graph::Executable;

namespace {

/// Of max(0, min(1, alpha s + beta)).
struct Hardsigmoid {
  float alpha, beta;
  float gradient(float s, float diff) const {
    const float inside = alpha * s + beta;
    return inside > 0 && inside < 1 ? alpha * diff : 0;
  }
};

struct Erf {
  static constexpr float kTwoOverSqrtPi = 2 * std::numbers::inv_sqrtpi_v<float>;
  float gradient(float s, float diff) const { return kTwoOverSqrtPi * std::exp(-s * s) * diff; }
};

template <typename Function>
class GradientExecutable : public Executable {
 public:
  GradientExecutable(const OwnRequest& r, const Function& function)
      : function_(function),
        first_(r.dst().offset_range().first),
        count_(r.dst().padded_elements()),
        padding_(r.dst(), DType::f32) {}

  void run(std::span<const void* const> src, std::span<void* const> dst) override {
    const float *from = static_cast<const float*>(src[0]) + first_, *diff = static_cast<const float*>(src[1]) + first_;
    float* to = static_cast<float*>(dst[0]) + first_;
    for (int64_t i = 0; i < count_; ++i) to[i] = function_.gradient(from[i], diff[i]);
    padding_.run(dst[0]);
  }

 private:
  Function function_;
  int64_t first_, count_;
  ZeroPadding padding_;
};

template <typename Function>
std::unique_ptr<Executable> gradient_by(const OwnRequest& r, const Function& function) {
  return std::make_unique<GradientExecutable<Function>>(r, function);
}

}  // namespace

std::unique_ptr<Executable> make_pointwise(const OwnRequest& r) {
  if (r.node.src.size() != 2) return nullptr;
  for (std::size_t i = 0; i < r.node.src.size(); ++i) {
    if (r.src_tensor(i).dtype != DType::f32 || !(r.src(i) == r.dst())) return nullptr;
  }
  if (r.dst_tensor().dtype != DType::f32 || !r.dst().packed()) return nullptr;
  const auto& a = r.node.as<graph::EltwiseAttributes>();
  switch (a.algorithm) {
    case EltwiseAlgorithm::hardsigmoid:
      return gradient_by(r, Hardsigmoid{static_cast<float>(a.alpha), static_cast<float>(a.beta)});
    case EltwiseAlgorithm::erf: return gradient_by(r, Erf{});
    default: return nullptr;
  }
}

}  // namespace relayout::execute
