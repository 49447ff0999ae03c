// The letters of a tensor's dims, from the nodes that read and write it: see layout_names.h.
#include "relayout/graph/plan/layout_names.h"

#include <algorithm>
#include <cstdlib>

#include "relayout/core/format.h"
#include "relayout/graph/ir/operands.h"

namespace relayout::graph {
namespace {

/// The domain's letters for that rank, with as many of d h w as are left; empty if there are none.
std::string spatial(std::string_view head, int rank) {
  const int rest = rank - static_cast<int>(head.size());
  if (rest < 0 || rest > 3) return "";
  return std::string(head) + std::string("dhw").substr(static_cast<std::size_t>(3 - rest));
}

std::string letters_of_rnn(std::string_view operand, int rank) {
  if (operand.find("projection") != operand.npos) return "ldio";
  if (operand.find("bias") != operand.npos) return "ldgo";
  if (operand.find("weights") != operand.npos) return "ldigo";
  return rank == 3 ? "tnc" : "ldnc";
}

/// The letters of an operand in the domain of its node; empty where the node knows none.
std::string letters_of(const Node& node, const Operand& operand, int rank) {
  const bool weights = operand.name.find("weights") != operand.name.npos;
  switch (node.kind) {
    case Kind::convolution:
    case Kind::deconvolution:
      if (!weights) return spatial("nc", rank);
      return spatial(node.as<ConvolutionAttributes>().groups > 1 ? "goi" : "oi", rank);
    case Kind::inner_product: return spatial(weights ? "oi" : "nc", rank);
    case Kind::rnn: return letters_of_rnn(operand.name, rank);
    case Kind::pooling:
    case Kind::batch_normalization:
    case Kind::lrn:
    case Kind::resampling: return spatial("nc", rank);
    default: return "";
  }
}

/// Whether the node's tensors of equal rank have the same dims, in the same order.
bool keeps_dims(Kind kind) {
  switch (kind) {
    case Kind::eltwise:
    case Kind::prelu:
    case Kind::softmax:
    case Kind::layer_normalization:
    case Kind::concat:
    case Kind::sum:
    case Kind::binary:
    case Kind::shuffle:
    case Kind::reduction:
    case Kind::reorder:
    case Kind::slice:
    case Kind::pad:
    case Kind::broadcast: return true;
    default: return false;
  }
}

/// The tag in the domain's letters; nothing where the domain has no name for its order and blocks.
std::optional<std::string> in_letters(const std::string& tag, const std::string& letters) {
  std::string name = tag;
  for (char& ch : name) {
    const bool capital = ch >= 'A' && ch <= 'L';
    if (!capital && (ch < 'a' || ch > 'l')) continue;
    const char letter = letters[static_cast<std::size_t>(ch - (capital ? 'A' : 'a'))];
    ch = capital ? static_cast<char>(letter - 'a' + 'A') : letter;
  }
  const std::vector<std::string> names = aliases_of(tag);
  return std::ranges::find(names, name) != names.end() ? std::optional(name) : std::nullopt;
}

/// The same order of digits without gaps between them; the layout itself where a digit repeats elements.
Layout dense(const Layout& layout) {
  std::vector<Digits> digits;
  std::vector<std::pair<int64_t, Digit*>> order;
  for (int d = 0; d < layout.ndims(); ++d) digits.push_back(layout.digits_of(d));
  for (Digits& dim : digits) {
    for (Digit& digit : dim) {
      if (digit.extent == 1) continue;
      if (digit.stride == 0) return layout;
      order.emplace_back(std::abs(digit.stride), &digit);
    }
  }
  std::ranges::stable_sort(order, {}, &std::pair<int64_t, Digit*>::first);
  int64_t stride = 1;
  for (const auto& [old, digit] : order) {
    digit->stride = stride;
    stride *= digit->extent;
  }
  return Layout::from_digits(layout.dims(), digits, 0);
}

}  // namespace

LayoutNames::LayoutNames(const Graph& graph) : letters_(graph.tensors.size()) {
  const auto rank = [&](TensorId t) { return graph.tensor(t).dims.size(); };
  const auto at = [&](TensorId t) -> std::string& { return letters_[static_cast<std::size_t>(t)]; };
  const auto give = [&](TensorId t, std::string letters) {
    if (at(t).empty() && static_cast<int>(letters.size()) == rank(t)) at(t) = std::move(letters);
  };
  for (const Node& node : graph.nodes) {
    for (const Operand& operand : operands(node)) give(operand.tensor, letters_of(node, operand, rank(operand.tensor)));
  }
  const auto share = [&](const Node& node) {
    if (!keeps_dims(node.kind)) return;
    for (const Operand& known : operands(node)) {
      if (at(known.tensor).empty()) continue;
      for (const Operand& other : operands(node)) give(other.tensor, at(known.tensor));
    }
  };
  std::for_each(graph.nodes.begin(), graph.nodes.end(), share);
  std::for_each(graph.nodes.rbegin(), graph.nodes.rend(), share);
  for (std::size_t t = 0; t < letters_.size(); ++t) {
    const int dims = rank(static_cast<TensorId>(t));
    if (dims == 4 || dims == 5) give(static_cast<TensorId>(t), spatial("nc", dims));
  }
}

std::string LayoutNames::of(TensorId tensor, const Layout& layout, const std::optional<Opaque>& opaque) const {
  const std::string& letters = letters_[static_cast<std::size_t>(tensor)];
  if (opaque || letters.empty()) return opaque ? display_name(layout, opaque, false) : expression_of(layout);
  // Where dims of extent 1 stand is said by their strides alone, which a canonical layout lacks.
  for (const Layout& spelled : {layout.canonical(), layout}) {
    const std::optional<std::string> tag = tag_of(spelled);
    if (const auto name = tag ? in_letters(*tag, letters) : std::nullopt) return *name;
  }
  return expression_of(layout);
}

std::string LayoutNames::form(const Copy& copy) const {
  if (copy.opaque) return "opaque " + copy.opaque->name;
  const std::string name = of(copy);
  if (copy.layout.empty() || copy.layout.swizzled() || tag_of(copy.layout.canonical())) return name;
  return of(copy.tensor, dense(copy.layout));
}

}  // namespace relayout::graph
