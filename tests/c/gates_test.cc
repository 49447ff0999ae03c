// Orders of gates through the C interface: places, reorders between any layouts and types, and what is refused.
#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "tests/c/owned.h"

namespace {

using relayout::testing::Desc;

TEST(CGates, Places) {
  std::array<int64_t, 4> places{};
  int32_t gates = 0;
  ASSERT_EQ(relayout_gate_places("iofc", "ifco", places.data(), 4, &gates), RELAYOUT_OK) << relayout_error_message();
  EXPECT_EQ(gates, 4);
  EXPECT_EQ(places, (std::array<int64_t, 4>{0, 2, 3, 1}));
  ASSERT_EQ(relayout_gate_places("zrh", "rzh", places.data(), 3, nullptr), RELAYOUT_OK);
  EXPECT_EQ(places[0], 1);
  EXPECT_EQ(relayout_gate_places("zrh", "rzh", places.data(), 2, nullptr), RELAYOUT_BUFFER_TOO_SMALL);
  EXPECT_EQ(relayout_gate_places("zrh", "rzx", places.data(), 4, nullptr), RELAYOUT_INVALID_ARGUMENT);
  EXPECT_STREQ(relayout_error_field(), "gates");
}

/// Weights of 2 layers, 5 inputs, 4 gates and 3 outputs, by their index: the value of one is its place in ldigo.
struct Weights {
  static constexpr int64_t kLayers = 2, kInputs = 5, kGates = 4, kOutputs = 3, kAll = 2 * 5 * 4 * 3;
  static float value(int64_t l, int64_t i, int64_t g, int64_t o) {
    return static_cast<float>(((l * kInputs + i) * kGates + g) * kOutputs + o);
  }
};

TEST(CGates, BringsAnyLayoutToAnother) {
  using W = Weights;
  const std::initializer_list<int64_t> dims{W::kLayers, 1, W::kInputs, W::kGates, W::kOutputs};
  const Desc keras("ldigo", dims, RELAYOUT_F32), onnx("ldgoi", dims, RELAYOUT_S16);
  std::vector<float> in(W::kAll);
  std::iota(in.begin(), in.end(), 0.0f);
  const std::array<int64_t, 4> places{0, 2, 3, 1};
  for (const int32_t dim : {3, -2}) {
    std::vector<int16_t> out(W::kAll, -1);
    ASSERT_EQ(relayout_permute_gates(keras, in.data(), in.size() * 4, onnx, out.data(), out.size() * 2, dim, "iofc",
                                     "ifco", nullptr),
              RELAYOUT_OK)
        << relayout_error_message();
    for (int64_t l = 0; l < W::kLayers; ++l)
      for (int64_t i = 0; i < W::kInputs; ++i)
        for (int64_t g = 0; g < W::kGates; ++g)
          for (int64_t o = 0; o < W::kOutputs; ++o)
            ASSERT_EQ(out[static_cast<std::size_t>(((l * W::kGates + g) * W::kOutputs + o) * W::kInputs + i)],
                      W::value(l, i, places[static_cast<std::size_t>(g)], o));
  }
}

// Where an expression says the change of order, both say the same.
TEST(CGates, IsTheOrderOfAnExpression) {
  const Desc src("ldigo;gates:zrh->rzh", {1, 1, 4, 3, 2}, RELAYOUT_F32), plain("ldigo", {1, 1, 4, 3, 2}, RELAYOUT_F32);
  std::vector<float> in(24), by_expression(24), by_call(24);
  std::iota(in.begin(), in.end(), 0.0f);
  ASSERT_EQ(relayout_reorder(src, in.data(), 96, plain, by_expression.data(), 96, nullptr, nullptr), RELAYOUT_OK);
  ASSERT_EQ(relayout_permute_gates(plain, in.data(), 96, plain, by_call.data(), 96, 3, "zrh", "rzh", nullptr),
            RELAYOUT_OK);
  EXPECT_EQ(by_call, by_expression);
  EXPECT_NE(by_call, in);
}

TEST(CGates, AnErrorLeavesTheDestinationAlone) {
  const Desc w("ldigo", {1, 1, 4, 3, 2}, RELAYOUT_F32), other("ldigo", {1, 1, 4, 3, 3}, RELAYOUT_F32);
  std::vector<float> in(36, 1), out(36, -1);
  const std::vector<float> before = out;
  const auto call = [&](const relayout_desc* src, const relayout_desc* dst, size_t bytes, int32_t dim, const char* from,
                        const char* to) {
    return relayout_permute_gates(src, in.data(), bytes, dst, out.data(), 144, dim, from, to, nullptr);
  };
  EXPECT_EQ(call(w, other, 144, 3, "zrh", "rzh"), RELAYOUT_INVALID_ARGUMENT);
  EXPECT_EQ(call(w, w, 95, 3, "zrh", "rzh"), RELAYOUT_BUFFER_TOO_SMALL);
  EXPECT_EQ(call(w, w, 144, 5, "zrh", "rzh"), RELAYOUT_INVALID_ARGUMENT);
  EXPECT_EQ(call(w, w, 144, 2, "zrh", "rzh"), RELAYOUT_INVALID_ARGUMENT);
  EXPECT_EQ(call(w, w, 144, 3, "zrh", nullptr), RELAYOUT_INVALID_ARGUMENT);
  EXPECT_EQ(out, before);
  EXPECT_EQ(relayout_permute_gates(w, in.data(), 96, w, in.data(), 96, 3, "zrh", "rzh", nullptr), RELAYOUT_OVERLAP);
}

}  // namespace
