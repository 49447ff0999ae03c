// Layout requests by policy: see layout_requests.h. policy.h says where the rules come from.
#include "relayout/graph/plan/layout_requests.h"

#include <algorithm>
#include <array>

#include "relayout/graph/ir/ops.h"

namespace relayout::graph {
namespace {

/// The layout of the same tag for other dims; `otherwise` if `layout` has no tag or the dims are of another rank.
Layout same_order(const Layout& layout, const Dims& dims, const Layout& otherwise) {
  if (layout.dims() == dims) return layout;
  const auto tag = tag_of(layout);
  return tag && layout.ndims() == dims.size() ? Format::parse(*tag).bind(dims) : otherwise;
}

/// Collects the requests for one node.
class RequestMaker {
 public:
  RequestMaker(const RequestContext& context, NodeId id)
      : context_(context),
        graph_(context.graph),
        node_(context.graph.node(id)),
        rules_(operand_rules(context.graph, node_)) {}

  RequestList make() {
    RequestList out;
    // Recurrent nodes have sequences (T N C), which have no spatial dims and so no channels-last or blocked layouts.
    if (context_.options.policy == Policy::any || node_.kind == Kind::rnn) {
      add(by_rule());
    } else if (context_.options.policy == Policy::openvino) {
      add_formats();
    } else {
      const PropagateOptions layouts = uniform_options();
      if (reads_few_channels(layouts)) add(blocked_destination(layouts));
      add(uniform(layouts));
      add(blocked_destination(layouts));
    }
    out.preferred = requests_.size();
    // If the sources have different layouts, the request tries that of the largest source for all.
    if (const TensorId largest = largest_activation(); largest != kNone) add(in_order_of(largest));
    add(by_rule());
    add(each([&](TensorId t, OperandRule rule, bool) -> LayoutRequest {
      return t != kNone && rule == OperandRule::plain ? LayoutRequest(plain(t)) : std::nullopt;
    }));
    add(each([&](TensorId t, OperandRule, bool) -> LayoutRequest { return t == kNone ? LayoutRequest() : plain(t); }));
    out.requests = std::move(requests_);
    return out;
  }

 private:
  template <typename RequestOf>
  LayoutRequests each(RequestOf request) const {
    LayoutRequests out;
    for (std::size_t i = 0; i < node_.src.size(); ++i) out.src.push_back(request(node_.src[i], rules_[i], true));
    for (std::size_t i = 0; i < node_.dst.size(); ++i) {
      out.dst.push_back(request(node_.dst[i], rules_[node_.src.size() + i], false));
    }
    return out;
  }

  /// Adds the requests, then the same without those for destinations: if the backend refuses a destination's layout,
  /// the primitive writes the layout that it likes and a reorder follows.
  void add(LayoutRequests requests) {
    LayoutRequests free = requests;
    for (std::size_t i = 0; i < node_.dst.size(); ++i) {
      if (rules_[node_.src.size() + i] != OperandRule::plain) free.dst[i] = std::nullopt;
    }
    for (LayoutRequests& next : std::array{std::move(requests), std::move(free)}) {
      if (std::ranges::find(requests_, next) == requests_.end()) requests_.push_back(std::move(next));
    }
  }

  Layout plain(TensorId t) const { return Layout::contiguous(graph_.tensor(t).dims); }

  /// The rule of the oneAPI specification: compute-bound primitives choose their layouts, the others use those that
  /// their sources have.
  LayoutRequest by_rule(TensorId t, OperandRule rule, bool is_src) const {
    if (t == kNone) return std::nullopt;
    if (rule == OperandRule::plain) return plain(t);
    if (!is_src) return rule == OperandRule::any ? graph_.tensor(t).layout : std::nullopt;
    if (rule == OperandRule::any) return std::nullopt;
    return context_.current(t);
  }
  LayoutRequests by_rule() const {
    return each([&](TensorId t, OperandRule rule, bool is_src) { return by_rule(t, rule, is_src); });
  }

  LayoutRequests in_order_of(TensorId lead) const {
    const Layout layout = context_.current(lead);
    return each([&](TensorId t, OperandRule rule, bool is_src) -> LayoutRequest {
      const LayoutRequest request = by_rule(t, rule, is_src);
      return request && is_src && t != kNone && rule != OperandRule::plain
                 ? same_order(layout, graph_.tensor(t).dims, *request)
                 : request;
    });
  }

  LayoutRequests uniform(const PropagateOptions& layouts) const {
    return each([&](TensorId t, OperandRule rule, bool) -> LayoutRequest {
      if (t == kNone) return std::nullopt;
      if (rule == OperandRule::plain) return plain(t);
      return context_.activation(t) ? LayoutRequest(uniform_layout(graph_.tensor(t).dims, layouts)) : std::nullopt;
    });
  }

  /// Requests the policy's layout for destinations alone; sources stay as they are. So a first convolution can read its
  /// few channels without padding them to a block.
  LayoutRequests blocked_destination(const PropagateOptions& layouts) const {
    LayoutRequests out = uniform(layouts);
    for (std::size_t i = 0; i < node_.src.size(); ++i) {
      const TensorId t = node_.src[i];
      if (t != kNone && rules_[i] != OperandRule::plain && context_.activation(t)) out.src[i] = context_.current(t);
    }
    return out;
  }

