// Recurrent operators of which no node of the graph computes the form, as nodes of each step (ops_rnn_steps.cc).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "relayout/graph/onnx/importer.h"

namespace relayout::graph::importing {

enum class RecurrentCell : uint8_t { plain, lstm, gru };

struct RecurrentForm {
  RecurrentCell cell = RecurrentCell::plain;
  int64_t steps = 0, batch = 0, channels = 0;
  /// By direction: whether it goes from the last step to the first.
  std::vector<bool> backward{};
  /// How many activations a direction has.
  std::size_t functions = 1;
  /// What is activated is bounded by this first; 0 where it is not.
  double clip = 0;
};

/// An activation by its name in small letters, with its factors, if they are given (ops_rnn.cc).
struct RecurrentFunction {
  std::string name;
  std::optional<double> alpha, beta;
};
RecurrentFunction recurrent_function(const Op& op, std::size_t which);
/// Activation number `which` of all directions. NotExpressible where there is no such function.
Value recurrent_activation(Op& op, const Value& value, std::size_t which);
/// Sets the outputs of RNN, GRU or LSTM. All steps become nodes of the graph.
void recurrent_steps(Op& op, const RecurrentForm& form);

}  // namespace relayout::graph::importing
