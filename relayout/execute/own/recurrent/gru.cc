// GRU and linear-before-reset GRU of one layer, inference, f32. The tested backend has only a reference for these.
//
//     update u, reset r  = logistic(x Wl + h Wi + b)
//     candidate c        = tanh(x Wl + (r h) Wi + b)            gru
//                          tanh(x Wl + b + r (h Wi + b'))       lbr_gru: r multiplies a product that needs no r
//     h                  = u h + (1 - u) c
//
// What comes from the sources is one product for many times, before the times go one by one.
#include <algorithm>
#include <array>
#include <vector>

#include "relayout/core/extents.h"
#include "relayout/cpu/threads.h"
#include "relayout/execute/own/elementwise/lanes.h"
#include "relayout/execute/own/kernels.h"
#include "relayout/execute/own/numbers.h"
#include "relayout/execute/own/recurrent/product.h"
#include "relayout/execute/run/openmp.h"

namespace relayout::execute {

using graph::BinaryAlgorithm;
using graph::EltwiseAlgorithm;
using graph::Executable;
using graph::kNone;
using graph::RnnAttributes;
using graph::RnnCell;
using graph::RnnDirection;

namespace {

enum RnnSource : std::size_t { kLayer = 0, kIter, kIterC, kWeightsLayer, kWeightsIter, kBias, kProjection };

/// Rows of the product of the sources that are computed at once, so that they stay in the second-level cache.
constexpr int64_t kRows = 64;
/// A thread takes at least so many columns of a product, and a product of fewer multiplications is one thread's.
constexpr int64_t kColumns = 64, kOneThread = 1 << 17;

struct Sizes {
  int64_t times, batch, in, out;
  bool lbr;
  RnnDirection direction;

  int64_t gates() const { return 3 * out; }
  bool both() const { return direction >= RnnDirection::bidirectional_concat; }
};

class GruExecutable : public Executable {
 public:
  GruExecutable(const Sizes& sizes, const OwnRequest& r) : s_(sizes), threads_(r.threads) {
    for (const std::optional<Layout>& layout : r.layouts) starts_.push_back(layout ? layout->offset0() : 0);
  }

  void run(std::span<const void* const> src, std::span<void* const> dst) override {
    // Each operand where it begins; null where it is absent.
    std::vector<const float*> from;
    std::vector<float*> to;
    for (std::size_t i = 0; i < src.size(); ++i)
      from.push_back(src[i] ? static_cast<const float*>(src[i]) + starts_[i] : nullptr);
    for (std::size_t i = 0; i < dst.size(); ++i)
      to.push_back(dst[i] ? static_cast<float*>(dst[i]) + starts_[src.size() + i] : nullptr);
    for (int64_t d = 0; d < (s_.both() ? 2 : 1); ++d) run_direction(d, from, to);
  }

 private:
  /// Operands of one direction.
  struct Direction {
    const float *x, *weights_layer, *weights_iter, *bias;
    float* dst;        // of time 0 and batch row 0
    int64_t dst_row;   // elements between batch rows of dst
    bool backwards, adds;
  };

  void run_direction(int64_t d, std::span<const float* const> src, std::span<float* const> dst) const {
    const auto source = [&](RnnSource i, int64_t size) {
      return i < src.size() && src[i] ? src[i] + d * size : nullptr;
    };
    const bool concat = s_.direction == RnnDirection::bidirectional_concat;
    const Direction of{.x = src[kLayer],
                       .weights_layer = source(kWeightsLayer, s_.in * s_.gates()),
                       .weights_iter = source(kWeightsIter, s_.out * s_.gates()),
                       .bias = source(kBias, (s_.lbr ? 4 : 3) * s_.out),
                       .dst = dst[0] + (concat ? d * s_.out : 0),
                       .dst_row = (concat ? 2 : 1) * s_.out,
                       .backwards = d == 1 || s_.direction == RnnDirection::right_to_left,
                       .adds = d == 1 && !concat};
    const int64_t state = s_.batch * s_.out;
    std::vector<float> h(static_cast<std::size_t>(state));
    if (const float* first = source(kIter, state)) std::copy_n(first, state, h.begin());
    const int64_t chunk = std::max<int64_t>(1, kRows / std::max<int64_t>(1, s_.batch));
    std::vector<float> gates(static_cast<std::size_t>(chunk * s_.batch * s_.gates()));
    std::vector<float> work(static_cast<std::size_t>(s_.batch * s_.gates()));
    for (int64_t done = 0; done < s_.times; done += chunk) {
      const int64_t count = std::min(chunk, s_.times - done);
      const int64_t first = of.backwards ? s_.times - done - count : done;
      from_sources(of, first, count, gates.data());
      for (int64_t i = 0; i < count; ++i) {
        const int64_t t = of.backwards ? count - 1 - i : i;
        step(of, gates.data() + t * s_.batch * s_.gates(), work.data(), h.data());
        give(of, first + t, h.data());
      }
    }
    if (dst.size() > 1 && dst[1]) std::copy_n(h.begin(), state, dst[1] + d * state);
  }

  /// gates = x Wl + b, for `count` times from `first` on.
  void from_sources(const Direction& of, int64_t first, int64_t count, float* gates) const {
    const int64_t rows = count * s_.batch;
    for (int64_t r = 0; r < rows; ++r) {
      if (of.bias) {
        std::copy_n(of.bias, s_.gates(), gates + r * s_.gates());
      } else {
        std::fill_n(gates + r * s_.gates(), s_.gates(), 0.0f);
      }
    }
    multiply({.a = of.x + first * s_.batch * s_.in, .b = of.weights_layer, .out = gates, .rows = rows, .inner = s_.in,
              .columns = s_.gates(), .a_row = s_.in, .b_row = s_.gates(), .out_row = s_.gates()});
  }

