// Random weights: values from a counter and a hash, scaled by estimates of the mean and the mean square of every
// tensor.
#include "relayout/graph/models/random_weights.h"

#include <cmath>
#include <cstring>

#include "relayout/core/overflow.h"
#include "relayout/graph/reference/evaluation.h"
#include "relayout/graph/reference/reference.h"

namespace relayout::graph {
namespace {

/// Steele, Lea, Flood: "Fast splittable pseudorandom number generators" (2014), the finalizer of SplitMix64.
uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

uint64_t hash_of(std::string_view key, uint64_t seed) {
  uint64_t hash = mixed(seed + 0x9e3779b97f4a7c15);
  for (const char letter : key) hash = mixed(hash ^ static_cast<unsigned char>(letter));
  return hash;
}

bool has_random(DType dtype) {
  return dtype == DType::f64 || dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

/// Estimates of the mean and the mean square of a tensor's elements, which are assumed to be independent and normally
/// distributed.
struct Moments {
  double mean = 0, square = 1;
  double variance() const { return std::max(square - mean * mean, 0.0); }
};

Moments of_variance(double mean, double variance) { return {mean, mean * mean + variance}; }

Moments uniform(double low, double high) { return {(low + high) / 2, (low * low + low * high + high * high) / 3}; }

/// The estimates after an elementwise function, by a sum over the density.
Moments transformed(const EltwiseAttributes& attributes, const Moments& in) {
  double weights = 0;
  Moments out{0, 0};
  for (double z = -4; z <= 4; z += 0.0625) {
    const double value = reference::eltwise_forward(attributes, in.mean + z * std::sqrt(in.variance()));
    // The function has no finite value here, such as the logarithm of a negative number.
    if (!std::isfinite(value * value)) continue;
    const double weight = std::exp(-z * z / 2);
    weights += weight;
    out.mean += weight * value;
    out.square += weight * value * value;
  }
  return weights > 0 ? Moments{out.mean / weights, out.square / weights} : Moments{};
}

class Randomizer {
 public:
  Randomizer(Graph& graph, uint64_t seed)
      : graph_(graph), seed_(seed), moments_(graph.tensors.size()), done_(graph.tensors.size(), false) {}

  void run() {
    for (const Node& node : graph_.nodes) {
      weights(node);
      Moments out = estimate(node);
      if (!std::isfinite(out.mean + out.square)) out = {};
      for (const TensorId t : node.dst) {
        if (t != kNone) moments_[static_cast<std::size_t>(t)] = out;
      }
    }
  }

 private:
  Moments source(const Node& node, std::size_t i) const {
    if (i >= node.src.size() || node.src[i] == kNone) return {0, 0};
    return moments_[static_cast<std::size_t>(node.src[i])];
  }

  const Tensor* constant(const Node& node, std::size_t i) const {
    if (i >= node.src.size() || node.src[i] == kNone) return nullptr;
    const Tensor& tensor = graph_.tensor(node.src[i]);
    return tensor.constant() && has_random(tensor.dtype) ? &tensor : nullptr;
  }

  /// If a constant has several uses, the first one decides.
  void fill(const Node& node, std::size_t i, double low, double high) {
    if (constant(node, i) == nullptr) return;
    const auto id = static_cast<std::size_t>(node.src[i]);
    if (done_[id]) return;
    done_[id] = true;
    Tensor& tensor = graph_.tensors[id];
    tensor.data = random_data(tensor.dims, tensor.dtype, tensor.name, seed_, low, high);
    moments_[id] = uniform(low, high);
  }

  void fill_around_zero(const Node& node, std::size_t i, double mean_square) {
    const double most = std::sqrt(3 * mean_square);
    fill(node, i, -most, most);
  }

  static double product_from(const Dims& dims, int first) {
    double out = 1;
    for (int d = first; d < dims.size(); ++d) out *= static_cast<double>(dims[d]);
    return std::max(out, 1.0);
  }

  /// The number of products that are added up in each element of the destination.
  static double fan_in(const Node& node, const Dims& weights) {
    switch (node.kind) {
      case Kind::convolution: return product_from(weights, node.as<ConvolutionAttributes>().groups > 1 ? 2 : 1);
      case Kind::deconvolution: {
        const auto& attributes = node.as<ConvolutionAttributes>();
        double out = product_from(weights, attributes.groups > 1 ? 2 : 1);
        for (const int64_t stride : attributes.strides) out /= static_cast<double>(stride);
        return std::max(out, 1.0);
      }
      case Kind::inner_product: return product_from(weights, 1);
      default: return weights.size() < 2 ? 1.0 : std::max(1.0, static_cast<double>(weights[weights.size() - 2]));
    }
  }

  void weights(const Node& node) {
    const Moments in = source(node, 0);
    // A source of zeros gives zeros, whatever the weights are.
    const double square = in.square > 0 ? in.square : 1, variance = in.variance() > 0 ? in.variance() : 1;
    const Tensor* second = constant(node, 1);
    switch (node.kind) {
      case Kind::convolution:
      case Kind::deconvolution:
      case Kind::inner_product:
      case Kind::matmul:
        if (second != nullptr) fill_around_zero(node, 1, 1 / (fan_in(node, second->dims) * square));
        fill_around_zero(node, 2, 0.01);
        break;
      case Kind::rnn: recurrent(node, square); break;
      case Kind::batch_normalization: {
        const double around = 0.2 * std::sqrt(variance);
        fill(node, 3, in.mean - around, in.mean + around);
        fill(node, 4, 0.75 * variance, 1.25 * variance);
        [[fallthrough]];
      }
      case Kind::layer_normalization:
        fill(node, 1, 0.75, 1.25);
        fill(node, 2, -0.2, 0.2);
        break;
      case Kind::prelu: fill(node, 1, 0.1, 0.4); break;
      case Kind::binary: combined(node); break;
      case Kind::gather: fill_around_zero(node, 0, 1); break;
      case Kind::sum:
      case Kind::concat:
        for (std::size_t i = 0; i < node.src.size(); ++i) fill_around_zero(node, i, 1);
        break;
      default: break;
    }
  }

  void recurrent(const Node& node, double square) {
    const Tensor *layer = constant(node, 3), *iteration = constant(node, 4);
    const auto channels = [](const Tensor& weights) {
      return static_cast<double>(std::max<int64_t>(weights.dims[2], 1));
    };
    if (layer != nullptr) fill_around_zero(node, 3, 1 / (square * channels(*layer)));
    if (iteration != nullptr) fill_around_zero(node, 4, 1 / channels(*iteration));
    fill_around_zero(node, 5, 0.01);
    if (const Tensor* projection = constant(node, 6)) fill_around_zero(node, 6, 1 / channels(*projection));
  }

  /// Constants of a binary node: factors near 1 and small addends, as a scale or a bias that is an operation of its
  /// own. Scalars stay as they are.
  void combined(const Node& node) {
    const BinaryAlgorithm algorithm = node.as<BinaryAttributes>().algorithm;
    for (std::size_t i = 0; i < 2; ++i) {
      const Tensor* tensor = constant(node, i);
      if (tensor == nullptr || checked_product(tensor->dims).value_or(0) < 2) continue;
      if (algorithm == BinaryAlgorithm::mul || algorithm == BinaryAlgorithm::div) fill(node, i, 0.75, 1.25);
      if (algorithm == BinaryAlgorithm::add || algorithm == BinaryAlgorithm::sub) {
        fill_around_zero(node, i, 0.01 * source(node, 1 - i).square);
      }
    }
  }

  Moments of_binary(const Node& node) const {
    const Moments a = source(node, 0), b = source(node, 1);
    switch (node.as<BinaryAttributes>().algorithm) {
      case BinaryAlgorithm::add: return of_variance(a.mean + b.mean, a.variance() + b.variance());
      case BinaryAlgorithm::sub: return of_variance(a.mean - b.mean, a.variance() + b.variance());
      case BinaryAlgorithm::mul: return {a.mean * b.mean, a.square * b.square};
      case BinaryAlgorithm::div: return a;
      default: return a.square > b.square ? a : b;
    }
  }

  /// The estimates after a concat: each source counts in proportion to its elements.
  Moments of_concat(const Node& node) const {
    Moments out{0, 0};
    double total = 0;
    for (std::size_t i = 0; i < node.src.size(); ++i) {
      const double count = product_from(graph_.tensor(node.src[i]).dims, 0);
      out.mean += count * source(node, i).mean;
      out.square += count * source(node, i).square;
      total += count;
    }
    return {out.mean / total, out.square / total};
  }

  Moments of_sum(const Node& node) const {
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < node.src.size(); ++i) {
      mean += source(node, i).mean;
      variance += source(node, i).variance();
    }
    return of_variance(mean, variance);
  }

  /// The estimates after a pooling. Neighbouring values are alike, so a window counts as few independent values: a mean
  /// halves the variance, and a maximum is that of about three values.
  Moments of_pooling(const Node& node) const {
    const Moments in = source(node, 0);
    if (node.as<PoolingAttributes>().algorithm != PoolingAlgorithm::max) return of_variance(in.mean, in.variance() / 2);
    return of_variance(in.mean + 0.85 * std::sqrt(in.variance()), 0.56 * in.variance());
  }

  Moments estimate(const Node& node) const {
    switch (node.kind) {
      case Kind::matmul: {
        if (constant(node, 1) != nullptr) return {0, 1};
        const Dims& dims = graph_.tensor(node.src[0]).dims;
        return {0, source(node, 0).square * source(node, 1).square * static_cast<double>(dims[dims.size() - 1])};
      }
      case Kind::convolution:
      case Kind::deconvolution:
      case Kind::inner_product:
      case Kind::batch_normalization:
      case Kind::layer_normalization: return {0, 1};
      case Kind::rnn: return {0, 0.3};
      case Kind::eltwise: return transformed(node.as<EltwiseAttributes>(), source(node, 0));
      case Kind::prelu:
        return transformed({.algorithm = EltwiseAlgorithm::relu, .alpha = source(node, 1).mean}, source(node, 0));
      case Kind::pooling: return of_pooling(node);
      case Kind::reduction: return of_variance(source(node, 0).mean, source(node, 0).variance() / 2);
      case Kind::softmax: return {0, 0.1};
      case Kind::binary: return of_binary(node);
      case Kind::sum: return of_sum(node);
      case Kind::concat: return of_concat(node);
      default: return node.src.empty() ? Moments{} : source(node, 0);
    }
  }

  Graph& graph_;
  const uint64_t seed_;
  std::vector<Moments> moments_;
  std::vector<bool> done_;
};

}  // namespace

void randomize_weights(Graph& graph, uint64_t seed) { Randomizer(graph, seed).run(); }

ConstantData random_data(const Dims& dims, DType dtype, std::string_view key, uint64_t seed, double low, double high) {
  if (!has_random(dtype)) {
    throw Error(ErrorCode::unsupported, "random values of type " + std::string(name(dtype)), "dtype",
                std::string(name(dtype)), "f64, f32, f16, bf16");
  }
  const auto count = checked_product(dims);
  const auto bytes = count ? bytes_for(dtype, *count) : std::nullopt;
  if (!bytes) {
    throw_too_many("random values: ", dims, dims,
                   "elements of " + std::string(name(dtype)) + " overflow 64 bits of bytes");
  }
  const uint64_t hash = hash_of(key, seed);
  std::vector<std::byte> out(static_cast<std::size_t>(*bytes));
  // Values are computed as doubles first, in chunks so that these need little memory.
  constexpr int64_t kPart = 4096;
  std::vector<double> part;
  for (int64_t begin = 0; begin < *count; begin += kPart) {
    part.clear();
    for (int64_t i = begin; i < std::min(begin + kPart, *count); ++i) {
      const uint64_t bits = mixed(hash + static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15);
      part.push_back(low + (high - low) * static_cast<double>(bits >> 11) * 0x1p-53);
    }
    const std::vector<std::byte> stored = store(part, dtype);
    std::memcpy(out.data() + *bytes_for(dtype, begin), stored.data(), stored.size());
  }
  return std::make_shared<const std::vector<std::byte>>(std::move(out));
}

}  // namespace relayout::graph
