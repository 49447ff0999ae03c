// A layout problem as an integer linear program, for a solver that has nothing in common with the library's. There is a
// binary variable for each choice and each reorder, and a flow from the written placement to each reader.
//
//     program.lp:  x<o>_<c>       operation o chooses c
//                  e<t>_<i>_<j>   tensor t is reordered from placement i to j
//                  f<r>_<i>_<j>   the flow to reader r by that reorder: at most e
//                  d<r>_<p>       reader r reads placement p: at most the sum of its choices that may
#pragma once

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "relayout/solve/problem.h"

namespace relayout::test {

class IntegerProgram {
 public:
  explicit IntegerProgram(const solve::LayoutProblem& problem) : problem_(problem), written_(problem.tensors.size()) {
    for (std::size_t o = 0; o < problem.operations.size(); ++o) add_operation(o);
    for (std::size_t t = 0; t < problem.tensors.size(); ++t) {
      for_each_reorder(t, [&](const std::string& name, int i, int j) {
        cost("e" + name, problem.tensors[t].reorder_cost(i, j));
        binary_ += " e" + name + "\n";
      });
    }
  }

  std::string text() const {
    return "Minimize\n obj:\n" + objective_ + "Subject To\n" + rows_ + "Binaries\n" + binary_ + "End\n";
  }

 private:
  static std::string number(double value) {
    std::array<char, 40> out{};
    std::snprintf(out.data(), out.size(), "%.17g", value);
    return out.data();
  }
  void cost(const std::string& variable, double value) { objective_ += " + " + number(value) + " " + variable + "\n"; }
  void row(const std::string& left, const std::string& right) {
    rows_ += " r" + std::to_string(count_++) + ":\n" + left + " " + right + "\n";
  }

  template <typename F>
  void for_each_reorder(std::size_t t, F f) const {
    const solve::ProblemTensor& tensor = problem_.tensors[t];
    for (int i = 0; i < tensor.placements; ++i) {
      for (int j = 0; j < tensor.placements; ++j) {
        if (i == j || tensor.reorder_cost(i, j) == solve::kImpossible) continue;
        f(std::to_string(t) + "_" + std::to_string(i) + "_" + std::to_string(j), i, j);
      }
    }
  }

  static std::string chosen(std::size_t o, std::size_t c) { return "x" + std::to_string(o) + "_" + std::to_string(c); }

  void add_operation(std::size_t o) {
    const solve::ProblemOperation& op = problem_.operations[o];
    std::string one;
    for (std::size_t c = 0; c < op.choices.size(); ++c) {
      one += " + " + chosen(o, c) + "\n";
      binary_ += " " + chosen(o, c) + "\n";
      if (op.choices[c].cost == solve::kImpossible) {
        row(" " + chosen(o, c) + "\n", "= 0");
      } else {
        cost(chosen(o, c), op.choices[c].cost);
      }
      if (!op.choices[c].with_hint.empty()) {
        std::string with = " " + chosen(o, c) + "\n";
        for (int h : op.choices[c].with_hint) {
          with += " - " + chosen(static_cast<std::size_t>(op.hint), static_cast<std::size_t>(h)) + "\n";
        }
        row(with, "<= 0");
      }
      for (std::size_t i = 0; i < op.dst.size(); ++i) {
        auto& by_placement = written_[static_cast<std::size_t>(op.dst[i])];
        by_placement.resize(solve::kMaxPlacements);
        by_placement[static_cast<std::size_t>(op.choices[c].dst[i])] += " + " + chosen(o, c) + "\n";
      }
    }
    row(one, "= 1");
    for (std::size_t i = 0; i < op.src.size(); ++i) add_reader(o, i);
  }

  void add_reader(std::size_t o, std::size_t i) {
    const solve::ProblemOperation& op = problem_.operations[o];
    const auto t = static_cast<std::size_t>(op.src[i]);
    const std::string r = std::to_string(reader_++);
    std::vector<std::string> flow(solve::kMaxPlacements);
    for_each_reorder(t, [&](const std::string& name, int from, int to) {
      const std::string f = "f" + r + "_" + std::to_string(from) + "_" + std::to_string(to);
      row(" " + f + "\n - e" + name + "\n", "<= 0");
      flow[static_cast<std::size_t>(from)] += " - " + f + "\n";
      flow[static_cast<std::size_t>(to)] += " + " + f + "\n";
    });
    std::string delivered;
    for (int p = 0; p < problem_.tensors[t].placements; ++p) {
      const std::string d = "d" + r + "_" + std::to_string(p);
      delivered += " + " + d + "\n";
      const auto placement = static_cast<std::size_t>(p);
      row(written_[t][placement] + flow[placement] + " - " + d + "\n", "= 0");
      std::string may = " " + d + "\n";
      for (std::size_t c = 0; c < op.choices.size(); ++c) {
        if ((op.choices[c].src[i] >> p & 1) != 0) may += " - " + chosen(o, c) + "\n";
      }
      row(may, "<= 0");
    }
    row(delivered, "= 1");
  }

  const solve::LayoutProblem& problem_;
  std::vector<std::vector<std::string>> written_;  // by tensor and placement: the choices that write it
  std::string objective_, rows_, binary_;
  int count_ = 0, reader_ = 0;
};

/// The least cost by the program `cbc` (COIN-OR branch and cut); nothing if there is no solution.
inline std::optional<double> solve_with_cbc(const solve::LayoutProblem& problem, const std::string& cbc) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("relayout-cbc-" + std::to_string(getpid()));
  fs::create_directories(folder);
  const fs::path program = folder / "program.lp", solution = folder / "solution.txt";
  std::ofstream(program) << IntegerProgram(problem).text();
  const std::string command =
      "'" + cbc + "' '" + program.string() +
      "' ratioGap 0 allowableGap 0 primalTolerance 1e-9 integerTolerance 1e-9 solve solution '" + solution.string() +
      "' > '" + (folder / "log.txt").string() + "' 2>&1";
  const int status = std::system(command.c_str());
  std::string word, ignored;
  std::optional<double> out;
  double value = 0;
  std::ifstream result(solution);
  if (status == 0 && result >> word && word == "Optimal" && result >> ignored >> ignored >> ignored >> value)
    out = value;
  fs::remove_all(folder);
  return out;
}

}  // namespace relayout::test
