// Dims of inputs that the file leaves open: by their names, by the batch size, by the dims of arrays; and the shapes
// that a model computes from them.
#include "tests/support/onnx_net.h"

namespace relayout::graph::test {
namespace {

using Named = std::vector<std::pair<std::string, int64_t>>;

/// x of batch x 3 x h x w, and z of batch x seq.
Net images() {
  Net net;
  net.input("x", {1, 3, 1, 1}).input("z", {1, 1});
  net.open_dim(0, 0, "batch");
  net.open_dim(0, 2, "h");
  net.open_dim(0, 3, "w");
  net.open_dim(1, 0, "batch");
  net.open_dim(1, 1, "seq");
  return net.node("Relu", {"x"}, {"y"}).node("Relu", {"z"}, {"v"}).output("y").output("v");
}

std::function<std::vector<std::optional<Dims>>(std::span<const OnnxInput>)> arrays(
    std::vector<std::optional<Dims>> dims) {
  return [dims](std::span<const OnnxInput>) { return dims; };
}

TEST(OnnxDims, AreGivenByName) {
  const Named all{{"h", 5}, {"w", 6}, {"seq", 7}, {"batch", 4}};
  const OnnxModel model = import(images(), {.dims = all});
  EXPECT_EQ(dims_of(model, 0), (Dims{4, 3, 5, 6}));
  EXPECT_EQ(dims_of(model, 1), (Dims{4, 7}));
  EXPECT_TRUE(model.warnings.empty());
  const Named places{{"x[2]", 5}, {"x[3]", 6}, {"z[1]", 7}, {"z[0]", 4}, {"x[1]", 3}};
  const OnnxModel by_place = import(images(), {.dims = places});
  EXPECT_EQ(dims_of(by_place, 0), (Dims{4, 3, 5, 6}));
  EXPECT_EQ(dims_of(by_place, 1), (Dims{4, 7}));
}

TEST(OnnxDims, TheBatchIsTheShortWay) {
  const OnnxModel model = import(images(), {.batch = 4, .dims = {{"h", 5}, {"w", 6}, {"seq", 7}}});
  EXPECT_EQ(dims_of(model, 0), (Dims{4, 3, 5, 6}));
  EXPECT_EQ(dims_of(model, 1), (Dims{4, 7}));
  EXPECT_TRUE(model.warnings.empty());
  // Without any it is 1, which is said once for the dims of one name.
  const OnnxModel none = import(images(), {.dims = {{"h", 5}, {"w", 6}, {"seq", 7}}});
  EXPECT_EQ(dims_of(none, 1), (Dims{1, 7}));
  ASSERT_EQ(none.warnings.size(), 1u);
  EXPECT_EQ(none.warnings[0], "dim 0 of input \"x\" (\"batch\") has no value, and is taken as 1");
}

TEST(OnnxDims, AreThoseOfArrays) {
  const OnnxModel model = import(images(), {.dims_of_arrays = arrays({Dims{4, 3, 5, 6}, Dims{4, 7}})});
  EXPECT_EQ(dims_of(model, 0), (Dims{4, 3, 5, 6}));
  EXPECT_EQ(dims_of(model, 1), (Dims{4, 7}));
  // Dims that have values in the file stay; whoever runs the model compares them with the array.
  EXPECT_EQ(dims_of(import(images(), {.dims_of_arrays = arrays({Dims{4, 9, 5, 6}, Dims{4, 7}})}), 0),
            (Dims{4, 3, 5, 6}));
  const OnnxModel both = import(images(), {.dims = {{"seq", 7}}, .dims_of_arrays = arrays({Dims{4, 3, 5, 6}, {}})});
  EXPECT_EQ(dims_of(both, 1), (Dims{4, 7}));
  std::vector<OnnxInput> seen;
  const auto look = [&](std::span<const OnnxInput> inputs) {
    seen.assign(inputs.begin(), inputs.end());
    return std::vector<std::optional<Dims>>{Dims{1, 3, 5, 6}, Dims{1, 7}};
  };
  import(images(), {.dims_of_arrays = look});
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].name, "x");
  EXPECT_EQ(seen[0].dims[1].extent, 3);
  EXPECT_EQ(seen[1].dims[1].symbol, "seq");
  EXPECT_FALSE(seen[1].dims[1].extent);
}

