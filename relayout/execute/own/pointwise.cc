// Functions of single elements that oneDNN does not have, or not in every version: hardsigmoid, erf and sign of f32,
// and the derivatives of the first two.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "relayout/execute/own/kernels.h"
#include "relayout/execute/own/padding.h"

namespace relayout::execute {

using graph::EltwiseAlgorithm;
using graph::Executable;

namespace {

/// max(0, min(1, alpha s + beta)).
struct Hardsigmoid {
  float alpha, beta;
  float value(float s) const { return std::max(0.0f, std::min(1.0f, alpha * s + beta)); }
  float gradient(float s, float diff) const {
    const float inside = alpha * s + beta;
    return inside > 0 && inside < 1 ? alpha * diff : 0;
  }
};

struct Erf {
  static constexpr float kTwoOverSqrtPi = 2 * std::numbers::inv_sqrtpi_v<float>;
  float value(float s) const { return std::erf(s); }
  float gradient(float s, float diff) const { return kTwoOverSqrtPi * std::exp(-s * s) * diff; }
};

/// The sign of a number; a NaN stays as it is.
struct Sign {
  float value(float s) const { return s > 0 ? 1.0f : s < 0 ? -1.0f : s; }
  float gradient(float, float) const { return 0; }
};

template <typename Function>
class PointwiseExecutable : public Executable {
 public:
  PointwiseExecutable(const OwnRequest& r, const Function& function)
      : function_(function),
        first_(r.dst().offset_range().first),
        count_(r.dst().padded_elements()),
        padding_(r.dst(), DType::f32) {}

  void run(std::span<const void* const> src, std::span<void* const> dst) override {
    const float* from = static_cast<const float*>(src[0]) + first_;
    float* to = static_cast<float*>(dst[0]) + first_;
    if (src.size() == 1) {
      for (int64_t i = 0; i < count_; ++i) to[i] = function_.value(from[i]);
    } else {
      const float* diff = static_cast<const float*>(src[1]) + first_;
      for (int64_t i = 0; i < count_; ++i) to[i] = function_.gradient(from[i], diff[i]);
    }
    padding_.run(dst[0]);
  }

 private:
  Function function_;
  int64_t first_, count_;
  ZeroPadding padding_;
};

template <typename Function>
std::unique_ptr<Executable> made(const OwnRequest& r, const Function& function) {
  return std::make_unique<PointwiseExecutable<Function>>(r, function);
}

}  // namespace

std::unique_ptr<Executable> make_pointwise(const OwnRequest& r) {
  for (std::size_t i = 0; i < r.node.src.size(); ++i) {
    if (r.src_tensor(i).dtype != DType::f32 || !(r.src(i) == r.dst())) return nullptr;
  }
  if (r.dst_tensor().dtype != DType::f32 || !r.dst().packed()) return nullptr;
  const auto& a = r.node.as<graph::EltwiseAttributes>();
  switch (a.algorithm) {
    case EltwiseAlgorithm::hardsigmoid:
      return made(r, Hardsigmoid{static_cast<float>(a.alpha), static_cast<float>(a.beta)});
    case EltwiseAlgorithm::erf: return made(r, Erf{});
    case EltwiseAlgorithm::sign: return r.node.forward() ? made(r, Sign{}) : nullptr;
    default: return nullptr;
  }
}

}  // namespace relayout::execute
