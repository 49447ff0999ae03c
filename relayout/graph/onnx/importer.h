// ONNX import, from within: the values of a model while it becomes a Graph, and one operator being translated.
//
// An ONNX value is either a tensor of the graph or a constant whose data is at hand. The functions on values
// (onnx_values .cc, onnx_fold.cc) add a node for the former and compute with the latter, so that operators are written
// once and the shape arithmetic of exporters (Shape, Gather, Concat, Reshape) is gone when it is read. Operators are
// tables by family, onnx_ops_*.cc: a function each, that reads its Op and sets its outputs.
//
//     void relu(Op& op) { op.set(0, op.add(Kind::eltwise, EltwiseAttributes{}, {op.input(0)})); }
#pragma once

#include <onnx/onnx_pb.h>

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

/// Data is null unless it is a constant; a constant is a tensor of the graph only once an operator needs it there.
struct Value {
  TensorId id = kNone;
  Dims dims;
  DType dtype = DType::f32;
  ConstantData data;
  /// Of a constant: what its tensor will be called.
  std::string name;

  bool constant() const { return data != nullptr; }
  int rank() const { return dims.size(); }
};

/// Thrown by an operator, before it adds anything, in a form that no kind expresses: it becomes a barrier.
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
  /// Names that some operator or output reads.
  std::unordered_set<std::string> read;
  /// The first dim of the inputs as the file has it, and as it is now.
  int64_t file_batch = 1, batch = 1;
  /// Bytes of constants that operators made, against OnnxOptions::max_file_bytes.
  int64_t made_bytes = 0;
  /// Constants that are tensors of the graph already, by their data and dims.
  std::map<std::pair<const void*, std::vector<int64_t>>, TensorId> placed;
  /// The node that makes each tensor of the graph, or kNone.
  std::vector<NodeId> makers;
  std::unordered_set<std::string> names;
};

/// One node of the model being translated.
class Op {
 public:
  Op(Import& model, const ::onnx::NodeProto& node, std::string name);

  Import& model;
  const ::onnx::NodeProto& node;
  /// The node's name, or that of its first output.
  const std::string name;

  int inputs() const { return node.input_size(); }
  bool has(int i) const { return i < node.input_size() && !node.input(i).empty(); }
  /// Error{corrupt} where it is absent.
  const Value& input(int i) const;
  const Value* optional(int i) const { return has(i) ? &input(i) : nullptr; }
  /// A constant's values; NotExpressible where it is computed at run time.
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

  /// Adds a node with one destination, or `dsts`. Sources without id and data are absent.
  Value add(Kind kind, NodeAttributes attributes, const std::vector<Value>& src);
  std::vector<Value> add(Kind kind, NodeAttributes attributes, const std::vector<Value>& src, int dsts);

  [[noreturn]] void corrupt(const std::string& what) const;

 private:
  int added_ = 0;
};

/// `wanted`, or something like it where a tensor is called that already.
std::string unique_name(Import& model, const std::string& wanted);
/// The tensor of the graph that a value is; a constant becomes one.
TensorId place(Import& model, const Value& value);
/// The node that makes a tensor, where it is of that kind; else null.
const Node* maker(const Import& model, TensorId tensor, Kind kind);

// Functions on values. Errors: corrupt (dims that do not fit), limit (constants made beyond max_file_bytes).

/// Same elements, other dims: constants share their data. Three nodes that shuffle channels become one.
Value reshape(Op& op, const Value& value, const Dims& dims);
/// Leading dims of extent 1 up to a rank.
Value with_rank(Op& op, const Value& value, int rank);
Value transpose(Op& op, const Value& value, std::vector<int> order);
/// As SliceAttributes.
Value slice(Op& op, const Value& value, const SliceAttributes& range);
Value concat(Op& op, const std::vector<Value>& values, int axis);
Value broadcast(Op& op, const Value& value, const Dims& dims);
Value gather(Op& op, const Value& data, const Value& indices, int axis);
/// alpha * x + beta.
Value linear(Op& op, const Value& value, double alpha, double beta);
/// Elementwise with dims of extent 1, and missing leading ones, repeated.
Value binary(Op& op, const Value& a, const Value& b, BinaryAlgorithm algorithm);
/// The dims of a and b together. Error{corrupt} where they do not fit.
Dims broadcast_dims(const Op& op, const Dims& a, const Dims& b);

// Constants (onnx_tensors.cc, onnx_fold.cc).

/// The type of that number in TensorProto. Error{unsupported} for strings, complex numbers and others.
DType dtype_of(int data_type, const std::string& what);
/// A tensor of the file. Errors: corrupt (data of the wrong size, negative dims), unsupported (external data, which is
/// never opened; types), limit, overflow.
Value constant_of(const ::onnx::TensorProto& tensor, const std::string& name);
Value integer_constant(const Dims& dims, std::span<const int64_t> values, DType dtype = DType::s64);
Value number_constant(const Dims& dims, std::span<const double> values, DType dtype = DType::f32);
std::vector<int64_t> integers_of(const Value& constant);
std::vector<double> numbers_of(const Value& constant);
/// The value of a floating constant with one element.
std::optional<double> scalar_of(const Value& value);
/// Element k of a row-major walk of `dims` is the constant's element offset + sum of index * stride.
Value strided_copy(Import& model, const Value& constant, const Dims& dims, const Dims& strides, int64_t offset);
Value concat_constants(Import& model, const std::vector<Value>& values, int axis, const Dims& dims);
Value gather_constant(Op& op, const Value& data, const Value& indices, int axis, const Dims& dims);
/// Arithmetic on constants of few elements; nothing where they are many, or are not constants.
std::optional<Value> fold_binary(const Op& op, const Value& a, const Value& b, std::string_view operation,
                                 const Dims& dims);
/// Counts bytes of constants that operators make.
void charge(Import& model, DType dtype, const Dims& dims);
Dims row_major_strides(const Dims& dims);
int64_t elements_of(const Dims& dims);
Dims dims_of(std::span<const int64_t> values);

// Operators by family.

using Translate = void (*)(Op& op);
struct Operator {
  std::string_view name;
  Translate translate;
};
std::span<const Operator> window_operators();         // convolutions and pooling
std::span<const Operator> matrix_operators();         // products of matrices
std::span<const Operator> normalization_operators();  // and softmax, dropout
std::span<const Operator> elementwise_operators();
std::span<const Operator> shape_operators();  // what moves or views data
std::span<const Operator> constant_operators();
std::span<const Operator> resize_operators();
std::span<const Operator> reduction_operators();
std::span<const Operator> rnn_operators();

/// Fills `model.graph` from a checked model (onnx_model.cc).
void import_model(Import& model, ::onnx::ModelProto& proto);

}  // namespace relayout::graph::importing
