// Nodes of ONNX models as events: see onnx_model.h.
#include "relayout/explain/onnx_model.h"

#include <algorithm>

#include "relayout/core/view.h"
#include "relayout/explain/readers/tensors.h"

namespace relayout::explaining {
namespace {

/// The two sides of a transposition, both in the dims of its source.
std::pair<TensorDesc, TensorDesc> sides(const Dims& dims, DType dtype, const std::vector<int>& perm) {
  Dims moved;
  for (const int d : perm) moved.push_back(dims[d]);
  // The result is row-major in its own dims; seen in those of the source, its strides are in their order.
  const Layout result = permute_axes(Layout::contiguous(moved), perm);
  return {TensorDesc(Layout::contiguous(dims), dtype), TensorDesc(result, dtype)};
}

Tensor named_tensor(const std::string& tensor_name, const graph::OnnxNode& node) {
  Tensor out{.name = tensor_name, .key = tensor_name};
  out.weights = std::ranges::find(node.constants, tensor_name) != node.constants.end();
  return out;
}

void describe_sides(Event& event, const graph::OnnxTranspose& transpose, const MachineTimes& machine) {
  event.perm = transpose.perm;
  event.judged = transpose.removed ? transpose.why : "";
  event.advice = transpose.removed ? "relayout explain MODEL --fix NEW.onnx writes the model without it." : "";
  if (transpose.dims.size() != static_cast<int>(transpose.perm.size())) return;
  const auto [src, dst] = sides(transpose.dims, transpose.dtype, transpose.perm);
  for (const auto& [tensor, desc, tag] : {std::tuple(&event.reads.front(), &src, plain_tag(src.layout.ndims())),
                                          std::tuple(&event.writes.front(), &dst, reordered_tag(transpose.perm))}) {
    tensor->desc = *desc;
    tensor->dims = transpose.dims;
    tensor->dtype = name(transpose.dtype);
    tensor->layout = tag;
  }
  if (!event.reads.front().weights && machine.planned_ms) event.ms = machine.planned_ms(src, dst);
}

}  // namespace

std::vector<NamedNode> named_nodes(const std::filesystem::path& model) {
  std::vector<NamedNode> out;
  for (const graph::OnnxNode& node : graph::read_onnx_nodes(model))
    out.push_back({node.name, node.op, node.inputs, node.outputs, node.constants, node.perm});
  return out;
}

Trace trace_of_model(const std::filesystem::path& model, const graph::OnnxTransposes& found,
                     const MachineTimes& machine) {
  Trace out{.system = "ONNX", .source = "model", .in_order = false, .predicted = true, .decided = true};
  int64_t place = 0;
  for (const graph::OnnxNode& node : graph::read_onnx_nodes(model)) {
    Event event{.place = ++place, .name = node.name, .kind = node.op};
    if (event.name.empty() && !node.outputs.empty()) event.name = node.outputs.front();
    for (const std::string& input : node.inputs) {
      if (!input.empty()) event.reads.push_back(named_tensor(input, node));
    }
    for (const std::string& output : node.outputs) event.writes.push_back(named_tensor(output, node));
    const auto transpose = std::ranges::find_if(found.before, [&](const graph::OnnxTranspose& t) {
      return !node.outputs.empty() && t.result == node.outputs.front();
    });
    event.reorder = transpose != found.before.end() && !event.reads.empty();
    if (event.reorder) describe_sides(event, *transpose, machine);
    out.events.push_back(std::move(event));
  }
  out.notes = found.notes;
  return out;
}

graph::TransposeCost cost_on(const MachineTimes& machine) {
  if (!machine.planned_ms) return {};
  return [planned = machine.planned_ms](const Dims& dims, DType dtype, const std::vector<int>& perm) {
    if (dims.size() != static_cast<int>(perm.size())) return 1e-3;
    const auto [src, dst] = sides(dims, dtype, perm);
    return planned(src, dst).value_or(1e-3);
  };
}

}  // namespace relayout::explaining
