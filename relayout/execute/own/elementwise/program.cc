// Walking the chunks of a program's operands: see program.h.
#include "relayout/execute/own/elementwise/program.h"

#include <algorithm>
#include <cstring>

#include "relayout/cpu/kernels/conversion.h"
#include "relayout/cpu/threads.h"
#include "relayout/execute/own/elementwise/grid.h"
#include "relayout/execute/own/padding.h"
#include "relayout/execute/run/openmp.h"

namespace relayout::execute {
namespace {

/// Values of a chunk: of four operands, 16 KiB.
constexpr int64_t kChunk = 1024;
/// A thread gets at least as many elements as it computes in some ten microseconds.
constexpr int64_t kChunksGrain = 1 << 14;

/// An axis of a chunk, as one operand sees it.
struct Step {
  int64_t extent, step;
};

/// A box as chunks: the innermost axes whole, of the axis around them some indices, and of the others one.
struct Job {
  GridBox box;
  std::size_t first = 0;                    // the first of a chunk's axes
  bool cut = false;                         // whether a chunk has `rows` indices of that axis, not all
  int64_t rows = 1, pieces = 1;             // pieces * rows reach the extent of that axis
  int64_t inner = 1;                        // elements inside that axis, or of the chunk if no axis is cut
  int64_t chunks = 1;                       // of the whole box
  std::array<bool, kGridOperands> dense{};  // whether the elements of a chunk follow each other
};

bool is_dense(const GridBox& box, std::size_t first, std::size_t operand) {
  int64_t inside = 1;
  for (std::size_t k = box.axes.size(); k > first; --k) {
    if (box.axes[k - 1].step[operand] != inside) return false;
    inside *= box.axes[k - 1].extent;
  }
  return true;
}

Job job_of(GridBox box, std::size_t operands) {
  Job job{std::move(box)};
  const std::vector<GridAxis>& axes = job.box.axes;
  job.first = axes.size();
  while (job.first > 0 && job.inner * axes[job.first - 1].extent <= kChunk) job.inner *= axes[--job.first].extent;
  job.cut = job.first > 0;
  if (job.cut) {
    const int64_t extent = axes[--job.first].extent;
    job.rows = kChunk / job.inner;
    job.pieces = job.chunks = (extent + job.rows - 1) / job.rows;
    for (std::size_t k = 0; k < job.first; ++k) job.chunks *= axes[k].extent;
  }
  for (std::size_t k = 0; k < operands; ++k) job.dense[k] = is_dense(job.box, job.first, k);
  return job;
}

/// Copies elements of E bytes between dense memory and memory with steps; `gather` says to which side.
template <std::size_t E, bool gather>
std::byte* move_elements(const Step* axes, std::size_t count, std::byte* apart, std::byte* together) {
  constexpr auto kSize = static_cast<int64_t>(E);
  if (count == 0) {
    gather ? std::memcpy(together, apart, E) : std::memcpy(apart, together, E);
    return together + E;
  }
  const auto [extent, step] = axes[0];
  if (count > 1) {
    for (int64_t i = 0; i < extent; ++i) {
      together = move_elements<E, gather>(axes + 1, count - 1, apart + i * step * kSize, together);
    }
    return together;
  }
  if (step == 1) {
    const auto bytes = static_cast<std::size_t>(extent * kSize);
    gather ? std::memcpy(together, apart, bytes) : std::memcpy(apart, together, bytes);
  } else if (gather && step == 0) {
    // One element, and then as many again as there are already.
    const auto bytes = static_cast<std::size_t>(extent * kSize);
    std::memcpy(together, apart, E);
    for (std::size_t have = E; have < bytes; have *= 2)
      std::memcpy(together + have, together, std::min(have, bytes - have));
  } else {
    for (int64_t i = 0; i < extent; ++i) {
      gather ? std::memcpy(together + i * kSize, apart + i * step * kSize, E)
             : std::memcpy(apart + i * step * kSize, together + i * kSize, E);
    }
  }
  return together + extent * kSize;
}

template <bool gather>
void move_elements(int64_t size, const std::vector<Step>& axes, std::byte* apart, std::byte* together) {
  switch (size) {
    case 1: move_elements<1, gather>(axes.data(), axes.size(), apart, together); break;
    case 2: move_elements<2, gather>(axes.data(), axes.size(), apart, together); break;
    case 4: move_elements<4, gather>(axes.data(), axes.size(), apart, together); break;
    default: move_elements<8, gather>(axes.data(), axes.size(), apart, together); break;
  }
}

void convert(DType from, DType to, const std::byte* src, std::byte* dst, int64_t n) {
  cpu::Conversion(cpu::kernels(), from, to)(src, dst, n);
}

template <typename T>
constexpr DType kComputed = sizeof(T) == 4 ? DType::f32 : DType::f64;

/// The operands of a run: the destination, then the sources.
struct Pointers {
  std::array<std::byte*, kGridOperands> at{};
};

template <typename T>
class ProgramExecutable : public graph::Executable {
 public:
  ProgramExecutable(const OwnRequest& r, LaneProgram<T> program, std::vector<GridBox> boxes)
      : program_(std::move(program)), padding_(r.dst(), r.dst_tensor().dtype), threads_(r.threads) {
    dtypes_.push_back(r.dst_tensor().dtype);
    for (std::size_t i = 0; i < r.node.src.size(); ++i) dtypes_.push_back(r.src_tensor(i).dtype);
    for (GridBox& box : boxes) {
      jobs_.push_back(job_of(std::move(box), dtypes_.size()));
      chunks_ += jobs_.back().chunks;
    }
    int64_t elements = 1;
    for (const Job& job : jobs_) elements = std::max(elements, job.inner * job.rows);
    grain_ = std::max<int64_t>(1, kChunksGrain / elements);
    place_results();
  }

