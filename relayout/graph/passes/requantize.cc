// One scale and one offset behind a sum of bytes: see requantize.h.
#include "relayout/graph/passes/requantize.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "relayout/graph/ir/ops.h"
#include "relayout/graph/ir/post_ops.h"
#include "relayout/graph/passes/simplify.h"
#include "relayout/graph/reference/values.h"

namespace relayout::graph {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Whether an f32 holds a number without the loss of digits that denormal numbers have.
bool is_normal_f32(double value) { return std::isnormal(static_cast<float>(value)); }

/// What post-ops compute of a sum: round(clip(sum * scale + offset, least, most)) + zero, with a scale and an offset
/// for each channel.
struct Requantization {
  Values scale, offset;
  double least = -kInfinity, most = kInfinity, zero = 0;
  bool clips = false, rounds = false;
};

/// Reads a node's post-ops, one behind the other.
class Reader {
 public:
  Reader(const Graph& graph, const Node& node) : graph_(graph), node_(node), dims_(graph.tensor(node.dst[0]).dims) {
    channel_ = node.kind == Kind::matmul ? dims_.size() - 1 : 1;
    const auto channels = static_cast<std::size_t>(dims_[channel_]);
    out_.scale.assign(channels, 1);
    out_.offset.assign(channels, 0);
  }

  int channel() const { return channel_; }

  /// Nothing if there is a function that does not fit.
  std::optional<Requantization> read() {
    auto before = static_cast<int>(node_.src.size());
    for (const PostOp& op : node_.post_ops) {
      const auto* binary = std::get_if<BinaryAttributes>(&op.function);
      const auto* eltwise = std::get_if<EltwiseAttributes>(&op.function);
      if (binary ? !applies(*binary, op, before) : !eltwise || op.src[0] != before || !applies(*eltwise))
        return std::nullopt;
      ++before;
    }
    return out_.rounds ? std::optional(out_) : std::nullopt;
  }

 private:
  /// The values of a constant operand by channel; empty if it is none, or varies otherwise.
  Values by_channel(int number) const {
    if (number < 0 || number >= static_cast<int>(node_.src.size())) return {};
    const Tensor& tensor = graph_.tensor(node_.src[static_cast<std::size_t>(number)]);
    if (!tensor.constant() || tensor.dtype != DType::f32) return {};
    for (int d = 0; d < tensor.dims.size(); ++d) {
      if (tensor.dims[d] != 1 && d != channel_ + tensor.dims.size() - dims_.size()) return {};
    }
    Values values = values_of(tensor);
    if (values.size() == 1) values.assign(out_.scale.size(), values[0]);
    const auto finite = [](double value) { return std::isfinite(value); };
    return values.size() == out_.scale.size() && std::ranges::all_of(values, finite) ? values : Values();
  }

  bool applies(const BinaryAttributes& binary, const PostOp& op, int before) {
    using enum BinaryAlgorithm;
    const bool commutes = binary.algorithm == add || binary.algorithm == mul;
    const bool swapped = commutes && op.src[0] != before;
    if (op.src[swapped ? 1 : 0] != before) return false;
    const Values values = by_channel(op.src[swapped ? 0 : 1]);
    if (values.empty()) return false;
    switch (binary.algorithm) {
      case mul: return scales(values, false);
      case div: return scales(values, true);
      case add: return adds(values, 1);
      case sub: return adds(values, -1);
      default: return false;
    }
  }

  bool scales(const Values& by, bool divides) {
    // Behind a clip a scale moves its bounds, which are one for all channels and stay in their order.
    const bool one = std::ranges::all_of(by, [&](double value) { return value == by[0]; });
    if (out_.rounds || std::ranges::find(by, 0.0) != by.end() || (out_.clips && (!one || by[0] < 0))) return false;
    const auto scaled = [&](double value, double factor) { return divides ? value / factor : value * factor; };
    for (std::size_t c = 0; c < by.size(); ++c) {
      out_.scale[c] = scaled(out_.scale[c], by[c]);
      out_.offset[c] = scaled(out_.offset[c], by[c]);
    }
    if (out_.clips) {
      out_.least = scaled(out_.least, by[0]);
      out_.most = scaled(out_.most, by[0]);
    }
    return true;
  }

  bool adds(const Values& values, double sign) {
    if (out_.rounds) {
      const bool one = std::ranges::all_of(values, [&](double value) { return value == values[0]; });
      out_.zero += sign * values[0];
      return one && out_.zero == std::nearbyint(out_.zero) && std::abs(out_.zero) <= 255;
    }
    if (out_.clips) return false;
    for (std::size_t c = 0; c < values.size(); ++c) out_.offset[c] += sign * values[c];
    return true;
  }

