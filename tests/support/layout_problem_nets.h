// Layout problems of the shapes of real nets, for tests of speed: chains, residual ladders, inception and dense blocks.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "relayout/solve/problem.h"

namespace relayout::solve::cases {

/// Every tensor exists in some layouts, in memory of its own and as a part of each concat that reads it. Convolutions
/// run in few layouts, with two implementations in each; other nodes run in all layouts. Concats copy their sources, or
/// have them written into their destination.
class NetProblem {
 public:
  explicit NetProblem(uint64_t seed, int layouts = 5) : random_(seed), layouts_(layouts) {}

  int input() { return add({}, Type::input); }
  int conv(int src) { return add({src}, Type::conv); }
  int relu(int src) { return add({src}, Type::eltwise); }
  int sum(int a, int b) { return add({a, b}, Type::eltwise); }
  int concat(std::vector<int> src) { return add(std::move(src), Type::concat); }
  void output(int src) { add({src}, Type::output); }

  LayoutProblem make() {
    LayoutProblem out;
    concats_.resize(nodes_.size());
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      if (nodes_[n].type != Type::concat) continue;
      for (int t : nodes_[n].src) concats_[at(t)].push_back(static_cast<int>(n));
    }
    for (std::size_t n = 0; n < nodes_.size(); ++n) out.tensors.push_back(tensor(static_cast<int>(n)));
    for (std::size_t n = 0; n < nodes_.size(); ++n) out.operations.push_back(operation(static_cast<int>(n)));
    return out;
  }

 private:
  enum class Type { input, conv, eltwise, concat, output };
  struct Node {
    std::vector<int> src;
    Type type;
  };

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }

  int add(std::vector<int> src, Type type) {
    nodes_.push_back({std::move(src), type});
    return static_cast<int>(nodes_.size()) - 1;
  }

  int placements(int t) const { return layouts_ * (1 + static_cast<int>(concats_[at(t)].size())); }

  ProblemTensor tensor(int t) {
    ProblemTensor out;
    out.placements = placements(t);
    const double size = uniform(5, 50);
    for (int from = 0; from < out.placements; ++from) {
      for (int to = 0; to < out.placements; ++to) {
        const bool copy = from % layouts_ == to % layouts_;
        out.reorder.push_back(from == to ? 0 : copy ? size : size * uniform(1.2, 3));
      }
    }
    return out;
  }

  /// The placements in which a kernel reads a layout: in memory of its own, or as a part of any concat.
  PlacementSet any(int t, int layout) const {
    PlacementSet out = 0;
    for (int p = layout; p < placements(t); p += layouts_) out |= PlacementSet{1} << p;
    return out;
  }

  ProblemOperation operation(int n) {
    const Node& node = nodes_[at(n)];
    ProblemOperation out;
    out.src = node.src;
    if (node.type != Type::output) out.dst = {n};
    const double work = node.type == Type::conv ? uniform(50, 500) : uniform(5, 50);
    for (int layout = 0; layout < layouts_; ++layout) {
      const bool fixed = node.type == Type::input || node.type == Type::output;
      if (fixed && layout > 0) break;
      const int alternatives = node.type == Type::conv ? 2 : 1;
      for (int repeat = 0; repeat < alternatives; ++repeat) {
        ProblemChoice choice;
        choice.cost = fixed ? 0 : work * uniform(1, node.type == Type::conv ? 3 : 1.3);
        for (int t : node.src) choice.src.push_back(any(t, layout));
        write(choice, n, layout, out);
        if (node.type != Type::concat) continue;
        choice.cost = 0;
        for (std::size_t i = 0; i < node.src.size(); ++i) {
          const std::vector<int>& of = concats_[at(node.src[i])];
          const auto part = static_cast<int>(std::ranges::find(of, n) - of.begin());
          choice.src[i] = PlacementSet{1} << (layouts_ * (1 + part) + layout);
        }
        write(choice, n, layout, out);
      }
    }
    return out;
  }

  /// The destination in memory of its own, or as a part of a concat.
  void write(ProblemChoice choice, int n, int layout, ProblemOperation& out) const {
    if (nodes_[at(n)].type == Type::output) {
      out.choices.push_back(std::move(choice));
      return;
    }
    for (int p = layout; p < placements(n); p += layouts_) {
      choice.dst = {p};
      out.choices.push_back(choice);
    }
  }

  std::mt19937_64 random_;
  int layouts_;
  std::vector<Node> nodes_;
  std::vector<std::vector<int>> concats_;
};

inline LayoutProblem chain(int length, int layouts = 5) {
  NetProblem net(1, layouts);
  int t = net.input();
  for (int i = 0; i < length; ++i) t = net.relu(net.conv(t));
  net.output(t);
  return net.make();
}

/// Blocks of three convolutions beside a shortcut; every fourth block has a convolution on the shortcut.
inline LayoutProblem residual(int blocks, int layouts = 5) {
  NetProblem net(2, layouts);
  int t = net.relu(net.conv(net.input()));
  for (int b = 0; b < blocks; ++b) {
    const int branch = net.conv(net.relu(net.conv(net.relu(net.conv(t)))));
    t = net.relu(net.sum(branch, b % 4 == 0 ? net.conv(t) : t));
  }
  net.output(t);
  return net.make();
}

/// Blocks of four branches whose results are joined by a concat.
inline LayoutProblem inception(int blocks, int layouts = 5) {
  NetProblem net(3, layouts);
  int t = net.relu(net.conv(net.input()));
  for (int b = 0; b < blocks; ++b) {
    std::vector<int> parts = {net.relu(net.conv(t))};
    for (int i = 0; i < 2; ++i) parts.push_back(net.relu(net.conv(net.relu(net.conv(t)))));
    parts.push_back(net.relu(net.conv(net.relu(t))));
    t = net.concat(parts);
  }
  net.output(t);
  return net.make();
}

/// The destination of each layer is concatenated with those of all layers before it.
inline LayoutProblem dense(int layers, int layouts = 5) {
  NetProblem net(4, layouts);
  int t = net.relu(net.conv(net.input()));
  for (int i = 0; i < layers; ++i) t = net.concat({t, net.conv(net.relu(net.conv(net.relu(t))))});
  net.output(t);
  return net.make();
}

/// A U-shaped net: on the way up, each level is joined with the tensor of the same level on the way down.
inline LayoutProblem u_net(int levels, int layouts = 5) {
  NetProblem net(5, layouts);
  std::vector<int> down;
  int t = net.input();
  for (int l = 0; l < levels; ++l) {
    down.push_back(net.relu(net.conv(net.relu(net.conv(t)))));
    t = net.relu(down.back());
  }
  for (int l = levels; l-- > 0;)
    t = net.relu(net.conv(net.relu(net.conv(net.concat({down[static_cast<std::size_t>(l)], net.conv(t)})))));
  net.output(t);
  return net.make();
}

}  // namespace relayout::solve::cases
