// ONNX operators that move or view data, shape arithmetic that folds away, and reshapes for another batch.
#include <gtest/gtest.h>

#include "tests/support/onnx_net.h"
#include "tests/support/testing.h"

namespace relayout::graph::test {
namespace {

using relayout::test::code_of;
using relayout::test::error_of;

Net reshape(const Integers& dims, const Integers& shape, bool allowzero = false) {
  Net net(14);
  net.input("x", dims).integers("s", shape);
  net.node("Reshape", {"x", "s"}, {"y"}, {{"allowzero", int64_t{allowzero}}}).output("y");
  return net;
}

TEST(OnnxReshape, ZeroMinusOneAndAllowzero) {
  EXPECT_EQ(dims_of(import(reshape({2, 3, 4}, {0, -1}))), (Dims{2, 12}));
  EXPECT_EQ(dims_of(import(reshape({2, 3, 4}, {4, 0, -1}))), (Dims{4, 3, 2}));
  EXPECT_EQ(dims_of(import(reshape({0, 3}, {3, 0}, true))), (Dims{3, 0}));
  EXPECT_EQ(dims_of(import(reshape({2, 3}, {2, 3}))), (Dims{2, 3}));
  EXPECT_TRUE(import(reshape({2, 3}, {2, 3})).graph.nodes.empty());
  for (const Integers& wrong : {Integers{5}, {-1, -1}, {-2, 3}, {4, -1}, {2, 3, 0}}) {
    EXPECT_EQ(code_of([&] { import(reshape({2, 3}, wrong)); }), ErrorCode::corrupt) << wrong.size();
  }
}

TEST(OnnxReshape, FlattenSqueezeUnsqueeze) {
  EXPECT_EQ(dims_of(import(one("Flatten", {2, 3, 4}))), (Dims{2, 12}));
  EXPECT_EQ(dims_of(import(one("Flatten", {2, 3, 4}, {{"axis", int64_t{0}}}))), (Dims{1, 24}));
  EXPECT_EQ(dims_of(import(one("Flatten", {2, 3, 4}, {{"axis", int64_t{3}}}))), (Dims{24, 1}));
  EXPECT_EQ(dims_of(import(one("Flatten", {2, 3, 4}, {{"axis", int64_t{-1}}}))), (Dims{6, 4}));
  EXPECT_EQ(dims_of(import(one("Squeeze", {1, 3, 1}))), (Dims{3}));
  EXPECT_EQ(dims_of(import(one("Squeeze", {1, 3, 1}, {{"axes", Integers{-1}}}, 11))), (Dims{1, 3}));
  EXPECT_EQ(dims_of(import(one("Unsqueeze", {3, 4}, {{"axes", Integers{-1, 0}}}, 11))), (Dims{1, 3, 4, 1}));
  EXPECT_EQ(code_of([] { import(one("Squeeze", {2, 3}, {{ "axes", Integers { 0 } }}, 11)); }), ErrorCode::corrupt);
  Net sourced(13);
  sourced.input("x", {3}).integers("axes", {0, 2}).node("Unsqueeze", {"x", "axes"}, {"y"}).output("y");
  EXPECT_EQ(dims_of(import(sourced)), (Dims{1, 3, 1}));
}

Values sliced(const Integers& starts, const Integers& ends, const Integers& axes, const Integers& steps) {
  Net net(13);
  net.input("x", {3, 4}).integers("b", starts).integers("e", ends).integers("a", axes).integers("s", steps);
  net.node("Slice", {"x", "b", "e", "a", "s"}, {"y"}).output("y");
  return run(net, {counted(12, 0)})[0];
}

TEST(OnnxSlice, EdgeCases) {
  constexpr int64_t kFar = std::numeric_limits<int64_t>::max(), kBack = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(sliced({1}, {3}, {1}, {1}), (Values{1, 2, 5, 6, 9, 10}));
  EXPECT_EQ(sliced({-2}, {kFar}, {-1}, {1}), (Values{2, 3, 6, 7, 10, 11}));
  EXPECT_EQ(sliced({0, 0}, {kFar, kFar}, {0, 1}, {2, 3}), (Values{0, 3, 8, 11}));
  EXPECT_EQ(sliced({-1}, {kBack}, {0}, {-1}), (Values{8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3}));
  EXPECT_EQ(sliced({kFar}, {0}, {1}, {-2}), (Values{3, 1, 7, 5, 11, 9}));
  EXPECT_EQ(sliced({2}, {2}, {0}, {1}), Values{});
  EXPECT_EQ(sliced({3}, {1}, {0}, {1}), Values{});
  EXPECT_EQ(sliced({0}, {kFar}, {1}, {kFar}), (Values{0, 4, 8}));
  EXPECT_EQ(sliced({-1}, {kBack}, {1}, {kBack}), (Values{3, 7, 11}));
  EXPECT_EQ(code_of([] { sliced({0}, {1}, {0}, {0}); }), ErrorCode::corrupt);
  EXPECT_EQ(code_of([] { sliced({0}, {1}, {2}, {1}); }), ErrorCode::corrupt);
  const Net attributes =
      one("Slice", {3, 4}, {{"starts", Integers{-3}}, {"ends", Integers{-1}}, {"axes", Integers{1}}}, 9);
  EXPECT_EQ(run(attributes, {counted(12, 0)})[0], (Values{1, 2, 5, 6, 9, 10}));
}

TEST(OnnxSplit, PartsByEveryWay) {
  const auto parts = [](Net net, int count) {
    net.input("x", {1, 5});
    Texts names;
    for (int i = 0; i < count; ++i) names.push_back("y" + std::to_string(i));
    Texts src = {"x"};
    if (net.graph().initializer_size() > 0) src.push_back("s");
    std::vector<Attribute> attributes = {{"axis", int64_t{1}}};
    if (net.proto.opset_import(0).version() >= 18) attributes.push_back({"num_outputs", int64_t{count}});
    net.node("Split", src, names, attributes);
    for (const std::string& name : names) net.output(name);
    return run(net, {counted(5)});
  };
  EXPECT_EQ(parts(Net(13).integers("s", {2, 3}), 2), (std::vector<Values>{{1, 2}, {3, 4, 5}}));
  EXPECT_EQ(parts(Net(18), 2), (std::vector<Values>{{1, 2, 3}, {4, 5}}));
  EXPECT_EQ(code_of([&] { parts(Net(13), 2); }), ErrorCode::corrupt);
  EXPECT_EQ(code_of([&] { parts(Net(13).integers("s", {2, 2}), 2); }), ErrorCode::corrupt);
}

TEST(OnnxPad, ModesAndNegativePads) {
  const auto padded = [](const Integers& pads, const char* mode) {
    Net net(13);
    net.input("x", {1, 3}).integers("p", pads).constant("v", {}, {9});
    net.node("Pad", {"x", "p", "v"}, {"y"}, {{"mode", std::string(mode)}}).output("y");
    return run(net, {counted(3)})[0];
  };
  EXPECT_EQ(padded({0, 1, 0, 2}, "constant"), (Values{9, 1, 2, 3, 9, 9}));
  EXPECT_EQ(padded({0, 1, 0, 2}, "edge"), (Values{1, 1, 2, 3, 3, 3}));
  EXPECT_EQ(padded({0, 2, 0, 1}, "reflect"), (Values{3, 2, 1, 2, 3, 2}));
  EXPECT_EQ(padded({0, -1, 0, 1}, "constant"), (Values{2, 3, 9}));
  EXPECT_EQ(padded({0, -1, 0, -1}, "constant"), (Values{2}));
  EXPECT_EQ(code_of([&] { padded({0, -2, 0, -2}, "constant"); }), ErrorCode::corrupt);
  EXPECT_EQ(code_of([&] { padded({0, 1, 0}, "constant"); }), ErrorCode::corrupt);
  const Net attributes = one("Pad", {2}, {{"pads", Integers{1, 0}}, {"value", 5.0}}, 10);
  EXPECT_EQ(run(attributes, {{1, 2}})[0], (Values{5, 1, 2}));
}

TEST(OnnxMove, ConcatTransposeExpandGather) {
  Net concat;
  concat.input("a", {1, 2}).input("b", {1, 1}).node("Concat", {"a", "b"}, {"y"}, {{"axis", int64_t{-1}}}).output("y");
  EXPECT_EQ(run(concat, {{1, 2}, {3}})[0], (Values{1, 2, 3}));
  EXPECT_EQ(run(one("Transpose", {2, 3}), {counted(6)})[0], (Values{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(code_of([] { import(one("Transpose", {2, 3}, {{ "perm", Integers { 0, 0 } }})); }), ErrorCode::corrupt);

  Net expand;
  expand.input("x", {2, 1}).integers("s", {2, 1, 2}).node("Expand", {"x", "s"}, {"y"}).output("y");
  EXPECT_EQ(dims_of(import(expand)), (Dims{2, 2, 2}));
  EXPECT_EQ(run(expand, {{1, 2}})[0], (Values{1, 1, 2, 2, 1, 1, 2, 2}));

  const auto gather = [](const Integers& dims, const Integers& indices) {
    Net net;
    net.input("x", {3, 2}).integers("i", dims, indices);
    net.node("Gather", {"x", "i"}, {"y"}, {{"axis", int64_t{0}}}).output("y");
    return net;
  };
  EXPECT_EQ(run(gather({2}, {2, -3}), {counted(6)})[0], (Values{5, 6, 1, 2}));
  EXPECT_EQ(run(gather({}, {-1}), {counted(6)})[0], (Values{5, 6}));
  EXPECT_EQ(dims_of(import(gather({}, {1}))), Dims{2});
  EXPECT_EQ(code_of([&] { import(gather({}, {3})); }), ErrorCode::corrupt);
}

TEST(OnnxMove, SpaceAndDepth) {
  // The specification's example of DepthToSpace, but smaller: 8 channels of 1 x 2.
  const Values x = counted(16, 0);
  const Values dcr = run(one("DepthToSpace", {1, 8, 1, 2}, {{"blocksize", int64_t{2}}}), {x})[0];
  EXPECT_EQ(dcr, (Values{0, 4, 1, 5, 8, 12, 9, 13, 2, 6, 3, 7, 10, 14, 11, 15}));
  const Values crd =
      run(one("DepthToSpace", {1, 8, 1, 2}, {{"blocksize", int64_t{2}}, {"mode", std::string("CRD")}}), {x})[0];
  EXPECT_EQ(crd, (Values{0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15}));
  EXPECT_EQ(run(one("SpaceToDepth", {1, 2, 2, 4}, {{"blocksize", int64_t{2}}}), {dcr})[0], x);
}

TEST(OnnxMove, ChannelShuffleIsOneNode) {
  Net net;
  net.input("x", {1, 6, 2, 1}).integers("split", {1, 2, 3, 2, 1}).integers("joined", {1, 6, 2, 1});
  net.node("Reshape", {"x", "split"}, {"a"}).node("Transpose", {"a"}, {"b"}, {{"perm", Integers{0, 2, 1, 3, 4}}});
  net.node("Reshape", {"b", "joined"}, {"y"}).output("y");
  const OnnxModel model = import(net);
  ASSERT_EQ(kinds(model.graph), std::vector{Kind::shuffle});
  EXPECT_EQ(model.graph.nodes[0].as<ShuffleAttributes>().groups, 2);
  EXPECT_EQ(run(model, {counted(12)})[0], (Values{1, 2, 7, 8, 3, 4, 9, 10, 5, 6, 11, 12}));
  // For a batch of 3, the constant shapes change with it.
  EXPECT_EQ(kinds(import(net, {.batch = 3}).graph), std::vector{Kind::shuffle});
}

TEST(OnnxFold, ShapeArithmeticLeavesNoNodes) {
  // Exporters write view(x.size(0), x.size(1) * x.size(2), -1) like this.
  Net net;
  net.input("x", {2, 3, 4, 5}).integers("zero", {}, {0}).integers("one", {}, {1}).integers("two", {}, {2});
  net.integers("last", {-1}).integers("axes", {0});
  net.node("Shape", {"x"}, {"dims"});
  for (const char* at : {"zero", "one", "two"}) {
    net.node("Gather", {"dims", at}, {std::string("g") + at});
  }
  net.node("Mul", {"gone", "gtwo"}, {"product"}).node("Unsqueeze", {"gzero", "axes"}, {"u0"});
  net.node("Unsqueeze", {"product", "axes"}, {"u1"});
  net.node("Cast", {"u1"}, {"c1"}, {{"to", int64_t{::onnx::TensorProto::FLOAT}}});
  net.node("Floor", {"c1"}, {"f1"}).node("Cast", {"f1"}, {"i1"}, {{"to", int64_t{::onnx::TensorProto::INT64}}});
  net.node("Concat", {"u0", "i1", "last"}, {"shape"}, {{"axis", int64_t{0}}});
  net.node("Reshape", {"x", "shape"}, {"y"}).output("y");
  const OnnxModel model = import(net, {.batch = 7});
  EXPECT_EQ(kinds(model.graph), std::vector{Kind::reshape});
  EXPECT_EQ(dims_of(model), (Dims{7, 12, 5}));
}

TEST(OnnxFold, ConstantsOfEveryMaker) {
  Net net;
  net.input("x", {2, 3});
  ::onnx::TensorProto two;
  two.add_dims(1);
  two.set_data_type(::onnx::TensorProto::FLOAT);
  two.add_float_data(2);
  net.integers("shape", {2, 3}).node("ConstantOfShape", {"shape"}, {"twos"});
  auto* value = net.graph().mutable_node(0)->add_attribute();
  value->set_name("value");
  value->set_type(::onnx::AttributeProto::TENSOR);
  *value->mutable_t() = two;
  net.integers("start", {}, {1}).integers("limit", {}, {7}).integers("delta", {}, {2});
  net.node("Range", {"start", "limit", "delta"}, {"range"});
  net.node("Cast", {"range"}, {"floats"}, {{"to", int64_t{1}}}).node("Mul", {"twos", "floats"}, {"scaled"});
  net.node("Constant", {}, {"half"}, {{"value_float", 0.5}}).node("Mul", {"scaled", "half"}, {"row"});
  net.node("Add", {"x", "row"}, {"y"}).output("y");
  const OnnxModel model = import(net);
  EXPECT_EQ(kinds(model.graph), std::vector{Kind::binary});
  EXPECT_EQ(run(model, {{0, 0, 0, 10, 10, 10}})[0], (Values{1, 3, 5, 11, 13, 15}));
}

TEST(OnnxFold, IntegersDivideAsOnnxDoesAndOverflowIsAnError) {
  const auto folded = [](const char* operation, int64_t a, int64_t b) {
    Net net;
    net.input("x", {1}).integers("a", {a}).integers("b", {b}).node(operation, {"a", "b"}, {"y"}).output("y");
    return values_of(import(net).graph.tensor(import(net).graph.outputs[0]))[0];
  };
  EXPECT_EQ(folded("Div", 7, 2), 3);
  EXPECT_EQ(folded("Div", -7, 2), -3);
  EXPECT_EQ(folded("Mod", -7, 2), 1);
  EXPECT_EQ(folded("Sub", 3, 5), -2);
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(code_of([&] { folded("Mul", kMost, 2); }), ErrorCode::overflow);
  EXPECT_EQ(code_of([&] { folded("Add", kMost, 1); }), ErrorCode::overflow);
  EXPECT_EQ(code_of([&] { folded("Div", kLeast, -1); }), ErrorCode::overflow);
  EXPECT_EQ(code_of([&] { folded("Div", 1, 0); }), ErrorCode::corrupt);
  const Error product = error_of([&] { folded("Mul", 2, kMost); });
  EXPECT_NE(product.message().find("Mul of 2 and 9223372036854775807"), std::string::npos) << product.message();
  EXPECT_EQ(product.value(), std::to_string(kMost));
}

TEST(OnnxFold, ReducedShapes) {
  const auto reduced = [](const char* operation, const Integers& values) {
    Net net;
    net.input("x", {1}).integers("a", values).node(operation, {"a"}, {"y"}, {{"keepdims", int64_t{0}}}).output("y");
    const OnnxModel model = import(net);
    EXPECT_TRUE(model.graph.nodes.empty());
    return values_of(model.graph.tensor(model.graph.outputs[0]))[0];
  };
  EXPECT_EQ(reduced("ReduceProd", {2, 3, 4}), 24);
  EXPECT_EQ(reduced("ReduceSum", {2, 3, 4}), 9);
  EXPECT_EQ(reduced("ReduceMax", {2, 5, 4}), 5);
  EXPECT_EQ(reduced("ReduceMin", {2, 5, 4}), 2);
  EXPECT_EQ(code_of([&] { reduced("ReduceProd", {int64_t{1} << 40, int64_t{1} << 40}); }), ErrorCode::overflow);
  const Error product = error_of([&] { reduced("ReduceProd", {3, int64_t{1} << 62, 5}); });
  EXPECT_NE(product.message().find("the product of 3,4611686018427387904,5 overflows 64 bits; value 1 "
                                   "(4611686018427387904) is the largest"),
            std::string::npos)
      << product.message();
}

TEST(OnnxBatch, TakesThePlaceOfTheFilesInReshapes) {
  EXPECT_EQ(dims_of(import(reshape({1, 6, 2, 2}, {1, 2, 3, 2, 2}), {.batch = 8})), (Dims{8, 2, 3, 2, 2}));
  EXPECT_EQ(dims_of(import(reshape({1, 6, 2, 2}, {1, -1}), {.batch = 8})), (Dims{8, 24}));
  EXPECT_EQ(dims_of(import(reshape({2, 6}, {2, -1, 3}), {.batch = 5})), (Dims{5, 2, 3}));
  // Each image has several rows.
  EXPECT_EQ(dims_of(import(reshape({2, 6}, {4, 3}), {.batch = 5})), (Dims{10, 3}));
  // Here -1 is the batch, and the first 1 is not.
  EXPECT_EQ(dims_of(import(reshape({1, 6}, {1, -1, 6}), {.batch = 8})), (Dims{1, 8, 6}));
  EXPECT_EQ(dims_of(import(reshape({1, 6}, {-1, 3}), {.batch = 8})), (Dims{16, 3}));
  EXPECT_EQ(dims_of(import(reshape({1, 6}, {0, 3, 2}), {.batch = 8})), (Dims{8, 3, 2}));
  EXPECT_EQ(code_of([] { import(reshape({1, 6}, {1, 5}), {.batch = 8}); }), ErrorCode::corrupt);
}

}  // namespace
}  // namespace relayout::graph::test
