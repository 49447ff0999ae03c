// Measures one primitive or reorder: its operands take turns in rings of memory, and sources are written before each
// run.
#include "relayout/execute/measure/in_situ.h"

#include <atomic>
#include <bit>
#include <cstring>
#include <vector>

#include "relayout/cpu/machine.h"
#include "relayout/cpu/reorder.h"
#include "relayout/execute/measure/limits.h"
#include "relayout/execute/measure/run_times.h"
#include "relayout/execute/run/openmp.h"
#include "relayout/graph/plan/work.h"
#include "relayout/reorder/refine/nest.h"

namespace relayout::execute {

using graph::CostContext;
using graph::Executable;
using graph::Graph;
using graph::Implementation;
using graph::kNone;
using graph::Node;
using graph::NodeId;
using graph::TensorId;

namespace {

using Microseconds = std::chrono::duration<double, std::micro>;

/// A float slightly above 1, which is an ordinary number in narrower types, too: 1 as bf16, 1.9 as f16.
constexpr uint32_t kContents = 0x3f803f80;
/// The memory in which activations take turns has this many times the bytes of the node's own activations.
constexpr int64_t kTurns = 2;
/// Implementations that take this many times as long as the best one need no exact time.
constexpr double kHopeless = 4;
/// If the first run takes this many times the budget, there is no second one.
constexpr double kLong = 10;
/// A thread reads at least this many lines.
constexpr int64_t kReadGrain = 256;

int64_t rounded(int64_t bytes) { return ceil_div(std::max<int64_t>(bytes, 1), kCacheLine) * kCacheLine; }

/// If the time is not reliable before, a measurement may take this many budgets.
constexpr int kPatience = 4;

/// The most bytes that are used between two uses of the same place.
constexpr int64_t kMostBetween = int64_t{256} << 20;
/// The bytes that must be used before a place is taken to have left the caches (in vain if these hold 128 MiB or more):
/// twice the last level, which still keeps some of its contents after as many bytes as it holds.
int64_t bytes_between() { return std::min(2 * cpu::machine().l3, kMostBetween); }

/// In a model, other layers read their constants between two runs of this one. So constants of `bytes` bytes take turns
/// in this many places, and have left the caches when a place is used again.
int64_t pieces_between(int64_t bytes) {
  return bytes == 0 || bytes >= bytes_between() ? 1 : 1 + ceil_div(bytes_between(), bytes);
}

/// An operand of a node: the size of its memory, and the operand with which it shares that (itself if none).
struct OperandMemory {
  TensorId tensor = kNone;
  bool is_src = false;
  int64_t bytes = 0;
  std::size_t same = 0;
};

std::vector<OperandMemory> operands_of(const Graph& graph, const Node& node, const Implementation& implementation,
                                       bool in_place) {
  std::vector<OperandMemory> out;
  const auto add = [&](const std::vector<TensorId>& tensors, const auto& layouts, bool is_src) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      OperandMemory operand{.tensor = tensors[i], .is_src = is_src, .same = out.size()};
      if (tensors[i] != kNone) {
        operand.bytes = rounded(TensorDesc(layouts[i].value(), graph.tensor(tensors[i]).dtype).span_bytes());
        if (is_src && implementation.opaque_src(i)) operand.bytes = rounded(implementation.opaque_src(i)->bytes);
        // A tensor that the node reads twice in the same layout lies in memory once.
        for (std::size_t k = 0; is_src && k < i; ++k) {
          if (tensors[k] == tensors[i] && layouts[k] == layouts[i] &&
              implementation.opaque_src(k) == implementation.opaque_src(i))
            operand.same = k;
        }
      }
      out.push_back(operand);
    }
  };
  add(node.src, implementation.src, true);
  add(node.dst, implementation.dst, false);
  if (in_place) out[node.src.size()].same = 0;
  return out;
}

/// Whether the forward pass made this source of a backward node.
bool is_of_forward_pass(const Graph& graph, const Node& node, TensorId tensor) {
  if (node.forward() || node.hint == kNone) return false;
  const Node& forward = graph.node(node.hint);
  return std::ranges::count(forward.src, tensor) + std::ranges::count(forward.dst, tensor) > 0;
}

/// Whether an operand is indices. Their values must be valid: those of a constant, else zeros.
bool is_index(const Node& node, std::size_t operand) {
  return (node.kind == graph::Kind::gather || node.kind == graph::Kind::array) && operand == 1;
}

}  // namespace

void InSitu::Ring::start(int64_t bytes, bool goes_on) {
  size_ = rounded(bytes);
  if (!goes_on) at_ = 0;
  if (size_ <= capacity_) return;
  at_ = 0;
  memory_ = allocate(size_);
  std::fill_n(reinterpret_cast<uint32_t*>(memory_.get()), size_ / 4, kContents);
  capacity_ = size_;
}

