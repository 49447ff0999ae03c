// LSTM, GRU and linear-before-reset GRU of one layer, inference, f32. Of GRUs the tested backend has only a reference,
// and its LSTMs are slower where the batch is small (docs/lab/models-inference.md).
//
// What comes from the sources is one product for many times, before the times go one by one (recurrent/cell.h).
#include <algorithm>
#include <vector>

#include "relayout/execute/own/kernels.h"
#include "relayout/execute/own/numbers.h"
#include "relayout/execute/own/recurrent/cell.h"
#include "relayout/execute/run/aligned.h"
#include "relayout/execute/run/openmp.h"

namespace relayout::execute {

using graph::Executable;
using graph::kNone;
using graph::RnnAttributes;
using graph::RnnCell;
using graph::RnnDirection;

namespace {

enum RnnSource : std::size_t { kLayer = 0, kIter, kIterC, kWeightsLayer, kWeightsIter, kBias, kProjection };
enum RnnResult : std::size_t { kDstLayer = 0, kDstIter, kDstIterC };

/// Rows of the product of the sources that are computed at once, so that they stay in the second-level cache.
constexpr int64_t kRows = 64;

struct Sizes {
  int64_t times, batch, in, out;
  RnnCell cell;
  RnnDirection direction;

  int64_t directions() const { return direction >= RnnDirection::bidirectional_concat ? 2 : 1; }
  /// Directions that do not write to the same elements.
  int64_t at_once() const { return concat() ? 2 : 1; }
  bool concat() const { return direction == RnnDirection::bidirectional_concat; }
};

/// A net of fewer multiplications is one thread's.
constexpr int64_t kWorthThreads = 1 << 18;

class RnnExecutable : public Executable {
 public:
  RnnExecutable(const Sizes& sizes, const OwnRequest& r)
      : s_(sizes), threads_(r.threads), parts_(parts()), cell_(s_.cell, s_.out, parts_ > 0 ? 1 : threads_) {
    for (const std::optional<Layout>& layout : r.layouts) starts_.push_back(layout ? layout->offset0() : 0);
  }

  void run(std::span<const void* const> src, std::span<void* const> dst) override {
    // Each operand where it begins; null where it is absent.
    Operands all{*this, {}, {}, {}, 0};
    for (std::size_t i = 0; i < src.size(); ++i)
      all.from.push_back(src[i] ? static_cast<const float*>(src[i]) + starts_[i] : nullptr);
    for (std::size_t i = 0; i < dst.size(); ++i)
      all.to.push_back(dst[i] ? static_cast<float*>(dst[i]) + starts_[src.size() + i] : nullptr);
    // Threads must not throw, so that all memory is there before they begin.
    const int64_t tasks = std::max<int64_t>(1, parts_) * s_.at_once();
    for (int64_t i = 0; i < tasks; ++i) all.memory.push_back(allocate_for(part_of(i)));
    for (; all.direction < s_.directions(); all.direction += s_.at_once()) {
      cpu::parallel_for(
          run_options(parts_ > 0 ? threads_ : 1), tasks, 1,
          [](void* of, int64_t begin, int64_t end) {
            const Operands& operands = *static_cast<const Operands*>(of);
            for (int64_t i = begin; i < end; ++i) operands.executable.run_part(i, operands);
          },
          &all);
    }
  }

 private:
  /// Memory of a part: its states, its gates at some times, and its rows of the sources where they do not lie together.
  struct PartMemory {
    std::vector<float> h, c, sources;
    Buffer gates, work;  // aligned, so that threads that share the columns do not write to the same lines
  };
  struct Operands {
    const RnnExecutable& executable;
    std::vector<const float*> from;
    std::vector<float*> to;
    mutable std::vector<PartMemory> memory;  // by part of the directions that run at once
    int64_t direction;  // the first of those that run at once

    /// A source's or result's part that begins behind so many elements; null if the operand is absent.
    const float* src(RnnSource i, int64_t elements) const {
      return i < from.size() && from[i] ? from[i] + elements : nullptr;
    }
    float* dst(RnnResult i, int64_t elements) const { return i < to.size() && to[i] ? to[i] + elements : nullptr; }
  };
  /// A direction and rows [begin, end) of the batch.
  struct Part {
    int64_t direction, begin, end;
    int64_t rows() const { return end - begin; }
  };

  /// How many parts of the batch have a thread of their own from the first time to the last. 0 where fewer than half of
  /// the threads would have work: all threads then share the columns of each product.
  int64_t parts() const {
    const int64_t columns = Cell(s_.cell, s_.out, 1).columns();
    if (s_.times * s_.batch * s_.directions() * (s_.in + s_.out) * columns < kWorthThreads) return 0;
    const int64_t parts = std::min(s_.batch, ceil_div(threads_, s_.at_once()));
    return threads_ > 1 && 2 * parts * s_.at_once() > threads_ ? parts : 0;
  }

  /// The part of a task, whose direction is one of the first that run at once.
  Part part_of(int64_t task) const {
    const int64_t count = std::max<int64_t>(1, parts_), i = task % count;
    return {task / count, s_.batch * i / count, s_.batch * (i + 1) / count};
  }

  /// Times whose products with the sources are computed at once.
  int64_t times_at_once(const Part& part) const {
    return std::clamp<int64_t>(kRows / std::max<int64_t>(1, part.rows()), 1, std::max<int64_t>(1, s_.times));
  }

