// InSitu: how long a primitive or a reorder takes when the caches hold what they would hold within a run of a model
// (internal to execute).
//
// Before each run the sources are written, as the step before it would do, by as many threads. Three kinds of sources
// are not written but lie in memory that was last used some megabytes ago: constants, inputs of the graph, and what
// backward nodes read of the forward pass. Destinations take turns in a few places of memory, so that they are neither
// just written nor gone from the caches; in training, which keeps all that it makes, they have left the caches. A step
// that writes past the caches makes the next one fetch its results from memory. That counts too: the time by which a
// first reading of the destinations takes longer than a second one. Contents are floats of about 1 in every type.
#pragma once

#include <chrono>
#include <functional>
#include <unordered_map>

#include "relayout/cpu/stopwatch.h"
#include "relayout/execute/run/aligned.h"
#include "relayout/graph/plan/backend.h"
#include "relayout/graph/plan/cost.h"
#include "relayout/graph/plan/cost_key.h"
#include "relayout/reorder/plan.h"

namespace relayout::execute {

struct InSituOptions {
  /// At least this many undisturbed runs (run_times.h), as far as the budget allows.
  int runs = 5;
  /// The time for one measurement. A time that is not reliable yet may take four times as long. If a single run takes
  /// ten times as long, there is no second one.
  std::chrono::microseconds budget{20000};
  /// Short times scatter more. So runs continue until they have taken this long together, up to four times as many
  /// runs.
  std::chrono::microseconds least{500};
  /// Where run times come from; null: the clocks of the machine.
  cpu::Stopwatch* stopwatch = nullptr;
};

/// The least time of some runs, and whether it is reliable (run_times.h).
struct Timed {
  double us = 0;
  bool reliable = true;
};

class InSitu {
 public:
  /// The backend and the stopwatch must outlive it.
  InSitu(const graph::Backend& backend, const InSituOptions& options)
      : backend_(backend), options_(options), stopwatch_(cpu::stopwatch_or_systems(options.stopwatch)) {}

  /// The least time of some runs of what Costs::primitive() is asked for; infinity if the backend says that it is
  /// unsupported. An implementation that takes four times as long as another one of the same node is of no interest: it
  /// is run only until its time is reliable. Errors: all others of the backend.
  Timed primitive(const graph::CostContext& context, graph::NodeId node, const graph::Implementation& implementation,
                  const graph::Implementation* forward, bool in_place);
  Timed reorder(const graph::ReorderSetting& setting, const TensorDesc& from, const TensorDesc& to);

 private:
  /// Memory that is handed out piece by piece, and from its start again when its end is reached.
  class Ring {
   public:
    /// Makes the ring `bytes` bytes large. It starts at the beginning or, with `goes_on`, continues where it was, so
    /// that memory that was used last is not used again at once.
    void start(int64_t bytes, bool goes_on);
    std::byte* take(int64_t bytes);

   private:
    Buffer memory_;
    int64_t capacity_ = 0, size_ = 0, at_ = 0;
  };

  /// Writes like the step before would: by the same threads, through the caches.
  void write(std::byte* at, int64_t bytes) const;
  /// Reads like the step after would.
  void read(const std::byte* at, int64_t bytes) const;
  /// One run: `prepare` comes before `work`, `use` after it.
  struct Work {
    std::function<void()> prepare, work, use;
  };
  /// The least time of some runs. Stops early once a reliable time is above `hopeless` microseconds. `limit_us` is how
  /// long the work can take at most (limits.h).
  Timed least_time(const Work& work, double limit_us, double hopeless) const;

  /// What one run of a node needs: executables, operands and their memory.
  class NodeRun;

  const graph::Backend& backend_;
  InSituOptions options_;
  cpu::Stopwatch& stopwatch_;
  Ring activations_, given_;
  /// The least time of any implementation, by node.
  std::unordered_map<graph::CostKey, double, graph::CostKeyHash> best_;
};

}  // namespace relayout::execute
