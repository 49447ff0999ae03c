// Fuzzes ONNX models. An accepted model gives a graph whose nodes stand in order, whose constants have all their bytes,
// and whose tensors have unique names. Every other input is an Error.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <unordered_set>

#include "relayout/core/error.h"
#include "relayout/graph/onnx/onnx.h"

namespace {

using relayout::graph::Graph;
using relayout::graph::Node;
using relayout::graph::Tensor;
using relayout::graph::TensorId;

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const Graph& graph) {
  std::unordered_set<std::string> names;
  std::vector<bool> made;
  for (const Tensor& tensor : graph.tensors) {
    require(!tensor.name.empty() && names.insert(tensor.name).second);
    made.push_back(tensor.constant());
    const auto elements = relayout::checked_product(tensor.dims);
    const auto bytes = elements ? relayout::bytes_for(tensor.dtype, *elements) : std::nullopt;
    require(bytes.has_value());
    if (tensor.constant()) require(*bytes == static_cast<int64_t>(tensor.data->size()));
  }
  const auto at = [&](TensorId id) {
    require(id >= 0 && static_cast<std::size_t>(id) < made.size());
    return static_cast<std::size_t>(id);
  };
  for (const TensorId id : graph.inputs) made[at(id)] = true;
  for (const Node& node : graph.nodes) {
    for (const TensorId id : node.src) require(id == relayout::graph::kNone || made[at(id)]);
    for (const TensorId id : node.dst) {
      if (id == relayout::graph::kNone) continue;
      require(!made[at(id)]);
      made[at(id)] = true;
    }
  }
  for (const TensorId id : graph.outputs) require(made[at(id)]);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  for (const int64_t batch : {0, 3}) {
    try {
      const relayout::graph::OnnxOptions options{.batch = batch,
                                                 .unknown_extent = 5,
                                                 .random_weights = static_cast<uint64_t>(batch),
                                                 .max_file_bytes = int64_t{1} << 20,
                                                 .max_nodes = 1000};
      check(relayout::graph::parse_onnx(std::as_bytes(std::span(data, size)), options).graph);
    } catch (const relayout::Error& error) {
      require(error.code() != relayout::ErrorCode::internal);
    }
  }
  return 0;
}
