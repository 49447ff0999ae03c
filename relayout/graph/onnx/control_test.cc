// ONNX models with graphs inside nodes, with functions of their own, and with data in other files.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/onnx_net.h"

namespace relayout::graph::test {
namespace {

using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::TensorProto;

/// Makes the last node's attribute that graph.
GraphProto& body_of(Net& net, const std::string& attribute) {
  AttributeProto* added = net.graph().mutable_node(net.graph().node_size() - 1)->add_attribute();
  added->set_name(attribute);
  added->set_type(AttributeProto::GRAPH);
  return *added->mutable_g();
}

void add_node(GraphProto& graph, const std::string& operation, const Texts& src, const Texts& dst) {
  auto* node = graph.add_node();
  node->set_op_type(operation);
  for (const std::string& name : src) node->add_input(name);
  for (const std::string& name : dst) node->add_output(name);
}

Net branches(bool constant) {
  Net net;
  net.input("x", {2});
  if (constant)
    net.integers("c", {}, {1}).graph().mutable_initializer(0)->set_data_type(TensorProto::INT64);
  else
    net.input("c", {}, TensorProto::BOOL);
  net.node("If", {"c"}, {"y"}).value("y", {2}).output("y");
  for (const auto& [name, operation] : {std::pair{"then_branch", "Neg"}, std::pair{"else_branch", "Abs"}}) {
    GraphProto& body = body_of(net, name);
    add_node(body, operation, {"x"}, {"inner"});
    body.add_output()->set_name("inner");
  }
  return net;
}

TEST(OnnxIf, TheBranchOfAKnownConditionTakesItsPlace) {
  const OnnxModel model = import(branches(true));
  EXPECT_EQ(kinds(model.graph), std::vector{Kind::eltwise});
  EXPECT_EQ(run(model, {{1, -2}})[0], (Values{-1, 2}));
  const OnnxModel open = import(branches(false));
  EXPECT_EQ(kinds(open.graph), std::vector{Kind::barrier});
  EXPECT_NE(open.warnings.at(0).find("its condition is computed at run time"), std::string::npos);
}

TEST(OnnxLoop, TurnsStandBehindEachOther) {
  Net net;
  net.input("x", {2}).integers("n", {}, {3}).node("Loop", {"n", "", "x"}, {"last", "all"}).output("last").output("all");
  GraphProto& body = body_of(net, "body");
  for (const char* name : {"i", "go", "v"}) body.add_input()->set_name(name);
  add_node(body, "Add", {"v", "x"}, {"w"});  // x is of the graph around it
  add_node(body, "Identity", {"go"}, {"on"});
  add_node(body, "Identity", {"w"}, {"kept"});
  for (const char* name : {"on", "w", "kept"}) body.add_output()->set_name(name);
  const OnnxModel model = import(net);
  const std::vector<Values> out = run(model, {{1, 10}});
  EXPECT_EQ(out[0], (Values{4, 40}));
  EXPECT_EQ(out[1], (Values{2, 20, 3, 30, 4, 40}));
  EXPECT_EQ(dims_of(model, 1), (Dims{3, 2}));
  EXPECT_EQ(code(net, {.max_nodes = 8}), ErrorCode::limit);
}

TEST(OnnxScan, SlicesOfASourceInReverse) {
  Net net;
  net.input("s", {1})
      .input("x", {3, 1})
      .node("Scan", {"s", "x"}, {"last", "all"},
            {{"num_scan_inputs", int64_t{1}}, {"scan_input_directions", Integers{1}}});
  net.output("last").output("all");
  GraphProto& body = body_of(net, "body");
  for (const char* name : {"sum", "now"}) body.add_input()->set_name(name);
  add_node(body, "Add", {"sum", "now"}, {"next"});
  add_node(body, "Identity", {"next"}, {"kept"});
  for (const char* name : {"next", "kept"}) body.add_output()->set_name(name);
  const std::vector<Values> out = run(net, {{0}, {1, 2, 4}});
  EXPECT_EQ(out[0], (Values{7}));
  EXPECT_EQ(out[1], (Values{4, 6, 7}));
}

/// A model whose function scales by an attribute and, if there is a second source, adds it.
Net with_function() {
  Net net;
  auto* function = net.proto.add_functions();
  function->set_name("Scaled");
  function->set_domain("own");
  function->add_input("a");
  function->add_input("b");
  function->add_output("out");
  function->add_attribute("factor");
  function->add_opset_import()->set_version(13);
  auto* slope = function->add_node();
  slope->set_op_type("LeakyRelu");
  slope->add_input("a");
  slope->add_output("out");
  auto* attribute = slope->add_attribute();
  attribute->set_name("alpha");
  attribute->set_type(AttributeProto::FLOAT);
  attribute->set_ref_attr_name("factor");
  return net;
}

TEST(OnnxFunctions, AttributesAndDefaults) {
  Net net = with_function();
  net.input("x", {2}).node("Scaled", {"x"}, {"y"}, {{"factor", 0.5}}).node("Scaled", {"x"}, {"z"});
  for (auto& node : *net.graph().mutable_node()) node.set_domain("own");
  net.output("y").output("z");
  const OnnxModel model = import(net);
  EXPECT_TRUE(model.warnings.empty());
  const std::vector<Values> out = run(model, {{-2, 3}});
  expect_near(out[0], {-1, 3});
  expect_near(out[1], {-0.02, 3});  // LeakyRelu's own default, as the call does not say
}

TEST(OnnxFunctions, OneThatCallsItselfEnds) {
  Net net = with_function();
  auto* node = net.proto.mutable_functions(0)->mutable_node(0);
  node->set_op_type("Scaled");
  node->set_domain("own");
  node->clear_attribute();
  net.input("x", {2}).node("Scaled", {"x"}, {"y"}).output("y");
  net.graph().mutable_node(0)->set_domain("own");
  EXPECT_EQ(code(net), ErrorCode::corrupt);
}

TEST(OnnxFolding, OperatorsOfConstantsAreComputed) {
  Net net;
  net.input("x", {3}).integers("a", {1, -2, 3}).integers("b", {2, 2, 2}).node("Less", {"a", "b"}, {"c"});
  net.node("Where", {"c", "a", "b"}, {"d"}).node("CumSum", {"d", "zero"}, {"e"}).integers("zero", {}, {0});
  net.node("Gather", {"x", "f"}, {"y"}).node("Abs", {"e"}, {"f"}).output("y");
  // 1 -2 2, whose sums are 1 -1 1.
  const OnnxModel model = import(net);
  EXPECT_EQ(kinds(model.graph), std::vector{Kind::gather});
  EXPECT_EQ(run(model, {{5, 6, 7}})[0], (Values{6, 6, 6}));
}

/// Models with the data of a constant in another file, in a folder of their own.
class OnnxExternalData : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_ / "sub");
    std::ofstream(folder_ / "sub" / "w.bin", std::ios::binary) << std::string(4, '\0') << bytes_of({1, 2});
    std::ofstream(folder_.parent_path() / "outside.bin", std::ios::binary) << bytes_of({1, 2});
  }
  void TearDown() override { std::filesystem::remove_all(folder_.parent_path()); }

  static std::string bytes_of(const std::vector<float>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
  }

  OnnxModel read(const std::string& location, const std::string& offset = "4", const std::string& length = "8") {
    Net net;
    net.input("x", {2}).constant("w", {2}, {}).node("Add", {"x", "w"}, {"y"}).output("y");
    auto* w = net.graph().mutable_initializer(0);
    w->set_data_location(TensorProto::EXTERNAL);
    for (const auto& [key, value] : {std::pair{"location", location}, {"offset", offset}, {"length", length}}) {
      auto* entry = w->add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    const std::filesystem::path path = folder_ / "model.onnx";
    std::ofstream(path, std::ios::binary) << net.bytes();
    return read_onnx(path);
  }
  ErrorCode code_of(const std::string& location, const std::string& offset = "4", const std::string& length = "8") {
    return relayout::test::code_of([&] { read(location, offset, length); });
  }

  std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / "relayout_external_data" / "model";
};

