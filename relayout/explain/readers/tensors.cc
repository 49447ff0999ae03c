// Tensors from what sources write of them: see tensors.h.
#include "relayout/explain/readers/tensors.h"

#include "relayout/core/format.h"

namespace relayout::explaining {
namespace {

std::optional<DType> dtype_words(const std::string& text) {
  if (text == "float") return DType::f32;  // of C, as ONNX and PyTorch call it
  try {
    return parse_dtype(text);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

Tensor described(std::string tensor_name, const std::string& expression, const std::optional<Dims>& dims,
                 const std::string& dtype) {
  Tensor out{.name = std::move(tensor_name), .layout = expression, .dtype = dtype, .dims = dims};
  const auto type = dtype_words(dtype);
  if (type) out.dtype = name(*type);
  if (!type || !dims || expression.empty()) return out;
  try {
    out.desc = TensorDesc(Format::parse(expression).bind(*dims), *type);
  } catch (const Error&) {  // a word of the source, or a rank that the tag does not have
  }
  return out;
}

Tensor strided(std::string tensor_name, const Dims& dims, const Dims& strides, const std::string& dtype) {
  Tensor out{.name = std::move(tensor_name), .layout = "strides:" + join(strides), .dtype = dtype, .dims = dims};
  const auto type = dtype_words(dtype);
  if (type) out.dtype = name(*type);
  try {
    const Layout layout = Layout::strided(dims, strides);
    if (const auto tag = tag_of(layout)) out.layout = *tag;
    if (type) out.desc = TensorDesc(layout, *type);
  } catch (const Error&) {  // of other ranks, negative, or too large
  }
  return out;
}

Tensor described_again(const Tensor& tensor, const std::string& layout, const Dims& dims) {
  Tensor out = described(tensor.name, layout, dims, tensor.dtype);
  out.key = tensor.key;
  out.weights = tensor.weights;
  return out;
}

std::optional<std::vector<int>> order_between(const Dims& from, const Dims& to) {
  if (from.size() != to.size()) return std::nullopt;
  std::vector<int> out;
  for (const int64_t extent : to) {
    int found = -1;
    for (int d = 0; d < from.size(); ++d) {
      if (from[d] != extent) continue;
      if (found >= 0) return std::nullopt;
      found = d;
    }
    if (found < 0) return std::nullopt;
    out.push_back(found);
  }
  return out;
}

std::optional<double> plausible_ms(double ms) {
  constexpr double kYear = 1e3 * 60 * 60 * 24 * 365;
  if (!(ms >= 0 && ms <= kYear)) return std::nullopt;
  return ms;
}

std::string plain_tag(int rank) {
  std::string out;
  for (int d = 0; d < rank; ++d) out += static_cast<char>('a' + d);
  return out;
}

std::string reordered_tag(const std::vector<int>& order) {
  std::string out;
  for (const int d : order) out += static_cast<char>('a' + d);
  return out;
}

}  // namespace relayout::explaining
