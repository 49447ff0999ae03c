// Measuring one primitive or reorder: operands in rings of memory, sources written before each run.
#include "relayout/execute/measure/in_situ.h"

#include <atomic>
#include <bit>
#include <cstring>
#include <vector>

#include "relayout/cpu/machine.h"
#include "relayout/cpu/reorder.h"
#include "relayout/execute/measure/run_times.h"
#include "relayout/execute/run/openmp.h"

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

using Clock = std::chrono::steady_clock;
using Microseconds = std::chrono::duration<double, std::micro>;

/// A float slightly over 1, and as its halves and bytes a sane number of every other type: 1 as bf16, 1.9 as f16.
constexpr uint32_t kContents = 0x3f803f80;
constexpr int64_t kLine = 64;
/// So many times its own activations pass before a destination's memory is used again.
constexpr int64_t kTurns = 2;
/// Ways so many times slower than the best are of no interest.
constexpr double kHopeless = 4;
/// A first run of so many times the budget is the only one.
constexpr double kLong = 10;
/// Lines that are worth a thread.
constexpr int64_t kReadGrain = 256;

int64_t rounded(int64_t bytes) { return ceil_div(std::max<int64_t>(bytes, 1), kLine) * kLine; }

/// Budgets to spend where the time is not sure yet.
constexpr int kPatience = 4;

/// Memory that is used between two uses of a place, at most.
constexpr int64_t kMostBetween = int64_t{256} << 20;
/// So much of it that the place has left the caches (but caches of 128 MiB and more): a last level alone keeps some of
/// what fills it.
int64_t bytes_between() { return std::min(2 * cpu::machine().l3, kMostBetween); }

/// Places for constants, so that those of one run have left the caches when their place is used again: what a model's
/// other layers read between two runs of it.
int64_t pieces_between(int64_t bytes) {
  return bytes == 0 || bytes >= bytes_between() ? 1 : 1 + ceil_div(bytes_between(), bytes);
}

/// An operand of a node: its memory's size, and the earlier operand whose memory it is.
struct Operand {
  TensorId tensor = kNone;
  bool is_src = false;
  int64_t bytes = 0;
  std::size_t same = 0;
};

std::vector<Operand> operands_of(const Graph& graph, const Node& node, const Implementation& way, bool in_place) {
  std::vector<Operand> out;
  const auto add = [&](const std::vector<TensorId>& tensors, const auto& layouts, bool is_src) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      Operand operand{.tensor = tensors[i], .is_src = is_src, .same = out.size()};
      if (tensors[i] != kNone) {
        operand.bytes = rounded(TensorDesc(layouts[i].value(), graph.tensor(tensors[i]).dtype).span_bytes());
        // A tensor that is read twice, in one layout.
        for (std::size_t k = 0; is_src && k < i; ++k) {
          if (tensors[k] == tensors[i] && layouts[k] == layouts[i]) operand.same = k;
        }
      }
      out.push_back(operand);
    }
  };
  add(node.src, way.src, true);
  add(node.dst, way.dst, false);
  if (in_place) out[node.src.size()].same = 0;
  return out;
}

/// A source of a backward node that the forward pass has made.
bool is_of_forward_pass(const Graph& graph, const Node& node, TensorId tensor) {
  if (node.forward() || node.hint == kNone) return false;
  const Node& forward = graph.node(node.hint);
  return std::ranges::count(forward.src, tensor) + std::ranges::count(forward.dst, tensor) > 0;
}

/// Indices are values that must be right: those of a constant, else zeros.
bool is_index(const Node& node, std::size_t operand) { return node.kind == graph::Kind::gather && operand == 1; }

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
      run_options(backend_.threads()), bytes / kLine, kReadGrain,
      [](void* state, int64_t begin, int64_t end) {
        auto& of = *static_cast<Reading*>(state);
        uint32_t sum = 0;
        for (int64_t line = begin; line < end; ++line) {
          uint32_t value;
          std::memcpy(&value, of.at + line * kLine, sizeof value);
          sum += value;
        }
        of.sum += sum;
      },
      &reading);
}

Timed InSitu::least_time(const Work& of, double hopeless) const {
  const Clock::time_point start = Clock::now();
  RunTimes times(backend_.threads()), first_use(backend_.threads()), second_use(backend_.threads());
  const auto one = [&] {
    of.prepare();
    const double took = times.run(of.work);
    first_use.run(of.use);
    second_use.run(of.use);
    return took;
  };
  const auto least = [&](bool sure) {
    return Timed{times.least() + std::max(0.0, first_use.least() - second_use.least()), sure};
  };
  // The first run may also make what all later ones use, kernels say.
  if (one() > kLong * Microseconds(options_.budget).count()) {
    return least(times.whole_runs() > 0 || backend_.threads() > 1);
  }
  for (int run = 1; run <= 4 * options_.runs; ++run) {
    one();
    const auto taken = Clock::now() - start;
    if (taken > options_.budget * (times.sure() ? 1 : kPatience)) break;
    if (times.sure() && times.least() > hopeless) break;
    if (times.whole_runs() > options_.runs && taken > options_.least) break;
  }
  return least(times.sure());
}

