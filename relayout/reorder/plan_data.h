// PlanData: what a Plan holds, for the code that runs and prices plans (internal to the library).
//
// A plan is a list of *boxes*, each moved by one kernel, and a list of *fills*, which set the destination's padding.
//
//     for (const BoxPlan& box : plan.data().boxes()) ...
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "relayout/reorder/attribute_table.h"
#include "relayout/reorder/attributes.h"
#include "relayout/reorder/box_plan.h"
#include "relayout/reorder/indexed_boxes.h"
#include "relayout/reorder/refine.h"

namespace relayout {

struct BoxPlanner;

class PlanData {
 public:
  /// Nothing is planned yet.
  PlanData(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes)
      : src_(src), dst_(dst), attributes_(attributes) {}

  /// Plan::make() without the handle.
  static std::shared_ptr<const PlanData> make(const TensorDesc& src, const TensorDesc& dst,
                                              const Attributes& attributes, const Machine& machine,
                                              const Tuning& tuning);

  const TensorDesc& src() const { return src_; }
  const TensorDesc& dst() const { return dst_; }
  const Attributes& attributes() const { return attributes_; }
  /// The dims of the reorder: those of both sides, unless it goes through index tables.
  const Dims& dims() const { return dims_; }

  /// The machine that the plan is made for.
  const Machine& machine() const { return machine_; }

  /// Whether values are converted or computed with; otherwise bits are moved.
  bool converts() const { return converts_; }
  /// Whether the destination is written past the caches, line by line, as both sides together are beyond them. Where
  /// this is false, padding may still be written so (Fill::past_cache).
  bool streams() const { return streams_; }
  /// Where streams(): the size of both sides together from which on the plan streams; 0 if Tuning asked for it.
  int64_t stream_limit() const { return stream_limit_; }
  /// The boxes to move, each with the kernel that does it, and the boxes of padding to fill. There are at most 4 *
  /// kMaxBoxes (refine.h) boxes to move, because some steps of a box, and the last step of a dim, may become boxes of
  /// their own, and at most kMaxBoxes boxes of padding for each dim.
  std::span<const BoxPlan> boxes() const { return boxes_; }
  std::span<const BoxPlan> fills() const { return fills_; }
  /// The only box, if the whole reorder is one strided block, so that a small reorder starts fast; otherwise null.
  const BoxPlan* strided_block() const { return one_strided_block_ ? boxes_.data() : nullptr; }
  /// The tables that axes of boxes and fills refer to.
  const Tables& tables() const { return tables_; }
  /// The value of the padding, as bits of the destination's type, for fills().
  uint64_t fill_bits() const { return fill_bits_; }
  /// The attribute values, in one of both tables: in f32 where that is the compute type, else in f64.
  const AttributeTable<float>& attribute_values() const { return attribute_values_; }
  const AttributeTable<double>& wide_attribute_values() const { return wide_attribute_values_; }

  /// The plan in words, several lines: what is moved, along which axes, by which kernels.
  std::string explain() const;
  /// The kernel of one of boxes(), with the size of its blocks, in the words of explain().
  std::string kernel(const BoxPlan& box) const;
  /// The kernel of the largest box, e.g. "transpose 4", its shape and the bytes of a piece; or "lines 64", a line
  /// program and the bytes of a line.
  std::string kernel() const;
  Cost cost() const;
  /// The least that stages can cost past the cache, without planning them.
  double least_staged_ns() const;

 private:
  /// Plans boxes and padding the way that is expected to be the fastest, or the one that was asked for.
  void choose_way(const Tuning& tuning);
  /// Plans all as stages. False, and nothing is planned, where that is not possible.
  bool plan_together(const Tuning& tuning);
  /// Plans the boxes of swizzled layouts as stages that permute their runs, and those where that is not possible one by
  /// one. False, and nothing is planned, where none can be stages.
  bool plan_unswizzled(const Tuning& tuning);
  /// Plans all as one line program. False, and nothing is planned, where that is not possible or takes `most_ns`
  /// nanoseconds or more.
  bool plan_program(const Tuning& tuning, double most_ns);
  /// anew() is the same request with nothing planned yet; take() takes over what was planned for it.
  PlanData anew() const;
  void take(PlanData&& other);
  /// Plans the boxes one by one, and the padding.
  void plan_each(const Tuning& tuning);
  /// Plans the boxes one by one. Returns the dims, by bit, whose padding these boxes fill already.
  uint32_t plan_boxes(const Machine& machine, const Tuning& tuning);
  BoxPlanner planner(const BlockRules& rules) const;
  /// The boxes of all indices from `begin` to `end`, simplified, with offsets in units. Through index tables: of all.
  std::vector<Box> refined(const Dims& begin, const Dims& end);
  /// Plans the boxes of a reorder through index tables, and returns what plan_boxes() does.
  uint32_t plan_indexed(const BoxPlanner& planner);
  bool indexed() const { return attributes_.indexed(); }
  bool swizzled() const { return src_.layout.swizzled() || dst_.layout.swizzled(); }
  bool fills_padding() const {
    return attributes_.padding.kind == Padding::Kind::value && dst_.layout.padded() && attributes_.dst_index.empty();
  }
  /// Whether padding is what becomes of indices that are kNone in a table of the source.
  bool fills_missing() const {
    return attributes_.padding.kind == Padding::Kind::value && !attributes_.src_index.empty();
  }
  /// The memory of both sides; through index tables, of the elements that are moved.
  int64_t moved_bytes() const;
  /// Whether both sides together take more than so many eighths of the last level.
  bool exceeds(int64_t eighths, const Machine& machine) const;
  /// Where both sides are large and the destination is written through the cache, the next lines or blocks are fetched.
  void fetch_ahead(const Machine& machine);
  /// Padding is written past the cache even where the plan as a whole is not.
  void write_padding_past_cache(const Machine& machine, const Tuning& tuning);
  /// Plans a simplified box, which may become two, by the method that is expected to be the fastest.
  void add_box(Box box, const BoxPlanner& planner);
  /// The extents of what is moved: more than the dims where both sides have padding and moving some of it makes fewer
  /// boxes. The destination's padding is filled afterwards. With `past_source`, the source need have no padding: it is
  /// read as if it went on after the end of the dim.
  Dims moved_dims(bool past_source) const;
  /// In a source without gaps, other elements lie past the end of a dim. To save boxes for the dim's tail, these
  /// elements are moved into the destination's padding, which is filled afterwards. That must not read past the end of
  /// the source's memory. So the indices up to the first result are moved, and after them, if the second result is not
  /// `moved`, the indices from the second result up to `moved`.
  std::pair<Dims, Dims> past_source(const Dims& moved) const;
  void plan_fills(uint32_t filled);

  TensorDesc src_, dst_;
  Attributes attributes_;
  Dims dims_;                          // of the reorder
  std::vector<IndexedDim> indexed_{};  // while the plan is made
  Machine machine_;
  bool converts_ = false, streams_ = false, one_strided_block_ = false;
  std::vector<BoxPlan> boxes_, fills_;
  Tables tables_;
  AttributeTable<float> attribute_values_;
  AttributeTable<double> wide_attribute_values_;
  AttributeSteps attribute_steps_;
  uint64_t fill_bits_ = 0;
  int64_t bytes_ = 0;  // of both sides
  int64_t stream_limit_ = 0;
};

}  // namespace relayout
