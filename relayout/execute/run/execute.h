// Execute: runs a graph in the layouts of a plan.
//
// Reorders are this project's own, primitives the backend's. Constants are reordered once, when the model is made;
// buffers of activations share memory by lifetime.
//
//     Model model(graph, propagate(graph, *backend), *backend);
//     model.run({{{x_desc, x}}}, {{{y_desc, y}}});
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "relayout/graph/plan/backend.h"
#include "relayout/graph/plan/layout_plan.h"

namespace relayout::execute {

/// A tensor of the caller: any layout and type of the graph's dims, which are converted where they differ.
struct Source {
  TensorDesc desc;
  const void* data = nullptr;
};
struct Destination {
  TensorDesc desc;
  void* data = nullptr;
};

struct ModelOptions {
  /// For finding errors: every buffer is filled with ones before it is written, and after each primitive and reorder
  /// its padding must hold zero, else run() throws Error{internal} with the node, the tensor and the index.
  bool check_padding = false;
  /// Scale of inputs whose type is not the graph's (u8 photos): value * scale.
  float input_scale = 1;
};

/// One step of a run: a primitive, or a reorder.
struct StepTime {
  std::string name, implementation;
  bool reorder = false, reference = false;
  int64_t nanoseconds = 0;
};

struct Profile {
  std::vector<StepTime> steps;
  /// Of the whole run, measured around it.
  int64_t nanoseconds = 0;
};

/// Bytes that a model holds beside the graph's own constants.
struct ModelMemory {
  /// Of activations: what is allocated, and what it would be without sharing.
  int64_t activations = 0, activations_unshared = 0;
  /// Constants in their planned layouts.
  int64_t constants = 0;
  /// The backend's scratchpads and workspaces.
  int64_t scratch = 0;
  int64_t peak() const { return activations + constants + scratch; }
};

class Model {
 public:
  /// Makes all primitives and reorders ready, for the backend's number of threads. `backend` may go afterwards. Errors:
  /// unsupported (an unknown operator, a primitive that the backend cannot make), invalid_argument (a plan that reads
  /// what is not there), those of Plan::make.
  Model(graph::Graph graph, graph::LayoutPlan plan, const graph::Backend& backend, const ModelOptions& options = {});
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  /// One an input and one an output of the graph. An input in the planned layout is read where it is, an output in it
  /// written there. Errors: invalid_argument (count or dims; names the tensor), internal (the backend failed). Not from
  /// two threads at once.
  void run(std::span<const Source> inputs, std::span<const Destination> outputs);
  /// The same, timing each step.
  Profile profile(std::span<const Source> inputs, std::span<const Destination> outputs);

  const graph::Graph& graph() const;
  const graph::LayoutPlan& plan() const;
  ModelMemory memory() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Channels of a block that fill a register of the instruction set in use, for Policy::blocked: 16 or 8.
int channel_block();

/// The first padding place of a tensor's memory that does not hold zero, by its index; nothing where all do.
std::optional<Dims> dirty_padding(const TensorDesc& desc, const void* data);

}  // namespace relayout::execute
