// Arrays of recurrent weights in which gates are no axis of their own (gates.h): their dims by a format, and the hint
// of an error. A file of its own, because formats ask it, and it asks formats.
#include "relayout/core/format.h"
#include "relayout/core/gates.h"

namespace relayout {
namespace {

/// The dims of a format of recurrent weights or biases as memory has them, outermost first; nothing for other formats
/// and for blocks.
std::optional<std::vector<int>> axes_of_gates(const Format& format, std::string* letters) {
  const auto rank = format.rank();
  const Format plain = format.without_gates();
  if (!rank || *rank < 4 || !plain.views().empty()) return std::nullopt;
  *letters = plain.dim_names(*rank);
  if (!letters->starts_with("ld") || letters->find('g') == std::string::npos) return std::nullopt;
  Dims marks;
  for (int d = 0; d < *rank; ++d) marks.push_back(d + 2);
  const auto shape = plain.physical_shape(marks);
  if (!shape || shape->size() != *rank) return std::nullopt;
  std::vector<int> axes;
  for (const int64_t mark : *shape) axes.push_back(static_cast<int>(mark - 2));
  return axes;
}

}  // namespace

std::optional<Dims> dims_of_joined_gates(const Format& format, const Dims& shape, int64_t gates) {
  std::string letters;
  const auto axes = axes_of_gates(format, &letters);
  if (!axes || gates < 1) return std::nullopt;
  const auto gate_dim = static_cast<int>(letters.find('g')), out_dim = static_cast<int>(letters.find('o'));
  const int left_out = static_cast<int>(axes->size()) - 1 - shape.size();
  if (left_out < 0 || left_out > 2) return std::nullopt;
  // Arrays go without their axes of layers and directions, the dims 0 and 1, and without no others.
  for (int k = 0; k < left_out; ++k) {
    if ((*axes)[static_cast<std::size_t>(k)] > 1) return std::nullopt;
  }
  Dims dims(static_cast<int>(axes->size()), 1);
  int at = 0;
  for (std::size_t k = static_cast<std::size_t>(left_out); k < axes->size(); ++k) {
    const int d = (*axes)[k];
    if (d != gate_dim) {
      dims[d] = shape[at++];
      continue;
    }
    if (k + 1 == axes->size() || (*axes)[k + 1] != out_dim || shape[at] % gates != 0) return std::nullopt;
    dims[gate_dim] = gates;
    dims[out_dim] = shape[at++] / gates;
    ++k;
  }
  return dims;
}

bool has_joined_gates(const Format& format, const Dims& shape, const Dims& dims) {
  std::string letters;
  if (!axes_of_gates(format, &letters) || dims.size() != static_cast<int>(letters.size())) return false;
  return dims_of_joined_gates(format, shape, dims[static_cast<int>(letters.find('g'))]) == dims;
}

std::string joined_gates_hint(const Format& format, const Dims& shape) {
  std::string ways;
  for (const auto& [gates, cell] : {std::pair(4, "an LSTM"), std::pair(3, "a GRU")}) {
    if (const auto dims = dims_of_joined_gates(format, shape, gates))
      ways += (ways.empty() ? "" : ", ") + join(*dims) + " of " + cell;
  }
  if (ways.empty()) return "";
  return "; with gates and outputs as one axis, as Keras, ONNX and PyTorch have them, it has the dims " + ways +
         ": give them, or the order of the gates (;gates:iofc->ifco)";
}

}  // namespace relayout
