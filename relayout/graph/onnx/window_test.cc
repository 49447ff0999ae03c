// ONNX operators that slide a window or resize: convolutions, pooling, Resize and Upsample, by values worked out by
// hand and the specification's own examples.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/onnx_net.h"

namespace relayout::graph::test {
namespace {

TEST(OnnxConv, KernelPadsAndBias) {
  Net net;
  net.input("x", {1, 1, 3, 3}).constant("w", {1, 1, 2, 2}, {1, 10, 100, 1000}).constant("b", {1}, {0.5});
  net.node("Conv", {"x", "w", "b"}, {"y"}, {{"pads", Integers{1, 0, 0, 0}}}).output("y");
  // Rows above are 0: 100 x + 1000 x', then the window of four.
  expect_near(run(net, {counted(9)})[0], {2100.5, 3200.5, 5421.5, 6532.5, 8754.5, 9865.5});
}

TEST(OnnxConv, GroupsAndDilations) {
  Net net;
  net.input("x", {1, 4, 1, 3}).constant("w", {2, 2, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  net.node("Conv", {"x", "w"}, {"y"}, {{"group", int64_t{2}}, {"dilations", Integers{1, 2}}}).output("y");
  // Places 0 and 2 of two channels a group: 1*1+2*3+3*4+4*6, 5*7+6*9+7*10+8*12.
  expect_near(run(net, {counted(12)})[0], {43, 255});
  const OnnxModel model = import(net);
  EXPECT_EQ(model.graph.tensor(model.graph.nodes[0].src[1]).dims, (Dims{2, 1, 2, 1, 2}));
}

// ONNX has no Conv of 8-bit integers; it is read as oneDNN's. The operators of quantizers are not known.
TEST(OnnxConv, OfBytesIsReadAlsoWithZeroPoints) {
  Net net;
  net.input("x", {1, 1, 2, 2}, ::onnx::TensorProto::UINT8).input("w", {1, 1, 1, 2}, ::onnx::TensorProto::INT8);
  net.node("Conv", {"x", "w"}, {"y"}).output("y");
  const OnnxModel model = import(net);
  EXPECT_EQ(model.graph.node(0).kind, Kind::convolution);
  EXPECT_EQ(model.graph.tensor(model.graph.outputs[0]).dtype, DType::f32);
  expect_near(run(net, {{200, 1, 2, 3}, {2, -1}})[0], {399, 1});
  Net zero;
  zero.input("x", {1, 1, 2, 2}, ::onnx::TensorProto::UINT8).input("w", {1, 1, 1, 2}, ::onnx::TensorProto::UINT8);
  zero.input("z", {}, ::onnx::TensorProto::UINT8).node("ConvInteger", {"x", "w", "z"}, {"y"}).output("y");
  const OnnxModel integers = import(zero);
  EXPECT_EQ(integers.graph.tensor(integers.graph.outputs[0]).dtype, DType::s32);
  EXPECT_EQ(run(zero, {{200, 1, 2, 3}, {2, 1}, {10}})[0], (Values{371, -23}));
}

TEST(OnnxConv, AutoPad) {
  // Extent 4, kernel 2: one place is missing, at the end or at the beginning.
  for (const auto& [mode, expected] :
       {std::pair{"SAME_UPPER", Values{21, 32, 43, 4}}, std::pair{"SAME_LOWER", Values{10, 21, 32, 43}},
        std::pair{"VALID", Values{21, 32, 43}}}) {
    Net net;
    net.input("x", {1, 1, 4}).constant("w", {1, 1, 2}, {1, 10});
    net.node("Conv", {"x", "w"}, {"y"}, {{"auto_pad", std::string(mode)}}).output("y");
    expect_near(run(net, {counted(4)})[0], expected);
  }
}

TEST(OnnxConvTranspose, ChannelsStridesAndOutputShape) {
  Net net;
  // Two source channels, one destination channel each of two groups: w is I O/G W.
  net.input("x", {1, 2, 2}).constant("w", {2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  net.node("ConvTranspose", {"x", "w"}, {"y"}, {{"strides", Integers{2}}}).output("y");
  // Channel 0: x0 * 1 2 3 at 0, x1 * 1 2 3 at 2, and the second source channel with 7 8 9.
  expect_near(run(net, {{1, 10, 100, 1000}})[0],
              {701, 802, 903 + 7010, 8020, 9030, 1004, 1105, 1206 + 10040, 11050, 12060});

  Net shaped;
  shaped.input("x", {1, 1, 3}).constant("w", {1, 1, 3}, {1, 1, 1});
  shaped.node("ConvTranspose", {"x", "w"}, {"y"}, {{"strides", Integers{2}}, {"output_shape", Integers{6}}});
  shaped.output("y");
  // The whole result is 1 1 3 2 5 3 3. One element is cut off: the first, or the last with SAME_UPPER.
  expect_near(run(shaped, {counted(3)})[0], {1, 3, 2, 5, 3, 3});
}

TEST(OnnxConvTranspose, GroupsAreSeparate) {
  Net net;
  net.input("x", {1, 2, 1}).constant("w", {2, 2, 1}, {2, 3, 5, 7});
  net.node("ConvTranspose", {"x", "w"}, {"y"}, {{"group", int64_t{2}}}).output("y");
  expect_near(run(net, {{10, 100}})[0], {20, 30, 500, 700});
}

TEST(OnnxPool, CeilModeAndPadding) {
  // 5 elements, kernel 2, stride 2: rounding down leaves the last one out; rounding up makes a window of it alone.
  const std::vector<Attribute> floor = {{"kernel_shape", Integers{2}}, {"strides", Integers{2}}};
  std::vector<Attribute> ceil = floor;
  ceil.push_back({"ceil_mode", int64_t{1}});
  expect_near(run(one("MaxPool", {1, 1, 5}, floor), {counted(5)})[0], {2, 4});
  expect_near(run(one("MaxPool", {1, 1, 5}, ceil), {counted(5)})[0], {2, 4, 5});
  expect_near(run(one("AveragePool", {1, 1, 5}, ceil), {counted(5)})[0], {1.5, 3.5, 5});
  ceil.push_back({"count_include_pad", int64_t{1}});
  expect_near(run(one("AveragePool", {1, 1, 5}, ceil), {counted(5)})[0], {1.5, 3.5, 5});
  ceil.push_back({"pads", Integers{1, 1}});  // and the padding at the end counts, what rounding up adds does not
  expect_near(run(one("AveragePool", {1, 1, 5}, ceil), {counted(5)})[0], {0.5, 2.5, 4.5});
  ceil.back().second = Integers{0, 2};
  expect_near(run(one("AveragePool", {1, 1, 4}, ceil), {counted(4)})[0], {1.5, 3.5});
  // A window that would start in the padding at the end is left out: 4 elements, a pad at each end, stride 3.
  expect_near(run(one("MaxPool", {1, 1, 4},
                      {{"kernel_shape", Integers{1}},
                       {"strides", Integers{5}},
                       {"pads", Integers{0, 1}},
                       {"ceil_mode", int64_t{1}}}),
                  {counted(4)})[0],
              {1});

  const std::vector<Attribute> padded = {{"kernel_shape", Integers{3}}, {"pads", Integers{1, 1}}};
  expect_near(run(one("AveragePool", {1, 1, 3}, padded), {{3, 6, 9}})[0], {4.5, 6, 7.5});
  std::vector<Attribute> counting = padded;
  counting.push_back({"count_include_pad", int64_t{1}});
  expect_near(run(one("AveragePool", {1, 1, 3}, counting), {{3, 6, 9}})[0], {3, 6, 5});
  expect_near(
      run(one("MaxPool", {1, 1, 4},
              {{"kernel_shape", Integers{2}}, {"auto_pad", std::string("SAME_UPPER")}, {"strides", Integers{2}}}),
          {counted(4)})[0],
      {2, 4});
}

/// Forms in which the specification says little: the values are those of ONNX Runtime.
TEST(OnnxPool, WindowsThatDoNotFit) {
  const auto attributes = [](int64_t kernel, int64_t stride, int64_t ceil_mode,
                             const std::string& auto_pad = "NOTSET") {
    return std::vector<Attribute>{{"kernel_shape", Integers{kernel}},
                                  {"strides", Integers{stride}},
                                  {"ceil_mode", ceil_mode},
                                  {"auto_pad", auto_pad}};
  };
  const auto pooled = [](const std::string& operation, int64_t extent, const std::vector<Attribute>& how) {
    return run(one(operation, {1, 1, extent}, how), {counted(extent)})[0];
  };
  // A kernel of 4 over 3 elements: less than a stride is missing.
  expect_near(pooled("MaxPool", 3, attributes(4, 2, 1)), {3});
  expect_near(pooled("AveragePool", 3, attributes(4, 2, 0)), {2});
  expect_near(pooled("MaxPool", 3, attributes(5, 2, 1)), {3});
  EXPECT_THROW(import(one("MaxPool", {1, 1, 3}, attributes(5, 2, 0))), Error);
  // Of 7 elements, two windows of 1, 4 apart, are in the middle; and where the sum of pads is odd, not quite.
  expect_near(pooled("AveragePool", 7, attributes(1, 4, 0, "SAME_UPPER")), {2, 6});
  expect_near(pooled("AveragePool", 7, attributes(1, 4, 0, "SAME_LOWER")), {1, 5});
  expect_near(pooled("MaxPool", 4, attributes(1, 2, 0, "SAME_UPPER")), {1, 3});
}

TEST(OnnxPool, GlobalOfManyDims) {
  expect_near(run(one("GlobalAveragePool", {1, 2, 1, 2, 1, 2}), {counted(8)})[0], {2.5, 6.5});
  EXPECT_EQ(dims_of(import(one("GlobalMaxPool", {1, 2, 1, 2, 1, 2}))), (Dims{1, 2, 1, 1, 1, 1}));
}

TEST(OnnxPool, GlobalOnes) {
  expect_near(run(one("GlobalAveragePool", {1, 2, 2, 2}), {counted(8)})[0], {2.5, 6.5});
  expect_near(run(one("GlobalMaxPool", {1, 2, 2, 2}), {counted(8)})[0], {4, 8});
}

/// The indices that MaxPool gives for a source.
Values indices_of(const Integers& dims, const Values& x, const std::vector<Attribute>& attributes) {
  Net net;
  net.input("x", dims).node("MaxPool", {"x"}, {"y", "at"}, attributes).output("at");
  const OnnxModel model = import(net);
  EXPECT_TRUE(model.warnings.empty());
  EXPECT_EQ(model.graph.tensor(model.graph.outputs[0]).dtype, DType::s64);
  return run(net, {x})[0];
}

TEST(OnnxPool, IndicesOfTheFirstMaxima) {
  const auto of_row = [](const Values& x, const std::vector<Attribute>& attributes) {
    return indices_of({1, 1, static_cast<int64_t>(x.size())}, x, attributes);
  };
  const Attribute two{"kernel_shape", Integers{2}}, three{"kernel_shape", Integers{3}};
  EXPECT_EQ(of_row({1, 5, 5, 2}, {two}), (Values{1, 1, 2}));
  EXPECT_EQ(of_row({1, NAN, -3, NAN}, {two}), (Values{0, 2, 2}));  // numbers come before NaN
  // All are minus infinity: the first place is in the source, also where padding stands before it.
  EXPECT_EQ(of_row({-INFINITY, -INFINITY}, {three, {"pads", Integers{2, 2}}}), (Values{0, 0, 0, 1}));
  EXPECT_EQ(of_row({3, 1, 2, 9, 4}, {two, {"dilations", Integers{2}}, {"strides", Integers{2}}}), (Values{0, 4}));
  EXPECT_EQ(of_row({3, 1, 2, 9, 4}, {two, {"ceil_mode", int64_t{1}}, {"strides", Integers{2}}}), (Values{0, 3, 4}));
  // Two channels of 2 x 3, counted by rows and by columns.
  const Values x{0, 9, 0, 0, 0, 1, 7, 0, 0, 0, 0, 8};
  const Attribute plane{"kernel_shape", Integers{2, 2}}, columns{"storage_order", int64_t{1}};
  EXPECT_EQ(indices_of({1, 2, 2, 3}, x, {plane}), (Values{1, 1, 6, 11}));
  EXPECT_EQ(indices_of({1, 2, 2, 3}, x, {plane, columns}), (Values{2, 2, 6, 11}));
}

Net resize(const Integers& dims, const Numbers& scales, const Integers& sizes,
           const std::vector<Attribute>& attributes) {
  Net net(13);
  net.input("x", dims);
  if (sizes.empty())
    net.constant("s", {static_cast<int64_t>(scales.size())}, scales);
  else
    net.integers("s", sizes);
  net.node("Resize", sizes.empty() ? Texts{"x", "", "s"} : Texts{"x", "", "", "s"}, {"y"}, attributes).output("y");
  return net;
}

TEST(OnnxResize, ExamplesOfTheSpecification) {
  const Attribute nearest{"mode", std::string("nearest")}, linear{"mode", std::string("linear")};
  const auto coordinates = [](const char* mode) {
    return Attribute{"coordinate_transformation_mode", std::string(mode)};
  };
  const Values square = counted(4), wide = counted(8);
  expect_near(run(resize({1, 1, 2, 2}, {1, 1, 2, 3}, {}, {nearest}), {square})[0],
              {1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 3, 3, 3, 4, 4, 4});
  expect_near(run(resize({1, 1, 2, 2}, {1, 1, 2, 2}, {}, {linear}), {square})[0],
              {1, 1.25, 1.75, 2, 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3, 3.25, 3.75, 4});
  expect_near(
      run(resize({1, 1, 2, 2}, {1, 1, 2, 2}, {}, {linear, coordinates("align_corners")}), {square})[0],
      {1, 4.0 / 3, 5.0 / 3, 2, 5.0 / 3, 2, 7.0 / 3, 8.0 / 3, 7.0 / 3, 8.0 / 3, 3, 10.0 / 3, 3, 10.0 / 3, 11.0 / 3, 4});
  expect_near(run(resize({1, 1, 2, 4}, {}, {1, 1, 1, 3}, {nearest}), {wide})[0], {1, 2, 4});
  expect_near(run(resize({1, 1, 2, 4}, {}, {1, 1, 1, 2}, {linear, coordinates("pytorch_half_pixel")}), {wide})[0],
              {1.5, 3.5});
  expect_near(run(resize({1, 1, 1, 4}, {}, {1, 1, 1, 8},
                         {nearest, coordinates("asymmetric"), {"nearest_mode", std::string("floor")}}),
                  {counted(4)})[0],
              {1, 1, 2, 2, 3, 3, 4, 4});
  expect_near(run(resize({1, 1, 1, 2}, {}, {1, 1, 1, 4},
                         {nearest, coordinates("asymmetric"), {"nearest_mode", std::string("ceil")}}),
                  {{1, 2}})[0],
              {1, 2, 2, 2});
}

TEST(OnnxResize, UpsampleAndForms) {
  Net upsample(9);
  upsample.input("x", {1, 1, 2}).constant("s", {3}, {1, 1, 2}).node("Upsample", {"x", "s"}, {"y"}).output("y");
  expect_near(run(upsample, {{1, 2}})[0], {1, 1, 2, 2});
  Net attribute = one("Upsample", {1, 1, 2}, {{"scales", Numbers{1, 1, 2}}, {"mode", std::string("linear")}}, 7);
  expect_near(run(attribute, {{1, 2}})[0], {1, 1.5, 2, 2});
  // Extents that scales do not give exactly are rounded down, and positions follow the scale.
  expect_near(run(resize({1, 1, 4}, {1, 1, 0.6}, {}, {{"mode", std::string("nearest")}}), {counted(4)})[0], {1, 3});
  expect_near(run(resize({1, 2, 4}, {1, 2, 1}, {}, {{"mode", std::string("nearest")}}), {counted(8)})[0],
              {1, 2, 3, 4, 1, 2, 3, 4, 5, 6, 7, 8, 5, 6, 7, 8});
  // A cubic kernel with -0.5 gives a straight line back; with -0.75, its default, not quite.
  std::vector<Attribute> cubic = {{"mode", std::string("cubic")}};
  expect_near({run(resize({1, 1, 6}, {1, 1, 2}, {}, cubic), {counted(6)})[0][0]}, {0.89453125});
  cubic.push_back({"cubic_coeff_a", -0.5});
  const Values line = run(resize({1, 1, 6}, {1, 1, 2}, {}, cubic), {counted(6)})[0];
  expect_near({line[4], line[5], line[6], line[7]}, {2.75, 3.25, 3.75, 4.25});
}

}  // namespace
}  // namespace relayout::graph::test
