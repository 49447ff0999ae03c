// Checking a backend's implementations of one node against the reference (tests of execute/).
//
// Every implementation found under many requests runs on random values: sources with zeros in their padding and ones in
// their gaps, destinations full of ones. Then values are compared, padding must be zero, gaps untouched.
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
  /// Of floating sources; integers take all that their type and this range hold.
  double low = -1, high = 1;
  /// Terms that are added up in one result: rounding grows with them.
  double terms = 1;
  /// Further error, relative to the largest result.
  double relative = 2e-6;
  /// Values of single sources, by operand.
  std::map<std::size_t, std::pair<double, double>> ranges{};
  /// Sources that are given, instead of random ones.
  std::map<std::size_t, graph::Values> given{};
};

/// What was run, by kind and pass.
struct CheckCounts {
  int64_t nodes = 0, runs = 0, reference_runs = 0;
  std::set<std::string> names{};
};

class NodeCheck {
 public:
  explicit NodeCheck(Random& random, int threads = 1) : backend_(onednn_backend(threads)), random_(random) {}

  /// Checks every implementation of the node. A backward node's forward one is checked on the way.
  void check(const Graph& graph, NodeId node, const CheckOptions& options = {});
  /// Prints the counts by kind and pass.
  void print() const;
  const std::map<std::string, CheckCounts>& counts() const { return counts_; }

 private:
  graph::Values values_for(const Graph& graph, const Node& node, std::size_t operand, const CheckOptions& options);
  std::vector<graph::Implementation> implementations_of(const Graph& graph, NodeId node,
                                                        const graph::Implementation* forward);
  /// As many, chosen at random.
  std::vector<graph::Implementation> some_of(std::vector<graph::Implementation> all, std::size_t most);
  /// The executable after one run, with its sources' values.
  std::unique_ptr<graph::Executable> run(const Graph& graph, NodeId node, const graph::Implementation& implementation,
                                         const graph::Implementation* forward_implementation,
                                         graph::Executable* forward, const std::vector<graph::Values>& src,
                                         const std::vector<graph::Values>& dst, const CheckOptions& options);

  std::unique_ptr<graph::Backend> backend_;
  Random& random_;
  std::map<std::string, CheckCounts> counts_{};
};

}  // namespace relayout::execute
