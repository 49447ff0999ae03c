// Value expressions: reading, evaluating, and their affine form. See value.h.
#include "relayout/core/record/value.h"

#include <algorithm>
#include <cmath>

#include "relayout/core/extents.h"

namespace relayout {

struct ValueParser {
  using Operation = ValueExpression::Operation;

  std::string_view text;
  std::size_t at = 0;
  int depth = 0;
  ValueExpression out{};

  [[noreturn]] void fail(const std::string& why) const {
    throw Error(ErrorCode::parse,
                "value: " + why + "\n  " + escaped(text, 400) + "\n  " +
                    std::string(characters(escaped(text.substr(0, at), 400)), ' ') + "^",
                "value", escaped(text), why);
  }
  char peek() {
    while (at < text.size() && text[at] == ' ') ++at;
    return at < text.size() ? text[at] : '\0';
  }
  bool take(std::string_view word) {
    if (peek() == '\0' || !text.substr(at).starts_with(word)) return false;
    at += word.size();
    return true;
  }
  std::size_t add(ValueExpression::Node node) {
    if (out.nodes_.size() == 1000) fail("more than 1000 operations");
    out.nodes_.push_back(std::move(node));
    return out.nodes_.size() - 1;
  }

  std::string_view word() {
    const std::size_t from = at;
    const auto part = [](char ch) {
      return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_' || (ch >= '0' && ch <= '9') || ch == '.';
    };
    while (at < text.size() && part(text[at])) ++at;
    return text.substr(from, at - from);
  }

  std::size_t factor() {
    std::size_t node = 0;
    if (take("(")) {
      if (++depth > 50) fail("more than 50 parentheses in each other");
      node = sum();
      --depth;
      if (!take(")")) fail("expected ')'");
    } else if (const char ch = peek(); ch >= '0' && ch <= '9') {
      const std::string number(word());
      char* end = nullptr;
      const double value = std::strtod(number.c_str(), &end);
      if (*end != '\0') fail("expected a number");
      node = add({Operation::number, {}, value});
    } else {
      const std::string name(word());
      if (name.empty()) fail("expected a field, a number or '('");
      node = add({Operation::name, name});
    }
    if (!take("<<")) return node;
    peek();
    const std::string_view number = word();
    if (number.empty() || number.size() > 2 || number.find_first_not_of("0123456789") != std::string_view::npos ||
        parse_int(number, "shift") > 31)
      fail("expected a shift of 0 to 31 bits");
    return add({Operation::shift, {}, static_cast<double>(parse_int(number, "shift")), node});
  }

  std::size_t product() {
    std::size_t node = factor();
    while (take("*")) {
      const std::size_t b = factor();
      node = add({Operation::multiply, {}, 0, node, b});
    }
    return node;
  }

