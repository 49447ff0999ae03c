// The insides of ONNX import: the values of a model while it becomes a Graph, and one operator that is translated.
//
// An ONNX value is either a tensor of the graph or a constant whose data is known at import. The functions on values
// (values.cc, fold.cc) add a node for a tensor and compute the result for a constant. So each operator is written once,
// and the nodes with which exporters compute shapes (Shape, Gather, Concat, Reshape) leave nothing in the graph. Each
// family of operators has a table in its file ops_*.cc; an operator is a function that reads its Op and sets its
// outputs.
//
//     void relu(Op& op) { op.set(0, op.add(Kind::eltwise, EltwiseAttributes{}, {op.input(0)})); }
#pragma once

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "relayout/graph/onnx/onnx.h"

namespace relayout::graph::importing {

/// A value of the model. `data` is null unless the value is a constant. A constant gets a tensor in the graph (`id`)
/// only when a node of the graph reads it.
struct Value {
  TensorId id = kNone;
  Dims dims;
  DType dtype = DType::f32;
  ConstantData data;
  /// What a constant's tensor will be called.
  std::string name;

  bool constant() const { return data != nullptr; }
  int rank() const { return dims.size(); }
};

/// An operator throws this, before it adds any node, where no kind of the graph computes what it means. The operator
/// then becomes a barrier.
struct NotExpressible {
  std::string reason;
};

struct Import {
  OnnxOptions options;
  Graph graph;
  int64_t opset = 0;
  std::vector<std::string> warnings;
  std::unordered_map<std::string, Value> values;
  /// Dims and types that the model states for values between operators.
  std::unordered_map<std::string, Value> stated;
  /// Values whose dims are guesses, because an unknown operator made them or something that they are computed from.
  /// Each is kept with that operator's warning.
  std::unordered_map<std::string, std::string> guessed;
  /// Names that some operator or output reads.
  std::unordered_set<std::string> read;
  /// The first dim of the inputs in the file, and the one that replaces it (OnnxOptions::batch). They are equal where
  /// the file leaves it open.
  int64_t file_batch = 1, batch = 1;
  /// The extents of dims that have none in the file, by their symbols.
  std::unordered_map<std::string, int64_t> extents;
  /// Bytes of the constants that operators made; OnnxOptions::max_file_bytes limits them.
  int64_t made_bytes = 0;
  /// The tensors of constants that have one already, by the constant's data and dims.
  std::map<std::pair<const void*, std::vector<int64_t>>, TensorId> placed;
  /// The node that makes each tensor of the graph, or kNone.
  std::vector<NodeId> makers;
  std::unordered_set<std::string> names;
  /// The model's own functions, by domain and name.
  std::map<std::pair<std::string, std::string>, const ::onnx::FunctionProto*> functions;
  /// How deep functions and graphs are inside each other, and how many of their nodes were translated.
  int depth = 0;
  int64_t inlined = 0;
  /// The folder of the file, where constants may have their data in files of their own; empty for a model in memory.
  std::filesystem::path folder;
  /// Bytes that were read from them; OnnxOptions::max_file_bytes limits them.
  int64_t external_bytes = 0;
};

/// One node of the model being translated.
class Op {
 public:
  Op(Import& model, const ::onnx::NodeProto& node, std::string name);

  Import& model;
  const ::onnx::NodeProto& node;
  /// The node's name, or that of its first output.
  const std::string name;
  /// Whether nodes of few constants are computed at once, see fold_node().
  bool folds = true;

  int inputs() const { return node.input_size(); }
  bool has(int i) const { return i < node.input_size() && !node.input(i).empty(); }
  /// Source i. Error{corrupt} where it is absent.
  const Value& input(int i) const;
  const Value* optional(int i) const { return has(i) ? &input(i) : nullptr; }
  /// The values of source i, which must be a constant; NotExpressible where it is computed at run time.
  std::vector<int64_t> integers_of(int i) const;
  std::vector<double> numbers_of(int i) const;

  /// Attributes, or their default where absent. Error{corrupt} where one has another type.
  int64_t integer(std::string_view attribute, int64_t otherwise) const;
  double number(std::string_view attribute, double otherwise) const;
  std::string text(std::string_view attribute, std::string_view otherwise) const;
  std::optional<std::vector<int64_t>> integers(std::string_view attribute) const;
  std::vector<double> numbers(std::string_view attribute) const;
  std::vector<std::string> texts(std::string_view attribute) const;
  const ::onnx::AttributeProto* find(std::string_view attribute) const;
  /// An axis of `rank` dims, counted from the end where negative. Error{corrupt} out of range.
  int axis(int64_t value, int rank) const;

