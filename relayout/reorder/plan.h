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
  /// Whether the destination is written past the caches, line by line, as both sides together are beyond them. Where
  /// this is false, single boxes and padding may still be written so (BoxPlan::by_image, BoxPlan::fill_streams).
  bool streams() const { return streams_; }
  /// The boxes to move, each with the kernel that does it, and the boxes of padding to fill. There are at most four
  /// times kMaxBoxes (refine.h) of the former, as some steps of a box, and the last step of a dim, may become boxes of
  /// their own; and kMaxBoxes of the latter for each dim.
  std::span<const BoxPlan> boxes() const { return boxes_; }
  std::span<const BoxPlan> fills() const { return fills_; }
  /// The only box, where one strided block of it is all that there is to do, so that a small reorder starts fast;
  /// otherwise null.
  const BoxPlan* strided_block() const { return one_strided_block_ ? boxes_.data() : nullptr; }
  /// The tables that axes of boxes and fills refer to.
  const Tables& tables() const { return tables_; }
  /// The value of the padding, as bits of the destination's type, for fills().
  uint64_t fill_bits() const { return fill_bits_; }
  /// The attribute values; the offsets of Operand kAttribute are indices into them.
  std::span<const AttributeValues> attribute_values() const { return attribute_values_; }

  /// The plan in words, several lines: what is moved, along which axes, by which kernels.
  std::string explain() const;
  /// The kernel of one of boxes(), with the size of its blocks, in the words of explain().
  std::string kernel(const BoxPlan& box) const;
  /// The kernel of the largest box, e.g. "transpose 4": its shape and the bytes of a piece.
  std::string kernel() const;
  Cost cost() const;

 private:
  /// Plans the boxes. Returns the dims, by bit, whose padding these boxes fill already.
  uint32_t plan_boxes(const Machine& machine, const Tuning& tuning);
  /// The extents of what is moved: more than the dims where both sides have padding and moving some of it makes fewer
  /// boxes. The destination's padding is filled afterwards. `past_source`: only the destination need have padding, as
  /// if the source went on after its end.
  Dims moved_dims(bool past_source) const;
  /// In a source without gaps, other elements lie past the end of a dim. They are moved into the destination's padding,
  /// so that the dim needs no boxes for its tail, except where they would lie past the end of the source's memory. What
  /// is moved are the indices up to the first result and then, where the second result is not `moved`, those from it up
  /// to `moved`.
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
