// Layout: the one algebra that every tensor format is a spelling of.
//
// A layout maps a logical index to an element offset, and it is separable:
//
//     offset(i) = offset0 + sum over dims d of f_d(i_d)
//     f_d(i)    = sum over digits k of digit_k(i) * stride_k
//
// Each dim is written in a mixed radix of digits (extent, stride), innermost first; the outermost
// digit takes what is left. Strides and offsets count elements. Example: nChw8c, dims 2x17x5x4:
//
//     n = (2,480)   c = (8,1)(3,160)   h = (5,32)   w = (4,8)       offset(0,16,2,3) = 408
//
// The product of a dim's digit extents is its *capacity* (24 for c); indices from the dim's extent
// up to its capacity are *padding*; offsets that no index reaches are *gaps*. A layout is geometry
// only: no type, no names, no loop order, no contents of the padding.
//
// One thing may stand behind the sum: an exclusive or of some bits of the whole offset with others (swizzle.h), as the
// tiles in a GPU's shared memory have it. Then the layout is *swizzled*, offset(i) = swizzle(offset0 + sum), and
// plain() is the layout under the exclusive or. A swizzled layout is no sum of digits, so digits(), strides and
// footprint() are an error for it and not a wrong answer: who can go on asks plain() for them.
//
// Laws (tested over whole domains): inverse(offset(i)) reaches i wherever the layout is injective;
// a == b  <=>  equal dims, capacities and offsets of every index; canonical(l) == l.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "relayout/core/dtype.h"
#include "relayout/core/extents.h"
#include "relayout/core/swizzle.h"

namespace relayout {

/// The most digits a layout can have, all dims together.
inline constexpr int kMaxDigits = 48;

/// One place of a dim's mixed radix: how many values it takes, and the step in elements.
struct Digit {
  int64_t extent = 1;
  int64_t stride = 0;
  friend bool operator==(const Digit&, const Digit&) = default;
};
using Digits = InlineVector<Digit, kMaxDigits>;

/// What index i of a dim with these digits (innermost first) adds to the offset. The outermost digit is not bounded.
int64_t digits_offset(std::span<const Digit> digits, int64_t i);

/// What an element offset holds.
enum class Slot : uint8_t {
  element,  // a logical element
  padding,  // an index between a dim's extent and its capacity
  gap,      // nothing
};

/// PyTorch's memory formats. channels_last is 4-D only, channels_last_3d 5-D only.
enum class MemoryFormat : uint8_t { contiguous, channels_last, channels_last_3d };
std::string_view name(MemoryFormat format);

class Layout {
 public:
  /// A scalar: rank 0, one element at offset 0.
  Layout() = default;

  /// One digit a dim. A stride of 0 repeats (broadcast), a negative one walks backwards.
  /// Errors: invalid_argument (rank mismatch, negative dim, an element at a negative offset),
  /// overflow (names the dim), limit (over kMaxDims).
  static Layout strided(const Dims& dims, const Dims& strides, int64_t offset0 = 0);

  /// Row-major strides, last dim innermost.
  static Layout contiguous(const Dims& dims);

  /// A scalar in memory of its own that is larger, as f32[]{:T(128)} of XLA: rank 0, and what the digits (innermost
  /// first) reach besides offset0 is padding. Errors as in strided().
  static Layout padded_scalar(const Digits& padding, int64_t offset0 = 0);

  /// The general form: `digits[d]` lists dim d's digits, innermost first, at least one a dim.
  /// The capacity (product of extents) must reach the dim. Of a dim without elements the outermost digit is the one
  /// with extent 0, whichever is given so. Errors as in strided().
  static Layout from_digits(const Dims& dims, std::span<const Digits> digits, int64_t offset0 = 0);

  /// This layout with its offsets swizzled. Bits of the swizzle that read above all offsets change nothing and are
  /// dropped, so that a layout too small for its swizzle is a plain one. Errors: invalid_argument where it is swizzled
  /// already, unless one of both swizzles changes nothing, or both are the same and undo each other; overflow; limit
  /// where strides are so contrived that the range of the offsets takes seconds to find.
  Layout with_swizzle(const Swizzle& swizzle) const;
  const Swizzle& swizzle() const { return swizzle_; }
  bool swizzled() const { return !swizzle_.identity(); }
  /// The layout under the exclusive or: the same digits and offset0 without it.
  Layout plain() const;
  /// Throws the Error{unsupported} of require_plain() below.
  [[noreturn]] void refuse_swizzle(std::string_view what) const;

  int ndims() const { return dims_.size(); }
  /// Logical extents.
  const Dims& dims() const { return dims_; }
  int64_t dim(int d) const { return dims_[d]; }
  /// Dim d's digits, innermost first. Error{unsupported} if the layout is swizzled, as for all that strides say.
  std::span<const Digit> digits(int d) const {
    if (swizzled()) refuse_swizzle("its digits");
    return digits_under_swizzle(d);
  }
  Digits digits_of(int d) const { return Digits(digits(d)); }
  /// The same of plain(), for who applies the swizzle himself.
  std::span<const Digit> digits_under_swizzle(int d) const {
    return {digits_.data() + first_[static_cast<std::size_t>(d)],
            static_cast<std::size_t>(first_[static_cast<std::size_t>(d) + 1] - first_[static_cast<std::size_t>(d)])};
  }
  /// Of a swizzled layout: what is added under the exclusive or.
  int64_t offset0() const { return offset0_; }