  std::size_t sum() {
    std::size_t node = product();
    while (true) {
      const bool plus = take("+");
      if (!plus && !take("-")) return node;
      const std::size_t b = product();
      node = add({plus ? Operation::add : Operation::subtract, {}, 0, node, b});
    }
  }
};

ValueExpression ValueExpression::parse(std::string_view text) {
  ValueParser parser{text};
  if (text.size() > 10'000) parser.fail("over 10000 characters");
  parser.sum();
  if (parser.peek() != '\0' || parser.at < text.size()) parser.fail("expected an operation: + - * <<");
  parser.out.text_ = std::string(text);
  return std::move(parser.out);
}

std::vector<std::string> ValueExpression::names() const {
  std::vector<std::string> out;
  for (const Node& node : nodes_) {
    if (node.operation == Operation::name && std::ranges::find(out, node.name) == out.end()) out.push_back(node.name);
  }
  return out;
}

ValueExpression ValueExpression::with(std::string_view name, const ValueExpression& meaning) const {
  ValueExpression out;
  std::vector<std::size_t> moved;
  for (const Node& node : nodes_) {
    if (node.operation == Operation::name && node.name == name) {
      const std::size_t base = out.nodes_.size();
      for (Node part : meaning.nodes_) {
        part.a += base;
        part.b += base;
        out.nodes_.push_back(std::move(part));
      }
    } else {
      Node copy = node;
      const bool is_leaf = node.operation == Operation::number || node.operation == Operation::name;
      copy.a = is_leaf ? 0 : moved[node.a];
      copy.b = is_leaf || node.operation == Operation::shift ? 0 : moved[node.b];
      out.nodes_.push_back(std::move(copy));
    }
    moved.push_back(out.nodes_.size() - 1);
  }
  out.text_ = text_;
  return out;
}

float ValueExpression::value(const std::function<float(std::string_view)>& of) const {
  std::vector<float> values;
  for (const Node& node : nodes_) {
    switch (node.operation) {
      case Operation::number: values.push_back(static_cast<float>(node.number)); break;
      case Operation::name: values.push_back(of(node.name)); break;
      case Operation::add: values.push_back(values[node.a] + values[node.b]); break;
      case Operation::subtract: values.push_back(values[node.a] - values[node.b]); break;
      case Operation::multiply: values.push_back(values[node.a] * values[node.b]); break;
      case Operation::shift: values.push_back(std::ldexp(values[node.a], static_cast<int>(node.number))); break;
    }
  }
  return values.back();
}

namespace {

/// What is known of a node: coefficients alone, or affine in the code as far as it has come.
struct Form {
  bool has_code = false;
  ValueExpression::Affine affine{};
  bool plain() const { return !affine.subtracted && !affine.scale && !affine.added; }
};

[[noreturn]] void no_affine(const ValueExpression& expression, const std::string& why) {
  throw Error(ErrorCode::unsupported,
              "value: " + escaped(expression.text(), 200) + " is not (code - subtracted) * scale + added, as " + why,
              "value", escaped(expression.text(), 200), "(code - subtracted) * scale + added");
}

}  // namespace

ValueExpression::Affine ValueExpression::affine(const std::function<bool(std::string_view)>& is_code) const {
  std::vector<Form> forms;
  for (std::size_t k = 0; k < nodes_.size(); ++k) {
    const Node& node = nodes_[k];
    Form form;
    if (node.operation == Operation::name && is_code(node.name)) {
      form = {true, {.code = {{node.name, 0}}}};
    } else if (node.operation != Operation::number && node.operation != Operation::name) {
      const bool shift = node.operation == Operation::shift;
      const Form &a = forms[node.a], &b = shift ? forms[node.a] : forms[node.b];
      const bool multiplies = node.operation == Operation::multiply;
      if (shift) {
        form = a;
        if (form.has_code && !form.plain()) no_affine(*this, "it shifts what is no code");
        for (auto& plane : form.affine.code) plane.shift += static_cast<int>(node.number);
      } else if (a.has_code && b.has_code) {
        if (node.operation != Operation::add || !a.plain() || !b.plain())
          no_affine(*this, "two codes are only added before anything else is done with them");
        form = a;
        for (const auto& plane : b.affine.code) form.affine.code.push_back(plane);
      } else if (a.has_code || b.has_code) {
        form = a.has_code ? a : b;
        const std::size_t other = a.has_code ? node.b : node.a;
        if (form.affine.added) no_affine(*this, "nothing follows what is added to the product");
        if (multiplies) {
          if (form.affine.scale) no_affine(*this, "it has two scales that are not multiplied before");
          form.affine.scale = other;
        } else if (node.operation == Operation::subtract && b.has_code) {
          no_affine(*this, "the code is subtracted");
        } else if (node.operation == Operation::subtract && form.plain()) {
          form.affine.subtracted = other;
        } else {
          form.affine.added = other;
          form.affine.added_is_negative = node.operation == Operation::subtract;
        }
      }
    }
    forms.push_back(std::move(form));
  }
  if (!forms.back().has_code) no_affine(*this, "it has no code");
  return forms.back().affine;
}

}  // namespace relayout
