// Value expressions against the same formulas in C++, and their affine form against the expression itself.
#include "relayout/core/record/value.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

namespace relayout {
namespace {

using Values = std::map<std::string, float, std::less<>>;

float evaluated(const ValueExpression& expression, const Values& values) {
  return expression.value([&](std::string_view name) { return values.find(name)->second; });
}

/// The value of one node alone.
float node_value(const ValueExpression& expression, std::size_t k, const Values& values) {
  const auto& node = expression.nodes()[k];
  using Operation = ValueExpression::Operation;
  switch (node.operation) {
    case Operation::number: return static_cast<float>(node.number);
    case Operation::name: return values.find(node.name)->second;
    case Operation::add: return node_value(expression, node.a, values) + node_value(expression, node.b, values);
    case Operation::subtract: return node_value(expression, node.a, values) - node_value(expression, node.b, values);
    case Operation::multiply: return node_value(expression, node.a, values) * node_value(expression, node.b, values);
    case Operation::shift: return node_value(expression, node.a, values) * std::exp2(static_cast<float>(node.number));
  }
  return 0;
}

TEST(Value, IsComputedFromLeftToRightInF32) {
  const Values v{{"d", 0.1F}, {"q", 13}, {"m", 7.3F}, {"lo", 9}, {"hi", 1}, {"sc", 3}, {"dmin", 0.7F}};
  EXPECT_EQ(evaluated(ValueExpression::parse("d * (q - 8)"), v), 0.1F * (13.0F - 8.0F));
  EXPECT_EQ(evaluated(ValueExpression::parse("lo + hi<<4"), v), 25);
  EXPECT_EQ(evaluated(ValueExpression::parse("d*sc*q - dmin*m"), v), 0.1F * 3.0F * 13.0F - 0.7F * 7.3F);
  EXPECT_EQ(evaluated(ValueExpression::parse("q - m - d"), v), 13.0F - 7.3F - 0.1F);
  EXPECT_EQ(evaluated(ValueExpression::parse("0.5 * (q)"), v), 6.5F);
  const auto whole = ValueExpression::parse("d * (q - 16)").with("q", ValueExpression::parse("lo + hi<<4"));
  EXPECT_EQ(evaluated(whole, v), 0.1F * (25.0F - 16.0F));
  EXPECT_EQ(whole.names(), (std::vector<std::string>{"d", "lo", "hi"}));
}

TEST(Value, RefusesOtherTexts) {
  for (const char* text : {"", "d *", "(d", "d)", "d d", "d << x", "d << 32", "d + + d", "1.2.3", "d / q", "<<3"})
    EXPECT_THROW((void)ValueExpression::parse(text), Error) << text;
}

TEST(Value, IsAffineInItsCode) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> real(-2, 2);
  for (const char* text : {"d * (lo + hi<<4 - 16)", "d*sc*q - dmin*m", "s * q + b", "s * (q - z)", "s * (q - (z + 1))",
                           "q * d", "(lo + hi<<2 - 4) * (d * (sc - 32))", "q", "q + d", "(lo<<1 + hi)*d"}) {
    const ValueExpression expression = ValueExpression::parse(text);
    const auto affine =
        expression.affine([](std::string_view name) { return name == "q" || name == "lo" || name == "hi"; });
    for (int n = 0; n < 100; ++n) {
      Values v;
      for (const std::string& name : expression.names())
        v[name] = name == "q" || name == "lo" || name == "hi" ? static_cast<float>(random() % 16) : real(random);
      float value = 0;
      for (const auto& plane : affine.code) value += std::ldexp(v.at(plane.field), plane.shift);
      if (affine.subtracted) value -= node_value(expression, *affine.subtracted, v);
      if (affine.scale) value *= node_value(expression, *affine.scale, v);
      if (affine.added) {
        const float added = node_value(expression, *affine.added, v);
        value += affine.added_is_negative ? -added : added;
      }
      EXPECT_EQ(value, evaluated(expression, v)) << text;
    }
  }
  for (const char* text : {"d", "q * q", "d - q", "(q * d) * s", "(q + d) * s", "(q*d)<<1", "q*d + b + b"}) {
    EXPECT_THROW((void)ValueExpression::parse(text).affine([](std::string_view name) { return name == "q"; }), Error)
        << text;
  }
}

}  // namespace
}  // namespace relayout