  /// One time: h becomes the next state. `gates` holds what comes from the sources; `work` has as many elements.
  void step(const Direction& of, float* gates, float* work, float* h) const {
    const int64_t out = s_.out, columns = s_.gates();
    MatrixProduct p{.a = h, .b = of.weights_iter, .out = gates, .rows = s_.batch, .inner = out, .columns = 2 * out,
                    .a_row = out, .b_row = columns, .out_row = columns};
    if (s_.lbr) {
      for (int64_t n = 0; n < s_.batch; ++n) {
        std::fill_n(work + n * columns, 2 * out, 0.0f);
        float* linear = work + n * columns + 2 * out;
        of.bias ? std::copy_n(of.bias + columns, out, linear) : std::fill_n(linear, out, 0.0f);
      }
      p.out = work;
      p.columns = columns;
    }
    multiply(p);
    for (int64_t n = 0; n < s_.batch; ++n) {
      float *g = gates + n * columns, *w = work + n * columns;
      if (s_.lbr) apply(BinaryAlgorithm::add, g, w, g, 2 * out);
      apply(EltwiseAlgorithm::logistic, g, 2 * out);
      // Gru: r h, from which the candidate comes; else r (h Wi + b').
      apply(BinaryAlgorithm::mul, g + out, s_.lbr ? w + 2 * out : h + n * out, w + 2 * out, out);
      if (s_.lbr) apply(BinaryAlgorithm::add, g + 2 * out, w + 2 * out, g + 2 * out, out);
    }
    if (!s_.lbr) {
      p.a = work + 2 * out;
      p.a_row = columns;
      p.b += 2 * out;
      p.out += 2 * out;
      p.columns = out;
      multiply(p);
    }
    for (int64_t n = 0; n < s_.batch; ++n) {
      float *g = gates + n * columns, *candidate = g + 2 * out, *state = h + n * out;
      apply(EltwiseAlgorithm::tanh, candidate, out);
      // c + u (h - c)
      apply(BinaryAlgorithm::sub, state, candidate, state, out);
      apply(BinaryAlgorithm::mul, state, g, state, out);
      apply(BinaryAlgorithm::add, state, candidate, state, out);
    }
  }

  void give(const Direction& of, int64_t time, const float* h) const {
    for (int64_t n = 0; n < s_.batch; ++n) {
      float* to = of.dst + (time * s_.batch + n) * of.dst_row;
      const float* from = h + n * s_.out;
      of.adds ? apply(BinaryAlgorithm::add, to, from, to, s_.out) : void(std::copy_n(from, s_.out, to));
    }
  }

  void apply(BinaryAlgorithm algorithm, const float* a, const float* b, float* to, int64_t n) const {
    const std::array<const float*, 2> src{a, b};
    lanes_.of(algorithm)(src.data(), to, n, 0, 0);
  }
  void apply(EltwiseAlgorithm algorithm, float* values, int64_t n) const {
    const std::array<const float*, 1> src{values};
    lanes_.of(algorithm)(src.data(), values, n, 0, 0);
  }

  /// A product, its columns shared by the threads.
  void multiply(const MatrixProduct& p) const {
    if (threads_ == 1 || p.rows * p.inner * p.columns < kOneThread) return product_(p);
    struct State {
      const MatrixProduct& whole;
      ProductFunction function;
    } state{p, product_};
    cpu::parallel_for(
        run_options(threads_), ceil_div(p.columns, kColumns), 1,
        [](void* of, int64_t begin, int64_t end) {
          const State& s = *static_cast<State*>(of);
          MatrixProduct part = s.whole;
          part.b += begin * kColumns;
          part.out += begin * kColumns;
          part.columns = std::min(end * kColumns, part.columns) - begin * kColumns;
          s.function(part);
        },
        &state);
  }

  Sizes s_;
  int threads_;
  std::vector<int64_t> starts_{};  // by operand: elements before its first
  const LaneTable<float>& lanes_ = vector_lanes();
  ProductFunction product_ = product_function();
};

}  // namespace

std::unique_ptr<Executable> make_gru(const OwnRequest& r) {
  const auto& attributes = r.node.as<RnnAttributes>();
  const bool lbr = attributes.cell == RnnCell::lbr_gru;
  if (r.node.pass != graph::Pass::forward_inference || (attributes.cell != RnnCell::gru && !lbr)) return nullptr;
  const Dims &x = r.src_tensor(kLayer).dims, &weights = r.src_tensor(kWeightsLayer).dims;
  if (weights[0] != 1 || r.src_tensor(kLayer).dtype != DType::f32) return nullptr;
  for (std::size_t i = 0; i < r.layouts.size(); ++i) {
    const bool is_src = i < r.node.src.size();
    const graph::TensorId id = is_src ? r.node.src[i] : r.node.dst[i - r.node.src.size()];
    if (id == kNone) continue;
    const graph::Tensor& tensor = r.graph.tensor(id);
    if (tensor.dtype != DType::f32 || !is_row_major(*r.layouts[i])) return nullptr;
  }
  const Sizes sizes{.times = x[0], .batch = x[1], .in = x[2], .out = weights[4], .lbr = lbr,
                    .direction = attributes.direction};
  return std::make_unique<GruExecutable>(sizes, r);
}

}  // namespace relayout::execute
