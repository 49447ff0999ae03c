// Check proof: computes what a plan costs, and a bound that no plan costs less than, from what may be chosen and what
// each choice costs. This file and its .cc share no code with the solver and none with the reading of files, so a proof
// rests on these two files alone.
//
// A tensor may lie in several *places* (placements). Each operation makes one choice. A choice has a cost. For each
// tensor that the operation reads it wants a *group*: a set of places of which any one will do. For each tensor that
// the operation writes it names the one place that it writes. Reorders copy a tensor from one place to another. The
// *value* of a tensor is the set of groups that its readers want; the possible values are those that its readers can
// want together. The variables of the proof are the choices of the operations and the values of the tensors, and its
// tables:
//
//     {o}      the cost of o's choice
//     {h, o}   0; infinity where o's choice does not go with the choice of its hint h
//     {o, t}   where o reads t: 0; infinity where o's choice wants a group that is not in t's value
//     {o, t}   where o writes t: the cost of the cheapest reorders from the place that o writes to every group of t's
//              value
//
// A plan costs at least the sum of the tables' entries for its choices, with the value of each tensor that these
// choices want: the plan's reorders of a tensor cost no less than the last table says. No entry is negative, so tables
// may be left out. A certificate deals tables to cliques, each table to one clique at most. A message is added to the
// sum of one clique and taken away from the sum of another. So for any values of the variables, the sums of all cliques
// together are at most the sum of the tables, and no plan costs less than the smallest sums of the cliques together.
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
  /// One for each tensor that is read: the group that it wants.
  std::vector<PlacementSet> src;
  /// One for each tensor that is written: the place.
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
  /// The cost of the reorder from place i to place j is at [i * places + j]; infinite where it is impossible.
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

/// What a plan chose: one choice for each operation, and reorders, each after the one that makes its `from`.
struct Chosen {
  std::vector<int> choices;
  std::vector<Reorder> reorders;
};

/// Variables are numbered: the operations, then the tensors. A table is named by all its variables; a variable that has
/// only one value is in the name and need not be in a scope.
struct Clique {
  std::vector<int> scope;
  std::vector<std::vector<int>> tables;
};
/// Numbers that are taken from clique `from` and added to clique `to`: one for all values of the variables in `scope`,
/// the value of the last variable changing first.
struct Message {
  int from = 0, to = 0;
  std::vector<int> scope;
  std::vector<double> values;
};
struct Certificate {
  std::vector<Clique> cliques;
  std::vector<Message> messages;
};

// Whoever calls these functions has checked that all indices are in range; they check everything else. Errors: corrupt,
// with the place in the certificate as field; limit, where the proof would take more than some seconds or a GiB.

/// The cost of what is chosen, in microseconds. Error{corrupt}: it is impossible.
double cost(const Problem& problem, const Chosen& chosen);

/// The bound that the certificate proves, less what rounding may have added to it.
double lower_bound(const Problem& problem, const Certificate& certificate);

}  // namespace relayout::tools::proof
