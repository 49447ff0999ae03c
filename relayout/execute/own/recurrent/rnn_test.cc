// LSTMs and GRUs of every form, with every instruction set and with threads, against the reference.
#include <gtest/gtest.h>

#include <array>

#include "relayout/cpu/isa.h"
#include "tests/support/node_check.h"

namespace relayout::execute {
namespace {

using graph::Kind;
using graph::RnnCell;
using graph::RnnDirection;

/// Restores the instruction set that was in use.
struct OwnRnn : testing::Test {
  ~OwnRnn() override { cpu::set_isa(""); }
};

/// A net of random operands: with or without a first state, a bias and the last states.
void check(NodeCheck& check, Random& random, RnnCell cell, RnnDirection direction,
           const std::array<int64_t, 4>& sizes) {
  const auto [times, batch, in, out] = sizes;
  const int64_t directions = direction >= RnnDirection::bidirectional_concat ? 2 : 1;
  const bool lstm = cell == RnnCell::lstm;
  const int64_t gates = lstm ? 4 : 3, biases = cell == RnnCell::gru ? 3 : 4;
  graph::Graph graph;
  graph::Node node{.kind = Kind::rnn, .attributes = graph::RnnAttributes{cell, direction}};
  node.src = {graph.input("x", {times, batch, in}),
              random.one_in(2) ? graph.input("h", {1, directions, batch, out}) : graph::kNone,
              lstm && random.one_in(2) ? graph.input("c", {1, directions, batch, out}) : graph::kNone,
              graph.input("weights", {1, directions, in, gates, out}),
              graph.input("recurrent", {1, directions, out, gates, out}),
              random.one_in(3) ? graph::kNone : graph.input("bias", {1, directions, biases, out})};
  graph.add(node, static_cast<int>(random.between(1, lstm ? 3 : 2)));
  check.check(graph, 0, {.terms = static_cast<double>(in + out) * static_cast<double>(times), .relative = 1e-5});
}

TEST_F(OwnRnn, EqualsTheReferenceWithEveryInstructionSet) {
  for (const std::string_view isa : cpu::available_isas()) {
    cpu::set_isa(isa);
    for (const int threads : {1, 5}) {
      Random random(2);
      NodeCheck nodes(random, threads);
      for (const RnnCell cell : {RnnCell::lstm, RnnCell::gru, RnnCell::lbr_gru}) {
        for (int direction = 0; direction < 4; ++direction) {
          const auto towards = static_cast<RnnDirection>(direction);
          check(nodes, random, cell, towards,
                {random.between(1, 9), random.between(1, 5), random.between(1, 20), random.between(1, 20)});
        }
        check(nodes, random, cell, RnnDirection::right_to_left, {40, 2, 5, 7});  // several chunks of times
        // Enough for several threads: by rows of the batch, by directions and by columns.
        check(nodes, random, cell, RnnDirection::left_to_right, {2, 9, 150, 50});
        check(nodes, random, cell, RnnDirection::bidirectional_concat, {2, 9, 150, 50});
        check(nodes, random, cell, RnnDirection::bidirectional_sum, {2, 7, 150, 50});
        check(nodes, random, cell, RnnDirection::right_to_left, {2, 1, 10, 190});
        check(nodes, random, cell, RnnDirection::left_to_right, {2, 90, 3, 5});  // a time has more rows than a chunk
      }
      EXPECT_TRUE(nodes.counts().at("rnn forward_inference").names.contains("relayout:rnn"));
    }
  }
}

}  // namespace
}  // namespace relayout::execute
