// Exact answers about one layout or two, each with a witness: two indices, an offset, the axes that stand in the way.
//
//     difference(nchw, nhwc)            // the first index that lies elsewhere, both offsets, how many elements do
//     overlap(a, b)                     // whether two views of one buffer share an element, and which
//     viewable(layout, {6, 4})          // the view, or the axes in its way and the cheapest copy that has it
//     same_memory_order(a, b)           // whether elements follow each other alike in both, or two that do not
//     not_dense(layout)                 // why a layout is not dense: an offset without an element, or a collision
//
// Layout::collision() (whether two indices share an offset) and operator== (whether two layouts are the same function,
// padding included) stand in layout.h.
//
// No answer is ever wrong. Some questions are integer programs, for which no fast method is known; there a search gives
// up after a number of steps and says `undecided`. Each function names the layouts that it always decides.
#pragma once

#include <optional>
#include <string>

#include "relayout/core/layout.h"

namespace relayout {

/// How many steps a search takes before it gives up: some seconds.
inline constexpr int64_t kDecisionSteps = 30'000'000;

enum class Answer : uint8_t { no, yes, undecided };

/// Where two layouts of the same dims differ.
struct Difference {
  /// The first index, in row-major order, whose element lies elsewhere, and its offset in both layouts.
  Dims index;
  int64_t offset_a = 0, offset_b = 0;
  /// How many elements lie elsewhere; nothing where counting them takes too many steps or too much memory.
  std::optional<int64_t> count;
};
/// Nothing where each element has the same offset in both layouts; their padding may differ even so, which a == b tells
/// apart. The index is always found, for all layouts, in a step for each digit. The elements are counted by a formula
/// where at most two digits differ, whatever their extents. Further digits, and dims whose extent leaves out some
/// values of their digits, go through a table of how often each difference of offsets occurs: counting gives up where
/// that takes over kDecisionSteps steps or has over 2^20 different entries, so that it needs at most 200 MB.
/// Where one is swizzled, all indices are looked at one by one, unless both have the same swizzle: Error{limit} where
/// kDecisionSteps of them do not differ. Error{invalid_argument} unless the dims are equal.
std::optional<Difference> difference(const Layout& a, const Layout& b);

/// Whether two layouts over one buffer share an offset, and an index of each that has it. Elements count, padding does
/// not. Always decided: layouts whose ranges of offsets do not meet; those whose offsets differ by no multiple of the
/// greatest common divisor of all strides; those whose strides, taken together from the largest down, each exceed what
/// the smaller ones reach; and two slices of one dense array without blocks, with any step in each dim. Others may be
/// undecided after `max_steps` steps. A step is a value of a stride that is tried; at most 2^20 states of the search
/// are kept. Where one is swizzled in another way than the other, a step is an element of the one that has fewer.
struct Overlap {
  Answer answer = Answer::no;
  Dims index_a, index_b;
  int64_t offset = 0;
  int64_t steps = 0;  // that the search took; where it gave up, one more than it was allowed
};
Overlap overlap(const Layout& a, const Layout& b, int64_t max_steps = kDecisionSteps);

/// Whether the elements of two layouts of the same dims follow each other in the same order in memory: a(i) < a(j) if
/// and only if b(i) < b(j), for all i and j. Gaps between them do not count. Always decided: layouts in which each
/// stride, of the digits that both layouts have in common, exceeds in size what the smaller ones reach, as in every
/// tag; and all layouts of up to 2^22 elements, which are all that is decided where swizzled ones differ.
/// Error{invalid_argument} unless the dims are equal.
struct MemoryOrder {
  Answer answer = Answer::yes;
  Dims i, j;  // where the answer is no: two indices in another order
};
MemoryOrder same_memory_order(const Layout& a, const Layout& b);

/// PyTorch's view() as an answer: the view where there is one. Otherwise the dims that stand in the way, and the
/// cheapest copy after which it exists: a dense layout of the same dims that keeps the memory order of all dims but
/// these, so that the copy moves runs as long as possible. Always decided. Errors: invalid_argument (dims that do not
/// hold as many elements), overflow.
struct Viewable {
  std::optional<Layout> view;
  std::string axes;            // "1 and 2, 3 (blocked)"; empty where there is a view
  std::optional<Layout> copy;  // nothing where there is a view
};
Viewable viewable(const Layout& layout, const Dims& dims);

/// Why a layout is not dense(). Exactly one of the two is set, or neither. Neither means that the elements fill one
/// range of offsets, each once, and that the layout has padding all the same: it lies behind the last element or before
/// the first, or shares offsets with elements.
struct NotDense {
  /// Two indices that share an offset.
  std::optional<std::pair<Dims, Dims>> collision;
  /// The first offset between the first element and the last that holds no element: padding or a gap.
  std::optional<int64_t> hole;
};
/// Nothing where the layout is dense(). Error{limit} as Layout::collision().
std::optional<NotDense> not_dense(const Layout& layout);

namespace decide_detail {

/// The same questions about layouts of which one at least is swizzled.
std::optional<Difference> difference_swizzled(const Layout& a, const Layout& b);
Overlap overlap_swizzled(const Layout& a, const Layout& b, int64_t max_steps);

}  // namespace decide_detail

}  // namespace relayout
