// Layout problems, assignments and certificates of the solver as the checker takes them.
#pragma once

#include <utility>

#include "relayout/solve/assign.h"
#include "tools/checking/check_proof.h"

namespace relayout::tools::proof {

inline Problem problem_of(const solve::LayoutProblem& problem) {
  Problem out;
  for (const solve::ProblemTensor& tensor : problem.tensors) out.tensors.push_back({tensor.placements, tensor.reorder});
  for (const solve::ProblemOperation& operation : problem.operations) {
    Operation& op = out.operations.emplace_back(Operation{operation.src, operation.dst, operation.hint, {}});
    for (const solve::ProblemChoice& choice : operation.choices) {
      op.choices.push_back({choice.cost, choice.src, choice.dst, choice.with_hint});
    }
  }
  return out;
}

inline Chosen chosen_of(const solve::Assignment& assignment) {
  Chosen out{assignment.choice, {}};
  for (std::size_t t = 0; t < assignment.reorders.size(); ++t) {
    for (const auto& [from, to] : assignment.reorders[t]) out.reorders.push_back({static_cast<int>(t), from, to});
  }
  return out;
}

inline Certificate certificate_of(const solve::LayoutProblem& problem, const solve::Certificate& certificate) {
  const solve::EncodedProblem encoded = solve::encode(problem);
  Certificate out;
  for (const auto& clique : certificate.cliques) {
    out.cliques.push_back({clique.scope, {}});
    for (int table : clique.tables) out.cliques.back().tables.push_back(encoded.of[static_cast<std::size_t>(table)]);
  }
  for (const auto& message : certificate.messages) {
    out.messages.push_back({message.from, message.to, message.table.scope, message.table.values});
  }
  return out;
}

}  // namespace relayout::tools::proof
