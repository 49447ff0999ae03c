// Check proof: what a plan costs, and that none costs less, by what may be chosen and what that costs. This file and
// its .cc share nothing with the solver, nor with the reading of files: they are all that a proof rests on.
//
// Operations choose; each choice has a cost, reads any of some places of each tensor it reads, and writes one place of
// each tensor it writes. Reorders copy a tensor from place to place. A *value* of a tensor says which groups of places
// its readers want one of; which values there are follows from what they can want together. The cost of a plan is at
// least the sum of these tables, over variables that are the operations' choices and the tensors' values:
//
//     {o}      what o's choice costs
//     {h, o}   0; infinity where o's choice does not go with that of its hint h
//     {o, t}   o reads t: 0; infinity where o's choice wants what t's value has not
//     {o, t}   o writes t: the least that reorders from the place written to one of each group of the value cost
//
// Any plan's choices, with the value of each tensor that is what these choices want, show it: what the plan's reorders
// cost is no less than the last table's entry. No table is negative, so some may be left out. A certificate deals
// tables to cliques, each once at most, and adds messages to one clique that it takes from another: for any values of
// the variables the cliques' sums add up to no more than the tables. So no plan costs less than their least values
// together.
#pragma once

#include <cstdint>
#include <vector>

namespace relayout::tools::proof {

/// A set of places of a tensor, place p being bit p.
using PlacementSet = uint32_t;
inline constexpr int kMaxPlaces = 32;

struct Choice {
  /// Infinite where it is impossible, and not negative.
  double us = 0;
  /// One a tensor that is read: the places of which it reads any.
  std::vector<PlacementSet> src;
  /// One a tensor that is written.
  std::vector<int> dst;
  /// The choices of the hint with which it goes; empty is all of them.
  std::vector<int> with_hint;
};

struct Operation {
  std::vector<int> src, dst;  // tensors
  int hint = -1;              // an operation, or -1
  std::vector<Choice> choices;
};

struct Tensor {
  int places = 0;
  /// Of the reorder from place i to place j at [i * places + j]: as Choice::us.
  std::vector<double> reorder_us;
};

/// What may be chosen. Each tensor is written by one operation.
struct Problem {
  std::vector<Operation> operations;
  std::vector<Tensor> tensors;
};

struct Reorder {
  int tensor = 0, from = 0, to = 0;
};

/// What was chosen: of each operation, and the reorders, each after the one that makes its `from`.
struct Chosen {
  std::vector<int> choices;
  std::vector<Reorder> reorders;
};

/// Variables are the operations, then the tensors. A table is named by its variables, those of one value too, which
/// stand in no scope. Numbers of a scope: the last variable's value changes first.
struct Clique {
  std::vector<int> scope;
  std::vector<std::vector<int>> tables;
};
struct Message {
  int from = 0, to = 0;
  std::vector<int> scope;
  std::vector<double> values;
};
struct Certificate {
  std::vector<Clique> cliques;
  std::vector<Message> messages;
};

// All indices are in range, as the reader has seen to; everything else is checked. Errors: corrupt, its field being
// where in the certificate it is wrong; limit, where it would take more than seconds or a GiB.

/// Microseconds. Error{corrupt}: what is chosen is impossible.
double cost(const Problem& problem, const Chosen& chosen);

/// What no choice is below, less what rounding may add.
double lower_bound(const Problem& problem, const Certificate& certificate);

}  // namespace relayout::tools::proof
