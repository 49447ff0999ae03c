// ONNX models: checks what a model must be (opset, names, no cycle), reads its inputs and constants, and translates its
// nodes by the tables of operators, in an order in which they can run.
#include <algorithm>
#include <queue>

#include "relayout/graph/onnx/importer.h"

namespace relayout::graph::importing {
namespace {

using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;
using ::onnx::TensorShapeProto;

constexpr int64_t kFirstOpset = 7, kLastOpset = 28;

using Names = std::unordered_map<std::string_view, int>;

int64_t opset_of(const ModelProto& proto) {
  for (const auto& entry : proto.opset_import()) {
    if (!standard_domain(entry.domain())) continue;
    if (entry.version() >= kFirstOpset && entry.version() <= kLastOpset) return entry.version();
    throw Error(ErrorCode::unsupported,
                "onnx: opset " + std::to_string(entry.version()) + " is none of " + std::to_string(kFirstOpset) +
                    " to " + std::to_string(kLastOpset),
                "opset", std::to_string(entry.version()),
                std::to_string(kFirstOpset) + " to " + std::to_string(kLastOpset));
  }
  // A model may import other domains alone. It is valid, but all its operators are unknown.
  const bool of_others = proto.opset_import_size() > 0;
  throw Error(of_others ? ErrorCode::unsupported : ErrorCode::corrupt, "onnx: the model names no opset of ai.onnx",
              "opset_import");
}

void check(const Import& model, const ModelProto& proto) {
  if (!proto.has_graph()) throw Error(ErrorCode::corrupt, "onnx: the model has no graph", "graph");
  const GraphProto& graph = proto.graph();
  const int64_t count = int64_t{graph.node_size()} + graph.initializer_size();
  if (count > model.options.max_nodes) {
    throw Error(ErrorCode::limit, "onnx: " + std::to_string(count) + " nodes and initializers", "nodes",
                std::to_string(count), std::to_string(model.options.max_nodes));
  }
  if (graph.sparse_initializer_size() > 0) {
    throw Error(ErrorCode::unsupported, "onnx: sparse initializers are not read", "sparse_initializer");
  }
}

/// The value of a dim; nothing if it is symbolic, absent, or -1, which some exporters write.
std::optional<int64_t> extent_of(const TensorShapeProto::Dimension& dim, const std::string& what) {
  if (!dim.has_dim_value() || dim.dim_value() == -1) return std::nullopt;
  if (dim.dim_value() < 0) throw Error(ErrorCode::corrupt, what + " has the dim " + std::to_string(dim.dim_value()));
  return dim.dim_value();
}

const TensorShapeProto& shape_of(const ::onnx::ValueInfoProto& info, const std::string& what) {
  if (!info.type().has_tensor_type() || !info.type().tensor_type().has_shape()) {
    throw Error(ErrorCode::unsupported, what + " is no tensor of a known rank", "input", escaped(info.name()));
  }
  if (info.type().tensor_type().shape().dim_size() > kMaxDims) {
    throw Error(ErrorCode::limit, what + " has more than " + std::to_string(kMaxDims) + " dims", "dims",
                std::to_string(info.type().tensor_type().shape().dim_size()), std::to_string(kMaxDims));
  }
  return info.type().tensor_type().shape();
}

class Reader {
 public:
  Reader(Import& model, GraphProto& graph) : model_(model), graph_(graph) {}

  void run() {
    constants();
    inputs();
    stated_shapes();
    for (const NodeProto& node : graph_.node()) model_.read.merge(names_read(node));
    for (const auto& output : graph_.output()) model_.read.insert(output.name());
    for (const int at : order()) translate(model_, graph_.node(at));
    outputs();
  }

 private:
  void constants() {
    for (auto& tensor : *graph_.mutable_initializer()) {
      const std::string name = tensor.name();
      if (!model_.values.try_emplace(name, constant_of(model_, tensor, name)).second) {
        throw Error(ErrorCode::corrupt, "onnx: two initializers are called " + in_quotes(name), "initializer",
                    escaped(name));
      }
      tensor.Clear();
    }
  }

  void inputs() {
    std::unordered_set<std::string> seen;
    std::vector<OnnxInput> inputs;
    for (const auto& input : graph_.input()) {
      if (!seen.insert(input.name()).second || input.name().empty()) {
        throw Error(ErrorCode::corrupt,
                    "onnx: an input is called " + in_quotes(input.name()) + ", as another or not at all", "input",
                    escaped(input.name()));
      }
      if (model_.values.contains(input.name())) continue;
      const std::string what = "onnx: input " + in_quotes(input.name());
      const TensorShapeProto& shape = shape_of(input, what);
      OnnxInput& stated = inputs.emplace_back(
          OnnxInput{.name = input.name(), .dtype = dtype_of(input.type().tensor_type().elem_type(), what)});
      for (const auto& dim : shape.dim()) stated.dims.push_back({extent_of(dim, what), dim.dim_param()});
    }
    const std::vector<Dims> dims = bound_dims(model_, inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) add_input(inputs[i], dims[i]);
  }

  void add_input(const OnnxInput& input, const Dims& dims) {
    Value value{.dims = dims, .dtype = input.dtype};
    const auto count = checked_product(dims);
    if (!count || !bytes_for(value.dtype, *count))
      throw_too_many_bytes("onnx: input " + in_quotes(input.name), dims, value.dtype);
    value.id = model_.graph.input(input.name, dims, value.dtype);
    model_.names.insert(input.name);
    model_.values.emplace(input.name, value);
  }