std::byte* InSitu::Ring::take(int64_t bytes) {
  if (at_ + bytes > size_) at_ = 0;
  std::byte* out = memory_.get() + at_;
  at_ += bytes;
  return out;
}

void InSitu::write(std::byte* at, int64_t bytes) const {
  const Dims dims{bytes / 4};
  static constexpr float kValue = std::bit_cast<float>(kContents);
  const Plan plan = cpu::make_plan({Layout::strided(dims, {0}), DType::f32}, {Layout::contiguous(dims), DType::f32}, {},
                                   {.stream = Tuning::Stream::never});
  cpu::run(plan, &kValue, at, run_options(backend_.threads()));
}

void InSitu::read(const std::byte* at, int64_t bytes) const {
  struct Reading {
    const std::byte* at;
    std::atomic<uint32_t> sum = 0;
  } reading{at};
  cpu::parallel_for(
      run_options(backend_.threads()), bytes / kCacheLine, kReadGrain,
      [](void* state, int64_t begin, int64_t end) {
        auto& of = *static_cast<Reading*>(state);
        uint32_t sum = 0;
        for (int64_t line = begin; line < end; ++line) {
          uint32_t value;
          std::memcpy(&value, of.at + line * kCacheLine, sizeof value);
          sum += value;
        }
        of.sum += sum;
      },
      &reading);
}

Timed InSitu::least_time(const Work& work, double limit_us, double hopeless) const {
  const double start_us = stopwatch_.now_us(), budget_us = Microseconds(options_.budget).count();
  const int threads = backend_.threads();
  RunTimes times(threads, stopwatch_, limit_us), first_use(threads, stopwatch_), second_use(threads, stopwatch_);
  const auto one_run = [&] {
    work.prepare();
    const double us = times.run(work.work);
    first_use.run(work.use);
    second_use.run(work.use);
    return us;
  };
  const auto least = [&](bool reliable) {
    return Timed{times.least() + std::max(0.0, first_use.least() - second_use.least()), reliable};
  };
  // The first run may include work that is done only once, such as generating code.
  if (one_run() > kLong * budget_us) return least(times.single_is_reliable());
  for (int run = 1; run <= 4 * options_.runs; ++run) {
    one_run();
    const double taken_us = stopwatch_.now_us() - start_us;
    if (taken_us > budget_us * (times.reliable() ? 1 : kPatience)) break;
    if (times.reliable() && times.least() > hopeless) break;
    if (times.undisturbed_runs() > options_.runs && taken_us > Microseconds(options_.least).count()) break;
  }
  return least(times.reliable());
}

class InSitu::NodeRun {
 public:
  NodeRun(InSitu& in_situ, const CostContext& context, NodeId id, const Implementation& implementation,
          const Implementation* forward, bool in_place)
      : in_situ_(in_situ), context_(context), node_(context.graph().node(id)) {
    const Graph& graph = context.graph();
    if (node_.hint != kNone && forward) run_forward(*forward);
    executable_ = in_situ.backend_.make(graph, id, implementation, forward, forward_executable_.get());
    operands_ = operands_of(graph, node_, implementation, in_place);
    reserve();
  }
  NodeRun(const NodeRun&) = delete;
  NodeRun& operator=(const NodeRun&) = delete;

