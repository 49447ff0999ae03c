// A model whose batch and sequence are open, and which computes shapes from them, as exporters of attention write it.
#pragma once

#include "tests/support/onnx_net.h"

namespace relayout::graph::test {

/// x of batch x seq x 4, and lengths of batch, in s64. y of batch x seq x 4 is the attention of two heads over the
/// steps before each sequence's length; pooled of batch x 4 is its sum over the steps. Queries, keys and values are x
/// times w.
inline Net attention_net() {
  Net net(18);
  net.input("x", {1, 1, 4}).open_dim(0, 0, "batch").open_dim(0, 1, "seq");
  net.input("lengths", {1}, ::onnx::TensorProto::INT64).open_dim(1, 0, "batch");
  Numbers weights(16);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<double>(i * 5 % 9) * 0.25 - 1;
  net.constant("w", {4, 4}, weights).constant("low", {}, {-100}).constant("high", {}, {0});
  net.integers("zero", {}, {0}).integers("one", {}, {1}).integers("first", {0}).integers("second", {1});
  net.integers("heads", {2, 2}).integers("whole", {4}).integers("keys_axes", {1}).integers("mask_axes", {1, 2});
  // The shapes: batch, seq, 2, 2 for the heads, and batch, seq, 4 without them.
  net.node("Shape", {"x"}, {"shape"}).node("Gather", {"shape", "first"}, {"batch"});
  net.node("Gather", {"shape", "second"}, {"seq"}).node("Gather", {"shape", "one"}, {"steps"});
  net.node("Concat", {"batch", "seq", "heads"}, {"by_heads"}, {{"axis", int64_t{0}}});
  net.node("Concat", {"batch", "seq", "whole"}, {"together"}, {{"axis", int64_t{0}}});
  net.node("MatMul", {"x", "w"}, {"q"}).node("Reshape", {"q", "by_heads"}, {"split"});
  net.node("Transpose", {"split"}, {"query"}, {{"perm", Integers{0, 2, 1, 3}}});
  net.node("Transpose", {"split"}, {"key"}, {{"perm", Integers{0, 2, 3, 1}}});
  // 0 where a step is before the length, and -100 behind it, which leaves it next to nothing.
  net.node("Range", {"zero", "steps", "one"}, {"positions"}).node("Unsqueeze", {"lengths", "keys_axes"}, {"ends"});
  net.node("Less", {"positions", "ends"}, {"inside"}).node("Where", {"inside", "high", "low"}, {"flat_mask"});
  net.node("Unsqueeze", {"flat_mask", "mask_axes"}, {"mask"});
  net.node("MatMul", {"query", "key"}, {"scores"}).node("Add", {"scores", "mask"}, {"masked"});
  net.node("Softmax", {"masked"}, {"shares"}, {{"axis", int64_t{-1}}}).node("MatMul", {"shares", "query"}, {"mixed"});
  net.node("Transpose", {"mixed"}, {"back"}, {{"perm", Integers{0, 2, 1, 3}}});
  net.node("Reshape", {"back", "together"}, {"y"}).output("y");
  net.node("ReduceSum", {"y", "second"}, {"pooled"}, {{"keepdims", int64_t{0}}}).output("pooled");
  return net;
}

}  // namespace relayout::graph::test
