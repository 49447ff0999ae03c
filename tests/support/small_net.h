// A small network to train in tests, with images that it can learn to tell apart.
#pragma once

#include <cmath>
#include <vector>

#include "tests/support/random_graph.h"

namespace relayout::test {

/// conv - bn - relu - pool - conv - relu - fc - softmax over 1 x 8 x 8 images, in f32.
struct SmallNet {
  Graph graph;
  std::vector<Values> values;  // of the inputs: images, then parameters

  static constexpr int64_t kBatch = 12, kClasses = 3;

  SmallNet() {
    graph.pass = Pass::forward_training;
    const TensorId x = parameter({kBatch, 1, 8, 8}, 0);
    TensorId y = graph.convolution(x, parameter({6, 1, 3, 3}, 0.4), parameter({6}, 0.1),
                                   {.pads_begin = {1, 1}, .pads_end = {1, 1}});
    y = graph.add(Kind::batch_normalization, NormalizationAttributes{}, {y, parameter({6}, 1), parameter({6}, 0.1)})[0];
    y = graph.eltwise(y, {EltwiseAlgorithm::relu});
    y = graph.pooling(y, {.kernel = {2, 2}, .strides = {2, 2}});
    y = graph.convolution(y, parameter({5, 6, 3, 3}, 0.3), parameter({5}, 0.1));
    y = graph.eltwise(y, {EltwiseAlgorithm::relu});
    y = graph.inner_product(y, parameter({kClasses, 5, 2, 2}, 0.4), parameter({kClasses}, 0.1));
    graph.output(graph.softmax(y));
    draw_images();
  }

  TensorId parameter(const Dims& dims, double range) {
    const TensorId out = graph.input("p" + std::to_string(graph.inputs.size()), dims);
    values.push_back(random_values(elements(graph, out), rng_, -range, range));
    return out;
  }

  static int64_t label(int64_t image) { return image % kClasses; }

  /// Class 0 has rows, class 1 columns, class 2 diagonals, all with noise.
  void draw_images() {
    std::uniform_real_distribution<double> noise(-0.3, 0.3);
    for (int64_t n = 0; n < kBatch; ++n) {
      for (int64_t i = 0; i < 64; ++i) {
        const int64_t h = i / 8, w = i % 8, stripe = label(n) == 0 ? h : label(n) == 1 ? w : h + w;
        values[0][static_cast<std::size_t>(n * 64 + i)] = static_cast<double>(stripe % 2) + noise(rng_);
      }
    }
  }

  /// Mean of -ln p of the right class, and its gradient.
  static double cross_entropy(const Values& p, Values& diff) {
    double loss = 0;
    diff.assign(p.size(), 0);
    for (int64_t n = 0; n < kBatch; ++n) {
      const auto at = static_cast<std::size_t>(n * kClasses + label(n));
      loss -= std::log(p[at]) / kBatch;
      diff[at] = -1 / (p[at] * kBatch);
    }
    return loss;
  }

 private:
  std::mt19937 rng_{5};
};

}  // namespace relayout::test