TEST_F(OnnxExternalData, IsReadInTheModelsFolder) {
  EXPECT_EQ(run(read("sub/w.bin"), {{10, 20}})[0], (Values{11, 22}));
  EXPECT_EQ(code_of("sub/w.bin", "8"), ErrorCode::corrupt);
  EXPECT_EQ(code_of("sub/w.bin", "4", "12"), ErrorCode::corrupt);
  EXPECT_EQ(code_of("sub/w.bin", "-4"), ErrorCode::corrupt);
  EXPECT_EQ(code_of("sub/w.bin", "99999999999999999999"), ErrorCode::corrupt);
  EXPECT_EQ(code_of("nothing.bin"), ErrorCode::io);
  EXPECT_EQ(code_of("sub"), ErrorCode::unsupported);
}

TEST_F(OnnxExternalData, NeverLeavesIt) {
  EXPECT_EQ(code_of("../outside.bin", "0"), ErrorCode::unsupported);
  EXPECT_EQ(code_of("sub/../../outside.bin", "0"), ErrorCode::unsupported);
  EXPECT_EQ(code_of((folder_.parent_path() / "outside.bin").string(), "0"), ErrorCode::unsupported);
  EXPECT_EQ(code_of("", "0"), ErrorCode::unsupported);
  std::filesystem::create_symlink(folder_.parent_path() / "outside.bin", folder_ / "link.bin");
  EXPECT_EQ(code_of("link.bin", "0"), ErrorCode::unsupported);
  std::filesystem::create_directory_symlink(folder_.parent_path(), folder_ / "up");
  EXPECT_EQ(code_of("up/outside.bin", "0"), ErrorCode::unsupported);
}

}  // namespace
}  // namespace relayout::graph::test
