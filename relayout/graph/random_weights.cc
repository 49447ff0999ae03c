// Random weights: values from a counter and a hash, sized by a walk that estimates the mean square of every tensor.
#include "relayout/graph/random_weights.h"

#include <cmath>
#include <cstring>

#include "relayout/graph/reference.h"

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

class Randomizer {
 public:
  Randomizer(Graph& graph, uint64_t seed)
      : graph_(graph), seed_(seed), squares_(graph.tensors.size(), 1), done_(graph.tensors.size(), false) {}

  void run() {
    for (const Node& node : graph_.nodes) {
      weights(node);
      const double square = mean_square(node);
      for (const TensorId t : node.dst) {
        if (t != kNone) squares_[static_cast<std::size_t>(t)] = square;
      }
    }
  }

 private:
  /// The mean square of a source, before it a positive number.
  double square(const Node& node, std::size_t i) const {
    if (i >= node.src.size() || node.src[i] == kNone) return 0;
    return squares_[static_cast<std::size_t>(node.src[i])];
  }

  const Tensor* constant(const Node& node, std::size_t i) const {
    if (i >= node.src.size() || node.src[i] == kNone) return nullptr;
    const Tensor& tensor = graph_.tensor(node.src[i]);
    return tensor.constant() && has_random(tensor.dtype) ? &tensor : nullptr;
  }

  /// The first use of a constant decides.
  void fill(const Node& node, std::size_t i, double low, double high) {
    if (constant(node, i) == nullptr) return;
    const auto id = static_cast<std::size_t>(node.src[i]);
    if (done_[id]) return;
    done_[id] = true;
    Tensor& tensor = graph_.tensors[id];
    tensor.data = random_data(tensor.dims, tensor.dtype, tensor.name, seed_, low, high);
    squares_[id] = (low * low + low * high + high * high) / 3;
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

  /// Products that each element of the destination sums.
  double fan_in(const Node& node, const Dims& weights) const {
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
    // A source of zeros gives zeros whatever the weights are.
    const double in = square(node, 0) > 0 ? square(node, 0) : 1;
    const Tensor* second = constant(node, 1);
    switch (node.kind) {
      case Kind::convolution:
      case Kind::deconvolution:
      case Kind::inner_product:
      case Kind::matmul:
        if (second != nullptr) fill_around_zero(node, 1, 1 / (fan_in(node, second->dims) * in));
        fill_around_zero(node, 2, 0.01);
        break;
      case Kind::rnn: recurrent(node, in); break;
      case Kind::batch_normalization:
        fill(node, 3, -0.2 * std::sqrt(in), 0.2 * std::sqrt(in));
        fill(node, 4, 0.75 * in, 1.25 * in);
        [[fallthrough]];
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

  void recurrent(const Node& node, double in) {
    const Tensor *layer = constant(node, 3), *iteration = constant(node, 4);
    if (layer != nullptr)
      fill_around_zero(node, 3, 1 / (in * static_cast<double>(std::max<int64_t>(layer->dims[2], 1))));
    if (iteration != nullptr) {
      fill_around_zero(node, 4, 1 / static_cast<double>(std::max<int64_t>(iteration->dims[2], 1)));
    }
    fill_around_zero(node, 5, 0.01);
  }

  /// Factors near 1, addends small: a scale or a bias written as an operation of its own. Scalars stay.
  void combined(const Node& node) {
    const BinaryAlgorithm algorithm = node.as<BinaryAttributes>().algorithm;
    for (std::size_t i = 0; i < 2; ++i) {
      const Tensor* tensor = constant(node, i);
      if (tensor == nullptr || checked_product(tensor->dims).value_or(0) < 2) continue;
      if (algorithm == BinaryAlgorithm::mul || algorithm == BinaryAlgorithm::div) fill(node, i, 0.75, 1.25);
      if (algorithm == BinaryAlgorithm::add || algorithm == BinaryAlgorithm::sub) {
        fill_around_zero(node, i, 0.01 * square(node, 1 - i));
      }
    }
  }

  double of_eltwise(const Node& node) const {
    const auto& attributes = node.as<EltwiseAttributes>();
    const double in = square(node, 0);
    switch (attributes.algorithm) {
      // Half of what is symmetric about 0 is left.
      case EltwiseAlgorithm::relu:
      case EltwiseAlgorithm::relu_dst: return in * (1 + attributes.alpha * attributes.alpha) / 2;
      case EltwiseAlgorithm::gelu_erf:
      case EltwiseAlgorithm::gelu_tanh:
      case EltwiseAlgorithm::swish:
      case EltwiseAlgorithm::mish:
      case EltwiseAlgorithm::hardswish: return in / 2;
      case EltwiseAlgorithm::logistic:
      case EltwiseAlgorithm::logistic_dst:
      case EltwiseAlgorithm::hardsigmoid: return 0.3;
      case EltwiseAlgorithm::tanh:
      case EltwiseAlgorithm::tanh_dst: return std::min(in, 1.0);
      case EltwiseAlgorithm::linear:
        return attributes.alpha * attributes.alpha * in + attributes.beta * attributes.beta;
      case EltwiseAlgorithm::clip:
      case EltwiseAlgorithm::clip_v2: {
        const double half = attributes.alpha >= 0 ? in / 2 : in;
        return std::min(half, std::max(attributes.alpha * attributes.alpha, attributes.beta * attributes.beta));
      }
      case EltwiseAlgorithm::square: return 3 * in * in;
      default: return in;
    }
  }

  /// An estimate for the destination, as if elements were independent and even about 0.
  double mean_square(const Node& node) const {
    const double first = square(node, 0);
    switch (node.kind) {
      case Kind::matmul: {
        if (constant(node, 1) != nullptr) return 1;
        const Dims& dims = graph_.tensor(node.src[0]).dims;
        return first * square(node, 1) * static_cast<double>(dims[dims.size() - 1]);
      }
      case Kind::convolution:
      case Kind::deconvolution:
      case Kind::inner_product:
      case Kind::batch_normalization:
      case Kind::layer_normalization: return 1;
      case Kind::rnn: return 0.3;
      case Kind::eltwise: return of_eltwise(node);
      case Kind::pooling: return node.as<PoolingAttributes>().algorithm == PoolingAlgorithm::max ? first : 0.4 * first;
      case Kind::reduction: return 0.4 * first;
      case Kind::softmax: return 0.1;
      case Kind::binary: {
        const BinaryAlgorithm algorithm = node.as<BinaryAttributes>().algorithm;
        if (algorithm == BinaryAlgorithm::mul) return first * square(node, 1);
        if (algorithm == BinaryAlgorithm::div) return first;
        if (algorithm == BinaryAlgorithm::add || algorithm == BinaryAlgorithm::sub) return first + square(node, 1);
        return std::max(first, square(node, 1));
      }
      case Kind::sum: {
        double out = 0;
        for (std::size_t i = 0; i < node.src.size(); ++i) out += square(node, i);
        return out;
      }
      default: {
        double out = first;
        for (std::size_t i = 1; i < node.src.size(); ++i) out = std::max(out, square(node, i));
        return out;
      }
    }
  }

  Graph& graph_;
  const uint64_t seed_;
  std::vector<double> squares_;
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
  if (!bytes) throw Error(ErrorCode::overflow, "random values: bytes of dims " + join(dims, "x") + " overflow int64");
  const uint64_t hash = hash_of(key, seed);
  std::vector<std::byte> out(static_cast<std::size_t>(*bytes));
  // By parts, as values pass through doubles.
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