TEST(OnnxDims, ThatNothingElseSaysAreThoseOfThePlan) {
  const auto plan = arrays({Dims{4, 3, 5, 6}, Dims{4, 7}});
  EXPECT_EQ(dims_of(import(images(), {.dims_of_plan = plan}), 1), (Dims{4, 7}));
  const OnnxModel some =
      import(images(), {.dims = {{"h", 5}}, .dims_of_arrays = arrays({{}, Dims{4, 7}}), .dims_of_plan = plan});
  EXPECT_EQ(dims_of(some, 0), (Dims{4, 3, 5, 6}));
  EXPECT_TRUE(some.warnings.empty());
  const std::string only = " in the plan, which is for that size alone";
  EXPECT_EQ(message(images(), {.dims = {{"w", 9}}, .dims_of_plan = plan}),
            "onnx: dim \"w\" is 9 as given, and 6" + only);
  EXPECT_EQ(message(images(), {.batch = 1, .dims_of_plan = plan}),
            "onnx: dim \"batch\" is 1 by the batch size, and 4" + only);
  EXPECT_EQ(message(images(), {.dims_of_arrays = arrays({{}, Dims{4, 8}}), .dims_of_plan = plan}),
            "onnx: dim \"seq\" is 8 in input \"z\", and 7" + only);
  EXPECT_EQ(message(images(), {.dims_of_plan = arrays({Dims{4, 3, 5}, {}})}),
            "onnx: input \"x\" has 4 dims, and the plan has 3");
}

TEST(OnnxDims, PassOnWhatTheCallerThrows) {
  struct Odd : std::exception {};
  const auto odd = [](std::span<const OnnxInput>) -> std::vector<std::optional<Dims>> { throw Odd(); };
  EXPECT_THROW(import(images(), {.dims_of_arrays = odd}), Odd);
  EXPECT_THROW(import(images(), {.dims_of_plan = odd}), Odd);
  const auto full = [](std::span<const OnnxInput>) -> std::vector<std::optional<Dims>> { throw std::bad_alloc(); };
  EXPECT_THROW(import(images(), {.dims_of_arrays = full}), std::bad_alloc);
}

TEST(OnnxDims, WithoutANameAreGivenByPlace) {
  Net net;
  net.input("x", {2, 1}).node("Relu", {"x"}, {"y"}).output("y");
  net.open_dim(0, 1, "");
  EXPECT_EQ(dims_of(import(net, {.dims = {{"x[1]", 5}}})), (Dims{2, 5}));
  const Error error = relayout::test::error_of([&] { import(net); });
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_EQ(error.message(), "onnx: dim 1 of input \"x\" has no value");
  EXPECT_EQ(error.field(), "dims");
  EXPECT_EQ(error.value(), "x[1]");
}

TEST(OnnxDims, ThatNothingSaysAreErrors) {
  const Error error = relayout::test::error_of([] { import(images(), {.dims = { {"h", 5}, { "seq", 7 } }}); });
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_EQ(error.message(), "onnx: dim 3 of input \"x\" (\"w\") has no value");
  EXPECT_EQ(error.value(), "w");
}

