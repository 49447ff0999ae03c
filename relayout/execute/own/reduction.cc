// Reductions to the largest or the smallest element, and global max pooling, which is one: of floating types, in any
// layouts. A NaN among the elements gives NaN, which oneDNN's kernels forget.
//
// Source and destination are cut into the boxes of a grid (elementwise/grid.h), in which the destination does not move
// along the axes that are reduced. The results of a run are kept in the type that is computed in, by their offsets, and
// are written at the end.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "relayout/cpu/kernels/conversion.h"
#include "relayout/execute/own/elementwise/grid.h"
#include "relayout/execute/own/elementwise/lanes.h"
#include "relayout/execute/own/kernels.h"
#include "relayout/execute/own/padding.h"
#include "relayout/execute/run/openmp.h"

namespace relayout::execute {

using graph::BinaryAlgorithm;
using graph::Executable;
using graph::ReductionAlgorithm;

namespace {

/// The operands of the grid: the source is its space.
constexpr std::size_t kFrom = 0, kTo = 1;
/// A thread gets at least as many elements as it reduces in some ten microseconds.
constexpr int64_t kReducedGrain = 1 << 14;

template <typename T>
LaneFunction<T> larger_of_two(bool largest) {
  const BinaryAlgorithm algorithm = largest ? BinaryAlgorithm::max : BinaryAlgorithm::min;
  if constexpr (sizeof(T) == sizeof(float)) return vector_lanes().of(algorithm);
  return plain_lanes<T>().of(algorithm);
}

template <typename T>
class ExtremeExecutable : public Executable {
 public:
  ExtremeExecutable(const OwnRequest& r, bool largest, std::vector<GridBox> boxes, std::vector<GridBox> results)
      : from_(r.src_tensor(0).dtype),
        to_(r.dst_tensor().dtype),
        largest_(largest),
        of_two_(larger_of_two<T>(largest)),
        span_(r.dst().span()),
        boxes_(std::move(boxes)),
        results_(std::move(results)),
        padding_(r.dst(), r.dst_tensor().dtype),
        threads_(r.threads) {}

  void run(std::span<const void* const> src, std::span<void* const> dst) override {
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    std::vector<T> found(static_cast<std::size_t>(span_), largest_ ? -kInfinity : kInfinity);
    const auto* from = static_cast<const std::byte*>(src[0]);
    for (const GridBox& box : boxes_) reduce(box, from, found.data());
    auto* to = static_cast<std::byte*>(dst[0]);
    for (const GridBox& box : results_) {
      walk(box.axes, box.offset, [&](const GridOffsets& at, const GridAxis& run) {
        write(found.data() + at[0], to + at[0] * size(to_), run);
      });
    }
    padding_.run(dst[0]);
  }

 private:
  static int64_t size(DType dtype) { return bits(dtype) / 8; }

  /// Calls run(offsets, axis) for the innermost axis at each index of the others.
  template <typename F>
  static void walk(std::span<const GridAxis> axes, GridOffsets at, F&& run) {
    if (axes.empty()) return run(at, GridAxis{1, {}});
    if (axes.size() == 1) return run(at, axes[0]);
    for (int64_t i = 0; i < axes[0].extent; ++i) {
      walk(axes.subspan(1), at, run);
      for (std::size_t k = 0; k < at.size(); ++k) at[k] += axes[0].step[k];
    }
  }

  /// Threads share the outermost axis if each of its indices has results of its own.
  void reduce(const GridBox& box, const std::byte* from, T* found) const {
    const auto some = [&](int64_t begin, int64_t end) {
      GridOffsets at = box.offset;
      std::vector<GridAxis> axes = box.axes;
      if (!axes.empty()) {
        for (std::size_t k = 0; k < at.size(); ++k) at[k] += begin * axes[0].step[k];
        axes[0].extent = end - begin;
      }
      walk(axes, at, [&](const GridOffsets& start, const GridAxis& run) {
        take(from + start[kFrom] * size(from_), found + start[kTo], run);
      });
    };
    const bool apart = !box.axes.empty() && box.axes[0].step[kTo] != 0;
    if (!apart) return some(0, box.axes.empty() ? 1 : box.axes[0].extent);
    const int64_t extent = box.axes[0].extent;
    cpu::parallel_for(
        run_options(threads_), extent, std::max<int64_t>(1, kReducedGrain * extent / box.elements()),
        [](void* state, int64_t begin, int64_t end) { (*static_cast<decltype(some)*>(state))(begin, end); },
        const_cast<void*>(static_cast<const void*>(&some)));
  }

