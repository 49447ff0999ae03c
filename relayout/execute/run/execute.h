// Execute: runs a graph in the layouts of a plan.
//
// Reorders are this project's own, primitives the backend's. Constants are reordered once, when the model is made;
// buffers of activations share memory by lifetime.
//
//     Model model(graph, optimize(graph, *backend, *costs).plan, *backend);
//     model.run({{{x_desc, x}}}, {{{y_desc, y}}});                 // x and y: vectors, arrays or spans
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "relayout/core/elements.h"
#include "relayout/graph/plan/backend.h"
#include "relayout/graph/plan/layout_plan.h"

namespace relayout::execute {

/// A tensor of the caller: the graph's dims in any layout and type. Other layouts and types than planned are converted.
/// Its memory is a pointer, whose buffer must hold span_bytes(), or a range of elements or of bytes (core/elements.h).
/// That is checked: Error{invalid_argument} where the elements are of another type, Error{buffer_too_small}.
struct Source {
  Source() = default;
  Source(TensorDesc desc_, const void* data_) : desc(std::move(desc_)), data(data_) {}
  Source(TensorDesc desc_, const ConstElements& elements)
      : desc(std::move(desc_)), data(checked_bytes(elements, desc, "model", "source").data()) {}

  TensorDesc desc;
  const void* data = nullptr;
};
struct Destination {
  Destination() = default;
  Destination(TensorDesc desc_, void* data_) : desc(std::move(desc_)), data(data_) {}
  Destination(TensorDesc desc_, const Elements& elements)
      : desc(std::move(desc_)), data(checked_bytes(elements, desc, "model", "destination").data()) {}

  TensorDesc desc;
  void* data = nullptr;
};

struct ModelOptions {
  /// For tests: fills every buffer with ones before it is written, and checks after each primitive and reorder that its
  /// padding holds zero. Where it does not, run() throws Error{internal} with the node, the tensor and the index.
  bool check_padding = false;
  /// Multiplies the values of all inputs, such as those of photos in u8.
  double input_scale = 1;
};

/// One step of a run: a primitive, or a reorder.
struct StepTime {
  std::string name, implementation;
  bool reorder = false, reference = false;
  /// The node of a primitive, and the copy that a reorder of the plan makes. Neither is set for reorders of the
  /// caller's tensors.
  graph::NodeId node = graph::kNone;
  graph::CopyId copy = graph::kNone;
  int64_t nanoseconds = 0;
};

struct Profile {
  std::vector<StepTime> steps;
  /// The time of the whole run, which is more than the sum of its steps.
  int64_t nanoseconds = 0;
};

/// Bytes that a model holds beside the graph's own constants.
struct ModelMemory {
  /// Bytes of activations: as allocated, and as they would be if buffers did not share memory.
  int64_t activations = 0, activations_unshared = 0;
  /// Constants in their planned layouts.
  int64_t constants = 0;
  /// The backend's workspaces, and one scratchpad, which all primitives share.
  int64_t scratch = 0;
  int64_t peak() const { return activations + constants + scratch; }
};

class Model {
 public:
  /// Makes all primitives and reorders, for the backend's number of threads. The backend is not needed afterwards.
  /// Errors: unsupported (an unknown operator, a primitive that the backend cannot make), invalid_argument (a plan that
  /// reads what is not there), those of Plan::make.
  Model(graph::Graph graph, graph::LayoutPlan plan, const graph::Backend& backend, const ModelOptions& options = {});
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  /// Takes a source for each input of the graph and a destination for each output. Those in the planned layout are read
  /// and written where they are; others are reordered. Errors: invalid_argument (count or dims; names the tensor) and
  /// those of Plan::make (a destination that is not injective), with which nothing is written; internal (the backend
  /// failed). Only one thread at a time may run a model.
  void run(std::span<const Source> inputs, std::span<const Destination> outputs);
  /// Runs as run() does, and calls `go_on(done, total)` before each primitive and reorder, with how many are done and
  /// how many there are at most, and at the end with done == total. Where it answers false, the rest is not done, and
  /// destinations hold anything. Returns whether it always answered true. What it throws is passed on.
  bool run(std::span<const Source> inputs, std::span<const Destination> outputs,
           const std::function<bool(int64_t done, int64_t total)>& go_on);
  /// Runs as run() does, and times each step.
  Profile profile(std::span<const Source> inputs, std::span<const Destination> outputs);

  const graph::Graph& graph() const;
  const graph::LayoutPlan& plan() const;
  ModelMemory memory() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// How many channels of a block fill a register of the instruction set in use: 16 or 8. On this machine it is the
/// right graph::PropagateOptions::block.
int channel_block();

}  // namespace relayout::execute
