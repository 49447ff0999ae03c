// InSitu: how long a primitive or a reorder takes, in the state of caches that a run of a model has (internal to
// execute).
//
// Before each run its sources are written as the step before it would, by as many threads. Constants, inputs of the
// graph, and what backward nodes read of the forward pass were last touched some megabytes ago. Destinations lie where
// memory is used again by turns, neither just written nor forgotten; in training, which keeps what it makes, that has
// left the caches. What is written past the caches has to be fetched by the next step, which counts too: what a first
// reading of the destinations takes longer than a second one. Contents are floats of about 1 in every type.
#pragma once

#include <chrono>
#include <functional>
#include <unordered_map>

#include "relayout/execute/run/aligned.h"
#include "relayout/graph/plan/backend.h"
#include "relayout/graph/plan/cost.h"
#include "relayout/graph/plan/cost_key.h"
#include "relayout/reorder/plan.h"

namespace relayout::execute {

struct InSituOptions {
  /// Runs that nothing interrupts, at least, as far as the budget goes.
  int runs = 5;
  /// Of one measurement; four times that where the time is not sure yet. A single run that takes ten times that is all
  /// there is.
  std::chrono::microseconds budget{20000};
  /// Runs on while it has taken less than that altogether, up to four times as many runs: short times scatter more.
  std::chrono::microseconds least{500};
};

/// The least of some runs, and whether it can be believed: whether other work on the machine left some of them alone.
struct Timed {
  double us = 0;
  bool sure = true;
};

class InSitu {
 public:
  /// `backend` must stay.
  InSitu(const graph::Backend& backend, const InSituOptions& options) : backend_(backend), options_(options) {}

  /// Microseconds, as Costs::primitive() is asked: the least of the runs; infinity where the backend says that it is
  /// unsupported. What is four times slower than another way of the same node is run until that is sure. Errors: all
  /// others of the backend.
  Timed primitive(const graph::CostContext& context, graph::NodeId node, const graph::Implementation& implementation,
                  const graph::Implementation* forward, bool in_place);
  Timed reorder(const graph::ReorderSetting& setting, const TensorDesc& from, const TensorDesc& to);

 private:
  /// Memory that is handed out piece after piece, and again from the start.
  class Ring {
   public:
    /// Of so many bytes from now on: from the start, or on from where it was, as its start has been used just before.
    void start(int64_t bytes, bool goes_on);
    std::byte* take(int64_t bytes);

   private:
    Buffer memory_;
    int64_t capacity_ = 0, size_ = 0, at_ = 0;
  };

  /// As a producer would: by the same threads, through the caches.
  void write(std::byte* at, int64_t bytes) const;
  /// As a consumer would.
  void read(const std::byte* at, int64_t bytes) const;
  /// One run: `prepare` stands before `work`, `use` behind it.
  struct Work {
    std::function<void()> prepare, work, use;
  };
  Timed least_time(const Work& of, double hopeless) const;

  const graph::Backend& backend_;
  InSituOptions options_;
  Ring activations_, given_;
  /// The least time of any way of a node.
  std::unordered_map<graph::CostKey, double, graph::CostKeyHash> best_;
};

}  // namespace relayout::execute