  /// Takes the elements of a run into their results.
  void take(const std::byte* from, T* found, const GridAxis& run) const {
    const int64_t step = run.step[kFrom];
    constexpr int64_t kPart = 256;
    T part[kPart];
    for (int64_t begin = 0; begin < run.extent; begin += kPart) {
      const int64_t count = std::min(kPart, run.extent - begin);
      const std::byte* first = from + begin * step * size(from_);
      const T* values = part;
      if (step == 1 && same(from_)) {
        values = reinterpret_cast<const T*>(first);
      } else if (step == 1) {
        convert(from_, kType, first, part, count);
      } else {
        for (int64_t i = 0; i < count; ++i) convert(from_, kType, first + i * step * size(from_), part + i, 1);
      }
      T* results = found + begin * run.step[kTo];
      if (run.step[kTo] == 1) {
        const T* both[] = {results, values};
        of_two_(both, results, count, 0, 0);
      } else {
        for (int64_t i = 0; i < count; ++i) take(values[i], results[i * run.step[kTo]]);
      }
    }
  }
  void take(T value, T& result) const {
    // A comparison with NaN is false.
    if (!(largest_ ? value <= result : value >= result) && !std::isnan(result)) result = value;
  }

  void write(const T* found, std::byte* to, const GridAxis& run) const {
    const int64_t step = run.step[0];
    if (step == 1) return convert(kType, to_, found, to, run.extent);
    for (int64_t i = 0; i < run.extent; ++i) convert(kType, to_, found + i * step, to + i * step * size(to_), 1);
  }

  static constexpr DType kType = sizeof(T) == 4 ? DType::f32 : DType::f64;
  static bool same(DType dtype) { return dtype == kType; }
  static void convert(DType from, DType to, const void* src, void* dst, int64_t count) {
    if (from == to) {
      std::memcpy(dst, src, static_cast<std::size_t>(count * size(from)));
      return;
    }
    cpu::Conversion(cpu::kernels(), from, to)(static_cast<const std::byte*>(src), static_cast<std::byte*>(dst), count);
  }

  DType from_, to_;
  bool largest_;
  LaneFunction<T> of_two_;
  int64_t span_;
  std::vector<GridBox> boxes_, results_;
  ZeroPadding padding_;
  int threads_;
};

/// Whether the node gives the largest or the smallest elements; nothing if it does something else.
std::optional<bool> gives_largest(const graph::Node& node) {
  if (node.pass != graph::Pass::forward_inference) return std::nullopt;
  if (node.kind == graph::Kind::pooling) {
    const auto& a = node.as<graph::PoolingAttributes>();
    const bool global = a.algorithm == graph::PoolingAlgorithm::max && a.kernel.empty();
    return global ? std::optional(true) : std::nullopt;
  }
  const ReductionAlgorithm algorithm = node.as<graph::ReductionAttributes>().algorithm;
  if (algorithm == ReductionAlgorithm::max) return true;
  return algorithm == ReductionAlgorithm::min ? std::optional(false) : std::nullopt;
}

}  // namespace

std::unique_ptr<Executable> make_reduction(const OwnRequest& r) {
  const std::optional<bool> largest = gives_largest(r.node);
  const DType dtype = r.src_tensor(0).dtype;
  if (!largest || !is_floating(dtype)) {
    return r.node.kind == graph::Kind::reduction ? make_plain_reduction(r) : nullptr;
  }
  if (bits(dtype) < 8 || r.dst_tensor().dtype != dtype) return nullptr;
  if (!r.dst().injective_with_padding()) return nullptr;
  auto boxes = grid(std::array{&r.src(0), &r.dst()}), results = grid(std::array{&r.dst()});
  if (!boxes || !results) return nullptr;
  if (dtype == DType::f64)
    return std::make_unique<ExtremeExecutable<double>>(r, *largest, std::move(*boxes), std::move(*results));
  return std::make_unique<ExtremeExecutable<float>>(r, *largest, std::move(*boxes), std::move(*results));
}

}  // namespace relayout::execute
