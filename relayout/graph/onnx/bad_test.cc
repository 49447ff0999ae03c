// Wrong ONNX models: cycles, names, dims and data that contradict each other, data in other files, bytes that are no
// model. Each is an error with its code, before anything is allocated for it.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "tests/support/onnx_net.h"
#include "tests/support/testing.h"

namespace relayout::graph::test {
namespace {

using relayout::test::code_of;
using relayout::test::error_of;

TEST(OnnxBad, CyclesAndMissingInputs) {
  Net cycle;
  cycle.input("x", {1}).node("Add", {"x", "b"}, {"a"}).node("Relu", {"a"}, {"b"}).output("b");
  EXPECT_EQ(code(cycle), ErrorCode::corrupt);
  EXPECT_NE(message(cycle).find("cycle"), std::string::npos);
  Net self;
  self.input("x", {1}).node("Add", {"x", "a"}, {"a"}).output("a");
  EXPECT_EQ(code(self), ErrorCode::corrupt);
  Net missing;
  missing.input("x", {1}).node("Add", {"x", "no\x1bwhere"}, {"y"}).output("y");
  EXPECT_EQ(code(missing), ErrorCode::corrupt);
  EXPECT_NE(message(missing).find("no\\x1bwhere"), std::string::npos);
  Net no_maker = relu();
  no_maker.output("z");
  EXPECT_EQ(code(no_maker), ErrorCode::corrupt);
  Net too_few;
  too_few.input("x", {1, 1, 1}).node("Conv", {"x"}, {"y"}).output("y");
  EXPECT_EQ(code(too_few), ErrorCode::corrupt);
  Net nothing;
  nothing.input("x", {1});
  EXPECT_EQ(code(nothing), ErrorCode::corrupt);
}

TEST(OnnxBad, DuplicateNames) {
  Net outputs = relu();
  outputs.node("Neg", {"x"}, {"y"});
  EXPECT_EQ(code(outputs), ErrorCode::corrupt);
  Net over_input = relu();
  over_input.node("Neg", {"y"}, {"x"});
  EXPECT_EQ(code(over_input), ErrorCode::corrupt);
  EXPECT_EQ(code(relu().input("x", {1})), ErrorCode::corrupt);
  EXPECT_EQ(code(relu().constant("w", {1}, {1}).constant("w", {1}, {2})), ErrorCode::corrupt);
  // Initializers may be inputs too, as old files have it.
  Net listed;
  listed.input("x", {2}).input("w", {2}).constant("w", {2}, {3, 4}).node("Add", {"x", "w"}, {"y"}).output("y");
  EXPECT_EQ(import(listed).graph.inputs.size(), 1u);
}

Net with_tensor(const std::function<void(::onnx::TensorProto&)>& change) {
  Net net;
  net.input("x", {2}).constant("w", {2}, {1, 2}).node("Add", {"x", "w"}, {"y"}).output("y");
  change(*net.graph().mutable_initializer(0));
  return net;
}

TEST(OnnxBad, DataOfTheWrongSize) {
  for (const std::size_t bytes : {0u, 4u, 7u, 9u, 12u}) {
    const Net net = with_tensor([&](auto& w) { w.set_raw_data(std::string(bytes, '\0')); });
    EXPECT_EQ(code(net), ErrorCode::corrupt) << bytes;
  }
  EXPECT_EQ(run(with_tensor([](auto& w) { w.set_raw_data(std::string(8, '\0')); }), {{1, 2}})[0], (Values{1, 2}));
  EXPECT_EQ(code(with_tensor([](auto& w) { w.add_float_data(3); })), ErrorCode::corrupt);
  EXPECT_EQ(code(with_tensor([](auto& w) { w.clear_float_data(); })), ErrorCode::corrupt);
  EXPECT_EQ(code(with_tensor([](auto& w) { w.set_data_type(::onnx::TensorProto::DOUBLE); })), ErrorCode::corrupt);
  const Net byte = with_tensor([](auto& w) {
    w.set_data_type(::onnx::TensorProto::UINT8);
    w.add_int32_data(1);
    w.add_int32_data(256);
  });
  EXPECT_EQ(code(byte), ErrorCode::corrupt);
}

TEST(OnnxBad, DimsThatAreHugeOrNegative) {
  constexpr int64_t kHuge = int64_t{1} << 62;
  const auto shaped = [](const Integers& dims) {
    return with_tensor([&](auto& w) {
      w.clear_dims();
      for (const int64_t dim : dims) w.add_dims(dim);
    });
  };
  EXPECT_EQ(code(shaped({kHuge, 4})), ErrorCode::overflow);
  EXPECT_EQ(code(shaped({kHuge})), ErrorCode::overflow);
  EXPECT_EQ(code(shaped({int64_t{1} << 40})), ErrorCode::corrupt);
  EXPECT_EQ(code(shaped({-2})), ErrorCode::corrupt);
  EXPECT_EQ(code(shaped(Integers(13, 1))), ErrorCode::limit);
  EXPECT_EQ(code(Net().input("x", {kHuge, 4}).node("Relu", {"x"}, {"y"}).output("y")), ErrorCode::overflow);
  for (const Net& net :
       {shaped({2, kHuge, 3}), Net().input("x", {2, kHuge, 3}).node("Relu", {"x"}, {"y"}).output("y")}) {
    const Error error = relayout::test::error_of([&] { import(net); });
    EXPECT_EQ(error.field(), "dims[1]") << error.message();
    EXPECT_EQ(error.value(), std::to_string(kHuge)) << error.message();
    EXPECT_NE(error.message().find("2 x 4611686018427387904 x 3 elements of f32"), std::string::npos)
        << error.message();
  }
  EXPECT_EQ(code(Net().input("x", {2, -5}).node("Relu", {"x"}, {"y"}).output("y")), ErrorCode::unsupported);
  EXPECT_EQ(code(Net().input("x", Integers(13, 1)).node("Relu", {"x"}, {"y"}).output("y")), ErrorCode::limit);
  // Small files can ask for huge constants.
  for (const Integers& shape : {Integers{int64_t{1} << 40}, Integers{kHuge, 4}}) {
    Net net;
    net.input("x", {1}).integers("s", shape).node("ConstantOfShape", {"s"}, {"c"}).node("Add", {"x", "c"}, {"y"});
    net.output("y");
    EXPECT_EQ(code(net), shape.size() == 1 ? ErrorCode::limit : ErrorCode::overflow);
  }
  for (const Attribute& attribute :
       {Attribute{"strides", Integers{kHuge}}, Attribute{"pads", Integers{kHuge, kHuge}},
        Attribute{"dilations", Integers{kHuge}}, Attribute{"kernel_shape", Integers{kHuge}},
        Attribute{"strides", Integers{0}}, Attribute{"strides", Integers{1, 1}}, Attribute{"pads", Integers{-1, 0}},
        Attribute{"group", int64_t{0}}, Attribute{"group", int64_t{3}}, Attribute{"auto_pad", std::string("?")},
        Attribute{"strides", 1.5}}) {
    Net net;
    net.input("x", {1, 2, 4}).constant("w", {2, 2, 1}, {1, 2, 3, 4});
    net.node("Conv", {"x", "w"}, {"y"}, {attribute}).output("y");
    EXPECT_EQ(code(net), ErrorCode::corrupt) << attribute.first;
  }
}

TEST(OnnxBad, ExternalDataOfAModelInMemoryIsNotOpened) {
  for (const char* location : {"../secret", "/etc/passwd", "weights.bin", ""}) {
    const Net net = with_tensor([&](auto& w) {
      w.clear_float_data();
      w.set_data_location(::onnx::TensorProto::EXTERNAL);
      for (const auto& [key, value] :
           {std::pair{"location", location}, std::pair{"offset", "0"}, std::pair{"length", "8"}}) {
        auto* entry = w.add_external_data();
        entry->set_key(key);
        entry->set_value(value);
      }
    });
    const Error error = error_of([&] { import(net); });
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_EQ(error.value(), location);
  }
}

TEST(OnnxBad, WhatIsNotRead) {
  EXPECT_EQ(code(with_tensor([](auto& w) { w.set_data_type(::onnx::TensorProto::STRING); })), ErrorCode::unsupported);
  EXPECT_EQ(code(with_tensor([](auto& w) { w.set_data_type(::onnx::TensorProto::COMPLEX64); })),
            ErrorCode::unsupported);
  EXPECT_EQ(code(with_tensor([](auto& w) { w.mutable_segment()->set_begin(1); })), ErrorCode::unsupported);
  Net sparse = relu();
  sparse.graph().add_sparse_initializer();
  EXPECT_EQ(code(sparse), ErrorCode::unsupported);
  Net branch = relu();
  branch.node("If", {"x"}, {"z"});
  auto* body = branch.graph().mutable_node(1)->add_attribute();
  body->set_name("then_branch");
  body->set_type(::onnx::AttributeProto::GRAPH);
  body->mutable_g();
  EXPECT_EQ(import(branch).warnings.size(), 1u);  // its condition is not known
  Net sequence = relu();
  sequence.graph().mutable_input(0)->mutable_type()->mutable_sequence_type();
  EXPECT_EQ(code(sequence), ErrorCode::unsupported);
  EXPECT_EQ(code(relu(), {.max_nodes = 0}), ErrorCode::limit);
}

TEST(OnnxBad, NestedGraphsDoNotRecurse) {
  // The bytes are built from the innermost level outwards. Each level is an attribute with a graph of one node. Field
  // numbers are those of onnx.proto: GraphProto.node 1, NodeProto.attribute 5, AttributeProto.g 6.
  const auto field = [](int number, const std::string& content) {
    std::string out(1, static_cast<char>(number << 3 | 2));
    for (std::size_t size = content.size();; size >>= 7) {
      out.push_back(static_cast<char>((size & 0x7f) | (size > 0x7f ? 0x80 : 0)));
      if (size <= 0x7f) break;
    }
    return out + content;
  };
  std::string graph;
  for (int depth = 0; depth < 10000; ++depth) graph = field(1, field(5, field(6, graph)));
  const std::string bytes = field(7, graph);
  EXPECT_EQ(code_of([&] { parse_onnx(std::as_bytes(std::span(bytes))); }), ErrorCode::corrupt);
}

TEST(OnnxBad, RandomAndTruncatedBytes) {
  std::mt19937 random(7);
  int errors = 0;
  const auto parse = [&](const std::string& bytes) {
    try {
      parse_onnx(std::as_bytes(std::span(bytes)));
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::internal);
      ++errors;
    }
  };
  for (int i = 0; i < 2000; ++i) {
    std::string bytes(random() % 64, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    parse(bytes);
  }
  EXPECT_EQ(errors, 2000);
  Net net;
  net.input("x", {1, 2, 4, 4}).constant("w", {2, 2, 1, 1}, {1, 2, 3, 4}).node("Conv", {"x", "w"}, {"a"});
  net.node("MaxPool", {"a"}, {"b"}, {{"kernel_shape", Integers{2, 2}}}).node("Flatten", {"b"}, {"y"}).output("y");
  const std::string whole = net.bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) parse(whole.substr(0, size));
  EXPECT_GT(errors, 2000);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      parse(changed);
    }
  }
}

}  // namespace
}  // namespace relayout::graph::test
