// ONNX models for tests, written down node by node with ONNX's own classes.
//
//     Net net(13);
//     net.input("x", {1, 2}).node("Relu", {"x"}, {"y"}).output("y");
//     run(net, {{-1, 2}})                             // {{0, 2}}: what the reference makes of the import
#pragma once

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "relayout/graph/onnx/onnx.h"
#include "relayout/graph/reference/reference.h"
#include "tests/support/testing.h"

namespace relayout::graph::test {

using Texts = std::vector<std::string>;
using Integers = std::vector<int64_t>;
using Numbers = std::vector<double>;
using Attribute = std::pair<std::string, std::variant<int64_t, double, std::string, Integers, Numbers, Texts>>;

class Net {
 public:
  explicit Net(int64_t opset = 13) {
    proto.set_ir_version(7);
    proto.add_opset_import()->set_version(opset);
    proto.mutable_graph()->set_name("net");
  }

  ::onnx::ModelProto proto;
  ::onnx::GraphProto& graph() { return *proto.mutable_graph(); }

  /// An input. -1 stands for a dim without a value.
  Net& input(const std::string& name, const Integers& dims, int type = ::onnx::TensorProto::FLOAT) {
    describe(graph().add_input(), name, dims, type);
    return *this;
  }
  /// Gives a dim of an input a symbol in place of its value; "" takes away both.
  Net& open_dim(int input, int dim, const std::string& symbol) {
    auto* shape = graph().mutable_input(input)->mutable_type()->mutable_tensor_type()->mutable_shape();
    shape->mutable_dim(dim)->clear_dim_value();
    shape->mutable_dim(dim)->set_dim_param(symbol);
    return *this;
  }
  Net& output(const std::string& name) {
    graph().add_output()->set_name(name);
    return *this;
  }
  /// States dims and type of a value between nodes.
  Net& value(const std::string& name, const Integers& dims, int type = ::onnx::TensorProto::FLOAT) {
    describe(graph().add_value_info(), name, dims, type);
    return *this;
  }
  Net& constant(const std::string& name, const Integers& dims, const Numbers& values) {
    ::onnx::TensorProto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(::onnx::TensorProto::FLOAT);
    tensor.mutable_dims()->Add(dims.begin(), dims.end());
    for (const double v : values) tensor.add_float_data(static_cast<float>(v));
    return *this;
  }
  Net& integers(const std::string& name, const Integers& values) {
    return integers(name, {static_cast<int64_t>(values.size())}, values);
  }
  Net& integers(const std::string& name, const Integers& dims, const Integers& values) {
    ::onnx::TensorProto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(::onnx::TensorProto::INT64);
    tensor.mutable_dims()->Add(dims.begin(), dims.end());
    tensor.mutable_int64_data()->Add(values.begin(), values.end());
    return *this;
  }
  Net& node(const std::string& operation, const Texts& src, const Texts& dst,
            const std::vector<Attribute>& attributes = {}) {
    ::onnx::NodeProto& node = *graph().add_node();
    node.set_op_type(operation);
    node.set_name(operation + std::to_string(graph().node_size()));
    for (const std::string& name : src) node.add_input(name);
    for (const std::string& name : dst) node.add_output(name);
    for (const auto& [name, value] : attributes) set(*node.add_attribute(), name, value);
    return *this;
  }
  Net& named(const std::string& name) {
    graph().mutable_node(graph().node_size() - 1)->set_name(name);
    return *this;
  }

  std::string bytes() const { return proto.SerializeAsString(); }

 private:
  static void describe(::onnx::ValueInfoProto* info, const std::string& name, const Integers& dims, int type) {
    info->set_name(name);
    auto* tensor = info->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    tensor->mutable_shape();
    for (const int64_t dim : dims) {
      auto* entry = tensor->mutable_shape()->add_dim();
      if (dim < 0)
        entry->set_dim_param("unknown" + std::to_string(tensor->shape().dim_size()));
      else
        entry->set_dim_value(dim);
    }
  }

  static void set(::onnx::AttributeProto& attribute, const std::string& name, const Attribute::second_type& value) {
    using ::onnx::AttributeProto;
    attribute.set_name(name);
    if (const auto* i = std::get_if<int64_t>(&value)) {
      attribute.set_type(AttributeProto::INT);
      attribute.set_i(*i);
    } else if (const auto* f = std::get_if<double>(&value)) {
      attribute.set_type(AttributeProto::FLOAT);
      attribute.set_f(static_cast<float>(*f));
    } else if (const auto* s = std::get_if<std::string>(&value)) {
      attribute.set_type(AttributeProto::STRING);
      attribute.set_s(*s);
    } else if (const auto* ints = std::get_if<Integers>(&value)) {
      attribute.set_type(AttributeProto::INTS);
      attribute.mutable_ints()->Add(ints->begin(), ints->end());
    } else if (const auto* floats = std::get_if<Numbers>(&value)) {
      attribute.set_type(AttributeProto::FLOATS);
      for (const double number : *floats) attribute.add_floats(static_cast<float>(number));
    } else {
      attribute.set_type(AttributeProto::STRINGS);
      for (const std::string& text : std::get<Texts>(value)) attribute.add_strings(text);
    }
  }
};

inline OnnxModel import(const Net& net, const OnnxOptions& options = {}) {
  const std::string bytes = net.bytes();
  return parse_onnx(std::as_bytes(std::span(bytes)), options);
}

/// The outputs that the reference computes.
inline std::vector<Values> run(const OnnxModel& model, const std::vector<Values>& inputs) {
  return evaluate(model.graph, inputs);
}
inline std::vector<Values> run(const Net& net, const std::vector<Values>& inputs, const OnnxOptions& options = {}) {
  return run(import(net, options), inputs);
}

/// Dims of an output.
inline Dims dims_of(const OnnxModel& model, std::size_t output = 0) {
  return model.graph.tensor(model.graph.outputs[output]).dims;
}

inline std::vector<Kind> kinds(const Graph& graph) {
  std::vector<Kind> out;
  for (const Node& node : graph.nodes) out.push_back(node.kind);
  return out;
}

/// A model of one operator, from x to y.
inline Net one(const std::string& operation, const Integers& dims, const std::vector<Attribute>& attributes = {},
               int64_t opset = 13) {
  Net net(opset);
  net.input("x", dims).node(operation, {"x"}, {"y"}, attributes).output("y");
  return net;
}

/// Expects values within the tolerance, which is relative if the expected value is over 1.
inline void expect_near(const Values& got, const Values& expected, double tolerance = 1e-6) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i]))) << "element " << i;
  }
}

/// 1, 2, 3, ...
inline Values counted(int64_t count, double first = 1) {
  Values out;
  for (int64_t i = 0; i < count; ++i) out.push_back(first + static_cast<double>(i));
  return out;
}

/// Numbers between -1 and 1 in no order.
inline Values scattered(int64_t count, int salt = 0) {
  Values out;
  for (int64_t i = 0; i < count; ++i) out.push_back(static_cast<double>((i * 37 + salt * 11 + 5) % 41 - 20) / 20);
  return out;
}

inline Net relu(int64_t opset = 13) {
  Net net(opset);
  net.input("x", {1, 2}).node("Relu", {"x"}, {"y"}).output("y");
  return net;
}

inline ErrorCode code(const Net& net, const OnnxOptions& options = {}) {
  return relayout::test::code_of([&] { import(net, options); });
}

inline std::string message(const Net& net, const OnnxOptions& options = {}) {
  return relayout::test::error_of([&] { import(net, options); }).message();
}

}  // namespace relayout::graph::test
