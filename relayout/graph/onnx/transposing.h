// The insides of move_transposes(): orders of dims, the rules of operators, the search and the new list of nodes.
#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <set>
#include <unordered_map>

#include "relayout/graph/onnx/importer.h"
#include "relayout/graph/onnx/transposes.h"

namespace relayout::graph::importing {

/// An order of dims: dim d of the result is dim order[d] of the source.
using Order = std::vector<int>;
Order identity(int rank);
/// The order of two transpositions, the first one first.
Order after(const Order& first, const Order& second);
Order inverse(const Order& order);

struct TensorFacts {
  Dims dims{};
  DType dtype = DType::f32;
  bool known = false;  // dims
  bool fixed = false;  // dims, whatever the model is run with
};

/// A model while its transpositions are moved.
struct Moving {
  ::onnx::ModelProto& model;
  std::unordered_map<std::string, TensorFacts> facts{};
  std::unordered_map<std::string, const ::onnx::TensorProto*> constants{};
  std::set<std::string> needed{};  // read by graphs inside nodes, or outputs of the model
  TransposeCost cost{};
  int made = 0;  // names that were made up
};

/// The order of a Transpose of the main graph; nothing for other nodes and where the rank is not known.
std::optional<Order> order_of(const Moving& moving, const ::onnx::NodeProto& node);

/// Whether the node can work on tensors of that rank in another order of dims, and makes no others.
bool works_in_any_order(const Moving& moving, const ::onnx::NodeProto& node, int rank);
/// Whether an input carries the dims: it has that rank and is not one element. The others stay as they are.
bool carries_dims(const Moving& moving, const ::onnx::NodeProto& node, int input, int rank);
/// Renames the axes of a node that is to work in that order; constants that it needs are added to the model.
void rename_axes(Moving& moving, ::onnx::NodeProto& node, const Order& order);

/// What stands behind a tensor's chain of transpositions: a tensor that is made by something else, and the order of the
/// chain.
struct Root {
  std::string name;
  Order order;
};
Root root_of(const std::unordered_map<std::string, const ::onnx::NodeProto*>& makers, const Moving& moving,
             const std::string& name);

/// For each node of the graph whether it works in `order`; all false where that costs least.
std::vector<bool> best_division(const Moving& moving, const Order& order, double* cost);
/// Rewrites the graph by a division, with as few transpositions as it takes.
void rewrite(Moving& moving, const Order& order, const std::vector<bool>& division);
/// Replaces transpositions that move nothing, or that a neighbour can do; returns whether it did.
bool fold_into_neighbours(Moving& moving);

std::vector<OnnxNode> nodes_of(const ::onnx::ModelProto& model);
/// move_transposes() of a model that is read; it is changed.
OnnxTransposes moved_transposes(::onnx::ModelProto& model, const std::filesystem::path& folder,
                                const OnnxOptions& options, const TransposeCost& cost);

/// Adds a constant of 64-bit integers and returns its name.
std::string add_integers(Moving& moving, const std::vector<int64_t>& values);
/// A constant in another order of its dims; its name. Computed here.
std::string reordered_constant(Moving& moving, const std::string& name, const Order& order);
std::string new_name(Moving& moving, const std::string& from);

}  // namespace relayout::graph::importing
