// Nodes that compute each element from those at the same index, as programs of element functions (elementwise/):
// eltwise forward, binary and sum, of all types but integers of 64 bits, in any layouts. Dims of extent 1 of a source
// repeat.
#include <algorithm>

#include "relayout/execute/own/elementwise/program.h"

namespace relayout::execute {

using graph::BinaryAlgorithm;
using graph::EltwiseAlgorithm;
using graph::Executable;
using graph::Kind;

namespace {

template <typename T>
const LaneTable<T>& lanes() {
  if constexpr (sizeof(T) == sizeof(float)) return vector_lanes();
  return plain_lanes<T>();
}

bool fits(DType dtype) { return bits(dtype) >= 8 && dtype != DType::s64 && dtype != DType::u64; }
/// Whether f32 does not hold all values of the type.
bool needs_double(DType dtype) { return dtype == DType::f64 || dtype == DType::s32 || dtype == DType::u32; }

template <typename T>
LaneProgram<T> binary_program(const OwnRequest& r) {
  const BinaryAlgorithm algorithm = r.node.as<graph::BinaryAttributes>().algorithm;
  const bool whole = algorithm == BinaryAlgorithm::div && !is_floating(r.dst_tensor().dtype);
  return {{whole ? lanes<T>().whole_quotient : lanes<T>().of(algorithm), {0, 1}}};
}

template <typename T>
LaneProgram<T> eltwise_program(const OwnRequest& r) {
  const auto& a = r.node.as<graph::EltwiseAttributes>();
  LaneStep<T> step{lanes<T>().of(a.algorithm), {0, 0}, static_cast<T>(a.alpha), static_cast<T>(a.beta)};
  if (a.algorithm == EltwiseAlgorithm::pow && a.beta == -1) step.function = lanes<T>().reciprocal;
  if (step.function == nullptr) return {};
  return {step};
}

/// ((s0 a0 + s1 a1) + s2 a2) + ...
template <typename T>
LaneProgram<T> sum_program(const OwnRequest& r) {
  const std::vector<double>& scales = r.node.as<graph::SumAttributes>().scales;
  const auto scale = [&](std::size_t i) { return static_cast<T>(i < scales.size() ? scales[i] : 1); };
  const auto count = static_cast<int>(r.node.src.size());
  LaneProgram<T> out;
  int so_far = 0;
  if (scale(0) != 1 || count == 1) {
    out.push_back({lanes<T>().of(EltwiseAlgorithm::linear), {0, 0}, scale(0), 0});
    so_far = count;
  }
  for (int i = 1; i < count; ++i) {
    out.push_back({lanes<T>().add_scaled, {so_far, i}, scale(static_cast<std::size_t>(i))});
    so_far = count + static_cast<int>(out.size()) - 1;
  }
  return out;
}

template <typename T>
std::unique_ptr<Executable> made(const OwnRequest& r) {
  LaneProgram<T> program;
  switch (r.node.kind) {
    case Kind::binary: program = binary_program<T>(r); break;
    case Kind::sum: program = sum_program<T>(r); break;
    default: program = eltwise_program<T>(r); break;
  }
  return program.empty() ? nullptr : make_program<T>(r, std::move(program));
}

}  // namespace

std::unique_ptr<Executable> make_elementwise(const OwnRequest& r) {
  if (!r.node.forward()) return nullptr;
  bool wide = needs_double(r.dst_tensor().dtype);
  if (!fits(r.dst_tensor().dtype)) return nullptr;
  for (std::size_t i = 0; i < r.node.src.size(); ++i) {
    const DType dtype = r.src_tensor(i).dtype;
    if (!fits(dtype)) return nullptr;
    wide = wide || needs_double(dtype);
  }
  return wide ? made<double>(r) : made<float>(r);
}

}  // namespace relayout::execute
