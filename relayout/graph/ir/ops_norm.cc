// Normalizations over channels, neighbours or the last dims, and softmax.
#include "relayout/core/overflow.h"
#include "relayout/graph/ir/ops_families.h"

namespace relayout::graph {
namespace {

/// scale, shift, mean and variance: one dim, floating.
void check_vector(const Operands& of, int i, std::string_view operand, int64_t extent) {
  of.expect_dims(i, operand, {extent});
  if (of.has(i) && !is_floating(of.src(i).dtype)) {
    refuse(of.node, operand, std::string(name(of.src(i).dtype)), "a floating type");
  }
}

void check_epsilon(const Node& node) {
  const double epsilon = node.as<NormalizationAttributes>().epsilon;
  if (!(epsilon >= 0)) refuse(node, "epsilon", std::to_string(epsilon), "0 or more");
}

void check_floating(const Operands& of) {
  const DType dtype = of.src(0).dtype;
  if (!is_floating(dtype)) refuse(of.node, "src", std::string(name(dtype)), "a floating type");
}

}  // namespace

Specs infer_batch_normalization(const Operands& of) {
  of.expect_rank(0, "src", 2, 5);
  check_floating(of);
  check_epsilon(of.node);
  const Tensor& src = of.src(0);
  const int64_t channels = src.dims[1];
  check_vector(of, 1, "scale", channels);
  check_vector(of, 2, "shift", channels);
  check_vector(of, 3, "mean", channels);
  check_vector(of, 4, "variance", channels);
  return of.node.pass == Pass::forward_training
             ? Specs{{src.dims, src.dtype}, {{channels}, DType::f32}, {{channels}, DType::f32}}
             : Specs{{src.dims, src.dtype}};
}

Specs infer_layer_normalization(const Operands& of) {
  of.expect_rank(0, "src", 1, kMaxDims);
  check_floating(of);
  check_epsilon(of.node);
  const Tensor& src = of.src(0);
  const int axis = checked_axis(of.node, "axis", of.node.as<NormalizationAttributes>().axis, src.dims.size());
  Dims outer, inner;
  for (int d = 0; d < src.dims.size(); ++d) (d < axis ? outer : inner).push_back(src.dims[d]);
  const auto extent = checked_product(inner), vectors = checked_product(outer);
  if (!extent || !vectors) {
    refuse(of.node, "src", join(src.dims),
           "elements whose number fits 63 bits; " + largest_dim_text(src.dims, src.dims), ErrorCode::overflow);
  }
  check_vector(of, 1, "scale", *extent);
  check_vector(of, 2, "shift", *extent);
  if (of.dsts == 2) refuse(of.node, "dst", "2 operands", "1, or 3 with mean and variance");
  return {{src.dims, src.dtype}, {{*vectors}, DType::f32}, {{*vectors}, DType::f32}};
}

Specs infer_lrn(const Operands& of) {
  of.expect_rank(0, "src", 2, 5);
  check_floating(of);
  const int64_t size = of.node.as<LrnAttributes>().size;
  if (size < 1) refuse(of.node, "size", std::to_string(size), "1 or more");
  return {{of.src(0).dims, of.src(0).dtype}};
}

Specs infer_softmax(const Operands& of) {
  check_floating(of);
  const auto& a = of.node.as<SoftmaxAttributes>();
  checked_axis(of.node, "axis", a.axis, of.src(0).dims.size());
  if (a.log && a.masked_rows_give_zero) refuse(of.node, "masked_rows_give_zero", "true", "false with log");
  return {{of.src(0).dims, of.src(0).dtype}};
}

}  // namespace relayout::graph
