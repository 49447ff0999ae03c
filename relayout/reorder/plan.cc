// Making a plan: checks, refinement, and a box plan for each box.
#include "relayout/reorder/plan.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "relayout/reorder/axes.h"
#include "relayout/reorder/box_plan.h"
#include "relayout/reorder/cast.h"
#include "relayout/reorder/refine.h"
#include "relayout/reorder/refine_dim.h"
#include "relayout/reorder/register_tiles.h"
#include "relayout/reorder/tiles.h"

namespace relayout {
namespace {

/// The table of attribute values.
constexpr int64_t kMaxAttributeBytes = int64_t{1} << 30;
/// Of the last-level cache, what source and destination together may take before the destination is written past it:
/// a quarter. Lines that are written by way of the cache are read first, and what is in the cache is displaced. Half of
/// it where boxes share lines: these are put together before they are written past the cache.
constexpr int64_t kStreamShare = 4, kStreamShareUneven = 2;

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

/// Whether blocks of both sides divide each other and the dims, so that no boxes share lines. Nibbles always do.
bool divides_evenly(const TensorDesc& src_desc, const TensorDesc& dst_desc) {
  const Layout &src = src_desc.layout, &dst = dst_desc.layout;
  if (bits(src_desc.dtype) < 8 || bits(dst_desc.dtype) < 8) return true;
  if (dst.padded()) return false;
  for (int d = 0; d < dst.ndims(); ++d) {
    int64_t places[2 * kMaxDigits], count = 0;
    for (const Layout* side : {&src, &dst}) {
      int64_t place = 1;
      for (const Digit& digit : side->digits(d)) {
        if (place > dst.dim(d) / std::max<int64_t>(1, digit.extent)) break;
        place *= digit.extent;
        if (dst.dim(d) % place != 0) return false;
        places[count++] = place;
      }
    }
    for (int64_t a = 0; a < count; ++a) {
      for (int64_t b = 0; b < a; ++b) {
        if (places[a] % places[b] != 0 && places[b] % places[a] != 0) return false;
      }
    }
  }
  return true;
}

/// Whether a transposition writes short rows of parts of lines here and there. Past the cache each would be put
/// together for a line or two and two parts of lines, which takes a multiple of the time through the cache, whatever
/// the size.
bool scatters_rows(const BoxPlan& box) {
  constexpr int64_t kShort = 8 * kLine;
  const int64_t bytes = box.col_count * box.piece[kDst];
  const bool follow = box.rows.size() == 1 && box.rows[0].stride[kDst] == bytes;
  return box.shape == KernelShape::transpose && box.row_run == 0 && bytes < kShort && bytes % kLine != 0 &&
         kLine % bytes != 0 && !follow;
}

/// Whether a box that is no tile is transposed in blocks of less than a few lines.
bool in_small_blocks(const BoxPlan& box) {
  return box.parts.empty() && box.shape == KernelShape::transpose && box.row_run == 0 &&
         box.block_rows * box.block_cols * box.piece[kDst] < 16 * kLine;
}

}  // namespace

Plan Plan::make(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes, const Machine& machine,
                const Tuning& tuning) {
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
  const int64_t bytes = checked_add(src.span_bytes(), dst.span_bytes()).value_or(std::numeric_limits<int64_t>::max());
  plan.streams_ = tuning.stream == Tuning::Stream::always ||
                  (tuning.stream == Tuning::Stream::by_size && bytes > machine.l3 / kStreamShare &&
                   (bytes > machine.l3 / kStreamShareUneven || divides_evenly(src, dst)));
  const bool fills = attributes.padding.kind == Padding::Kind::value && dst.layout.padded();
  if (fills) {
    plan.fill_bits_ = encode(dst.dtype, attributes.padding.value);
    if (bits(dst.dtype) < 8) plan.fill_bits_ = (plan.fill_bits_ & 15) * 17;
  }
  const uint32_t filled = plan.plan_boxes(tuning);
  if (fills) plan.plan_fills(filled);
  plan.one_strided_block_ =
      plan.boxes_.size() == 1 && plan.fills_.empty() && plan.boxes_[0].strided && plan.boxes_[0].blocks == 1;
  for (auto& table : plan.tables_) {
    for (Offsets& entry : table) scale(entry, units(src.dtype), units(dst.dtype));
  }
  return plan;
}

uint32_t Plan::plan_boxes(const Tuning& tuning) {
  const bool fills = attributes_.padding.kind == Padding::Kind::value && dst_.layout.padded();
  BoxPlanner planner{src_.dtype,
                     dst_.dtype,
                     converts_,
                     streams_,
                     attributes_.beta != 0,
                     fills ? std::optional(fill_bits_) : std::nullopt,
                     tuning};
  if (streams_ && !divides_evenly(src_, dst_)) {
    auto tiled = plan_tiles(src_.layout, dst_.layout, attribute_strides_, planner, tables_);
    // Where tiles lose more than lines that are written once gain: boxes of their own, through the cache.
    const bool loses = tiled && (tiled->reads_again || 2 * tiled->in_small_pieces > src_.layout.elements() ||
                                 in_small_blocks(*std::ranges::max_element(tiled->boxes, {}, &BoxPlan::elements)));
    if (tiled && (!loses || tuning.stream == Tuning::Stream::always)) {
      boxes_ = std::move(tiled->boxes);
      fills_ = std::move(tiled->fills);
      return tiled->filled;
    }
    if (tiled) streams_ = planner.streams = false;
    tables_.clear();
  }
  auto boxes =
      refine(src_.layout, dst_.layout, attribute_strides_, Dims(src_.layout.ndims(), 0), moved_dims(), tables_);
  boxes_.reserve(boxes.size());
  for (Box& box : boxes) {
    scale(box, units(src_.dtype), units(dst_.dtype));
    simplify(box);
    auto left = !converts_ && bits(src_.dtype) >= 8 ? cut_for_tiles(box, bits(src_.dtype) / 8) : std::nullopt;
    boxes_.push_back(planner.move_simple(std::move(box), streams_));
    if (left) boxes_.push_back(planner.move(*std::move(left), streams_));
  }
  if (streams_ && tuning.stream == Tuning::Stream::by_size && !converts_ &&
      scatters_rows(*std::ranges::max_element(boxes_, {}, &BoxPlan::elements))) {
    streams_ = false;
    boxes_.clear();
    tables_.clear();
    return plan_boxes(tuning);
  }
  return 0;
}

Dims Plan::moved_dims() const {
  Dims moved = src_.layout.dims();
  if (converts_ || attributes_.padding.kind != Padding::Kind::value) return moved;
  for (int d = 0; d < moved.size(); ++d) {
    const int64_t most = std::min(src_.layout.capacity(d), dst_.layout.capacity(d)), extent = moved[d];
    if (most <= extent) continue;
    const Layout src = src_.layout.canonical(), dst = dst_.layout.canonical();
    const DimRefiner refiner(src, dst, d, 0, 0, extent);
    // Another piece takes about as long as a quarter of the largest, mostly for lines that are read once more.
    constexpr double kPiece = 0.25;
    double least = 1 + kPiece * static_cast<double>(refiner.pieces() - 1);
    for (const Level& level : refiner.levels()) {
      const int64_t end = ceil_div(extent, level.place) * level.place;
      if (end > most) continue;
      double time = static_cast<double>(end) / static_cast<double>(extent) - kPiece;
      refiner.cut(0, end, [&](int64_t, std::size_t, int64_t) { time += kPiece; });
      if (time >= least) continue;
      least = time;
      moved[d] = end;
    }
  }
  return moved;
}

void Plan::plan_fills(uint32_t filled) {
  const Dims zero(dst_.layout.ndims(), 0), padded = dst_.layout.padded_dims();
  // Indices that lie in the padding of dim d and of no such dim before it.
  for (int d = 0; d < padded.size(); ++d) {
    if (filled >> d & 1) continue;
    Dims begin = zero, end = padded;
    for (int k = 0; k < d; ++k) {
      if (!(filled >> k & 1)) end[k] = dst_.layout.dim(k);
    }
    begin[d] = dst_.layout.dim(d);
    for (Box& box : refine(dst_.layout, dst_.layout, zero, begin, end, tables_)) {
      scale(box, units(dst_.dtype), units(dst_.dtype));
      simplify(box);
      fills_.push_back(plan_fill(std::move(box), dst_.dtype, fill_bits_));
    }
  }
}

std::string Plan::kernel() const {
  if (boxes_.empty()) return "none";
  const BoxPlan& box = *std::ranges::max_element(boxes_, {}, &BoxPlan::elements);
  return std::string(name(box.shape)) + " " + std::to_string(box.piece[kSrc]) + (converts_ ? " convert" : "") +
         (streams_ ? " stream" : "");
}

}  // namespace relayout
