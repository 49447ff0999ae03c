// What a layout problem must hold before anything is computed with it.
#include "relayout/solve/problem.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "relayout/solve/index.h"

namespace relayout::solve {
namespace {

class Checker {
 public:
  explicit Checker(const LayoutProblem& problem) : problem_(problem), written_(problem.tensors.size(), false) {}

  void run() {
    for (std::size_t t = 0; t < problem_.tensors.size(); ++t) check_tensor(t);
    for (; operation_ < problem_.operations.size(); ++operation_) check_operation();
  }

 private:
  [[noreturn]] static void wrong(const std::string& where, const std::string& what, const std::string& value) {
    throw std::invalid_argument("layout problem: " + where + ": " + what + " " + value);
  }
  [[noreturn]] void wrong(const std::string& what, int64_t value) const {
    wrong("operation " + std::to_string(operation_), what, std::to_string(value));
  }
  static bool is_cost(double value) { return !std::isnan(value) && value >= 0; }

  void check_tensor(std::size_t t) const {
    const ProblemTensor& tensor = problem_.tensors[t];
    const std::string where = "tensor " + std::to_string(t);
    if (tensor.placements < 0 || tensor.placements > kMaxPlacements)
      wrong(where, "placements", std::to_string(tensor.placements));
    if (tensor.reorder.size() != at(tensor.placements) * at(tensor.placements)) {
      wrong(where, "reorders between " + std::to_string(tensor.placements) + " placements:",
            std::to_string(tensor.reorder.size()));
    }
    for (double cost : tensor.reorder) {
      if (!is_cost(cost)) wrong(where, "cost of a reorder", std::to_string(cost));
    }
  }

  void check_tensor_of(int tensor) const {
    if (tensor < 0 || at(tensor) >= problem_.tensors.size()) wrong("tensor", tensor);
  }

  void check_operation() {
    const ProblemOperation& op = problem_.operations[operation_];
    for (int t : op.src) {
      check_tensor_of(t);
      if (!written_[at(t)]) wrong("no earlier operation writes its source, tensor", t);
    }
    for (int t : op.dst) {
      check_tensor_of(t);
      if (written_[at(t)]) wrong("an earlier operation writes its destination, tensor", t);
      written_[at(t)] = true;
    }
    if (op.hint < -1 || op.hint >= static_cast<int>(operation_)) wrong("hint", op.hint);
    if (op.choices.empty()) wrong("choices", 0);
    for (const ProblemChoice& choice : op.choices) check_choice(op, choice);
  }

  void check_choice(const ProblemOperation& op, const ProblemChoice& choice) const {
    if (choice.src.size() != op.src.size()) wrong("sources of a choice", static_cast<int64_t>(choice.src.size()));
    if (choice.dst.size() != op.dst.size()) wrong("destinations of a choice", static_cast<int64_t>(choice.dst.size()));
    if (!is_cost(choice.cost)) {
      wrong("operation " + std::to_string(operation_), "cost of a choice", std::to_string(choice.cost));
    }
    for (std::size_t i = 0; i < op.src.size(); ++i) {
      const int placements = problem_.tensors[at(op.src[i])].placements;
      if ((uint64_t{choice.src[i]} >> placements) != 0) wrong("read placements (as bits)", choice.src[i]);
    }
    for (std::size_t i = 0; i < op.dst.size(); ++i) {
      const int placements = problem_.tensors[at(op.dst[i])].placements;
      if (choice.dst[i] < 0 || choice.dst[i] >= placements) wrong("written placement", choice.dst[i]);
    }
    const int forward = op.hint < 0 ? 0 : static_cast<int>(problem_.operations[at(op.hint)].choices.size());
    for (int c : choice.with_hint) {
      if (c < 0 || c >= forward) wrong("choice of the hint", c);
    }
  }

  const LayoutProblem& problem_;
  std::vector<bool> written_;
  std::size_t operation_ = 0;
};

}  // namespace

void check(const LayoutProblem& problem) { Checker(problem).run(); }

}  // namespace relayout::solve
