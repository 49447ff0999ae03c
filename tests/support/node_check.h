// Checking a backend's implementations of one node against the reference (tests of execute/).
//
// Many requests are made, and every implementation that is found runs on random values. Before, sources have zeros in
// their padding and ones in their gaps, and destinations are full of ones. Afterwards values must be equal, padding
// zero, and gaps untouched.
#pragma once

#include <map>
#include <random>
#include <set>
#include <string>

#include "relayout/execute/onednn/backend.h"
#include "relayout/graph/reference/reference.h"

namespace relayout::execute {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::TensorId;

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  int64_t between(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine_); }
  bool one_in(int64_t n) { return between(1, n) == 1; }
  double real(double low, double high) { return std::uniform_real_distribution<double>(low, high)(engine_); }
  template <typename T>
  T of(std::initializer_list<T> values) {
    return values.begin()[between(0, static_cast<int64_t>(values.size()) - 1)];
  }

 private:
  std::mt19937_64 engine_;
};

/// How values are chosen and compared.
struct CheckOptions {
  /// The range of floating sources. Integer sources take all values of their type in this range.
  double low = -1, high = 1;
  /// How many terms are added up in one result. The rounding error grows with them.
  double terms = 1;
  /// A further error that is allowed, relative to the largest result.
  double relative = 2e-6;
  /// Whether floating sources also have NaN, infinities, the least numbers and -0.
  bool special = false;
  /// Whether integer results must be equal; else they may differ by 1.
  bool exact = false;
  /// The range of values of single sources, by operand.
  std::map<std::size_t, std::pair<double, double>> ranges{};
  /// The values of sources that are not random, by operand.
  std::map<std::size_t, graph::Values> given{};
};

/// How many implementations were run, by kind and pass.
struct CheckCounts {
  int64_t nodes = 0, runs = 0, reference_runs = 0;
  std::set<std::string> names{};
};

class NodeCheck {
 public:
  explicit NodeCheck(Random& random, int threads = 1) : backend_(onednn_backend(threads)), random_(random) {}

  /// Checks every implementation of the node. For a backward node, its forward node is checked, too.
  void check(const Graph& graph, NodeId node, const CheckOptions& options = {});
  /// Prints the counts by kind and pass.
  void print() const;
  const std::map<std::string, CheckCounts>& counts() const { return counts_; }

 private:
  graph::Values values_for(const Graph& graph, const Node& node, std::size_t operand, const CheckOptions& options);
  std::vector<graph::Implementation> implementations_of(const Graph& graph, NodeId node,
                                                        const graph::Implementation* forward);
  /// At most `most` of the implementations, chosen at random.
  std::vector<graph::Implementation> some_of(std::vector<graph::Implementation> all, std::size_t most);
  /// Runs an implementation once, and returns the executable and the values of its sources.
  std::unique_ptr<graph::Executable> run(const Graph& graph, NodeId node, const graph::Implementation& implementation,
                                         const graph::Implementation* forward_implementation,
                                         graph::Executable* forward, const std::vector<graph::Values>& src,
                                         const std::vector<graph::Values>& dst, const CheckOptions& options);

  std::unique_ptr<graph::Backend> backend_;
  Random& random_;
  std::map<std::string, CheckCounts> counts_{};
};

}  // namespace relayout::execute
