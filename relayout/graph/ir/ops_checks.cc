// What the families of ops share: refusals, and checks of dims, axes and lists of attributes.
#include <limits>

#include "relayout/graph/ir/ops_families.h"

namespace relayout::graph {

void refuse(const Node& node, std::string_view operand, const std::string& value, const std::string& expected,
            ErrorCode code) {
  throw Error(code,
              std::string(name(node.kind)) + " '" + escaped(node.name) + "': " + std::string(operand) + " is " +
                  (value.empty() ? "empty" : value) + ", expected " + expected,
              std::string(operand), value, expected);
}

void Operands::expect_dims(int i, std::string_view operand, const Dims& dims) const {
  if (has(i) && src(i).dims != dims) refuse(node, operand, join(src(i).dims), dims.empty() ? "a scalar" : join(dims));
}

void Operands::expect_rank(int i, std::string_view operand, int least, int most) const {
  const int rank = src(i).dims.size();
  if (rank < least || rank > most) {
    refuse(node, operand, join(src(i).dims) + " (rank " + std::to_string(rank) + ")",
           "rank " + std::to_string(least) + (least == most ? "" : " to " + std::to_string(most)));
  }
}

int64_t fitting(const Node& node, const std::string& what, Wide size, int64_t least) {
  if (size > std::numeric_limits<int64_t>::max()) {
    refuse(node, what, "over 63 bits", "at most 9223372036854775807", ErrorCode::overflow);
  }
  if (size < least) {
    const bool shown = size >= std::numeric_limits<int64_t>::min();
    refuse(node, what, shown ? std::to_string(static_cast<int64_t>(size)) : "below -9223372036854775808",
           std::to_string(least) + " or more");
  }
  return static_cast<int64_t>(size);
}

int checked_axis(const Node& node, std::string_view operand, int axis, int ndims) {
  const int out = axis < 0 ? axis + ndims : axis;
  if (out < 0 || out >= ndims) {
    refuse(
        node, operand, std::to_string(axis),
        ndims == 0 ? "none, as the operand is a scalar" : std::to_string(-ndims) + " to " + std::to_string(ndims - 1));
  }
  return out;
}

Dims filled_list(const Node& node, std::string_view operand, const Dims& list, int count, int64_t fill, int64_t least) {
  if (list.empty()) return Dims(count, fill);
  if (list.size() != count) refuse(node, operand, join(list), std::to_string(count) + " entries, or none");
  for (int64_t value : list) {
    if (value < least) refuse(node, operand, join(list), "entries of " + std::to_string(least) + " or more");
  }
  return list;
}

int64_t window_places(const Node& node, int spatial_dim, int64_t extent, int64_t kernel, int64_t stride,
                      int64_t dilation, int64_t pads) {
  const std::string where = " of spatial dim " + std::to_string(spatial_dim);
  if (kernel < 1) refuse(node, "kernel" + where, std::to_string(kernel), "1 or more");
  const int64_t reach = fitting(node, "dilated kernel" + where, Wide{kernel - 1} * dilation + 1, 1);
  const int64_t padded = fitting(node, "padded extent" + where, Wide{extent} + pads, 0);
  if (reach > padded) {
    refuse(node, "dilated kernel" + where, std::to_string(reach),
           "at most the padded extent " + std::to_string(padded));
  }
  return (padded - reach) / stride + 1;
}

}  // namespace relayout::graph