  /// Requests every format that OpenVINO's nodes know. Convolutions of floating types are not offered channels last.
  void add_formats() {
    const bool window = node_.kind == Kind::convolution || node_.kind == Kind::deconvolution;
    const bool floating = is_floating(graph_.tensor(node_.src[0]).dtype);
    PropagateOptions layouts = context_.options;
    for (Policy format : {Policy::blocked, Policy::blocked8, Policy::nhwc, Policy::nchw}) {
      if (window && floating && format == Policy::nhwc) continue;
      layouts.policy = format;
      add(uniform(layouts));
      if (window && format != Policy::nchw) add(blocked_destination(layouts));
    }
  }

  /// The policy of one layout for all activations that applies to this node. Under ONNX Runtime's rules it depends on
  /// the node.
  PropagateOptions uniform_options() const {
    PropagateOptions out = context_.options;
    if (out.policy == Policy::ort) out.policy = blocked_by_ort(node_) ? Policy::blocked : Policy::nchw;
    return out;
  }

  /// ONNX Runtime never pads the channels of a convolution's source.
  bool reads_few_channels(const PropagateOptions& layouts) const {
    return context_.options.policy == Policy::ort && layouts.policy == Policy::blocked &&
           node_.kind == Kind::convolution && node_.forward() && channels(node_.src[0]) < layouts.block;
  }

  int64_t channels(TensorId t) const { return graph_.tensor(t).dims[1]; }

  bool is_blocked(TensorId t) const {
    PropagateOptions layouts = context_.options;
    layouts.policy = Policy::blocked;
    const Dims& dims = graph_.tensor(t).dims;
    return dims.size() == 4 && context_.current(t) == uniform_layout(dims, layouts);
  }

  /// Whether ONNX Runtime's NCHWc transformer would block this node. A backward node follows its forward node.
  bool blocked_by_ort(const Node& node) const {
    if (node.hint != kNone) return blocked_by_ort(graph_.node(node.hint));
    const Tensor& first = graph_.tensor(node.src[0]);
    if (first.dims.size() != 4 || first.dtype != DType::f32) return false;
    const int64_t block = context_.options.block;
    const bool all_blocked = std::ranges::all_of(node.src, [&](TensorId t) {
      return t == kNone || context_.is_weights(t) || graph_.tensor(t).dims.size() == 1 || is_blocked(t);
    });
    switch (node.kind) {
      case Kind::convolution: return ort_blocks_convolution(node, block);
      case Kind::pooling: return first.dims[1] % block == 0;
      case Kind::eltwise:
      case Kind::batch_normalization:
      case Kind::resampling: return all_blocked;
      case Kind::sum:
      case Kind::binary:
        return all_blocked && std::ranges::all_of(node.src, [&](TensorId t) {
                 return t != kNone && graph_.tensor(t).dims == first.dims && !graph_.tensor(t).constant();
               });
      case Kind::concat:
        return node.as<ConcatAttributes>().axis == 1 && all_blocked &&
               std::ranges::all_of(node.src, [&](TensorId t) { return channels(t) % block == 0; });
      default: return false;
    }
  }

  bool ort_blocks_convolution(const Node& node, int64_t block) const {
    const int64_t groups = node.as<ConvolutionAttributes>().groups;
    const int64_t in = channels(node.src[0]) / groups, out = channels(node.dst[0]);
    if (groups == 1) return in < block || in % block == 0;
    const bool depthwise = in == 1 && out == groups;
    return out % block == 0 && (depthwise || (in % block == 0 && out / groups % block == 0));
  }

  TensorId largest_activation() const {
    TensorId best = kNone;
    for (TensorId t : node_.src) {
      if (t == kNone || graph_.tensor(t).constant()) continue;
      if (best == kNone ||
          checked_product(graph_.tensor(t).dims).value_or(0) > checked_product(graph_.tensor(best).dims).value_or(0)) {
        best = t;
      }
    }
    return best;
  }

  const RequestContext& context_;
  const Graph& graph_;
  const Node& node_;
  const std::vector<OperandRule> rules_;
  std::vector<LayoutRequests> requests_{};
};

}  // namespace

std::vector<bool> weights_of(const Graph& graph) {
  std::vector<bool> out(graph.tensors.size());
  for (const Node& node : graph.nodes) {
    if (!compute_bound(node.kind) || node.kind == Kind::matmul) continue;
    const std::vector<TensorId>& operands = node.pass == Pass::backward_weights ? node.dst : node.src;
    const std::size_t i = node.pass == Pass::backward_weights ? 0 : node.kind == Kind::rnn ? 3 : 1;
    if (i < operands.size() && operands[i] != kNone) out[static_cast<std::size_t>(operands[i])] = true;
  }
  return out;
}

RequestList requests_of(const RequestContext& context, NodeId id) { return RequestMaker(context, id).make(); }

}  // namespace relayout::graph