  /// Padded extent of dim d: the product of its digit extents.
  int64_t capacity(int d) const;
  Dims padded_dims() const;
  /// How many indices of dim d make one block: the product of all its digits but the outermost. Like the outer strides
  /// and the footprint, this belongs to the spelling of a layout: equal layouts may differ in it, as nChw8c and nhwc do
  /// for H = W = 1. canonical() has one spelling.
  int64_t block(int d) const;
  /// Stride of dim d's outermost digit, in elements.
  int64_t outer_stride(int d) const { return digits(d).back().stride; }
  Dims outer_strides() const;

  /// A scalar as a tensor of rank 1 and extent 1 in the same memory, whose dim has the scalar's padding. Only for rank
  /// 0.
  Layout as_vector() const;

  /// Logical elements; 0 if any dim is 0.
  int64_t elements() const;
  /// Elements with padding: the product of the capacities.
  int64_t padded_elements() const;
  bool empty() const { return elements() == 0; }

  /// Element offset of a logical or padding index (0 <= index[d] < capacity(d)).
  /// Error{invalid_argument} names the dim that is out of range.
  int64_t offset(std::span<const int64_t> index) const;
  int64_t offset(std::initializer_list<int64_t> index) const { return offset(std::span(index.begin(), index.size())); }
  /// f_d(i): what index i of dim d adds to the offset. No range check. Not of a swizzled layout, as digits().
  int64_t dim_offset(int d, int64_t i) const;

  /// Finds the index stored at an offset, and sets `index` unless the offset is a gap. If several indices share the
  /// offset, an element is preferred to padding. Every int64 is a valid offset.
  Slot inverse(int64_t offset, Dims* index) const;

  /// The smallest and the largest offset that is reached, padding included. (offset0, offset0 - 1) if the layout is
  /// empty.
  std::pair<int64_t, int64_t> offset_range() const;
  /// The number of elements that a buffer needs: the last offset that is reached + 1, with offset0 and padding
  /// included.
  int64_t span() const;
  /// oneDNN's get_size() in elements, without offset0: the largest product of a dim's outer count, the extent of its
  /// outermost digit, and that digit's stride. A dim of outer count 1 gives 1. If the largest product is 1, the size is
  /// the product of all blocks. Not of a swizzled layout, as digits().
  int64_t footprint() const;

  /// Whether no two logical indices share an offset (exact).
  bool injective() const { return !collision(); }
  /// Whether no two indices share an offset, if they may also lie in the padding.
  bool injective_with_padding() const;
  /// Two logical indices that share an offset, or nothing if none do. Error{limit} for contrived strides that would
  /// take more than some seconds to decide.
  std::optional<std::pair<Dims, Dims>> collision() const;
  /// Whether the elements fill one range of offsets, each once, with no padding.
  bool dense() const;
  /// Whether elements and padding together fill one range of offsets, each once.
  bool packed() const;
  /// Whether a dim of extent over 1 has a digit of stride 0, so that its values repeat.
  bool broadcast() const;
  /// Whether some capacity exceeds its extent.
  bool padded() const;
  /// PyTorch's is_contiguous(memory_format). Strides of dims of extent 1 do not count. A tensor without elements is
  /// always contiguous, but channels-last only by its strides, which must be the products of the extents inside them (0
  /// outside a dim of extent 0). False if the format does not exist for the rank.
  bool contiguous_in(MemoryFormat format) const;

  /// The same layout with the simplest digits: digits of extent 1 are dropped, digits that continue each other are
  /// joined, and a dim with only one index has stride 0.
  Layout canonical() const;
  /// Same dims, same capacities, same offset for every index. Cost: a few steps a digit; a step an index where the two
  /// are swizzled in different ways and may be equal even so, up to Error{limit} as Layout::collision().
  friend bool operator==(const Layout& a, const Layout& b);

 private:
  void validate() const;
  void find_swizzled_range();

  Dims dims_;
  std::array<uint8_t, kMaxDims + 1> first_{};
  Swizzle swizzle_;
  Digits digits_;
  int64_t offset0_ = 0;
  int64_t low_ = 0, high_ = 0;  // offset_range() of a swizzled layout
};

/// Error{unsupported} if the layout is swizzled: `what` ("NumPy's strides") cannot say an exclusive or of the offset's
/// bits. The message also says what can be done.
void require_plain(const Layout& layout, std::string_view what);

/// A layout and the type of its elements: what reorders, files and exporters exchange.
struct TensorDesc {
  TensorDesc() = default;
  /// Error{overflow} where the bytes do not fit 63 bits, naming the dim.
  TensorDesc(Layout layout_, DType dtype_);

  Layout layout;
  DType dtype = DType::f32;

  /// Bytes a buffer must have (span, rounded up to whole bytes).
  int64_t span_bytes() const;
  /// oneDNN's get_size(): the footprint in bytes; the span where the layout is swizzled, which oneDNN does not know.
  int64_t size_bytes() const;
  /// Bytes of the logical elements alone.
  int64_t logical_bytes() const;

  friend bool operator==(const TensorDesc&, const TensorDesc&) = default;
};

}  // namespace relayout
