// ONNX models as a whole: opsets, names, types of data, what cannot run, other batches, random weights, and the models
// of a folder.
#include "relayout/graph/onnx/onnx.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "relayout/graph/models/random_weights.h"
#include "tests/support/onnx_net.h"
#include "tests/support/testing.h"

namespace relayout::graph::test {
namespace {

using relayout::test::code_of;

TEST(Onnx, OpsetsSevenToTwentyEight) {
  for (int64_t opset = 7; opset <= 28; ++opset) EXPECT_EQ(import(relu(opset)).opset, opset);
  for (const int64_t opset : {int64_t{-1}, int64_t{6}, int64_t{29}, int64_t{1} << 62}) {
    EXPECT_EQ(code(relu(opset)), ErrorCode::unsupported) << opset;
  }
  EXPECT_NE(message(relu(6)).find("7 to 28"), std::string::npos);
  Net none = relu();
  none.proto.clear_opset_import();
  EXPECT_EQ(code(none), ErrorCode::corrupt);
  Net foreign = relu();
  foreign.proto.mutable_opset_import(0)->set_domain("com.example");
  EXPECT_EQ(code(foreign), ErrorCode::unsupported);
}

TEST(Onnx, ReadsFilesAndSaysWhatIsWrongWithThem) {
  EXPECT_TRUE(has_onnx());
  const std::filesystem::path path = std::filesystem::temp_directory_path() / "relayout_onnx_test.onnx";
  std::ofstream(path, std::ios::binary) << relu().bytes();
  EXPECT_EQ(read_onnx(path).graph.nodes.size(), 1u);
  EXPECT_EQ(code_of([&] { read_onnx(path, {.max_file_bytes = 8}); }), ErrorCode::limit);
  std::filesystem::remove(path);
  EXPECT_EQ(code_of([&] { read_onnx(path); }), ErrorCode::io);
  EXPECT_EQ(code_of([&] { read_onnx(std::filesystem::temp_directory_path()); }), ErrorCode::io);
}

TEST(Onnx, NamesOfTensorsAndNodesAreTheModels) {
  Net net;
  net.input("x", {1, 1, 4}).constant("w", {2, 1, 1}, {1, 2});
  net.node("Conv", {"x", "w"}, {"c"}).named("first").node("Softmax", {"c"}, {"y"}).named("").output("y");
  const Graph graph = import(net).graph;
  EXPECT_EQ(graph.tensor(graph.inputs[0]).name, "x");
  EXPECT_EQ(graph.nodes[0].name, "first");
  EXPECT_EQ(graph.tensor(graph.nodes[0].src[1]).name, "w");
  EXPECT_EQ(graph.tensor(graph.nodes[0].dst[0]).name, "c");
  EXPECT_EQ(graph.nodes[1].name, "y");
  EXPECT_EQ(graph.tensor(graph.outputs[0]).name, "y");
}

TEST(Onnx, NodesInAnyOrder) {
  Net net;
  net.input("x", {2}).node("Neg", {"b"}, {"c"}).node("Exp", {"a"}, {"b"}).node("Relu", {"x"}, {"a"}).output("c");
  EXPECT_EQ(kinds(import(net).graph).size(), 3u);
  EXPECT_NEAR(run(net, {{-1, 1}})[0][1], -std::exp(1), 1e-6);
}

TEST(OnnxBarrier, UnknownOperatorsWarnAndCannotRun) {
  Net net;
  net.input("x", {1, 3}).node("Frobnicate\x07", {"x"}, {"a"}).value("a", {1, 5}).node("Relu", {"a"}, {"y"}).output("y");
  const OnnxModel model = import(net);
  EXPECT_EQ(kinds(model.graph), (std::vector{Kind::barrier, Kind::eltwise}));
  EXPECT_EQ(dims_of(model), (Dims{1, 5}));
  ASSERT_EQ(model.warnings.size(), 1u);
  EXPECT_NE(model.warnings[0].find("Frobnicate\\x07"), std::string::npos);
  EXPECT_EQ(code_of([&] { run(model, {{1, 2, 3}}); }), ErrorCode::unsupported);

  // If no dims are stated, they are the source's. A foreign domain's Relu is not ONNX's.
  Net foreign = relu();
  foreign.graph().mutable_node(0)->set_domain("com.example");
  EXPECT_EQ(kinds(import(foreign).graph), std::vector{Kind::barrier});
  EXPECT_EQ(dims_of(import(foreign)), (Dims{1, 2}));
  // If several destinations have stated types, each has its own.
  Net two;
  two.input("x", {4}).node("Unique", {"x"}, {"v", "i"}).value("v", {2}).value("i", {2}, ::onnx::TensorProto::INT64);
  two.output("v").output("i");
  const OnnxModel unique = import(two);
  EXPECT_EQ(unique.graph.tensor(unique.graph.outputs[1]).dtype, DType::s64);
  Net nothing;
  nothing.input("x", {1}).node("RandomNormal", {}, {"y"}).output("y");
  EXPECT_EQ(code(nothing), ErrorCode::corrupt);
}

TEST(OnnxBarrier, DimsThatAreGuessedAndContradictedAreNotTheModelsFault) {
  Net net;
  net.input("x", {2, 3}).node("Frobnicate", {"x"}, {"a"}).node("Relu", {"a"}, {"b"}).constant("w", {4, 5}, Numbers(20));
  net.node("MatMul", {"b", "w"}, {"y"}).output("y");
  EXPECT_EQ(code(net), ErrorCode::unsupported);
  EXPECT_NE(message(net).find("Frobnicate"), std::string::npos);
  EXPECT_EQ(code(net.value("a", {2, 3})), ErrorCode::corrupt);
}

TEST(OnnxInputs, BatchAndExtentsWithoutAValue) {
  const auto net = [](const Integers& dims) {
    Net out;
    out.input("x", dims).node("Relu", {"x"}, {"y"}).output("y");
    return out;
  };
  EXPECT_EQ(dims_of(import(net({-1, 3}))), (Dims{1, 3}));
  EXPECT_EQ(dims_of(import(net({-1, 3}), {.batch = 4})), (Dims{4, 3}));
  EXPECT_EQ(dims_of(import(net({2, 3}))), (Dims{2, 3}));
  EXPECT_EQ(dims_of(import(net({2, 3}), {.batch = 4})), (Dims{4, 3}));
  EXPECT_EQ(dims_of(import(net({2, -1}), {.unknown_extent = 7})), (Dims{2, 7}));
  EXPECT_EQ(code(net({2, -1})), ErrorCode::unsupported);
  EXPECT_NE(message(net({2, -1})).find("unknown2"), std::string::npos);
  EXPECT_EQ(code(net({2}), {.batch = -1}), ErrorCode::invalid_argument);
  EXPECT_EQ(dims_of(import(net({}), {.batch = 4})), Dims{});
}

TEST(OnnxTypes, EveryFieldAndRawData) {
  using ::onnx::TensorProto;
  const auto values = [](int type, const std::function<void(TensorProto&)>& fill) {
    Net net;
    net.input("x", {1});
    TensorProto& tensor = *net.graph().add_initializer();
    tensor.set_name("w");
    tensor.set_data_type(type);
    tensor.add_dims(2);
    fill(tensor);
    net.output("w");
    const OnnxModel model = import(net);
    return values_of(model.graph.tensor(model.graph.outputs[0]));
  };
  const Values expected = {1, 2};
  const auto ints = [](TensorProto& tensor) {
    tensor.add_int32_data(1);
    tensor.add_int32_data(2);
  };
  for (const int type :
       {TensorProto::INT8, TensorProto::UINT8, TensorProto::INT16, TensorProto::UINT16, TensorProto::INT32}) {
    EXPECT_EQ(values(type, ints), expected) << type;
  }
  const auto halves = [](int one, int two) {
    return [=](TensorProto& tensor) {
      tensor.add_int32_data(one);
      tensor.add_int32_data(two);
    };
  };
  EXPECT_EQ(values(TensorProto::FLOAT16, halves(0x3c00, 0x4000)), expected);
  EXPECT_EQ(values(TensorProto::BFLOAT16, halves(0x3f80, 0x4000)), expected);
  EXPECT_EQ(values(TensorProto::BOOL, halves(1, 0)), (Values{1, 0}));
  EXPECT_EQ(values(TensorProto::DOUBLE,
                   [](TensorProto& tensor) {
                     tensor.add_double_data(1);
                     tensor.add_double_data(2);
                   }),
            expected);
  for (const int type : {TensorProto::UINT32, TensorProto::UINT64}) {
    EXPECT_EQ(values(type,
                     [](TensorProto& tensor) {
                       tensor.add_uint64_data(1);
                       tensor.add_uint64_data(2);
                     }),
              expected);
  }
  EXPECT_EQ(values(TensorProto::INT16, [](TensorProto& tensor) { tensor.set_raw_data(std::string("\1\0\2\0", 4)); }),
            expected);
}

Net two_layers(bool swapped) {
  Net net;
  net.input("x", {4, 64}).constant("u", {64, 32}, Numbers(2048, 0.02)).constant("v", {32, 16}, Numbers(512, 0.02));
  net.constant("b", {32}, Numbers(32, 0.02)).constant("six", {}, {6});
  const auto first = [&] { net.node("Gemm", {"x", "u", "b"}, {"a"}); };
  const auto second = [&] { net.node("Gemm", {"c", "v"}, {"y"}); };
  if (swapped)
    second();
  else
    first();
  net.node("Clip", {"a", "", "six"}, {"c"});
  if (swapped)
    first();
  else
    second();
  net.output("y");
  return net;
}

TEST(OnnxRandomWeights, DependOnNamesAndSeedAlone) {
  const Values x = scattered(256);
  const Values y = run(two_layers(false), {x}, {.random_weights = 5})[0];
  EXPECT_EQ(run(two_layers(false), {x}, {.random_weights = 5})[0], y);
  EXPECT_EQ(run(two_layers(true), {x}, {.random_weights = 5})[0], y);
  EXPECT_NE(run(two_layers(false), {x}, {.random_weights = 6})[0], y);
  double squares = 0;
  for (const double value : y) squares += value * value;
  EXPECT_GT(squares / 64, 0.1);
  EXPECT_LT(squares / 64, 3);
  const Graph graph = import(two_layers(false), {.random_weights = 5}).graph;
  EXPECT_EQ(graph.nodes[1].as<EltwiseAttributes>().beta, 6);
}

TEST(OnnxRandomWeights, StatisticsStayPositive) {
  Net net(9);
  net.input("x", {1, 8, 2});
  for (const char* name : {"s", "b", "m", "v"}) net.constant(name, {8}, Numbers(8, 0.02));
  net.node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y"}).output("y");
  const Graph graph = import(net, {.random_weights = 1}).graph;
  const Values variance = values_of(graph.tensor(graph.nodes[0].src[4]));
  for (const double value : variance) EXPECT_GT(value, 0);
  EXPECT_NE(variance[0], variance[1]);
}

std::filesystem::path model_folder() {
  const char* given = std::getenv("RELAYOUT_MODELS");
  return given != nullptr ? given : RELAYOUT_MODELS;
}

/// Imports the models of the folder that RELAYOUT_MODELS names.
TEST(OnnxModels, OfAFolderImportAtBatchOneAndEight) {
  const std::filesystem::path folder = model_folder();
  if (folder.empty()) GTEST_SKIP() << "set RELAYOUT_MODELS to a folder of .onnx files";
  int count = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".onnx") continue;
    SCOPED_TRACE(file.path().filename());
    ++count;
    for (const int64_t batch : {1, 8}) {
      const OnnxModel model = read_onnx(file.path(), {.batch = batch, .random_weights = 1});
      EXPECT_TRUE(model.warnings.empty()) << model.warnings.front();
      EXPECT_EQ(model.graph.inputs.size(), 1u);
      EXPECT_EQ(dims_of(model)[0], batch);
      // No dim may keep a constant batch of the file.
      for (const Tensor& tensor : model.graph.tensors) {
        if (!tensor.constant()) {
          EXPECT_EQ(tensor.dims[0], batch) << tensor.name;
        }
      }
      for (const Node& node : model.graph.nodes) EXPECT_NE(node.kind, Kind::transpose) << node.name;
    }
  }
  EXPECT_GT(count, 0);
}

