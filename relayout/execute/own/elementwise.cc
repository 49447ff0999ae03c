// Nodes that compute each element from those at the same index, as programs of element functions (elementwise/):
// eltwise and prelu forward, binary and sum, with their post-ops, in any layouts. Dims of extent 1 of a source repeat.
// What no floating type computes is integers.cc's: integers of 64 bits, remainders and bits.
#include <algorithm>
#include <numeric>

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

/// Whether the algorithm is one of whole numbers, which no floating type computes: integers.cc has it.
bool of_whole_numbers(const OwnRequest& r) {
  if (r.node.kind == Kind::eltwise) {
    return r.node.as<graph::EltwiseAttributes>().algorithm == EltwiseAlgorithm::bitwise_not;
  }
  if (r.node.kind != Kind::binary) return false;
  const BinaryAlgorithm algorithm = r.node.as<graph::BinaryAttributes>().algorithm;
  const bool rest = algorithm == BinaryAlgorithm::mod || algorithm == BinaryAlgorithm::fmod;
  return algorithm >= BinaryAlgorithm::bitwise_and || (rest && !is_floating(r.src_tensor(0).dtype));
}

/// Translates functions of elements into a program. Values have the numbers of PostOp::src.
template <typename T>
class ProgramMaker {
 public:
  /// `sources` are those of the program; `whole` says whether the values are whole numbers.
  ProgramMaker(std::size_t sources, bool whole) : whole_(whole), sources_(static_cast<int>(sources)), values_(sources) {
    std::iota(values_.begin(), values_.end(), 0);
  }

  /// Each of these appends the steps of one function; its result is the next value.
  void add(const graph::EltwiseAttributes& a, const std::vector<int>& src) {
    auto function = lanes<T>().of(a.algorithm);
    if (a.algorithm == EltwiseAlgorithm::pow && a.beta == -1) function = lanes<T>().reciprocal;
    if (a.algorithm == EltwiseAlgorithm::pow && a.beta == 0.5) function = lanes<T>().root;
    const int x = value(src[0]);
    append({function, {x, x}, static_cast<T>(a.alpha), static_cast<T>(a.beta)});
  }
  void add(const graph::BinaryAttributes& a, const std::vector<int>& src) {
    const bool quotient = a.algorithm == BinaryAlgorithm::div && whole_;
    append({quotient ? lanes<T>().whole_quotient : lanes<T>().of(a.algorithm), {value(src[0]), value(src[1])}});
  }
  void add(const graph::PreluAttributes&, const std::vector<int>& src) {
    append({lanes<T>().prelu, {value(src[0]), value(src[1])}});
  }
  /// ((s0 a0 + s1 a1) + s2 a2) + ...
  void add(const graph::SumAttributes& a, const std::vector<int>& src) {
    const auto scale = [&](std::size_t i) { return static_cast<T>(i < a.scales.size() ? a.scales[i] : 1); };
    int so_far = value(src[0]);
    if (scale(0) != 1 || src.size() == 1) {
      so_far = step({lanes<T>().of(EltwiseAlgorithm::linear), {so_far, so_far}, scale(0), 0});
    }
    for (std::size_t i = 1; i < src.size(); ++i) {
      so_far = step({lanes<T>().add_scaled, {so_far, value(src[i])}, scale(i)});
    }
    values_.push_back(so_far);
  }

  /// Empty if there is no function for one of the steps.
  LaneProgram<T> program() {
    const auto missing = [](const LaneStep<T>& step) { return step.function == nullptr; };
    if (std::ranges::any_of(program_, missing)) program_.clear();
    return std::move(program_);
  }

 private:
  int value(int number) const { return values_[static_cast<std::size_t>(number)]; }
  int step(const LaneStep<T>& step) {
    program_.push_back(step);
    return sources_ + static_cast<int>(program_.size()) - 1;
  }
  void append(const LaneStep<T>& step_of) { values_.push_back(step(step_of)); }

  bool whole_;
  int sources_;
  std::vector<int> values_;  // by number, as the program counts sources and steps
  LaneProgram<T> program_{};
};

template <typename T>
LaneProgram<T> program_of(const graph::Node& node, DType dtype) {
  ProgramMaker<T> maker(node.src.size(), !is_floating(dtype));
  std::vector<int> own(node.own_sources());
  std::iota(own.begin(), own.end(), 0);
  switch (node.kind) {
    case Kind::binary: maker.add(node.as<graph::BinaryAttributes>(), own); break;
    case Kind::prelu: maker.add(node.as<graph::PreluAttributes>(), own); break;
    case Kind::sum: maker.add(node.as<graph::SumAttributes>(), own); break;
    default: maker.add(node.as<graph::EltwiseAttributes>(), own); break;
  }
  for (const graph::PostOp& op : node.post_ops) {
    std::visit([&](const auto& function) { maker.add(function, op.src); }, op.function);
  }
  return maker.program();
}

template <typename T>
std::unique_ptr<Executable> made(const OwnRequest& r) {
  LaneProgram<T> program = program_of<T>(r.node, r.src_tensor(0).dtype);
  return program.empty() ? nullptr : make_program<T>(r, std::move(program));
}

}  // namespace

std::unique_ptr<Executable> make_elementwise(const OwnRequest& r) {
  if (!r.node.forward()) return nullptr;
  const bool integers = r.node.kind == Kind::eltwise || r.node.kind == Kind::binary;
  const auto otherwise = [&] { return integers && r.node.post_ops.empty() ? make_integers(r) : nullptr; };
  if (of_whole_numbers(r)) return otherwise();
  bool wide = needs_double(r.dst_tensor().dtype);
  if (!fits(r.dst_tensor().dtype)) return otherwise();
  for (std::size_t i = 0; i < r.node.src.size(); ++i) {
    const DType dtype = r.src_tensor(i).dtype;
    if (!fits(dtype)) return otherwise();
    wide = wide || needs_double(dtype);
  }
  return wide ? made<double>(r) : made<float>(r);
}

}  // namespace relayout::execute
