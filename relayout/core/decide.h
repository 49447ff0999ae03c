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

/// Where two layouts of the same dims part.
struct Difference {
  /// The first index, in row-major order, whose element lies elsewhere, and its offset in both layouts.
  Dims index;
  int64_t offset_a = 0, offset_b = 0;
  /// How many elements lie elsewhere; nothing where counting them would take more than kDecisionSteps.
  std::optional<int64_t> count;
};
/// Nothing where each element has the same offset in both layouts; their padding may differ even so, which a == b tells
/// apart. The index is always found, for all layouts. Cost: a step for each digit; counting adds one for each index of
/// each dim, and for each different sum that several dims make. Error{invalid_argument} unless the dims are equal.
std::optional<Difference> difference(const Layout& a, const Layout& b);

/// Whether two layouts over one buffer share an offset, and an index of each that has it. Elements count, padding does
/// not. Always decided: layouts whose ranges of offsets do not meet, whose offsets differ by no multiple of the
/// greatest common divisor of all strides, and those whose strides, taken together from the largest down, each exceed
/// what the smaller ones reach (slices and tiles of one dense array among them). Others may be undecided after
/// `max_steps` steps.
struct Overlap {
  Answer answer = Answer::no;
  Dims index_a, index_b;
  int64_t offset = 0;
  int64_t steps = 0;  // that the search took
};
Overlap overlap(const Layout& a, const Layout& b, int64_t max_steps = kDecisionSteps);

/// Whether the elements of two layouts of the same dims follow each other in the same order in memory: a(i) < a(j) if
/// and only if b(i) < b(j), for all i and j. Gaps between them do not count. Always decided: layouts in which each
/// stride, of the digits that both layouts have in common, exceeds what the smaller ones reach, as in every tag; and
/// all layouts of up to 2^22 elements. Error{invalid_argument} unless the dims are equal.
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

/// Why a layout is not dense().
struct NotDense {
  /// Two indices that share an offset; or
  std::optional<std::pair<Dims, Dims>> collision;
  /// the first offset between the first element and the last that holds no element: padding or a gap.
  std::optional<int64_t> hole;
  /// Neither of them: the elements fill one range of offsets, but there is padding behind or between them that shares
  /// their offsets, or that lies behind the last one.
};
/// Nothing where the layout is dense(). Error{limit} as Layout::collision().
std::optional<NotDense> not_dense(const Layout& layout);

}  // namespace relayout