Timed InSitu::primitive(const CostContext& context, NodeId id, const Implementation& implementation,
                        const Implementation* forward, bool in_place) {
  const Graph& graph = context.graph();
  const Node& node = graph.node(id);
  std::unique_ptr<Executable> forward_executable, executable;
  std::vector<Buffer> kept;
  const auto fresh = [&](int64_t bytes) {
    kept.push_back(allocate(bytes));
    return kept.back().get();
  };
  std::vector<std::byte*> at;
  const auto run = [&](const Node& of, Executable& what) {
    const std::vector<const void*> src(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(of.src.size()));
    const std::vector<void*> dst(at.begin() + static_cast<std::ptrdiff_t>(of.src.size()), at.end());
    what.run(src, dst);
  };
  try {
    if (node.hint != kNone && forward) {
      // What it leaves for the backward one must be there.
      const Node& hint = graph.node(node.hint);
      forward_executable = backend_.make(graph, node.hint, *forward, nullptr, nullptr);
      for (const Operand& operand : operands_of(graph, hint, *forward, false)) {
        at.push_back(operand.tensor == kNone ? nullptr : fresh(operand.bytes));
        if (at.back()) write(at.back(), operand.bytes);
      }
      run(hint, *forward_executable);
    }
    executable = backend_.make(graph, id, implementation, forward, forward_executable.get());

    const std::vector<Operand> operands = operands_of(graph, node, implementation, in_place);
    const auto is_there = [&](const Operand& operand) {
      if (!operand.is_src) return false;
      return context.is_given(operand.tensor) || is_of_forward_pass(graph, node, operand.tensor);
    };
    int64_t activation_bytes = 0, given_bytes = 0;
    std::vector<std::byte*> indices(operands.size());
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const Operand& operand = operands[i];
      if (operand.tensor == kNone || operand.same != i) continue;
      const bool constant = graph.tensor(operand.tensor).constant();
      (is_there(operand) ? given_bytes : activation_bytes) += operand.bytes;
      if (!is_index(node, i)) continue;
      indices[i] = fresh(operand.bytes);
      std::fill_n(indices[i], operand.bytes, std::byte{0});
      if (constant) std::ranges::copy(*graph.tensor(operand.tensor).data, indices[i]);
    }
    const int64_t turns = kTurns * activation_bytes;
    activations_.start(context.is_step() ? std::max(turns, bytes_between()) : turns, context.is_step());
    const int64_t pieces = pieces_between(given_bytes);
    given_.start(given_bytes * pieces, pieces > 1);
    const auto prepare = [&] {
      at.assign(operands.size(), nullptr);
      for (std::size_t i = 0; i < operands.size(); ++i) {
        const Operand& operand = operands[i];
        if (operand.tensor == kNone) continue;
        if (operand.same != i)
          at[i] = at[operand.same];
        else if (indices[i])
          at[i] = indices[i];
        else if (is_there(operand))
          at[i] = given_.take(operand.bytes);
        else
          at[i] = activations_.take(operand.bytes);
      }
      for (std::size_t i = 0; i < operands.size(); ++i) {
        const Operand& operand = operands[i];
        const bool made =
            operand.tensor != kNone && operand.is_src && operand.same == i && !indices[i] && !is_there(operand);
        if (made) write(at[i], operand.bytes);
      }
    };
    const auto use = [&] {
      for (std::size_t i = 0; i < operands.size(); ++i) {
        if (operands[i].tensor != kNone && !operands[i].is_src) read(at[i], operands[i].bytes);
      }
    };
    double& best = best_.try_emplace(context.node_key(id), graph::kImpossible).first->second;
    const Timed out =
        least_time({.prepare = prepare, .work = [&] { run(node, *executable); }, .use = use}, kHopeless * best);
    best = std::min(best, out.us);
    return out;
  } catch (const Error& error) {
    // What else goes wrong, memory that is short say, is none of the way's properties.
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
  return least_time({.prepare = prepare,
                     .work = [&] { cpu::run(plan, src, dst, run_options(backend_.threads())); },
                     .use = [&] { read(dst, dst_bytes); }},
                    graph::kImpossible);
}

}  // namespace relayout::execute
