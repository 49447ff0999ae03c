// ONNX's RNN, GRU and LSTM against loops written from the specification's formulas: every direction, layout, initial
// state and destination.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/onnx_net.h"
#include "tests/support/testing.h"

namespace relayout::graph::test {
namespace {

constexpr int64_t kSteps = 3, kBatch = 2, kIn = 4, kHidden = 5;

struct Case {
  std::string cell;
  std::string direction = "forward";
  bool bias = true, states = false, batch_first = false;
  bool linear_before_reset = false;
  std::string activation = "Tanh";

  int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
  int64_t gates() const { return cell == "LSTM" ? 4 : cell == "GRU" ? 3 : 1; }
};

/// Constants D x rows x columns, addressed by direction, row and column.
struct Cube {
  int64_t rows, columns;
  Values values;
  double at(int64_t d, int64_t r, int64_t c) const {
    return values[static_cast<std::size_t>((d * rows + r) * columns + c)];
  }
};

struct Operands {
  Cube w, r, b, h, c;  // b has one row a direction; states D N H
  Values x;            // T N I
};

Operands operands_of(const Case& test) {
  const int64_t d = test.directions(), rows = test.gates() * kHidden;
  const auto cube = [&](int64_t r, int64_t c, int salt) { return Cube{r, c, scattered(d * r * c, salt)}; };
  Operands out{cube(rows, kIn, 1),       cube(rows, kHidden, 2),   cube(1, 2 * rows, 3),
               cube(kBatch, kHidden, 4), cube(kBatch, kHidden, 5), scattered(kSteps * kBatch * kIn, 6)};
  if (!test.bias) std::fill(out.b.values.begin(), out.b.values.end(), 0);
  if (!test.states) {
    std::fill(out.h.values.begin(), out.h.values.end(), 0);
    std::fill(out.c.values.begin(), out.c.values.end(), 0);
  }
  return out;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

double activated(const std::string& name, double x) {
  return name == "Relu" ? std::max(x, 0.0) : name == "Sigmoid" ? sigmoid(x) : std::tanh(x);
}

struct Result {
  Values y, y_h, y_c;  // T D N H, D N H
};

/// One step of one direction and batch entry, by the formulas of the specification.
void step(const Case& test, const Operands& in, int64_t d, int64_t n, int64_t t, Values* h, Values* c) {
  const int64_t gates = test.gates();
  const auto x_part = [&](int64_t gate, int64_t k) {
    double sum = in.b.at(d, 0, gate * kHidden + k);
    for (int64_t i = 0; i < kIn; ++i) {
      sum += in.x[static_cast<std::size_t>((t * kBatch + n) * kIn + i)] * in.w.at(d, gate * kHidden + k, i);
    }
    return sum;
  };
  const auto r_part = [&](int64_t gate, int64_t k, const Values& state) {
    double sum = in.b.at(d, 0, (gates + gate) * kHidden + k);
    for (int64_t i = 0; i < kHidden; ++i) {
      sum += state[static_cast<std::size_t>(i)] * in.r.at(d, gate * kHidden + k, i);
    }
    return sum;
  };
  const Values before = *h;
  Values reset = before;
  for (int64_t k = 0; k < kHidden && test.cell == "GRU"; ++k) {
    reset[static_cast<std::size_t>(k)] *= sigmoid(x_part(1, k) + r_part(1, k, before));
  }
  for (int64_t k = 0; k < kHidden; ++k) {
    const auto at = static_cast<std::size_t>(k);
    const auto gate = [&](int64_t g) { return x_part(g, k) + r_part(g, k, before); };
    if (test.cell == "RNN") {
      (*h)[at] = activated(test.activation, gate(0));
    } else if (test.cell == "GRU") {
      const double z = sigmoid(gate(0));
      const double r = sigmoid(gate(1));
      const double candidate =
          std::tanh(x_part(2, k) + (test.linear_before_reset ? r * r_part(2, k, before) : r_part(2, k, reset)));
      (*h)[at] = (1 - z) * candidate + z * before[at];
    } else {
      const double i = sigmoid(gate(0)), o = sigmoid(gate(1)), f = sigmoid(gate(2)), cell = std::tanh(gate(3));
      (*c)[at] = f * (*c)[at] + i * cell;
      (*h)[at] = o * std::tanh((*c)[at]);
    }
  }
}

Result expected_of(const Case& test, const Operands& in) {
  const int64_t d = test.directions();
  Result out{Values(static_cast<std::size_t>(kSteps * d * kBatch * kHidden)), {}, {}};
  for (int64_t at = 0; at < d; ++at) {
    const bool backward = test.direction == "reverse" || at == 1;
    for (int64_t n = 0; n < kBatch; ++n) {
      Values h, c;
      for (int64_t k = 0; k < kHidden; ++k) {
        h.push_back(in.h.at(at, n, k));
        c.push_back(in.c.at(at, n, k));
      }
      for (int64_t s = 0; s < kSteps; ++s) {
        const int64_t t = backward ? kSteps - 1 - s : s;
        step(test, in, at, n, t, &h, &c);
        std::copy(h.begin(), h.end(), out.y.begin() + ((t * d + at) * kBatch + n) * kHidden);
      }
      out.y_h.insert(out.y_h.end(), h.begin(), h.end());
      out.y_c.insert(out.y_c.end(), c.begin(), c.end());
    }
  }
  return out;
}

/// Dims a b ... with the first two exchanged, or with dim `from` moved to the front.
Values exchanged(const Values& values, const Integers& dims, const std::vector<int>& order) {
  Values out;
  Dims moved;
  for (const int d : order) moved.push_back(dims[static_cast<std::size_t>(d)]);
  relayout::test::each_index(Dims(moved.size(), 0), moved, [&](const Dims& index) {
    Integers source(dims.size());
    for (std::size_t i = 0; i < order.size(); ++i)
      source[static_cast<std::size_t>(order[i])] = index[static_cast<int>(i)];
    int64_t offset = 0;
    for (std::size_t d = 0; d < dims.size(); ++d) offset = offset * dims[d] + source[d];
    out.push_back(values[static_cast<std::size_t>(offset)]);
  });
  return out;
}

Net net_of(const Case& test, const Operands& in) {
  const int64_t d = test.directions(), rows = test.gates() * kHidden;
  Net net(14);
  const bool first = test.batch_first;
  net.input("x", first ? Integers{kBatch, kSteps, kIn} : Integers{kSteps, kBatch, kIn});
  net.constant("w", {d, rows, kIn}, in.w.values).constant("r", {d, rows, kHidden}, in.r.values);
  net.constant("b", {d, 2 * rows}, in.b.values);
  const Integers state = first ? Integers{kBatch, d, kHidden} : Integers{d, kBatch, kHidden};
  const auto arranged = [&](const Values& values) {
    return first ? exchanged(values, {d, kBatch, kHidden}, {1, 0, 2}) : values;
  };
  net.constant("h", state, arranged(in.h.values)).constant("c", state, arranged(in.c.values));
  Texts src = {"x", "w", "r", test.bias ? "b" : "", ""}, dst = {"y", "y_h"};
  if (test.states) src.push_back("h");
  if (test.cell == "LSTM") dst.push_back("y_c");
  if (test.cell == "LSTM" && test.states) src.push_back("c");
  std::vector<Attribute> attributes = {{"hidden_size", kHidden}, {"direction", test.direction}};
  if (first) attributes.push_back({"layout", int64_t{1}});
  if (test.cell == "GRU") attributes.push_back({"linear_before_reset", int64_t{test.linear_before_reset}});
  if (test.activation != "Tanh") {
    attributes.push_back({"activations", Texts(static_cast<std::size_t>(d), test.activation)});
  }
  net.node(test.cell, src, dst, attributes);
  for (const std::string& name : dst) net.output(name);
  return net;
}

void check(const Case& test) {
  SCOPED_TRACE(test.cell + " " + test.direction + " " + test.activation + (test.bias ? " bias" : "") +
               (test.states ? " states" : "") + (test.batch_first ? " batch first" : "") +
               (test.linear_before_reset ? " linear before reset" : ""));
  const Operands in = operands_of(test);
  const Result expected = expected_of(test, in);
  const OnnxModel model = import(net_of(test, in));
  EXPECT_TRUE(model.warnings.empty());
  const int64_t d = test.directions();
  const Values x = test.batch_first ? exchanged(in.x, {kSteps, kBatch, kIn}, {1, 0, 2}) : in.x;
  const std::vector<Values> got = run(model, {x});
  const auto state = [&](const Values& values) {
    return test.batch_first ? exchanged(values, {d, kBatch, kHidden}, {1, 0, 2}) : values;
  };
  expect_near(got[0],
              test.batch_first ? exchanged(expected.y, {kSteps, d, kBatch, kHidden}, {2, 0, 1, 3}) : expected.y);
  expect_near(got[1], state(expected.y_h));
  if (test.cell == "LSTM") expect_near(got[2], state(expected.y_c));
}

TEST(OnnxRnn, EveryForm) {
  int count = 0;
  for (const char* cell : {"RNN", "GRU", "LSTM"}) {
    for (const char* direction : {"forward", "reverse", "bidirectional"}) {
      for (int form = 0; form < 8; ++form) {
        Case test{cell, direction, form % 2 == 0, form / 2 % 2 != 0, form / 4 != 0};
        check(test);
        ++count;
        if (test.cell == "GRU") {
          test.linear_before_reset = true;
          check(test);
          ++count;
        }
      }
    }
  }
  for (const char* activation : {"Relu", "Sigmoid"}) {
    Case test{"RNN", "bidirectional"};
    test.activation = activation;
    check(test);
    ++count;
  }
  RecordProperty("cases", count);
}

TEST(OnnxRnn, StatesOfABatchOfOneRepeat) {
  Case test{"LSTM", "forward", true, true};
  Operands in = operands_of(test);
  Net net = net_of(test, in);
  // The file's batch is the first dim, which here are the steps. States have a batch of one.
  for (auto& tensor : *net.graph().mutable_initializer()) {
    if (tensor.name() != "h" && tensor.name() != "c") continue;
    tensor.set_dims(1, 1);
    tensor.mutable_float_data()->Truncate(kHidden);
  }
  for (Cube* cube : {&in.h, &in.c}) {
    std::copy_n(cube->values.begin(), kHidden, cube->values.begin() + kHidden);
  }
  expect_near(run(net, {in.x})[1], expected_of(test, in).y_h);
}

/// The model of an operator with a further attribute.
Net with(const Case& test, const Operands& in, const Attribute& attribute) {
  Net net = net_of(test, in);
  Net extra;
  extra.node("LSTM", {}, {}, {attribute});
  *net.graph().mutable_node(0)->add_attribute() = extra.graph().node(0).attribute(0);
  return net;
}

TEST(OnnxRnn, StepByStepIsTheSameAsTheCell) {
  // Bounds that nothing reaches make a sequence of steps of the operator, with the same results.
  for (const Case& test : {Case{"LSTM"}, Case{"GRU"}, Case{"RNN"}}) {
    const Operands in = operands_of(test);
    const OnnxModel model = import(with(test, in, {"clip", 1000.0}));
    EXPECT_TRUE(model.warnings.empty());
    EXPECT_GT(model.graph.nodes.size(), 20u);
    const std::vector<Values> cell = run(net_of(test, in), {in.x}), steps = run(model, {in.x});
    for (std::size_t i = 0; i < cell.size(); ++i) expect_near(steps[i], cell[i], 1e-5);
  }
}

TEST(OnnxRnn, BoundsInputForgetAndActivationsCount) {
  const Case test{"LSTM"};
  const Operands in = operands_of(test);
  const Values cell = run(net_of(test, in), {in.x})[0];
  for (const Attribute& attribute : {Attribute{"clip", 0.01}, Attribute{"input_forget", int64_t{1}},
                                     Attribute{"activations", Texts{"Sigmoid", "Tanh", "Relu"}}}) {
    const OnnxModel model = import(with(test, in, attribute));
    EXPECT_TRUE(model.warnings.empty()) << attribute.first;
    EXPECT_NE(run(model, {in.x})[0], cell) << attribute.first;
  }
  const OnnxModel unknown = import(with(test, in, {"activations", Texts{"Sigmoid", "Tanh", "Softsign"}}));
  ASSERT_EQ(unknown.warnings.size(), 1u);
  EXPECT_NE(unknown.warnings[0].find("the activation \"softsign\""), std::string::npos) << unknown.warnings[0];
}

TEST(OnnxRnn, SequencesOfSeveralLengthsKeepTheirLastState) {
  const Case test{"LSTM"};
  const Operands in = operands_of(test);
  Net lengths = net_of(test, in);
  lengths.integers("lengths", {kSteps, kSteps - 1});
  lengths.graph().mutable_node(0)->set_input(4, "lengths");
  const std::vector<Values> whole = run(net_of(test, in), {in.x}), cut = run(lengths, {in.x});
  // Y is T D N O: the second sequence is 0 in the last step, and its last state that of the step before.
  const std::size_t row = kHidden, step = whole[0].size() / kSteps, last = step * (kSteps - 1);
  for (std::size_t i = 0; i < row; ++i) {
    EXPECT_NEAR(cut[0][last + i], whole[0][last + i], 1e-5);
    EXPECT_EQ(cut[0][last + row + i], 0);
    EXPECT_NEAR(cut[1][row + i], whole[0][last - step + row + i], 1e-5);
  }
  Net equal = net_of(test, in);
  equal.integers("lengths", {kSteps, kSteps});
  equal.graph().mutable_node(0)->set_input(4, "lengths");
  EXPECT_EQ(import(equal).graph.nodes.size(), import(net_of(test, in)).graph.nodes.size());
}

}  // namespace
}  // namespace relayout::graph::test