  void run(std::span<const void* const> src, std::span<void* const> dst) override {
    Pointers pointers;
    pointers.at[0] = static_cast<std::byte*>(dst[0]);
    for (std::size_t i = 0; i < src.size(); ++i) {
      pointers.at[i + 1] = const_cast<std::byte*>(static_cast<const std::byte*>(src[i]));
    }
    const auto range = [&](int64_t begin, int64_t end) { run_chunks(pointers, begin, end); };
    cpu::parallel_for(
        run_options(threads_), chunks_, grain_,
        [](void* state, int64_t begin, int64_t end) { (*static_cast<decltype(range)*>(state))(begin, end); },
        const_cast<void*>(static_cast<const void*>(&range)));
    padding_.run(dst[0]);
  }

 private:
  int64_t size_of(std::size_t operand) const { return bits(dtypes_[operand]) / 8; }

  /// Gives each step but the last one the number of a place for its values, which is free again once the last step that
  /// reads them begins.
  void place_results() {
    const auto given = static_cast<int>(dtypes_.size()) - 1;
    std::vector<std::size_t> last(program_.size(), 0);
    for (std::size_t s = 0; s < program_.size(); ++s) {
      for (int from : program_[s].src) {
        if (from >= given) last[static_cast<std::size_t>(from - given)] = s;
      }
    }
    std::vector<std::size_t> free;
    for (std::size_t s = 0; s < program_.size(); ++s) {
      for (std::size_t t = 0; t < s; ++t) {
        if (last[t] == s) free.push_back(places_[t]);
      }
      if (free.empty()) free.push_back(places_count_++);
      places_.push_back(free.back());
      free.pop_back();
    }
  }

  /// A thread's memory: for each source and each place its values of a chunk, and elements before they are converted.
  struct Memory {
    std::unique_ptr<T[]> values;
    std::unique_ptr<std::byte[]> raw;
    /// By source: which elements are in `values`.
    std::array<const std::byte*, kGridOperands> held{};
    int64_t held_count = 0;

    T* slot(std::size_t k) { return values.get() + static_cast<std::ptrdiff_t>(k) * kChunk; }
  };

  void run_chunks(const Pointers& pointers, int64_t begin, int64_t end) const {
    Memory memory;
    constexpr auto kElements = static_cast<std::size_t>(kChunk);
    memory.values = std::make_unique_for_overwrite<T[]>((dtypes_.size() + places_count_) * kElements);
    if (std::ranges::any_of(dtypes_, [](DType dtype) { return dtype != kComputed<T>; })) {
      memory.raw = std::make_unique_for_overwrite<std::byte[]>(kElements * 8);
    }
    int64_t first = 0;
    for (const Job& job : jobs_) {
      memory.held = {};
      for (int64_t chunk = std::max(begin, first); chunk < std::min(end, first + job.chunks); ++chunk) {
        run_chunk(job, chunk - first, pointers, memory);
      }
      first += job.chunks;
    }
  }

  void run_chunk(const Job& job, int64_t chunk, const Pointers& pointers, Memory& memory) const {
    GridOffsets offset = job.box.offset;
    int64_t rows = 1;
    const auto add = [&](const GridAxis& axis, int64_t index) {
      for (std::size_t k = 0; k < dtypes_.size(); ++k) offset[k] += index * axis.step[k];
    };
    if (job.cut) {
      const int64_t start = chunk % job.pieces * job.rows;
      rows = std::min(job.rows, job.box.axes[job.first].extent - start);
      add(job.box.axes[job.first], start);
      chunk /= job.pieces;
      for (std::size_t k = job.first; k > 0; --k) {
        add(job.box.axes[k - 1], chunk % job.box.axes[k - 1].extent);
        chunk /= job.box.axes[k - 1].extent;
      }
    }
    const int64_t count = rows * job.inner;
    if (count != memory.held_count) memory.held = {};
    memory.held_count = count;
    std::array<const T*, kGridOperands> sources{};
    for (std::size_t k = 1; k < dtypes_.size(); ++k) {
      sources[k - 1] = read(job, k, pointers.at[k] + offset[k] * size_of(k), rows, count, memory);
    }
    std::byte* to = pointers.at[0] + offset[0] * size_of(0);
    const bool direct = job.dense[0] && dtypes_[0] == kComputed<T>;
    T* last = direct ? reinterpret_cast<T*>(to) : memory.slot(0);
    compute(sources, last, count, memory);
    if (!direct) write(job, to, rows, count, last, memory);
  }

