// Plan: how one reorder will be done. A small immutable value: made once, run often.
//
// make() refines both layouts into boxes of common axes (refine.h), simplifies each nest and picks
// a kernel shape for it. It knows sizes only: no pointers, no threads, no SIMD.
//
//     Plan p = Plan::make({Format::parse("nchw").bind(d), DType::f32}, {Format::parse("nhwc").bind(d), DType::f32});
//     std::puts(p.explain().c_str());
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "relayout/reorder/attributes.h"
#include "relayout/reorder/nest.h"

namespace relayout {

/// What a plan is expected to move and take.
struct Cost {
  int64_t bytes_read = 0;
  int64_t bytes_written = 0;
  /// A rough time in nanoseconds on one thread, for comparing plans. There are two lists of prices, of a machine whose
  /// last level is slow and shared by many cores (Machine::slow_shared_l3()) and of one whose is not; the plan's
  /// machine says which is used.
  double nanoseconds = 0;
};

/// The attributes of one element, at its defaults where they are not given.
struct AttributeValues {
  float src_scale = 1, dst_scale = 1;
  int32_t src_zero_point = 0, dst_zero_point = 0;
};

/// What a plan is made for: sizes of the caches in bytes, those that a core has and the last level, which cores share.
struct Machine {
  int64_t l1 = 32 << 10, l2 = 1 << 20, l3 = 32 << 20;

  /// The most of a last level that plans count on. A larger one is most often that of a server, shared by dozens of
  /// cores and slow to reach from each of them: reading from it is not much faster than reading from memory, and
  /// writing to it is slower than writing past it.
  static constexpr int64_t kMaxL3Share = 32 << 20;
  bool slow_shared_l3() const { return l3 > kMaxL3Share; }
  /// The bytes of the last level that plans count on.
  int64_t l3_share() const { return slow_shared_l3() ? std::max(l2, kMaxL3Share) : l3; }
};

/// Choices that are otherwise made by rule, as they are where `stream` is by_size and a number is 0 or less. For trying
/// them out; the result of a reorder is the same.
struct Tuning {
  enum class Stream : uint8_t { by_size, never, always };
  /// Whether the destination is written past the cache.
  Stream stream = Stream::by_size;
  /// Of streamed blocks: columns of a panel and rows of a strip, kMaxBlockSide at most; bytes that the source is
  /// fetched ahead.
  int64_t panel = 0, strip = 0, ahead = 0;

  bool operator==(const Tuning&) const = default;
};

class Plan {
 public:
  /// Any pair of layouts of equal dims, any pair of types. Errors: invalid_argument (dims differ,
  /// bad attribute), not_injective (the destination; two colliding indices are named), limit (1 GiB of offset
  /// tables, see refine.h, or of attribute values). Cost: about a microsecond for a few boxes, some hundred
  /// for kMaxBoxes; tables and attribute values by their size.
  static Plan make(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes = {},
                   const Machine& machine = {}, const Tuning& tuning = {});

  const TensorDesc& src() const { return src_; }
  const TensorDesc& dst() const { return dst_; }
  const Attributes& attributes() const { return attributes_; }

  /// Whether values are converted or computed with; otherwise bits are moved.
  bool converts() const { return converts_; }
  /// Whether both sides together are beyond the caches: then the destination is written past them, line by line.
  /// Otherwise single boxes, and padding, may be (BoxPlan::by_image, BoxPlan::fill_streams).
  bool streams() const { return streams_; }
  /// The boxes to move, each with the kernel shape that does it, and those to fill as padding. At most four times
  /// kMaxBoxes of refine.h, as a few steps of a box, and the last step of a dim, may be cut off, and kMaxBoxes fills a
  /// dim.
  std::span<const BoxPlan> boxes() const { return boxes_; }
  std::span<const BoxPlan> fills() const { return fills_; }
  /// The only box, where one block of it is all that is to be done and it is strided: small reorders start fast.
  const BoxPlan* strided_block() const { return one_strided_block_ ? boxes_.data() : nullptr; }
  /// Of boxes and fills.
  const Tables& tables() const { return tables_; }
  /// The padding's value as the destination's bits, for fills().
  uint64_t fill_bits() const { return fill_bits_; }
  /// What Operand kAttribute points into.
  std::span<const AttributeValues> attribute_values() const { return attribute_values_; }

  /// The plan in words, several lines: what is moved, along which axes, by which kernels.
  std::string explain() const;
  /// What one of boxes() is done by, with the size of its blocks, as explain() says it.
  std::string kernel(const BoxPlan& box) const;
  /// What the largest box is done by, e.g. "transpose 4": the shape and the bytes of a piece.
  std::string kernel() const;
  Cost cost() const;

 private:
  /// Returns the dims, by bit, whose padding is filled by the boxes already.
  uint32_t plan_boxes(const Machine& machine, const Tuning& tuning);
  /// The extents that are moved: into the padding of both sides where that makes fewer boxes. What is moved there is
  /// filled after it. past_source: into the destination's padding only, as if the source went on.
  Dims moved_dims(bool past_source) const;
  /// What lies past the end of a dim of a source without gaps is other elements. They are moved into the destination's
  /// padding, so that there are no tails there, but where they would be past the end of the source's memory: indices up
  /// to the first result are moved, and then those from the second up to `moved`, if it differs.
  std::pair<Dims, Dims> past_source(const Dims& moved) const;
  void plan_fills(uint32_t filled);

  TensorDesc src_, dst_;
  Attributes attributes_;
  bool converts_ = false, streams_ = false, one_strided_block_ = false, slow_shared_l3_ = false;
  std::vector<BoxPlan> boxes_, fills_;
  Tables tables_;
  std::vector<AttributeValues> attribute_values_;
  Dims attribute_strides_;
  uint64_t fill_bits_ = 0;
  int64_t bytes_ = 0;  // of both sides
};

}  // namespace relayout