  bool applies(const EltwiseAttributes& eltwise) {
    if (out_.rounds) return false;
    if (eltwise.algorithm == EltwiseAlgorithm::round) return out_.rounds = true;
    if (out_.clips) return false;
    out_.clips = true;
    if (eltwise.algorithm == EltwiseAlgorithm::relu) {
      out_.least = 0;
      return eltwise.alpha == 0;
    }
    out_.least = eltwise.alpha;
    out_.most = eltwise.beta;
    return eltwise.algorithm == EltwiseAlgorithm::clip && out_.least <= out_.most;
  }

  const Graph& graph_;
  const Node& node_;
  const Dims dims_;
  int channel_;
  Requantization out_{};
};

bool sums_to_bytes(const Graph& graph, const Node& node) {
  const bool product = node.kind == Kind::convolution || node.kind == Kind::inner_product || node.kind == Kind::matmul;
  const bool has_bias = node.own_sources() > 2 && node.src[2] != kNone;
  return product && !has_bias && !node.post_ops.empty() && is_byte(graph.tensor(node.src[0]).dtype) &&
         is_byte(graph.tensor(node.dst[0]).dtype) && graph.tensor(node.dst[0]).dims.size() > 1;
}

/// Writes a node's post-ops anew.
class Writer {
 public:
  Writer(Graph& graph, const Node& node, int channel) : graph_(graph), made_(without_post_ops(node)) {
    name_ = node.post_ops.back().name;
    dims_ = Dims(graph.tensor(node.dst[0]).dims.size(), 1);
    channel_ = channel;
  }

  /// The node with the post-ops that compute what `q` says; nothing if f32 does not hold their numbers.
  std::optional<Node> write(const Requantization& q) {
    const DType dtype = graph_.tensor(made_.dst[0]).dtype;
    const double lowest = dtype == DType::u8 ? 0 : -128, highest = dtype == DType::u8 ? 255 : 127;
    const double behind = std::fmod(q.zero, 2) == 0 ? 0 : q.zero;  // what is added behind a rounding
    Values offset = q.offset;
    for (double& each : offset) each += q.zero - behind;
    const auto is_number = [](double value) { return value == 0 || is_normal_f32(value); };
    if (!std::ranges::all_of(q.scale, is_normal_f32) || !std::ranges::all_of(offset, is_number)) return std::nullopt;
    function(BinaryAlgorithm::mul, ".scale", q.scale);
    if (std::ranges::any_of(offset, [](double value) { return value != 0; }))
      function(BinaryAlgorithm::add, ".offset", offset);
    // Bounds may be rounded before, and what the type does not hold is cut off where it is stored.
    const double least = std::clamp(std::nearbyint(q.least) + q.zero, lowest, highest);
    const double most = std::clamp(std::nearbyint(q.most) + q.zero, lowest, highest);
    if (least > lowest || most < highest) add({EltwiseAlgorithm::clip, least - behind, most - behind});
    if (behind != 0) {
      add({EltwiseAlgorithm::round});
      function(BinaryAlgorithm::add, ".zero", {behind});
    }
    number();
    return std::move(made_);
  }

 private:
  void add(const EltwiseAttributes& eltwise) { made_.post_ops.push_back({eltwise, {}, name_}); }

  void function(BinaryAlgorithm algorithm, const char* what, const Values& values) {
    const bool one = std::ranges::all_of(values, [&](double value) { return value == values[0]; });
    std::vector<float> floats(values.begin(), one ? values.begin() + 1 : values.end());
    Dims dims = dims_;
    dims[channel_] = std::ssize(floats);
    made_.src.push_back(graph_.constant(name_ + what, dims, std::move(floats)));
    ++made_.post_sources;
    made_.post_ops.push_back({BinaryAttributes{algorithm}, {static_cast<int>(made_.src.size()) - 1}, name_});
  }

  /// Lets each function read the one before, whose number depends on how many sources there are.
  void number() {
    auto before = static_cast<int>(made_.src.size());
    for (PostOp& op : made_.post_ops) op.src.insert(op.src.begin(), before++);
  }

  Graph& graph_;
  Node made_;
  std::string name_{};
  Dims dims_{};
  int channel_ = 1;
};

}  // namespace

void requantize(Graph& graph) {
  for (Node& node : graph.nodes) {
    if (!sums_to_bytes(graph, node)) continue;
    Reader reader(graph, node);
    const std::optional<Requantization> read = reader.read();
    if (!read) continue;
    if (std::optional<Node> made = Writer(graph, node, reader.channel()).write(*read)) node = std::move(*made);
  }
  prune(graph);
}

}  // namespace relayout::graph