  /// The axes of a chunk as an operand sees them.
  std::vector<Step> steps(const Job& job, std::size_t operand, int64_t rows) const {
    std::vector<Step> out;
    for (std::size_t k = job.first; k < job.box.axes.size(); ++k) {
      const GridAxis& axis = job.box.axes[k];
      out.push_back({k == job.first && job.cut ? rows : axis.extent, axis.step[operand]});
    }
    return out;
  }

  const T* read(const Job& job, std::size_t operand, std::byte* from, int64_t rows, int64_t count,
                Memory& memory) const {
    const DType dtype = dtypes_[operand];
    const bool same = dtype == kComputed<T>;
    if (job.dense[operand] && same) return reinterpret_cast<const T*>(from);
    T* values = memory.slot(operand);
    if (memory.held[operand] == from) return values;
    memory.held[operand] = from;
    auto* bytes = reinterpret_cast<std::byte*>(values);
    if (job.dense[operand]) {
      convert(dtype, kComputed<T>, from, bytes, count);
    } else {
      std::byte* gathered = same ? bytes : memory.raw.get();
      move_elements<true>(size_of(operand), steps(job, operand, rows), from, gathered);
      if (!same) convert(dtype, kComputed<T>, gathered, bytes, count);
    }
    return values;
  }

  void write(const Job& job, std::byte* to, int64_t rows, int64_t count, const T* values, Memory& memory) const {
    const auto* bytes = reinterpret_cast<const std::byte*>(values);
    if (job.dense[0]) return convert(kComputed<T>, dtypes_[0], bytes, to, count);
    auto* packed = const_cast<std::byte*>(bytes);
    if (dtypes_[0] != kComputed<T>) {
      packed = memory.raw.get();
      convert(kComputed<T>, dtypes_[0], bytes, packed, count);
    }
    move_elements<false>(size_of(0), steps(job, 0, rows), to, packed);
  }

  void compute(const std::array<const T*, kGridOperands>& sources, T* last, int64_t count, Memory& memory) const {
    const auto given = static_cast<int>(dtypes_.size()) - 1;
    const auto result = [&](std::size_t step) {
      return step + 1 == program_.size() ? last : memory.slot(dtypes_.size() + places_[step]);
    };
    for (std::size_t s = 0; s < program_.size(); ++s) {
      const LaneStep<T>& step = program_[s];
      std::array<const T*, 2> src{};
      for (std::size_t k = 0; k < src.size(); ++k) {
        const int from = step.src[k];
        src[k] =
            from < given ? sources[static_cast<std::size_t>(from)] : result(static_cast<std::size_t>(from - given));
      }
      step.function(src.data(), result(s), count, step.alpha, step.beta);
    }
  }

  LaneProgram<T> program_;
  std::vector<std::size_t> places_{};  // by step
  std::size_t places_count_ = 0;
  std::vector<DType> dtypes_{};
  std::vector<Job> jobs_{};
  int64_t chunks_ = 0, grain_ = 1;
  ZeroPadding padding_;
  int threads_;
};

}  // namespace

template <typename T>
std::unique_ptr<graph::Executable> make_program(const OwnRequest& r, LaneProgram<T> program) {
  if (r.node.src.size() + 1 > kGridOperands || !r.dst().injective_with_padding()) return nullptr;
  std::vector<const Layout*> operands{&r.dst()};
  if (bits(r.dst_tensor().dtype) < 8) return nullptr;
  for (std::size_t i = 0; i < r.node.src.size(); ++i) {
    if (bits(r.src_tensor(i).dtype) < 8) return nullptr;
    operands.push_back(&r.src(i));
  }
  auto boxes = grid(operands);
  if (!boxes) return nullptr;
  return std::make_unique<ProgramExecutable<T>>(r, std::move(program), *std::move(boxes));
}

template std::unique_ptr<graph::Executable> make_program(const OwnRequest&, LaneProgram<float>);
template std::unique_ptr<graph::Executable> make_program(const OwnRequest&, LaneProgram<double>);

}  // namespace relayout::execute