  PartMemory allocate_for(const Part& part) const {
    const auto state = static_cast<std::size_t>(part.rows() * s_.out);
    const int64_t times = times_at_once(part), row = part.rows() * cell_.row();
    const int64_t sources = part.rows() < s_.batch ? times * part.rows() * s_.in : 0;
    return {.h = std::vector<float>(state),
            .c = std::vector<float>(s_.cell == RnnCell::lstm ? state : 0),
            .sources = std::vector<float>(static_cast<std::size_t>(sources)),
            .gates = floats(times * row),
            .work = floats(s_.cell == RnnCell::lstm ? 0 : row)};
  }

  void run_part(int64_t task, const Operands& all) const {
    Part part = part_of(task);
    part.direction += all.direction;
    PartMemory& memory = all.memory[static_cast<std::size_t>(task)];
    const int64_t d = part.direction, columns = cell_.columns(), chunk = times_at_once(part);
    const bool lbr = s_.cell == RnnCell::lbr_gru, backwards = d == 1 || s_.direction == RnnDirection::right_to_left;
    const float* bias = all.src(kBias, d * (columns + (lbr ? s_.out : 0)));
    const int64_t state = (d * s_.batch + part.begin) * s_.out;
    begin_state(all.src(kIter, state), memory.h);
    begin_state(all.src(kIterC, state), memory.c);
    auto* gates = reinterpret_cast<float*>(memory.gates.get());
    CellTime time{.rows = part.rows(),
                  .weights = all.src(kWeightsIter, d * s_.out * columns),
                  .bias = lbr && bias ? bias + columns : nullptr,
                  .work = reinterpret_cast<float*>(memory.work.get()),
                  .h = memory.h.data(),
                  .c = memory.c.data()};
    for (int64_t done = 0; done < s_.times; done += chunk) {
      const int64_t times = std::min(chunk, s_.times - done), first = backwards ? s_.times - done - times : done;
      from_sources(part, all.src(kLayer, first * s_.batch * s_.in), all.src(kWeightsLayer, d * s_.in * columns), bias,
                   times, memory);
      for (int64_t j = 0; j < times; ++j) {
        const int64_t t = backwards ? times - 1 - j : j;
        time.gates = gates + t * part.rows() * cell_.row();
        cell_.run(time);
        give(part, all.to[kDstLayer], first + t, memory.h.data());
      }
    }
    if (float* last = all.dst(kDstIter, state)) std::ranges::copy(memory.h, last);
    if (float* last = all.dst(kDstIterC, state)) std::ranges::copy(memory.c, last);
  }

  static Buffer floats(int64_t count) { return allocate(count * static_cast<int64_t>(sizeof(float))); }

  static void begin_state(const float* given, std::vector<float>& state) {
    if (given) {
      std::copy_n(given, state.size(), state.begin());
    } else {
      std::ranges::fill(state, 0.0f);
    }
  }

  /// gates = x Wl + b, for the rows of a part at so many times.
  void from_sources(const Part& part, const float* x, const float* weights, const float* bias, int64_t times,
                    PartMemory& memory) const {
    const int64_t rows = times * part.rows(), columns = cell_.columns(), row = part.rows() * s_.in;
    auto* gates = reinterpret_cast<float*>(memory.gates.get());
    if (part.rows() < s_.batch) {
      for (int64_t t = 0; t < times; ++t)
        std::copy_n(x + (t * s_.batch + part.begin) * s_.in, row, memory.sources.data() + t * row);
      x = memory.sources.data();
    }
    for (int64_t r = 0; r < rows; ++r) {
      float* of = gates + r * cell_.row();
      bias ? std::copy_n(bias, columns, of) : std::fill_n(of, columns, 0.0f);
    }
    cell_.multiply({.a = x, .b = weights, .out = gates, .rows = rows, .inner = s_.in, .columns = columns,
                    .a_row = s_.in, .b_row = columns, .out_row = cell_.row()});
  }

  /// The state as the result at a time; the second direction's is added to the first one's, or stands behind it.
  void give(const Part& part, float* dst, int64_t time, const float* h) const {
    const int64_t row = (s_.concat() ? 2 : 1) * s_.out;
    for (int64_t n = part.begin; n < part.end; ++n, h += s_.out) {
      float* to = dst + (time * s_.batch + n) * row + (s_.concat() ? part.direction * s_.out : 0);
      part.direction == 1 && !s_.concat() ? cell_.add(h, to, s_.out) : void(std::copy_n(h, s_.out, to));
    }
  }

  Sizes s_;
  int threads_;
  int64_t parts_;
  Cell cell_;
  std::vector<int64_t> starts_{};  // by operand: elements before its first
};

}  // namespace

std::unique_ptr<Executable> make_rnn(const OwnRequest& r) {
  const auto& attributes = r.node.as<RnnAttributes>();
  const RnnCell cell = attributes.cell;
  const bool known = cell == RnnCell::lstm || cell == RnnCell::gru || cell == RnnCell::lbr_gru;
  if (!known || r.node.pass != graph::Pass::forward_inference) return nullptr;
  if (r.node.src.size() > kProjection && r.node.src[kProjection] != kNone) return nullptr;
  const Dims &x = r.src_tensor(kLayer).dims, &weights = r.src_tensor(kWeightsLayer).dims;
  if (weights[0] != 1) return nullptr;
  for (std::size_t i = 0; i < r.layouts.size(); ++i) {
    const bool is_src = i < r.node.src.size();
    const graph::TensorId id = is_src ? r.node.src[i] : r.node.dst[i - r.node.src.size()];
    if (id == kNone) continue;
    if (r.graph.tensor(id).dtype != DType::f32 || !is_row_major(*r.layouts[i])) return nullptr;
  }
  const Sizes sizes{.times = x[0], .batch = x[1], .in = x[2], .out = weights[4], .cell = cell,
                    .direction = attributes.direction};
  return std::make_unique<RnnExecutable>(sizes, r);
}

}  // namespace relayout::execute