  /// Gives each operand its place in memory, and writes the sources that the step before would have made.
  void prepare() {
    at_.assign(operands_.size(), nullptr);
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const OperandMemory& operand = operands_[i];
      if (operand.tensor == kNone) continue;
      if (operand.same != i)
        at_[i] = at_[operand.same];
      else if (indices_[i])
        at_[i] = indices_[i];
      else
        at_[i] = (is_there(operand) ? in_situ_.given_ : in_situ_.activations_).take(operand.bytes);
    }
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const OperandMemory& operand = operands_[i];
      const bool made =
          operand.tensor != kNone && operand.is_src && operand.same == i && !indices_[i] && !is_there(operand);
      if (made) in_situ_.write(at_[i], operand.bytes);
    }
  }
  void run() { run(node_, *executable_); }
  /// Reads the destinations.
  void use() const {
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (operands_[i].tensor != kNone && !operands_[i].is_src) in_situ_.read(at_[i], operands_[i].bytes);
    }
  }

 private:
  /// Runs the forward node once, because the backward node reads what that leaves in the executable.
  void run_forward(const Implementation& forward) {
    const Graph& graph = context_.graph();
    const Node& hint = graph.node(node_.hint);
    forward_executable_ = in_situ_.backend_.make(graph, node_.hint, forward, nullptr, nullptr);
    for (const OperandMemory& operand : operands_of(graph, hint, forward, false)) {
      at_.push_back(operand.tensor == kNone ? nullptr : fresh(operand.bytes));
      if (at_.back()) in_situ_.write(at_.back(), operand.bytes);
    }
    run(hint, *forward_executable_);
  }
  /// Reserves memory: turns for activations, places for operands that are given, and indices.
  void reserve() {
    int64_t activation_bytes = 0, given_bytes = 0;
    indices_.resize(operands_.size());
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const OperandMemory& operand = operands_[i];
      if (operand.tensor == kNone || operand.same != i) continue;
      (is_there(operand) ? given_bytes : activation_bytes) += operand.bytes;
      if (!is_index(node_, i)) continue;
      indices_[i] = fresh(operand.bytes);
      std::fill_n(indices_[i], operand.bytes, std::byte{0});
      const graph::Tensor& tensor = context_.graph().tensor(operand.tensor);
      if (tensor.constant()) std::ranges::copy(*tensor.data, indices_[i]);
    }
    const int64_t turns = kTurns * activation_bytes;
    in_situ_.activations_.start(context_.is_step() ? std::max(turns, bytes_between()) : turns, context_.is_step());
    const int64_t pieces = pieces_between(given_bytes);
    in_situ_.given_.start(given_bytes * pieces, pieces > 1);
  }
  /// Whether a source existed before the step that precedes this one, so that it need not be written.
  bool is_there(const OperandMemory& operand) const {
    if (!operand.is_src) return false;
    return context_.is_given(operand.tensor) || is_of_forward_pass(context_.graph(), node_, operand.tensor);
  }
  std::byte* fresh(int64_t bytes) {
    kept_.push_back(allocate(bytes));
    return kept_.back().get();
  }
  void run(const Node& node, Executable& executable) const {
    const auto sources = static_cast<std::ptrdiff_t>(node.src.size());
    const std::vector<const void*> src(at_.begin(), at_.begin() + sources);
    const std::vector<void*> dst(at_.begin() + sources, at_.end());
    executable.run(src, dst);
  }

  InSitu& in_situ_;
  const CostContext& context_;
  const Node& node_;
  std::unique_ptr<Executable> forward_executable_, executable_;
  std::vector<Buffer> kept_;
  std::vector<OperandMemory> operands_;
  /// By operand: where it lies in this run; and where it lies in all runs if it is indices.
  std::vector<std::byte*> at_, indices_;
};

Timed InSitu::primitive(const CostContext& context, NodeId id, const Implementation& implementation,
                        const Implementation* forward, bool in_place) {
  try {
    NodeRun node(*this, context, id, implementation, forward, in_place);
    const graph::Work work =
        graph::work_of(context.graph(), id, implementation, backend_.performance(context.graph(), id, implementation));
    double& best = best_.try_emplace(context.node_key(id), graph::kImpossible).first->second;
    const Timed out =
        least_time({.prepare = [&] { node.prepare(); }, .work = [&] { node.run(); }, .use = [&] { node.use(); }},
                   most_us(work.bytes, work.flops), kHopeless * best);
    best = std::min(best, out.us);
    return out;
  } catch (const Error& error) {
    // Any other error, such as too little memory, says nothing about this implementation.
    if (error.code() != ErrorCode::unsupported) throw;
    return {graph::kImpossible};
  }
}

Timed InSitu::reorder(const graph::ReorderSetting& setting, const TensorDesc& from, const TensorDesc& to) {
  const Plan plan = cpu::make_plan(from, to);
  const int64_t src_bytes = rounded(from.span_bytes()), dst_bytes = rounded(to.span_bytes());
  const bool written = !setting.far_source;
  const int64_t turns = kTurns * ((written ? src_bytes : 0) + dst_bytes);
  activations_.start(setting.far_destination ? std::max(turns, bytes_between()) : turns, setting.far_destination);
  const int64_t pieces = pieces_between(src_bytes);
  given_.start(written ? 0 : src_bytes * pieces, pieces > 1);
  std::byte *src = nullptr, *dst = nullptr;
  const auto prepare = [&] {
    src = (written ? activations_ : given_).take(src_bytes);
    dst = activations_.take(dst_bytes);
    if (written) write(src, src_bytes);
  };
  return least_time(
      {.prepare = prepare,
       .work = [&] { cpu::run(plan, src, dst, run_options(backend_.threads())); },
       .use = [&] { read(dst, dst_bytes); }},
      most_us(static_cast<double>(src_bytes + dst_bytes), static_cast<double>(to.layout.padded_elements())),
      graph::kImpossible);
}

}  // namespace relayout::execute
