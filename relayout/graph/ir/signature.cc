// The operands of each kind of primitive in each pass, by their names. The shapes, types and layout rules of operands
// all follow from these names.
#include <algorithm>

#include "relayout/graph/ir/ops.h"
#include "relayout/graph/ir/ops_families.h"

namespace relayout::graph {
namespace {

bool is_forward(Pass pass) { return pass == Pass::forward_inference || pass == Pass::forward_training; }

/// Convolution, deconvolution and inner product.
Signature weighted_signature(Pass pass) {
  if (is_forward(pass)) return {"src weights [bias]", "dst"};
  if (pass == Pass::backward_data) return {"diff_dst weights", "diff_src"};
  if (pass == Pass::backward_weights) return {"src diff_dst", "diff_weights [diff_bias]"};
  return {};
}

/// Backward, recurrent layers read all operands of the forward node.
Signature rnn_signature(Pass pass) {
  if (is_forward(pass)) {
    return {"src_layer [src_iter] [src_iter_c] weights_layer weights_iter [bias] [weights_projection]",
            "dst_layer [dst_iter] [dst_iter_c]"};
  }
  if (pass == Pass::backward) {
    return {
        "src_layer [src_iter] [src_iter_c] weights_layer weights_iter [bias] [weights_projection] dst_layer "
        "[dst_iter] [dst_iter_c] [diff_dst_layer] [diff_dst_iter] [diff_dst_iter_c]",
        "diff_src_layer [diff_src_iter] [diff_src_iter_c] diff_weights_layer diff_weights_iter [diff_bias] "
        "[diff_weights_projection]"};
  }
  return {};
}

/// Batch and layer normalization. For inference a batch normalization reads its statistics, while a layer
/// normalization computes them.
Signature normalization_signature(Kind kind, Pass pass) {
  if (pass == Pass::forward_inference) {
    if (kind == Kind::batch_normalization) return {"src [scale] [shift] mean variance", "dst"};
    return {"src [scale] [shift]", "dst [mean] [variance]"};
  }
  if (pass == Pass::forward_training) return {"src [scale] [shift]", "dst mean variance"};
  if (pass == Pass::backward) return {"src [scale] mean variance diff_dst", "diff_src [diff_scale] [diff_shift]"};
  return {};
}

Signature prelu_signature(Pass pass) {
  if (is_forward(pass)) return {"src weights", "dst"};
  if (pass == Pass::backward) return {"src weights diff_dst", "diff_src diff_weights"};
  return {};
}

/// Kinds with one source and no weights. `backward_src` are the operands from which the gradient is computed.
Signature unary_signature(Pass pass, std::string_view backward_src) {
  if (is_forward(pass)) return {"src", "dst"};
  if (pass == Pass::backward_data) return {backward_src, "diff_src"};
  return {};
}

/// Kinds without a backward pass.
Signature forward_signature(Pass pass, const Signature& operands) { return is_forward(pass) ? operands : Signature(); }

}  // namespace

std::vector<OperandName> operand_names(std::string_view words) {
  std::vector<OperandName> out;
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    const std::string_view word = words.substr(0, end);
    const bool optional = word.front() == '[';
    out.push_back({optional ? word.substr(1, word.size() - 2) : word, optional});
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return out;
}

Signature signature(Kind kind, Pass pass) {
  switch (kind) {
    case Kind::convolution:
    case Kind::deconvolution:
    case Kind::inner_product: return weighted_signature(pass);
    case Kind::rnn: return rnn_signature(pass);
    case Kind::pooling:
    case Kind::shuffle:
    case Kind::resampling: return unary_signature(pass, "diff_dst");
    case Kind::lrn:
    case Kind::eltwise: return unary_signature(pass, "src diff_dst");
    case Kind::softmax: return unary_signature(pass, "dst diff_dst");
    case Kind::batch_normalization:
    case Kind::layer_normalization: return normalization_signature(kind, pass);
    case Kind::prelu: return prelu_signature(pass);
    case Kind::matmul: return forward_signature(pass, {"a b [bias]", "dst"});
    case Kind::concat:
    case Kind::sum: return forward_signature(pass, {"src...", "dst"});
    case Kind::binary: return forward_signature(pass, {"a b", "dst"});
    case Kind::gather: return forward_signature(pass, {"data indices", "dst"});
    case Kind::array: return forward_signature(pass, {"src...", "dst..."});
    case Kind::barrier: return forward_signature(pass, {"[src...]", "dst..."});
    case Kind::reduction:
    case Kind::reorder:
    case Kind::reshape:
    case Kind::transpose:
    case Kind::slice:
    case Kind::broadcast:
    case Kind::pad: return forward_signature(pass, {"src", "dst"});
  }
  return {};
}
}  // namespace relayout::graph