  void stated_shapes() {
    for (const auto& info : graph_.value_info()) state(info);
    for (const auto& info : graph_.output()) state(info);
  }

  /// Remembers the dims and type that the model states of a value, if it states all of them.
  void state(const ::onnx::ValueInfoProto& info) {
    const auto& type = info.type().tensor_type();
    if (!info.type().has_tensor_type() || !type.has_shape() || type.shape().dim_size() > kMaxDims) return;
    const std::string what = "onnx: value " + in_quotes(info.name());
    Value value{.dtype = dtype_of(type.elem_type(), what)};
    for (int d = 0; d < type.shape().dim_size(); ++d) {
      const auto extent = extent_of(type.shape().dim(d), what);
      const auto known = model_.extents.find(type.shape().dim(d).dim_param());
      if (!extent && known != model_.extents.end()) {
        value.dims.push_back(known->second);
        continue;
      }
      const bool is_batch = d == 0 && extent.value_or(model_.file_batch) == model_.file_batch;
      if (!extent && !is_batch) return;
      value.dims.push_back(is_batch ? model_.batch : *extent);
    }
    const auto count = checked_product(value.dims);
    if (!count || !bytes_for(value.dtype, *count)) throw_too_many_bytes(what, value.dims, value.dtype);
    model_.stated.insert_or_assign(info.name(), value);
  }

  /// Which node makes each name. Error{corrupt} where two do.
  Names makers() const {
    Names out;
    for (int n = 0; n < graph_.node_size(); ++n) {
      for (const std::string& name : graph_.node(n).output()) {
        if (name.empty()) continue;
        if (model_.values.contains(name) || !out.emplace(name, n).second) {
          throw Error(ErrorCode::corrupt, "onnx: " + in_quotes(name) + " is made more than once", "output",
                      escaped(name));
        }
      }
    }
    return out;
  }

  /// The nodes in the order of the file, except that each comes after the nodes that make its sources.
  std::vector<int> order() const {
    const Names maker = makers();
    std::vector<std::vector<int>> readers(static_cast<std::size_t>(graph_.node_size()));
    std::vector<int> missing(readers.size(), 0);
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    for (int n = 0; n < graph_.node_size(); ++n) {
      const std::unordered_set<std::string> read = names_read(graph_.node(n));
      for (const std::string& name : read) {
        if (name.empty() || model_.values.contains(name)) continue;
        const auto found = maker.find(name);
        // What only a graph inside the node reads may be a value of that graph.
        if (found == maker.end() && std::ranges::count(graph_.node(n).input(), name) == 0) continue;
        if (found == maker.end()) {
          throw Error(ErrorCode::corrupt,
                      "onnx: node " + in_quotes(node_name(graph_.node(n))) + " (" + escaped(graph_.node(n).op_type()) +
                          ") reads " + in_quotes(name) + ", which nothing makes",
                      "input", escaped(name));
        }
        readers[static_cast<std::size_t>(found->second)].push_back(n);
        ++missing[static_cast<std::size_t>(n)];
      }
      if (missing[static_cast<std::size_t>(n)] == 0) ready.push(n);
    }
    std::vector<int> out;
    while (!ready.empty()) {
      out.push_back(ready.top());
      ready.pop();
      for (const int reader : readers[static_cast<std::size_t>(out.back())]) {
        if (--missing[static_cast<std::size_t>(reader)] == 0) ready.push(reader);
      }
    }
    for (std::size_t n = 0; n < missing.size(); ++n) {
      if (missing[n] == 0) continue;
      const std::string name = node_name(graph_.node(static_cast<int>(n)));
      throw Error(ErrorCode::corrupt, "onnx: node " + in_quotes(name) + " is in a cycle, or behind one", "node",
                  escaped(name));
    }
    return out;
  }

  void outputs() {
    if (graph_.output_size() == 0) throw Error(ErrorCode::corrupt, "onnx: the graph has no outputs", "output");
    for (const auto& output : graph_.output()) {
      const auto found = model_.values.find(output.name());
      if (found == model_.values.end()) {
        throw Error(ErrorCode::corrupt, "onnx: nothing makes the output " + in_quotes(output.name()), "output",
                    escaped(output.name()));
      }
      model_.graph.output(place(model_, found->second), {}, output.name());
    }
    // Tensors between the steps of one operator have no name in the model.
    for (std::size_t t = 0; t < model_.graph.tensors.size(); ++t) {
      Tensor& tensor = model_.graph.tensors[t];
      if (!tensor.name.empty() || model_.makers[t] == kNone) continue;
      tensor.name = unique_name(model_, model_.graph.node(model_.makers[t]).name + "." + std::to_string(t));
    }
  }

  Import& model_;
  GraphProto& graph_;
};

}  // namespace

void import_model(Import& model, ModelProto& proto) {
  if (model.options.batch < 0) {
    throw Error(ErrorCode::invalid_argument, "onnx: batch " + std::to_string(model.options.batch), "batch");
  }
  model.opset = opset_of(proto);
  check(model, proto);
  model.graph.pass = model.options.pass;
  for (const ::onnx::FunctionProto& function : proto.functions()) {
    model.functions.insert_or_assign({function.domain(), function.name()}, &function);
  }
  Reader(model, *proto.mutable_graph()).run();
}

}  // namespace relayout::graph::importing