/// A batch of two gives what its images give one by one, which shows that reshapes, states and shuffles follow the
/// batch. Only models that the reference runs in seconds are tried.
TEST(OnnxModels, ABatchIsItsImages) {
  const std::filesystem::path folder = model_folder();
  if (folder.empty()) GTEST_SKIP() << "set RELAYOUT_MODELS to a folder of .onnx files";
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".onnx") continue;
    SCOPED_TRACE(file.path().filename());
    const Graph one = read_onnx(file.path(), {.batch = 1, .random_weights = 1}).graph;
    std::size_t bytes = 0;
    for (const Tensor& tensor : one.tensors) bytes += tensor.constant() ? tensor.data->size() : 0;
    if (bytes > std::size_t{32} << 20) continue;
    const Graph two = read_onnx(file.path(), {.batch = 2, .random_weights = 1}).graph;
    const int64_t count = *checked_product(one.tensor(one.inputs[0]).dims);
    const Values first = scattered(count, 1), second = scattered(count, 2);
    Values both = first;
    both.insert(both.end(), second.begin(), second.end());
    Values expected = evaluate(one, std::vector<Values>{first})[0];
    const Values rest = evaluate(one, std::vector<Values>{second})[0];
    EXPECT_NE(expected, rest);
    // If one class had all the probability, the softmax would hide errors before it.
    EXPECT_LT(*std::max_element(rest.begin(), rest.end()), 0.9);
    expected.insert(expected.end(), rest.begin(), rest.end());
    expect_near(evaluate(two, std::vector<Values>{both})[0], expected, 1e-9);
  }
}

}  // namespace
}  // namespace relayout::graph::test