TEST(OnnxDims, ThatTheModelLacksAreErrors) {
  const Error error = relayout::test::error_of([] { import(images(), {.dims = { { "bach", 5 } }}); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error.message(),
            "onnx: no dim of the model's inputs is called \"bach\"; those without a value are batch, h, w, seq; "
            "did you mean batch?");
  EXPECT_EQ(message(relu(), {.dims = {{"batch", 5}}}),
            "onnx: no dim of the model's inputs is called \"batch\"; all of them have values in the file");
}

TEST(OnnxDims, ThatContradictAreErrors) {
  const auto said = [](const OnnxOptions& options) {
    EXPECT_EQ(code(images(), options), ErrorCode::invalid_argument);
    return message(images(), options);
  };
  EXPECT_EQ(said({.dims = {{"h", 5}, {"h", 6}}}), "onnx: dim \"h\" is 5 as given, and 6 as given");
  EXPECT_EQ(said({.batch = 4, .dims = {{"batch", 3}}}), "onnx: dim \"batch\" is 3 as given, and 4 by the batch size");
  EXPECT_EQ(said({.dims = {{"h", 5}}, .dims_of_arrays = arrays({Dims{4, 3, 6, 6}, Dims{4, 7}})}),
            "onnx: dim \"h\" is 5 as given, and 6 in input \"x\"");
  EXPECT_EQ(said({.dims_of_arrays = arrays({Dims{4, 3, 6, 6}, Dims{5, 7}})}),
            "onnx: dim \"batch\" is 4 in input \"x\", and 5 in input \"z\"");
  EXPECT_EQ(said({.dims_of_arrays = arrays({Dims{4, 3, 6}, {}})}), "onnx: input \"x\" has 4 dims, and its array has 3");
  EXPECT_EQ(said({.dims = {{"x[1]", 4}}}), "onnx: dim 1 of input \"x\" is 3 in the file, and cannot be 4");
  EXPECT_EQ(said({.dims = {{"h", -2}}}), "onnx: dim \"h\" cannot be -2");
}

TEST(OnnxDims, ShapesOfAnOpenBatchStayAsTheyAre) {
  // The file's shape joins all images, whatever their number; only a batch that is fixed in the file is replaced.
  Net net;
  net.input("x", {1, 6}).integers("shape", {1, -1}).node("Reshape", {"x", "shape"}, {"y"}).output("y");
  EXPECT_EQ(dims_of(import(net, {.batch = 4})), (Dims{4, 6}));
  net.open_dim(0, 0, "N");
  EXPECT_EQ(dims_of(import(net, {.dims = {{"N", 4}}})), (Dims{1, 24}));
  EXPECT_EQ(dims_of(import(net, {.batch = 4})), (Dims{1, 24}));
}

TEST(OnnxDims, StatedDimsOfOtherValuesFollow) {
  Net net;
  net.input("x", {2, 1}).node("Frobnicate", {"x"}, {"a"}).node("Relu", {"a"}, {"y"}).output("y");
  net.open_dim(0, 1, "seq");
  net.value("a", {2, 1});
  net.graph()
      .mutable_value_info(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(1)
      ->set_dim_param("seq");
  EXPECT_EQ(dims_of(import(net, {.dims = {{"seq", 9}}})), (Dims{2, 9}));
}

/// What exporters write for `x.view(x.size(0), -1, 4)`, a mask as long as the sequence, and positions 0, 1, ...
TEST(OnnxDims, ShapesThatAreComputedFold) {
  Net net;
  net.input("x", {2, 1, 8});
  net.open_dim(0, 0, "N");
  net.open_dim(0, 1, "seq");
  net.integers("0", {0}).integers("1", {1}).integers("2", {2}).integers("-1", {-1}).integers("4", {4});
  net.integers("zero", {}, {0}).integers("one", {}, {1});
  net.node("Shape", {"x"}, {"s"});
  net.node("Gather", {"s", "zero"}, {"n"}, {{"axis", int64_t{0}}}).node("Unsqueeze", {"n", "0"}, {"n1"});
  net.node("Concat", {"n1", "-1", "4"}, {"target"}, {{"axis", int64_t{0}}});
  net.node("Reshape", {"x", "target"}, {"y"}).output("y");
  net.node("Slice", {"s", "1", "2", "0"}, {"t1"}).node("Squeeze", {"t1", "0"}, {"t"});
  net.node("Range", {"zero", "t", "one"}, {"positions"}).node("Cast", {"positions"}, {"p"}, {{"to", int64_t{1}}});
  net.node("Concat", {"t1", "1"}, {"column"}, {{"axis", int64_t{0}}});
  net.node("Reshape", {"p", "column"}, {"pc"}).node("Add", {"x", "pc"}, {"v"}).output("v");
  net.node("Concat", {"n1", "t1", "1"}, {"mask"}, {{"axis", int64_t{0}}}).node("ConstantOfShape", {"mask"}, {"m"});
  net.node("Mul", {"x", "m"}, {"u"}).output("u");
  for (const auto& [n, seq] : {std::pair<int64_t, int64_t>{3, 5}, {1, 1}, {2, 9}}) {
    const OnnxModel model = import(net, {.dims = {{"N", n}, {"seq", seq}}});
    EXPECT_TRUE(model.warnings.empty());
    EXPECT_EQ(dims_of(model, 0), (Dims{n, seq * 2, 4}));
    EXPECT_EQ(dims_of(model, 1), (Dims{n, seq, 8}));
    for (const Node& node : model.graph.nodes) EXPECT_NE(node.kind, Kind::barrier) << node.name;
    const Values x = scattered(n * seq * 8);
    const std::vector<Values> got = run(model, {x});
    expect_near(got[0], x);
    Values moved = x;
    for (std::size_t i = 0; i < moved.size(); ++i) {
      moved[i] += static_cast<double>(i / 8 % static_cast<std::size_t>(seq));
    }
    expect_near(got[1], moved);
    EXPECT_EQ(got[2], Values(x.size(), 0));
  }
}

}  // namespace
}  // namespace relayout::graph::test
