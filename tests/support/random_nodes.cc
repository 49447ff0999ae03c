// Shapes and attributes of random nodes: see random_nodes.h.
#include "tests/support/random_nodes.h"

#include <sstream>

#include "relayout/graph/ir/ops.h"
#include "tests/support/random_drafts.h"

namespace relayout::execute {

using namespace graph;

namespace {

Draft draft_of(RandomNode& out, Random& random, Kind kind, Pass pass, DType dtype) {
  Draft draft = compute_draft(out, random, kind, pass, dtype);
  if (draft.src.empty()) draft = pointwise_draft(out, random, kind, pass, dtype);
  return draft.src.empty() ? array_draft(out, random, kind, dtype) : draft;
}

std::vector<std::string> words_of(std::string_view list) {
  std::istringstream in{std::string(list)};
  std::vector<std::string> words;
  for (std::string word; in >> word;) {
    std::erase_if(word, [](char c) { return c == '[' || c == ']'; });
    words.push_back(word);
  }
  return words;
}

/// The operand of a node by its name in the signature of its pass, or kNone.
TensorId operand_called(const Node& node, const std::string& word) {
  const Signature s = signature(node.kind, node.pass);
  const std::vector<std::string> src = words_of(s.src), dst = words_of(s.dst);
  for (std::size_t i = 0; i < std::min(src.size(), node.src.size()); ++i) {
    if (src[i] == word) return node.src[i];
  }
  for (std::size_t i = 0; i < std::min(dst.size(), node.dst.size()); ++i) {
    if (dst[i] == word) return node.dst[i];
  }
  return kNone;
}

/// Adds the backward node of the last node. New inputs are the gradients of that node's destinations.
void add_backward(RandomNode& out, Random& random, Pass pass) {
  const Node forward = out.graph.nodes.back();
  const Signature s = signature(forward.kind, pass);
  Node node{.kind = forward.kind, .pass = pass, .attributes = forward.attributes, .hint = out.id};
  const bool by_dst =
      forward.kind == Kind::eltwise && forward.as<EltwiseAttributes>().algorithm >= EltwiseAlgorithm::relu_dst;
  for (const std::string& word : words_of(s.src)) {
    const bool is_gradient = word.starts_with("diff_");
    // A recurrent cell has several results. Some of their gradients may be absent.
    if (word.starts_with("diff_dst_iter") && random.one_in(3)) {
      node.src.push_back(kNone);
      continue;
    }
    const TensorId of = operand_called(forward, is_gradient ? word.substr(5) : by_dst ? "dst" : word);
    if (!is_gradient || of == kNone) {
      node.src.push_back(of);
    } else {
      const Tensor tensor = out.graph.tensor(of);
      node.src.push_back(random_source(out, tensor.dims, tensor.dtype));
    }
  }
  out.graph.add(std::move(node), static_cast<int>(words_of(s.dst).size()));
  out.id = static_cast<NodeId>(out.graph.nodes.size()) - 1;
}

}  // namespace

RandomNode random_node(Random& random, Kind kind, Pass pass, DType dtype) {
  RandomNode out;
  const Draft draft = draft_of(out, random, kind, pass, dtype);
  const bool forward = pass == Pass::forward_inference || pass == Pass::forward_training;
  Node node{
      .kind = kind, .pass = forward ? pass : Pass::forward_training, .attributes = draft.attributes, .src = draft.src};
  out.graph.add(node, draft.dsts);
  out.id = static_cast<NodeId>(out.graph.nodes.size()) - 1;
  if (!forward) add_backward(out, random, pass);
  return out;
}

}  // namespace relayout::execute
