// Runs: the elements of a layout in the order of memory, without its padding and its gaps.
//
// A loop over a whole buffer also touches what is no element: padding, which others expect to stay zero, and gaps, in
// which anything may lie. exp(0) is 1, for example, so exp over the buffer of a padded tensor fills its padding with
// ones. A loop over runs touches the elements alone:
//
//     const Layout layout = Format::parse("nChw8c").bind({2, 17, 5, 4});
//     for_each_run(layout, [&](int64_t offset, int64_t length) {      // 0, 321; 328, 1; 336, 1 ...
//       for (int64_t i = offset; i < offset + length; ++i) data[i] = std::exp(data[i]);
//     });
//
// A run is a range of offsets that follow each other. Together the runs hold every offset at which an element lies,
// each once: a dim that is repeated by stride 0 is not visited again. Where the strides are nested (each steps over all
// that the smaller ones reach, as in every tag and every dense array), the runs come in ascending order and each is as
// long as possible. Of other layouts, such as dims 3,2 with strides 2,3, the order is that of the strides, largest
// first, and a run may end where the next one goes on. Those of a swizzled layout come in the order under the swizzle.
//
// `f` is called as f(offset, length) or as f(offset, length, index): offset and length count elements (of sub-byte
// types too), and index (a const Dims&) is the logical index at `offset`. Where f returns a bool, false ends the loop.
//
// Law: for all offsets o: o lies in exactly one run  <=>  layout.inverse(o) == Slot::element.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include "relayout/core/layout.h"

namespace relayout {

namespace runs_detail {

/// Receives a run; false ends the loop.
using Visit = bool (*)(void* f, int64_t offset, int64_t length, const Dims& index);
void visit_runs(const Layout& layout, Visit visit, void* f);
void visit_padding_runs(const Layout& layout, Visit visit, void* f);

/// The caller's function, behind a pointer.
template <typename F>
struct Callee {
  F& f;

  auto operator()(int64_t offset, int64_t length, const Dims& index) {
    if constexpr (std::is_invocable_v<F&, int64_t, int64_t, const Dims&>) {
      return f(offset, length, index);
    } else {
      return f(offset, length);
    }
  }
  static bool visit(void* callee, int64_t offset, int64_t length, const Dims& index) {
    Callee& self = *static_cast<Callee*>(callee);
    if constexpr (std::is_same_v<decltype(self(offset, length, index)), bool>) {
      return self(offset, length, index);
    } else {
      self(offset, length, index);
      return true;
    }
  }
};

}  // namespace runs_detail

/// Calls f for each run of elements. Cost: one step a run and a few more for each that begins inside a block or behind
/// a gap; some vectors are allocated at the start. Errors: not_injective where elements overlap by other strides than
/// 0 (it names two indices or their offset), limit as Layout::collision(). What f throws passes through.
template <typename F>
void for_each_run(const Layout& layout, F&& f) {
  runs_detail::Callee<std::remove_reference_t<F>> callee{f};
  runs_detail::visit_runs(layout, callee.visit, &callee);
}

/// The same for the padding: every offset at which an index between a dim's extent and its capacity lies, and no
/// element. A tensor without elements has none. Any layout is allowed; only where indices share offsets may a run hold
/// an offset that an earlier one held. Cost: as for_each_run(), plus one step for each run of elements between padding;
/// where indices share offsets by other strides than 0, a Layout::inverse() for each offset of padding.
template <typename F>
void for_each_padding_run(const Layout& layout, F&& f) {
  runs_detail::Callee<std::remove_reference_t<F>> callee{f};
  runs_detail::visit_padding_runs(layout, callee.visit, &callee);
}

/// How many offsets between the first and the last one that is reached hold neither an element nor padding. Nothing
/// where indices share offsets by other strides than 0 and there are too many to count. Cost: that of
/// Layout::injective_with_padding(); where that is false, 5 bytes and some steps for each offset. Error{limit} as
/// there.
std::optional<int64_t> gap_count(const Layout& layout);

}  // namespace relayout
