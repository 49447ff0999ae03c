// Transpositions of ONNX models that go: models that are written down, and random ones, which must compute the same by
// the reference.
#include "relayout/graph/onnx/transposes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "tests/support/onnx_net.h"

namespace relayout::graph::test {
namespace {

const Integers kToLast = {0, 2, 3, 1}, kToFirst = {0, 3, 1, 2};

OnnxTransposes moved(const Net& net) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("relayout_transposes_test_" + std::to_string(getpid()) + ".onnx");
  std::ofstream(path, std::ios::binary) << net.bytes();
  OnnxTransposes out = move_transposes(path);
  std::filesystem::remove(path);
  return out;
}

Graph read(const std::string& model) { return parse_onnx(std::as_bytes(std::span(model.data(), model.size()))).graph; }

Values counted_values(const Tensor& tensor) {
  Values out;
  for (int64_t i = 0; i < Layout::contiguous(tensor.dims).elements(); ++i)
    out.push_back(static_cast<double>((i * 37) % 101) / 16 - 3);
  return out;
}

/// Whether both compute the same to the bit on the same inputs.
void expect_the_same(const Net& net, const OnnxTransposes& found) {
  const Graph before = read(net.bytes()), after = read(found.model);
  ASSERT_EQ(before.inputs.size(), after.inputs.size());
  std::vector<Values> inputs;
  for (const TensorId t : before.inputs) inputs.push_back(counted_values(before.tensor(t)));
  const std::vector<Values> a = evaluate(before, inputs), b = evaluate(after, inputs);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(before.tensor(before.outputs[i]).dims, after.tensor(after.outputs[i]).dims);
    EXPECT_EQ(before.output_name(i), after.output_name(i));
    ASSERT_EQ(a[i].size(), b[i].size());
    for (std::size_t k = 0; k < a[i].size(); ++k) ASSERT_NEAR(a[i][k], b[i][k], 1e-5) << i << " " << k;
  }
}

void expect_left(const Net& net, std::size_t before, std::size_t after) {
  const OnnxTransposes found = moved(net);
  EXPECT_EQ(found.before.size(), before);
  EXPECT_EQ(found.after.size(), after);
  EXPECT_LE(found.cost_after, found.cost_before);
  expect_the_same(net, found);
}

TEST(Transposes, APairCancels) {
  Net net(17);
  net.input("x", {2, 3, 4, 5}).node("Relu", {"x"}, {"r"}).node("Transpose", {"r"}, {"a"}, {{"perm", kToLast}});
  net.node("Transpose", {"a"}, {"b"}, {{"perm", kToFirst}}).node("Abs", {"b"}, {"y"}).output("y");
  expect_left(net, 2, 0);
  const OnnxTransposes found = moved(net);
  EXPECT_TRUE(found.before[0].removed);
  EXPECT_NE(found.before[0].why.find("undo each other"), std::string::npos) << found.before[0].why;
}

TEST(Transposes, OutputsKeepTheirNamesAndLayouts) {
  Net net(17);
  net.input("x", {2, 3, 4, 5}).node("Transpose", {"x"}, {"a"}, {{"perm", kToLast}}).node("Relu", {"a"}, {"y"});
  net.node("Transpose", {"y"}, {"z"}, {{"perm", kToFirst}}).output("y").output("z");
  expect_left(net, 2, 1);  // y itself is wanted in the other order
}

TEST(Transposes, AxesAreRenamed) {
  Net net(17);
  net.input("x", {2, 3, 4, 5}).node("Transpose", {"x"}, {"a"}, {{"perm", kToLast}});
  net.node("ReduceMean", {"a"}, {"m"}, {{"axes", Integers{1, -2}}, {"keepdims", int64_t{1}}});
  net.node("Mul", {"a", "m"}, {"s"}).node("Concat", {"s", "a"}, {"c"}, {{"axis", int64_t{-1}}});
  net.node("Transpose", {"c"}, {"y"}, {{"perm", kToFirst}}).output("y");
  expect_left(net, 2, 0);
}

TEST(Transposes, ConstantsOfFewerDims) {
  Net net(17);
  net.constant("k", {3}, {1, -2, 0.5}).input("x", {2, 3, 4, 5});
  net.node("Transpose", {"x"}, {"a"}, {{"perm", kToLast}}).node("Mul", {"a", "k"}, {"b"});
  net.node("Transpose", {"b"}, {"y"}, {{"perm", kToFirst}}).output("y");
  expect_left(net, 2, 0);
}

TEST(Transposes, OneIsLeftWhereItIsNeeded) {
  Net net(17);
  net.input("x", {2, 3, 4, 5}).node("Transpose", {"x"}, {"a"}, {{"perm", kToLast}});
  net.node("Softmax", {"a"}, {"y"}, {{"axis", int64_t{-1}}}).output("y");
  expect_left(net, 1, 1);
}

