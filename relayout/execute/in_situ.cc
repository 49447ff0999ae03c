// Measuring one primitive or reorder: operands in rings of memory, sources written before each run.
#include "relayout/execute/in_situ.h"

#include <sys/resource.h>

#include <bit>
#include <vector>

#include "relayout/cpu/machine.h"
#include "relayout/cpu/reorder.h"

namespace relayout::execute {

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

int64_t rounded(int64_t bytes) { return ceil_div(std::max<int64_t>(bytes, 1), kLine) * kLine; }

/// Budgets to spend where other processes have interrupted every run.
constexpr int kPatience = 4;

/// How often a thread of this process had to leave its core to another process.
int64_t interruptions() {
  rusage used{};
  return getrusage(RUSAGE_SELF, &used) == 0 ? used.ru_nivcsw : 0;
}

/// Places for constants, so that those of one run have left the caches when their place is used again: what a model's
/// other layers read between two runs of it.
int64_t pieces_between(int64_t bytes) {
  const int64_t last_level = cpu::machine().l3;
  return bytes == 0 || bytes >= last_level ? 1 : 1 + ceil_div(last_level, bytes);
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

/// Indices are values that must be right: those of a constant, else zeros.
bool is_index(const Node& node, std::size_t operand) { return node.kind == graph::Kind::gather && operand == 1; }

}  // namespace

void InSitu::Ring::start(int64_t bytes) {
  size_ = rounded(bytes);
  at_ = 0;
  if (size_ <= capacity_) return;
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
  const Plan plan = Plan::make({Layout::strided(dims, {0}), DType::f32}, {Layout::contiguous(dims), DType::f32}, {}, {},
                               {.stream = Tuning::Stream::never});
  cpu::run(plan, &kValue, at, {.threads = backend_.threads()});
}

double InSitu::least_time(const std::function<void()>& prepare, const std::function<void()>& work,
                          double hopeless) const {
  const Clock::time_point start = Clock::now();
  const auto one = [&] {
    prepare();
    const Clock::time_point begin = Clock::now();
    work();
    return Microseconds(Clock::now() - begin).count();
  };
  double out = one();
  // The first run may also make what all later ones use, kernels say.
  if (out > kLong * Microseconds(options_.budget).count()) return out;
  for (int run = 1, whole = 0; run <= 4 * options_.runs; ++run) {
    const int64_t before = interruptions();
    out = std::min(out, one());
    whole += interruptions() == before;
    const auto taken = Clock::now() - start;
    if (out > hopeless || taken > options_.budget * (whole > 0 ? 1 : kPatience)) break;
    if (whole >= options_.runs && taken > options_.least) break;
  }
  return out;
}

double InSitu::primitive(const Graph& graph, NodeId id, const Implementation& implementation,
                         const Implementation* forward, bool in_place) {
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
    int64_t activation_bytes = 0, constant_bytes = 0;
    std::vector<std::byte*> indices(operands.size());
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const Operand& operand = operands[i];
      if (operand.tensor == kNone || operand.same != i) continue;
      const bool constant = graph.tensor(operand.tensor).constant();
      (constant ? constant_bytes : activation_bytes) += operand.bytes;
      if (!is_index(node, i)) continue;
      indices[i] = fresh(operand.bytes);
      std::fill_n(indices[i], operand.bytes, std::byte{0});
      if (constant) std::ranges::copy(*graph.tensor(operand.tensor).data, indices[i]);
    }
    activations_.start(kTurns * activation_bytes);
    constants_.start(constant_bytes * pieces_between(constant_bytes));
    const auto prepare = [&] {
      at.assign(operands.size(), nullptr);
      for (std::size_t i = 0; i < operands.size(); ++i) {
        const Operand& operand = operands[i];
        if (operand.tensor == kNone) continue;
        if (operand.same != i)
          at[i] = at[operand.same];
        else if (indices[i])
          at[i] = indices[i];
        else if (operand.is_src && graph.tensor(operand.tensor).constant())
          at[i] = constants_.take(operand.bytes);
        else
          at[i] = activations_.take(operand.bytes);
      }
      for (std::size_t i = 0; i < operands.size(); ++i) {
        const Operand& operand = operands[i];
        const bool made = operand.tensor != kNone && operand.is_src && operand.same == i && !indices[i] &&
                          !graph.tensor(operand.tensor).constant();
        if (made) write(at[i], operand.bytes);
      }
    };
    double& best = best_.try_emplace(graph::node_key(graph, id), graph::kImpossible).first->second;
    const double out = least_time(
        prepare, [&] { run(node, *executable); }, kHopeless * best);
    best = std::min(best, out);
    return out;
  } catch (const Error& error) {
    // What else goes wrong, memory that is short say, is none of the way's properties.
    if (error.code() != ErrorCode::unsupported) throw;
    return graph::kImpossible;
  }
}

double InSitu::reorder(const TensorDesc& from, const TensorDesc& to) {
  const Plan plan = Plan::make(from, to);
  const int64_t src_bytes = rounded(from.span_bytes()), dst_bytes = rounded(to.span_bytes());
  activations_.start(kTurns * (src_bytes + dst_bytes));
  std::byte *src = nullptr, *dst = nullptr;
  const auto prepare = [&] {
    src = activations_.take(src_bytes);
    dst = activations_.take(dst_bytes);
    write(src, src_bytes);
  };
  return least_time(
      prepare, [&] { cpu::run(plan, src, dst, {.threads = backend_.threads()}); }, graph::kImpossible);
}

}  // namespace relayout::execute
