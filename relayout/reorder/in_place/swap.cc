// In-place reorders that exchange tiles: two axes of equal extent change places.
#include "relayout/reorder/in_place/steps.h"
#include "relayout/reorder/refine/refine.h"

namespace relayout {
namespace {

/// The most bytes of a tile. The tile and its mirror image should stay in the first-level cache.
constexpr int64_t kTileBytes = 16 << 10;
/// The most bytes of the axes that are inside each element of a tile. Axes beyond that are loops.
constexpr int64_t kInnerBytes = 8 << 10;

bool is_swap(const Axis& a, const Axis& b) {
  return a.extent == b.extent && a.stride[kSrc] == b.stride[kDst] && a.stride[kDst] == b.stride[kSrc];
}

/// Makes the plans that exchange tiles.
class TileMaker {
 public:
  TileMaker(const SwapStep& step, std::span<const Axis> inner, const ByteBox& box)
      : step_(step),
        inner_(inner),
        element_(box.element),
        dtype_(box.dtype),
        inner_bytes_(count(inner) * box.element) {}

  /// Tile P has `rows` values of x and `cols` values of y. In these plans, row u and column v are element (u, v) of P
  /// and element (v, u) of its mirror image Q.
  Plan save(int64_t rows, int64_t cols) const { return make(rows, cols, at_p(), at_scratch(rows, cols)); }
  Plan move(int64_t rows, int64_t cols) const { return make(rows, cols, at_q(), at_p()); }
  Plan restore(int64_t rows, int64_t cols) const { return make(rows, cols, at_scratch(rows, cols), at_q()); }

 private:
  /// Where a tile lies: in the tensor, or in the scratch.
  struct TileStrides {
    int64_t row, col;  // strides in bytes
    bool scratch = false;
  };
  TileStrides at_p() const { return {step_.x_stride, step_.y_stride}; }
  TileStrides at_q() const { return {step_.y_stride, step_.x_stride}; }
  /// The scratch is dense and has the order of Q.
  TileStrides at_scratch(int64_t rows, int64_t cols) const {
    if (step_.y_stride < step_.x_stride) return {inner_bytes_, rows * inner_bytes_, true};
    return {cols * inner_bytes_, inner_bytes_, true};
  }

  TensorDesc desc(int64_t rows, int64_t cols, const TileStrides& tile) const {
    Dims dims{rows, cols}, strides{tile.row / element_, tile.col / element_};
    int64_t dense = count(inner_);
    for (const Axis& axis : inner_) {
      dense /= axis.extent;
      dims.push_back(axis.extent);
      strides.push_back(tile.scratch ? dense : axis.stride[kDst] / element_);
    }
    return {Layout::strided(dims, strides), dtype_};
  }
  Plan make(int64_t rows, int64_t cols, const TileStrides& from, const TileStrides& to) const {
    return Plan::make(desc(rows, cols, from), desc(rows, cols, to));
  }

  const SwapStep& step_;
  std::span<const Axis> inner_;
  int64_t element_;
  DType dtype_;
  int64_t inner_bytes_;
};

}  // namespace

int64_t count(std::span<const Axis> axes) {
  int64_t out = 1;
  for (const Axis& axis : axes) out *= axis.extent;
  return out;
}

int64_t largest_divisor(int64_t n, int64_t limit) {
  int64_t best = 1;
  for (int64_t d = 1; d <= limit && d <= n / d; ++d) {
    if (n % d != 0) continue;
    best = std::max(best, d);
    if (n / d <= limit) best = std::max(best, n / d);
  }
  return best;
}

std::optional<ByteBox> byte_box(const TensorDesc& src, const TensorDesc& dst) {
  if (bits(src.dtype) < 8) return std::nullopt;
  Tables tables;
  const Dims zero(src.layout.ndims(), 0);
  std::vector<Box> boxes =
      refine(src.layout, dst.layout, no_attributes(src.layout.ndims()), zero, src.layout.dims(), tables);
  if (boxes.size() != 1 || !tables.empty()) return std::nullopt;
  ByteBox out{std::move(boxes.front()), bits(src.dtype) / 8, src.dtype};
  simplify(out.box);
  for (std::size_t side : {kSrc, kDst}) {
    out.box.offset[side] *= out.element;
    for (Axis& axis : out.box.axes) {
      if (axis.stride[side] <= 0) return std::nullopt;
      axis.stride[side] *= out.element;
    }
  }
  std::ranges::sort(out.box.axes, std::ranges::greater(), [](const Axis& axis) { return axis.stride[kDst]; });
  return out;
}

std::optional<SwapStep> make_swap(const ByteBox& byte_box, int64_t max_scratch) {
  const Box& box = byte_box.box;
  if (box.offset[kSrc] != box.offset[kDst]) return std::nullopt;
  std::vector<Axis> moved, still;
  for (const Axis& axis : box.axes) (axis.stride[kSrc] == axis.stride[kDst] ? still : moved).push_back(axis);
  if (moved.size() != 2 || !is_swap(moved[0], moved[1])) return std::nullopt;
  SwapStep step;
  step.offset = box.offset[kDst];
  step.extent = moved[0].extent;
  step.x_stride = moved[0].stride[kDst];
  step.y_stride = moved[0].stride[kSrc];
  // Axes inside both of the axes that change places are moved with each element, as long as they are small. `still` is
  // ordered by stride, the smallest last.
  std::vector<Axis> inner;
  int64_t bytes = byte_box.element;
  while (!still.empty() && still.back().stride[kDst] < std::min(step.x_stride, step.y_stride) &&
         static_cast<int>(inner.size()) < kMaxDims - 2) {
    Axis& axis = still.back();
    const int64_t most = std::min(kInnerBytes, max_scratch) / bytes;
    int64_t taken = largest_divisor(axis.extent, most);
    if (taken * bytes < kLongMove && axis.extent * bytes <= max_scratch) taken = axis.extent;
    bytes *= taken;
    if (taken > 1) inner.insert(inner.begin(), {taken, axis.stride, -1});
    if (taken < axis.extent) {
      axis.extent /= taken;
      for (int64_t& stride : axis.stride) stride *= taken;
      break;
    }
    still.pop_back();
  }
  for (const Axis& axis : still) step.loops.push_back({axis.extent, axis.stride[kSrc], axis.stride[kDst]});
  if (bytes > max_scratch) return std::nullopt;
  while (step.tile < step.extent && 4 * step.tile * step.tile * bytes <= std::min(kTileBytes, max_scratch)) {
    step.tile *= 2;
  }
  step.tile = std::min(step.tile, step.extent);
  const TileMaker maker(step, inner, byte_box);
  const int64_t whole = step.tile, last = step.extent % step.tile;
  for (int64_t cols : {whole, last}) {
    if (cols == 0) continue;
    step.save.push_back(maker.save(whole, cols));
    step.move.push_back(maker.move(whole, cols));
    step.restore.push_back(maker.restore(whole, cols));
  }
  if (last > 0) {
    step.save_last.push_back(maker.save(last, last));
    step.restore_last.push_back(maker.restore(last, last));
  }
  return step;
}

}  // namespace relayout
