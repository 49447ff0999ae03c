// Value expressions: what the fields of a record say together, as a formula of their elements.
//
//     d * (ql + qh<<4 - 16)          ggml's q5_0: a code of 5 bits from two planes, less 16, times its block's scale
//     d*sc*q - dmin*m                q4_K: a scale and a minimum for 32 values, themselves codes times a scale
//
// Grammar, from left to right with one rounding to f32 an operation, in this order:
//
//     value   = product { ("+" | "-") product }
//     product = factor { "*" factor }
//     factor  = ( name | number | "(" value ")" ) [ "<<" number ]
//
// So "<<" binds closest, unlike in C: lo + hi<<4 is a code whose upper bits are hi. Names are fields.
//
// A value whose fields are split into *codes* (one element a value) and *coefficients* (one element for a group of
// values) is affine in its code where it has this form, which all packed formats have:
//
//     (code - subtracted) * scale + added          code = sum of fields << shifts
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/core/error.h"

namespace relayout {

class ValueExpression {
 public:
  enum class Operation : uint8_t { number, name, add, subtract, multiply, shift };
  /// An operation on earlier nodes. shift: a << number.
  struct Node {
    Operation operation = Operation::number;
    std::string name{};
    double number = 0;
    std::size_t a = 0, b = 0;
  };

  /// Error{parse} shows the text with a caret.
  static ValueExpression parse(std::string_view text);
  const std::string& text() const { return text_; }
  /// In an order in which each stands behind those that it is made of. The last one is the value.
  const std::vector<Node>& nodes() const { return nodes_; }
  /// The fields, each once, in the order in which they are named.
  std::vector<std::string> names() const;
  /// The expression with the name replaced by another expression, as a code stands for its planes.
  ValueExpression with(std::string_view name, const ValueExpression& meaning) const;
  /// The value where the fields have these values; each operation is rounded to f32.
  float value(const std::function<float(std::string_view)>& of) const;

  /// The value as affine in its code. `is_code` says of a field whether it is one. Error{unsupported} names the
  /// operation that does not fit.
  struct Affine;
  Affine affine(const std::function<bool(std::string_view)>& is_code) const;

 private:
  friend struct ValueParser;
  std::string text_;
  std::vector<Node> nodes_;
};

struct ValueExpression::Affine {
  struct Plane {
    std::string field;
    int shift = 0;
  };
  std::vector<Plane> code;
  /// Nodes of the expression, made of coefficients and numbers alone; nothing where the step is not there.
  std::optional<std::size_t> subtracted{}, scale{}, added{};
  bool added_is_negative = false;  // what is added is to be subtracted
};

}  // namespace relayout
