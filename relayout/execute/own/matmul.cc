// Products of matrices of types that the backend does not have: plain loops over row-major operands, batches repeating.
#include "relayout/execute/own/kernels.h"
#include "relayout/execute/own/numbers.h"

namespace relayout::execute {

using graph::Executable;

namespace {

template <typename T>
class MatmulExecutable : public Executable {
 public:
  explicit MatmulExecutable(const OwnRequest& r)
      : a_(r.src_tensor(0), r.src(0)), b_(r.src_tensor(1), r.src(1)), dst_(r.dst_tensor(), r.dst()) {
    if (r.node.src.size() > 2 && r.node.src[2] != graph::kNone) bias_.emplace(r.src_tensor(2), r.src(2));
    const int rank = r.dst().ndims();
    rows_ = r.dst().dim(rank - 2);
    columns_ = r.dst().dim(rank - 1);
    depth_ = r.src(0).dim(rank - 1);
    for (int d = 0; d < rank - 2; ++d) batch_.push_back(r.dst().dim(d));
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      Dims& steps = i == 0 ? a_steps_ : b_steps_;
      steps = Dims(rank - 2, 0);
      int64_t step = i == 0 ? rows_ * depth_ : depth_ * columns_;
      for (int d = rank - 3; d >= 0; --d) {
        if (r.src(i).dim(d) != 1) steps[d] = step;
        step *= r.src(i).dim(d);
      }
    }
  }

  void run(std::span<const void* const> src, std::span<void* const> dst) override {
    T* to = dst_.room(dst[0]);
    multiply(0, a_.read(src[0]), b_.read(src[1]), bias_ ? bias_->read(src[2]) : nullptr, &to);
    dst_.commit(dst[0]);
  }

 private:
  void multiply(int d, const T* a, const T* b, const T* bias, T** dst) const {
    if (d < batch_.size()) {
      for (int64_t i = 0; i < batch_[d]; ++i) multiply(d + 1, a + i * a_steps_[d], b + i * b_steps_[d], bias, dst);
      return;
    }
    for (int64_t m = 0; m < rows_; ++m, *dst += columns_) {
      T* row = *dst;
      for (int64_t n = 0; n < columns_; ++n) row[n] = bias != nullptr ? bias[n] : 0;
      for (int64_t k = 0; k < depth_; ++k) {
        const T factor = a[m * depth_ + k];
        const T* other = b + k * columns_;
        for (int64_t n = 0; n < columns_; ++n) row[n] += factor * other[n];
      }
    }
  }

  Numbers<T> a_, b_, dst_;
  std::optional<Numbers<T>> bias_{};
  int64_t rows_ = 0, columns_ = 0, depth_ = 0;
  Dims batch_{}, a_steps_{}, b_steps_{};
};

}  // namespace

std::unique_ptr<Executable> make_matmul(const OwnRequest& r) {
  const DType dtype = r.dst_tensor().dtype;
  if (dtype == DType::f32) return nullptr;  // the backend's
  for (std::size_t i = 0; i < r.node.src.size(); ++i) {
    if (r.node.src[i] == graph::kNone) continue;
    if (!is_row_major(r.src(i)) || r.src_tensor(i).dtype != dtype) return nullptr;
  }
  if (!is_row_major(r.dst()) || bits(dtype) < 8) return nullptr;
  return with_numbers(dtype, [&](auto zero) -> std::unique_ptr<Executable> {
    return std::make_unique<MatmulExecutable<decltype(zero)>>(r);
  });
}

}  // namespace relayout::execute