TEST(Transposes, OpenDimsAreNotTakenForOnes) {
  Net net(17);
  net.input("x", {1, 3, 1, 1}).open_dim(0, 3, "width");
  net.node("Transpose", {"x"}, {"a"}, {{"perm", kToLast}}).node("Relu", {"a"}, {"y"}).output("y");
  EXPECT_EQ(moved(net).after.size(), 1u);  // with a width of 1 it would be a Reshape
}

TEST(Transposes, ProfilesFindNodesByName) {
  Net net(17);
  net.constant("k", {3}, {1, 2, 3}).input("x", {2, 3});
  net.node("Add", {"x", "k"}, {"s"}).node("Transpose", {"s"}, {"y"}, {{"perm", Integers{1, 0}}}).output("y");
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("relayout_nodes_test_" + std::to_string(getpid()) + ".onnx");
  std::ofstream(path, std::ios::binary) << net.bytes();
  const std::vector<OnnxNode> nodes = read_onnx_nodes(path);
  std::filesystem::remove(path);
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].constants, Texts{"k"});
  EXPECT_EQ(nodes[1].perm, (std::vector<int>{1, 0}));
}

/// A model of operators that work in any order, transpositions, and Softmax, which does not.
class RandomNet {
 public:
  explicit RandomNet(uint32_t seed) : random_(seed), net_(17) {
    const int inputs = 1 + pick(2);
    for (int i = 0; i < inputs; ++i) {
      const std::string name = "x" + std::to_string(i);
      net_.input(name, kDims);
      tensors_.push_back({name, kDims});
    }
    for (int n = 6 + pick(12); n > 0; --n) add();
    std::set<std::string> given;
    for (int k = 1 + pick(2); k > 0; --k) given.insert(tensors_[tensors_.size() - static_cast<std::size_t>(k)].name);
    for (const std::string& name : given) net_.output(name);
  }
  const Net& net() const { return net_; }

 private:
  struct Made {
    std::string name;
    Integers dims;
  };
  const Integers kDims = {2, 3, 4, 3};

  int pick(int count) { return static_cast<int>(random_() % static_cast<uint32_t>(count)); }
  const Made& any() { return tensors_[static_cast<std::size_t>(pick(static_cast<int>(tensors_.size())))]; }

  void add() {
    const Made source = any();
    const std::string made = "t" + std::to_string(++count_);
    Integers dims = source.dims;
    switch (pick(7)) {
      case 0:
      case 1: {
        const Integers orders[] = {kToLast, kToFirst, {0, 2, 1, 3}, {3, 2, 1, 0}};
        const Integers order = orders[pick(4)];
        for (std::size_t d = 0; d < 4; ++d) dims[d] = source.dims[static_cast<std::size_t>(order[d])];
        net_.node("Transpose", {source.name}, {made}, {{"perm", order}});
        break;
      }
      case 2: net_.node(pick(2) ? "Relu" : "Neg", {source.name}, {made}); break;
      case 3: {
        const Made other = any();
        if (other.dims != dims) return;
        net_.node("Add", {source.name, other.name}, {made});
        break;
      }
      case 4: {
        const Made other = any();
        const auto axis = static_cast<std::size_t>(pick(4));
        for (std::size_t d = 0; d < 4; ++d) {
          if (d != axis && other.dims[d] != dims[d]) return;
        }
        dims[axis] += other.dims[axis];
        if (dims[axis] > 12) return;
        net_.node("Concat", {source.name, other.name}, {made}, {{"axis", static_cast<int64_t>(axis)}});
        break;
      }
      case 5: {
        const auto axis = static_cast<std::size_t>(pick(4));
        const std::string mean = made + "_mean";
        net_.node("ReduceMean", {source.name}, {mean}, {{"axes", Integers{static_cast<int64_t>(axis)}}});
        net_.node("Sub", {source.name, mean}, {made});
        break;
      }
      default: {
        net_.node("Softmax", {source.name}, {made}, {{"axis", int64_t{pick(4)}}});
        break;
      }
    }
    tensors_.push_back({made, dims});
  }

  std::mt19937 random_;
  Net net_;
  std::vector<Made> tensors_;
  int count_ = 0;
};

TEST(Transposes, RandomModelsComputeTheSame) {
  std::size_t before = 0, after = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const RandomNet random(seed);
    const OnnxTransposes found = moved(random.net());
    EXPECT_LE(found.cost_after, found.cost_before * (1 + 1e-9)) << seed;
    expect_the_same(random.net(), found);
    ASSERT_FALSE(HasFailure()) << seed;
    before += found.before.size();
    after += found.after.size();
  }
  EXPECT_LT(after, before * 3 / 4);
}

}  // namespace
}  // namespace relayout::graph::test
