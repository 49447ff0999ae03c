// Writes the seeds of onnx_fuzz: small models that together use every operator that is read, one file each.
//
//     onnx_seeds FOLDER
#include <filesystem>
#include <fstream>
#include <iostream>

#include "tests/support/attention_net.h"
#include "tests/support/onnx_net.h"

namespace {

using relayout::graph::test::Attribute;
using relayout::graph::test::Integers;
using relayout::graph::test::Net;
using relayout::graph::test::Numbers;
using relayout::graph::test::Texts;

/// A net of one operator over x, with constants of the shapes that are listed.
Net one(const std::string& operation, const Integers& dims, const std::vector<Integers>& constants = {},
        const std::vector<Attribute>& attributes = {}, int64_t opset = 13) {
  Net net(opset);
  net.input("x", dims);
  Texts src = {"x"};
  for (const Integers& shape : constants) {
    int64_t count = 1;
    for (const int64_t dim : shape) count *= dim;
    src.push_back("c" + std::to_string(src.size()));
    net.constant(src.back(), shape, Numbers(static_cast<std::size_t>(count), 0.5));
  }
  net.node(operation, src, {"y"}, attributes).output("y");
  return net;
}

/// The same with one list of integers as second source.
Net shaped(const std::string& operation, const Integers& dims, const std::vector<Integers>& lists,
           const std::vector<Attribute>& attributes = {}, int64_t opset = 13) {
  Net net(opset);
  net.input("x", dims);
  Texts src = {"x"};
  for (const Integers& list : lists) {
    src.push_back("i" + std::to_string(src.size()));
    net.integers(src.back(), list);
  }
  net.node(operation, src, {"y"}, attributes).output("y");
  return net;
}

Net shuffle() {
  Net net(9);
  net.input("x", {1, 6, 2, 1}).integers("split", {1, 2, 3, 2, 1}).integers("joined", {1, 6, 2, 1});
  net.node("Reshape", {"x", "split"}, {"a"}).node("Transpose", {"a"}, {"b"}, {{"perm", Integers{0, 2, 1, 3, 4}}});
  return std::move(net.node("Reshape", {"b", "joined"}, {"y"}).output("y"));
}

Net shape_arithmetic() {
  Net net;
  net.input("x", {2, 3, 4}).integers("zero", {}, {0}).integers("last", {-1}).integers("axes", {0});
  net.node("Shape", {"x"}, {"dims"}).node("Gather", {"dims", "zero"}, {"n"}).node("Unsqueeze", {"n", "axes"}, {"u"});
  net.node("Cast", {"u"}, {"f"}, {{"to", int64_t{1}}}).node("Floor", {"f"}, {"g"});
  net.node("Cast", {"g"}, {"i"}, {{"to", int64_t{7}}}).node("Mul", {"i", "u"}, {"m"}).node("Div", {"m", "u"}, {"d"});
  net.node("Concat", {"d", "last"}, {"s"}, {{"axis", int64_t{0}}}).node("Reshape", {"x", "s"}, {"y"}).output("y");
  net.node("ConstantOfShape", {"s2"}, {"zeros"}).integers("s2", {2, 12}).node("Add", {"y", "zeros"}, {"z"});
  net.node("Size", {"x"}, {"size"}).node("Range", {"zero", "size", "n"}, {"r"}).output("r").output("z");
  net.node("Equal", {"r", "n"}, {"e"}).node("Not", {"e"}, {"o"}).node("Where", {"o", "r", "n"}, {"w"}).output("w");
  return std::move(net.node("Constant", {}, {"c"}, {{"value_floats", Numbers{1, 2}}}).output("c"));
}

Net recurrent(const std::string& operation, int64_t gates) {
  Net net = one(operation, {3, 2, 4}, {{2, gates * 2, 4}, {2, gates * 2, 2}, {2, gates * 4}},
                {{"direction", std::string("bidirectional")}, {"hidden_size", int64_t{2}}}, 14);
  net.constant("h", {2, 1, 2}, {1, 2, 3, 4}).graph().mutable_node(0)->add_input("");
  net.graph().mutable_node(0)->add_input("h");
  net.graph().mutable_node(0)->add_output("y_h");
  return std::move(net.output("y_h"));
}

Net split() {
  Net net;
  net.input("x", {2, 5}).integers("s", {2, 3}).node("Split", {"x", "s"}, {"y", "z"}, {{"axis", int64_t{1}}});
  return std::move(net.output("y").output("z"));
}

std::vector<std::pair<std::string, Net>> seeds() {
  const Integers image = {1, 4, 5, 5};
  const Attribute kernel{"kernel_shape", Integers{2, 2}}, strides{"strides", Integers{2, 2}};
  std::vector<std::pair<std::string, Net>> out = {
      {"conv", one("Conv", image, {{4, 2, 3, 3}, {4}}, {{"group", int64_t{2}}, {"pads", Integers{1, 1, 1, 1}}})},
      {"conv_same", one("Conv", image, {{2, 4, 2, 2}}, {{"auto_pad", std::string("SAME_UPPER")}, strides})},
      {"deconv", one("ConvTranspose", image, {{4, 2, 2, 2}}, {{"output_padding", Integers{1, 1}}, strides})},
      {"max_pool", one("MaxPool", image, {}, {kernel, strides, {"ceil_mode", int64_t{1}}})},
      {"average_pool", one("AveragePool", image, {}, {kernel, {"count_include_pad", int64_t{1}}})},
      {"global_pool", one("GlobalAveragePool", image)},
      {"gemm", one("Gemm", {2, 3}, {{3, 4}, {4}}, {{"alpha", 0.5}, {"beta", 2.0}})},
      {"matmul", one("MatMul", {2, 2, 3}, {{3, 4}})},
      {"batch_normalization", one("BatchNormalization", image, {{4}, {4}, {4}, {4}}, {}, 9)},
      {"instance_normalization", one("InstanceNormalization", image, {{4}, {4}})},
      {"layer_normalization", one("LayerNormalization", {2, 3}, {{3}, {3}}, {{"axis", int64_t{-1}}}, 17)},
      {"lrn", one("LRN", image, {}, {{"size", int64_t{3}}})},
      {"softmax", one("Softmax", image, {}, {{"axis", int64_t{2}}}, 11)},
      {"dropout", one("Dropout", {2})},
      {"clip", one("Clip", {2}, {{}, {}})},
      {"prelu", one("PRelu", image, {{4, 1, 1}})},
      {"pow", one("Pow", {2}, {{}})},
      {"resize", one("Resize", {1, 1, 2, 2}, {{0}, {4}}, {{"mode", std::string("linear")}})},
      {"upsample", one("Upsample", {1, 1, 2}, {}, {{"scales", Numbers{1, 1, 2}}}, 7)},
      {"slice", shaped("Slice", {3, 4}, {{-1}, {0}, {1}, {-2}})},
      {"pad", shaped("Pad", {3, 4}, {{0, 1, 0, -1}}, {{"mode", std::string("edge")}})},
      {"expand", shaped("Expand", {3, 1}, {{2, 3, 4}})},
      {"squeeze", shaped("Squeeze", {1, 3, 1}, {{0, -1}})},
      {"flatten", one("Flatten", image, {}, {{"axis", int64_t{2}}})},
      {"depth_to_space", one("DepthToSpace", image, {}, {{"blocksize", int64_t{2}}})},
      {"space_to_depth", one("SpaceToDepth", {1, 1, 4, 4}, {}, {{"blocksize", int64_t{2}}})},
      {"reduce", shaped("ReduceSum", {2, 3}, {{1}}, {{"keepdims", int64_t{0}}})},
      {"split", split()},
      {"shuffle", shuffle()},
      {"shapes", shape_arithmetic()},
      {"attention", relayout::graph::test::attention_net()},
      {"lstm", recurrent("LSTM", 4)},
      {"gru", recurrent("GRU", 3)},
      {"rnn", recurrent("RNN", 1)},
      {"unknown", one("Unknown", {2}).value("y", {3})},
  };
  Net chain(20);
  chain.input("x", {2, 3}).constant("b", {3}, {1, 2, 3});
  std::string last = "x";
  for (const char* operation :
       {"Relu", "LeakyRelu", "Sigmoid", "Tanh", "Elu", "Selu", "HardSwish", "HardSigmoid", "Softplus", "Gelu", "Mish",
        "Exp", "Log", "Sqrt", "Abs", "Round", "Neg", "Reciprocal", "Identity"}) {
    chain.node(operation, {last}, {std::string("after") + operation});
    last = std::string("after") + operation;
  }
  for (const char* operation : {"Add", "Sub", "Mul", "Div", "Min", "Max", "Sum"}) {
    chain.node(operation, {last, "b"}, {std::string("after") + operation});
    last = std::string("after") + operation;
  }
  out.emplace_back("elementwise", std::move(chain.output(last)));
  return out;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::cerr << "onnx_seeds FOLDER\n";
    return 2;
  }
  std::filesystem::create_directories(arguments[1]);
  for (const auto& [name, net] : seeds()) {
    std::ofstream(std::filesystem::path(arguments[1]) / (name + ".onnx"), std::ios::binary) << net.bytes();
  }
}