  int outputs() const { return node.output_size(); }
  /// Whether anybody reads output i.
  bool wanted(int i) const;
  void set(int i, Value value);

  /// Adds a node with one destination, or with `dsts`. A source that has neither an id nor data is absent. Where all
  /// sources are constants of few elements, no node is added: the destinations are constants too.
  Value add(Kind kind, NodeAttributes attributes, const std::vector<Value>& src);
  std::vector<Value> add(Kind kind, NodeAttributes attributes, const std::vector<Value>& src, int dsts);
  /// The same, with a destination of that type.
  Value add(Kind kind, NodeAttributes attributes, const std::vector<Value>& src, DType dtype);

  [[noreturn]] void corrupt(const std::string& what) const;

 private:
  int added_ = 0;
};

/// The node's name, or that of its first output.
std::string node_name(const ::onnx::NodeProto& node);
std::string in_quotes(std::string_view text);
bool standard_domain(const std::string& domain);
/// Translates a node of the model: adds what it computes, or a barrier (translate.cc).
void translate(Import& model, const ::onnx::NodeProto& node);
/// All names that a node reads, those that graphs inside it read too (ops_control.cc).
std::unordered_set<std::string> names_read(const ::onnx::NodeProto& node);
/// Counts nodes that functions, branches, loops and steps add against OnnxOptions::max_nodes. Error{limit} beyond it.
void count_steps(Op& op, int64_t count);
/// Translates the body of the model's own function that the node calls; false if it calls none.
bool inline_function(Op& op);

/// `wanted`; where another tensor has that name already, `wanted` with a number behind it.
std::string unique_name(Import& model, const std::string& wanted);
/// The tensor of the graph that holds a value. A constant that has none yet gets one.
TensorId place(Import& model, const Value& value);
/// The node that makes a tensor, if it is of that kind; else null.
const Node* maker(const Import& model, TensorId tensor, Kind kind);

// Functions on values. Errors: corrupt (dims that do not fit), limit (constants made beyond max_file_bytes).

/// The same elements in other dims. A reshape of a transpose of a reshape that shuffles channels becomes one shuffle.
Value reshape(Op& op, const Value& value, const Dims& dims);
/// The value with dims of extent 1 put before its own, so that it has `rank` dims.
Value with_rank(Op& op, const Value& value, int rank);
/// The value with all its spatial dims as one, if it has more than the three that primitives take.
Value few_dims(Op& op, const Value& value);
Value transpose(Op& op, const Value& value, std::vector<int> order);
/// The indices that SliceAttributes describes.
Value slice(Op& op, const Value& value, const SliceAttributes& range);
Value concat(Op& op, const std::vector<Value>& values, int axis);
Value broadcast(Op& op, const Value& value, const Dims& dims);
Value gather(Op& op, const Value& data, const Value& indices, int axis);
/// alpha * x + beta.
Value linear(Op& op, const Value& value, double alpha, double beta);
/// factor * x, also where that is -0: nothing is added, while x + 0 is 0 for -0.
Value multiplied(Op& op, const Value& value, double factor);
/// condition ? a : b, element by element, with dims that repeat.
Value select(Op& op, const Value& condition, const Value& a, const Value& b);
/// The value in that type. Floating numbers become integers by truncation, integers narrower ones by their low bits.
Value cast(Op& op, const Value& value, DType dtype);
Value eltwise(Op& op, const Value& value, EltwiseAlgorithm algorithm, double alpha = 0, double beta = 0);
Value reduce(Op& op, const Value& value, ReductionAlgorithm algorithm, std::vector<int> axes);
/// The convolution of a source and weights O I/G spatial, by the attributes of Conv; `bias` may be absent.
Value convolve(Op& op, const Value& src, const Value& weights, const Value& bias);
/// A constant of one number in that type.
Value scalar(double number, DType dtype);
/// a op b, element by element. Comparisons and logic give bool. Dims of extent 1, and leading dims that one side lacks,
/// repeat.
Value binary(Op& op, const Value& a, const Value& b, BinaryAlgorithm algorithm);
/// One GELU node, if the product is a GELU written out (gelu.cc); else the product itself.
Value with_gelu(Op& op, const Value& product);
/// The dims of a and b together. Error{corrupt} where they do not fit.
Dims broadcast_dims(const Op& op, const Dims& a, const Dims& b);

// Constants (tensors.cc, fold.cc).

/// The type of that number in TensorProto. Error{unsupported} for strings, complex numbers and others.
DType dtype_of(int data_type, const std::string& what);
/// A tensor of the file. Errors: corrupt (data of the wrong size, negative dims), unsupported (types), limit, overflow;
/// and those of external_data().
Value constant_of(Import& model, const ::onnx::TensorProto& tensor, const std::string& name);
/// The bytes of a tensor that the model keeps in another file (external_data.cc). Errors: unsupported (a file that is
/// not in the model's folder or below), io, corrupt (not so many bytes), limit.
ConstantData external_data(Import& model, const ::onnx::TensorProto& tensor, int64_t bytes, const std::string& what);
Value integer_constant(const Dims& dims, std::span<const int64_t> values, DType dtype = DType::s64);
Value number_constant(const Dims& dims, std::span<const double> values, DType dtype = DType::f32);
std::vector<int64_t> integers_of(const Value& constant);
std::vector<double> numbers_of(const Value& constant);
/// The value of a floating constant that has one element; nothing for any other value.
std::optional<double> scalar_of(const Value& value);
/// A constant of `dims` whose element at each index is the source's element number offset + sum of index * stride.
Value strided_copy(Import& model, const Value& constant, const Dims& dims, const Dims& strides, int64_t offset);
Value concat_constants(Import& model, const std::vector<Value>& values, int axis, const Dims& dims);
Value gather_constant(Op& op, const Value& data, const Value& indices, int axis, const Dims& dims);
/// The result of an operation on two constants; nothing if one is not constant or the result has many elements.
std::optional<Value> fold_binary(const Op& op, const Value& a, const Value& b, std::string_view operation,
                                 const Dims& dims);
/// The destinations of a node whose sources are all constants of few elements; nothing for others. `dtype`, if given,
/// is the type of the first one.
std::optional<std::vector<Value>> fold_node(Op& op, Kind kind, const NodeAttributes& attributes,
                                            const std::vector<Value>& src, int dsts, std::optional<DType> dtype);
/// Counts the bytes of a constant that an operator makes against OnnxOptions::max_file_bytes. Error{limit} beyond it.
void charge(Import& model, DType dtype, const Dims& dims);
Dims row_major_strides(const Dims& dims);
int64_t elements_of(const Dims& dims);
/// The dims with those from `axis` on joined to one.
Dims joined(const Dims& dims, int axis);
/// Throws Error{overflow}: `what` has so many elements of the type that their bytes do not fit 63 bits; names the
/// largest dim.
[[noreturn]] void throw_too_many_bytes(const std::string& what, const Dims& dims, DType dtype);
Dims dims_of(std::span<const int64_t> values);

// Operators by family.

using Translate = void (*)(Op& op);
struct Operator {
  std::string_view name;
  Translate translate;
  /// The attributes that the operator has, and in which opsets, as words: see attributes.cc.
  std::string_view attributes = {};
};
/// Error{corrupt} if the node has an attribute that `words` do not list for the model's opset.
void check_attributes(const Op& op, std::string_view words);

std::span<const Operator> window_operators();         // convolutions and pooling
std::span<const Operator> matrix_operators();         // products of matrices
std::span<const Operator> normalization_operators();  // and softmax, dropout
std::span<const Operator> elementwise_operators();
std::span<const Operator> shape_operators();  // what moves or views data
std::span<const Operator> constant_operators();
std::span<const Operator> resize_operators();
std::span<const Operator> reduction_operators();
std::span<const Operator> rnn_operators();
std::span<const Operator> logic_operators();    // comparisons, logic, bits, tests
std::span<const Operator> cast_operators();     // and quantization
std::span<const Operator> index_operators();    // what moves elements by indices or orders them
std::span<const Operator> control_operators();  // If, Loop, Scan
std::span<const Operator> attention_operators();
std::span<const Operator> loss_operators();
std::span<const Operator> einsum_operators();
std::span<const Operator> linear_attention_operators();
std::span<const Operator> signal_operators();
std::span<const Operator> integer_operators();  // products of quantized numbers
/// All of these.
std::vector<Operator> all_operators();

/// Why an operator that no table has cannot be run (unsupported.cc).
std::string unsupported_reason(const ::onnx::NodeProto& node);

/// The dims of each input (dims.cc); sets the model's batches and extents. Errors: invalid_argument (what is said of a
/// dim contradicts something else that is, or the file; a name that no dim has), unsupported (a dim that nothing says).
std::vector<Dims> bound_dims(Import& model, std::span<const OnnxInput> inputs);

/// Fills `model.graph` from a checked model (model.cc).
void import_model(Import& model, ::onnx::ModelProto& proto);

}  // namespace relayout::graph::importing
