// Making a plan: checks, refinement, and the choice of a kernel shape for each box.
#include "relayout/reorder/plan.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "relayout/reorder/cast.h"
#include "relayout/reorder/refine.h"

namespace relayout {
namespace {

/// A block's bytes on one side: both sides of it stay in the first-level cache.
constexpr int64_t kBlockBytes = 16 << 10;
/// Elements of a block whose values are converted.
constexpr int64_t kCastBlock = 4096;
/// Bytes of a copy that are one unit of work.
constexpr int64_t kCopyBlock = 256 << 10;
/// The table of attribute values.
constexpr int64_t kMaxAttributeBytes = int64_t{1} << 30;

int unit_bits(DType dtype) { return bits(dtype) < 8 ? bits(dtype) : 8; }
int64_t units(DType dtype) { return bits(dtype) / unit_bits(dtype); }

/// Offsets and strides from elements to units.
void scale(Offsets& offsets, int64_t src_units, int64_t dst_units) {
  offsets[kSrc] *= src_units;
  offsets[kDst] *= dst_units;
}

void scale(Box& box, int64_t src_units, int64_t dst_units) {
  scale(box.offset, src_units, dst_units);
  for (Axis& axis : box.axes) scale(axis.stride, src_units, dst_units);
}

/// Takes the affine axis with the least |stride| of an operand out of `axes`; a unit axis where there is none.
Axis take_nearest(Axes& axes, Operand operand) {
  auto best = axes.end();
  for (auto a = axes.begin(); a != axes.end(); ++a) {
    if (a->table >= 0) continue;
    if (best == axes.end() || std::abs(a->stride[operand]) < std::abs(best->stride[operand])) best = a;
  }
  if (best == axes.end()) return {};
  const Axis out = *best;
  axes.erase(best);
  return out;
}

/// The axis that steps from element to element on both sides, or end().
Axes::iterator find_run(Axes& axes, int64_t element_bytes) {
  return std::ranges::find_if(axes, [&](const Axis& a) {
    return a.table < 0 && a.stride[kSrc] == element_bytes && a.stride[kDst] == element_bytes;
  });
}

/// Pairs nibbles into bytes where a run of them starts and ends at whole bytes throughout.
bool pair_nibbles(Box& box) {
  const auto run = find_run(box.axes, 1);
  if (run == box.axes.end() || run->extent % 2 != 0 || box.offset[kSrc] % 2 != 0 || box.offset[kDst] % 2 != 0) {
    return false;
  }
  for (auto a = box.axes.begin(); a != box.axes.end(); ++a) {
    if (a->table >= 0 || (a != run && (a->stride[kSrc] % 2 != 0 || a->stride[kDst] % 2 != 0))) return false;
  }
  run->extent /= 2;
  run->stride[kSrc] = run->stride[kDst] = 2;
  for (Operand side : {kSrc, kDst}) {
    box.offset[side] /= 2;
    for (Axis& axis : box.axes) axis.stride[side] /= 2;
  }
  simplify(box);
  return true;
}

int64_t count_elements(const Box& box) {
  int64_t count = 1;
  for (const Axis& axis : box.axes) count *= axis.extent;
  return count;
}

/// The rest of the axes become loops; empty extents of blocks are clamped.
BoxPlan finish(BoxPlan plan, Box box) {
  plan.offset = box.offset;
  plan.loops = std::move(box.axes);
  plan.block_rows = std::clamp<int64_t>(plan.block_rows, 1, plan.rows.extent);
  plan.block_cols = std::clamp<int64_t>(plan.block_cols, 1, plan.cols.extent);
  return plan;
}

/// A box that moves bits. `box` is simplified, in units.
BoxPlan plan_move(Box box, DType dtype) {
  BoxPlan out;
  out.elements = count_elements(box);
  int64_t element = bits(dtype) / 8;
  if (bits(dtype) < 8) {
    if (!pair_nibbles(box)) {
      out.shape = KernelShape::gather;
      out.element_bytes = 0;
      out.unit_bits = {4, 4};
      out.cols = take_nearest(box.axes, kDst);
      out.rows = take_nearest(box.axes, kSrc);
      out.block_rows = out.block_cols = 64;
      return finish(std::move(out), std::move(box));
    }
    element = 1;
  }
  if (const auto run = find_run(box.axes, element); run != box.axes.end()) {
    const int64_t bytes = run->extent * element;
    const bool foldable = bytes <= 16 && (bytes & (bytes - 1)) == 0 && box.axes.size() > 1;
    box.axes.erase(run);
    if (!foldable) {
      out.shape = KernelShape::copy;
      out.cols = {bytes, {1, 1, 0}, -1};
      out.rows = take_nearest(box.axes, kDst);
      out.block_cols = kCopyBlock;
      out.block_rows = kCopyBlock / bytes;
      return finish(std::move(out), std::move(box));
    }
    element = bytes;  // a short run moves as one larger element
  }
  out.element_bytes = static_cast<int>(element);
  out.cols = take_nearest(box.axes, kDst);
  out.rows = take_nearest(box.axes, kSrc);
  out.shape = out.cols.stride[kDst] == element && out.rows.stride[kSrc] == element ? KernelShape::transpose
                                                                                   : KernelShape::gather;
  out.block_rows = std::max<int64_t>(16, 256 / element);
  out.block_cols = std::max<int64_t>(16, kBlockBytes / element / out.block_rows);
  return finish(std::move(out), std::move(box));
}

/// A box whose values are converted: the tile is fetched in destination order, converted, put.
BoxPlan plan_cast(Box box, DType src, DType dst) {
  BoxPlan out;
  out.elements = count_elements(box);
  out.element_bytes = bits(src) / 8;
  out.unit_bits = {static_cast<int8_t>(unit_bits(src)), static_cast<int8_t>(unit_bits(dst))};
  out.cols = take_nearest(box.axes, kDst);
  out.rows = take_nearest(box.axes, kSrc);
  const bool contiguous = out.cols.stride[kSrc] == units(src) && out.cols.stride[kDst] == units(dst);
  out.shape = contiguous                                                                   ? KernelShape::copy
              : out.rows.stride[kSrc] == units(src) && out.cols.stride[kDst] == units(dst) ? KernelShape::transpose
                                                                                           : KernelShape::gather;
  out.block_cols = contiguous ? kCastBlock : 64;
  out.block_rows = kCastBlock / std::min(out.block_cols, out.cols.extent);
  return finish(std::move(out), std::move(box));
}

BoxPlan plan_fill(Box box, DType dtype, uint64_t fill_bits) {
  BoxPlan out;
  out.shape = KernelShape::fill;
  out.elements = count_elements(box);
  out.element_bytes = bits(dtype) / 8;
  if (bits(dtype) < 8) {
    const bool one_pattern = (fill_bits & 15) * 17 == fill_bits;
    out.element_bytes = one_pattern && pair_nibbles(box) ? 1 : 0;
    if (out.element_bytes == 0) out.unit_bits = {4, 4};
  }
  out.cols = take_nearest(box.axes, kDst);
  out.rows = take_nearest(box.axes, kDst);
  out.block_cols = kCopyBlock / 8;
  out.block_rows = std::max<int64_t>(1, out.block_cols / out.cols.extent);
  return finish(std::move(out), std::move(box));
}

void check_injective(const Layout& layout, const Attributes& attributes) {
  const auto refuse = [](const Dims& a, const Dims& b, int64_t offset) {
    throw Error(ErrorCode::not_injective,
                "reorder: the destination is not injective: indices (" + join(a) + ") and (" + join(b) +
                    ") share offset " + std::to_string(offset),
                "dst", join(a) + " and " + join(b), "one offset an index");
  };
  const bool padding_written = attributes.padding.kind != Padding::Kind::keep && layout.padded() && !layout.empty();
  if (padding_written && layout.injective_with_padding()) return;
  if (const auto pair = layout.collision()) refuse(pair->first, pair->second, layout.offset(pair->first));
  if (!padding_written) return;
  // The padding collides: name two indices of the layout in which it counts as elements.
  std::vector<Digits> digits;
  for (int d = 0; d < layout.ndims(); ++d) digits.push_back(layout.digits_of(d));
  const Layout whole = Layout::from_digits(layout.padded_dims(), digits, layout.offset0());
  if (const auto pair = whole.collision()) refuse(pair->first, pair->second, whole.offset(pair->first));
}

/// One table of values over the dims of all masks, row-major, and its strides a dim.
std::vector<AttributeValues> expand_attributes(const Attributes& a, const Dims& dims, Dims* strides) {
  const uint32_t mask = a.src_scale.mask | a.dst_scale.mask | a.src_zero_point.mask | a.dst_zero_point.mask;
  *strides = Dims(dims.size(), 0);
  int64_t count = 1;
  for (int d = dims.size() - 1; d >= 0; --d) {
    if (!(mask >> d & 1)) continue;
    (*strides)[d] = count;
    const auto next = checked_mul(count, dims[d]);
    if (!next || *next > kMaxAttributeBytes / static_cast<int64_t>(sizeof(AttributeValues))) {
      const std::string limit = std::to_string(kMaxAttributeBytes);
      throw Error(ErrorCode::limit,
                  "reorder: the attributes' masks together (" + std::to_string(mask) + ") over dims " +
                      join(dims, "x") + " need a table of over " + limit + " bytes",
                  "mask", std::to_string(mask), limit);
    }
    count = *next;
  }
  std::vector<AttributeValues> out(static_cast<std::size_t>(count));
  const auto spread = [&](const auto& values, auto member) {
    if (values.values.empty()) return;
    for (int64_t i = 0; i < count; ++i) {
      int64_t at = 0;  // the row-major index over this attribute's own mask
      for (int d = 0; d < dims.size(); ++d) {
        if (values.mask >> d & 1) at = at * dims[d] + i / (*strides)[d] % dims[d];
      }
      out[static_cast<std::size_t>(i)].*member = values.values[static_cast<std::size_t>(at)];
    }
  };
  spread(a.src_scale, &AttributeValues::src_scale);
  spread(a.dst_scale, &AttributeValues::dst_scale);
  spread(a.src_zero_point, &AttributeValues::src_zero_point);
  spread(a.dst_zero_point, &AttributeValues::dst_zero_point);
  return out;
}

}  // namespace

Plan Plan::make(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes) {
  if (!(src.layout.dims() == dst.layout.dims())) {
    throw Error(ErrorCode::invalid_argument,
                "reorder: dims differ: source " + join(src.layout.dims()) + ", destination " + join(dst.layout.dims()),
                "dims", join(dst.layout.dims()), join(src.layout.dims()));
  }
  check_attributes(attributes, src, dst);
  check_injective(dst.layout, attributes);
  Plan plan;
  plan.src_ = src;
  plan.dst_ = dst;
  plan.attributes_ = attributes;
  plan.converts_ = src.dtype != dst.dtype || attributes.arithmetic();
  if (dst.layout.empty()) return plan;
  if (attributes.arithmetic())
    plan.attribute_values_ = expand_attributes(attributes, src.layout.dims(), &plan.attribute_strides_);
  else
    plan.attribute_strides_ = Dims(src.layout.ndims(), 0);
  plan.plan_boxes();
  if (attributes.padding.kind == Padding::Kind::value && dst.layout.padded()) plan.plan_fills();
  for (auto& table : plan.tables_) {
    for (Offsets& entry : table) scale(entry, units(src.dtype), units(dst.dtype));
  }
  return plan;
}

void Plan::plan_boxes() {
  auto boxes =
      refine(src_.layout, dst_.layout, attribute_strides_, Dims(src_.layout.ndims(), 0), src_.layout.dims(), tables_);
  boxes_.reserve(boxes.size());
  for (Box& box : boxes) {
    scale(box, units(src_.dtype), units(dst_.dtype));
    simplify(box);
    boxes_.push_back(converts_ ? plan_cast(std::move(box), src_.dtype, dst_.dtype)
                               : plan_move(std::move(box), src_.dtype));
  }
}

void Plan::plan_fills() {
  fill_bits_ = encode(dst_.dtype, attributes_.padding.value);
  if (bits(dst_.dtype) < 8) fill_bits_ = (fill_bits_ & 15) * 17;
  const Dims zero(dst_.layout.ndims(), 0), padded = dst_.layout.padded_dims();
  // Indices that lie in the padding of dim d and of no dim before it.
  for (int d = 0; d < padded.size(); ++d) {
    Dims begin = zero, end = padded;
    for (int k = 0; k < d; ++k) end[k] = dst_.layout.dim(k);
    begin[d] = dst_.layout.dim(d);
    for (Box& box : refine(dst_.layout, dst_.layout, zero, begin, end, tables_)) {
      scale(box, units(dst_.dtype), units(dst_.dtype));
      simplify(box);
      fills_.push_back(plan_fill(std::move(box), dst_.dtype, fill_bits_));
    }
  }
}

Cost Plan::cost() const {
  // Bytes a nanosecond, read and written together, that the kernel shapes reach on a current core.
  static constexpr double kRate[] = {12, 6, 1.5, 8};
  static constexpr double kCastRate[] = {6, 3, 1.5, 8};
  Cost cost;
  const double src_bytes = bits(src_.dtype) / 8.0, dst_bytes = bits(dst_.dtype) / 8.0;
  double read = 0, written = 0;
  for (const BoxPlan& box : boxes_) {
    const auto elements = static_cast<double>(box.elements);
    read += elements * (src_bytes + (attributes_.beta != 0 ? dst_bytes : 0));
    written += elements * dst_bytes;
    cost.nanoseconds +=
        20 + elements * (src_bytes + dst_bytes) / (converts_ ? kCastRate : kRate)[static_cast<int>(box.shape)];
  }
  for (const BoxPlan& fill : fills_) {
    written += static_cast<double>(fill.elements) * dst_bytes;
    cost.nanoseconds +=
        20 + static_cast<double>(fill.elements) * dst_bytes / kRate[static_cast<int>(KernelShape::fill)];
  }
  cost.bytes_read = static_cast<int64_t>(read);
  cost.bytes_written = static_cast<int64_t>(written);
  return cost;
}

}  // namespace relayout
