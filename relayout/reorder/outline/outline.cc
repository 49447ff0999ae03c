// The indices of a box: which of the destination it covers, and what each axis does to them. Both are found by asking
// where moves go, and not by taking strides apart, so that they hold for every method.
#include "relayout/reorder/outline.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "relayout/reorder/outline/move_walker.h"
#include "relayout/reorder/outline/outline_words.h"

namespace relayout {
namespace {

/// The most steps of a table, and elements of a box, that are looked at one by one.
constexpr int64_t kMostProbed = 4096, kMostWalked = 1 << 16;

using Index = std::optional<Dims>;
/// The index of the destination after so many steps of an axis.
using IndexAfter = std::function<Index(int64_t)>;

/// Widens `lo` to `hi`, both inclusive, so that the index lies within; at first they are empty.
void include(Dims& lo, Dims& hi, const Dims& index) {
  if (lo.empty()) lo = hi = index;
  for (int d = 0; d < index.size(); ++d) {
    lo[d] = std::min(lo[d], index[d]);
    hi[d] = std::max(hi[d], index[d]);
  }
}

class BoxIndices {
 public:
  BoxIndices(const PlanData& plan, const BoxPlan& box)
      : plan_(plan), box_(box), element_bits_{bits(plan.src().dtype), bits(plan.dst().dtype)} {}

  void add_to(BoxOutline& out) {
    const Index first = index_in(block(0));
    if (!first) return;
    Dims lo = out.first = *first, hi = lo;
    std::size_t next = 0;
    bool even = true;
    const auto take = [&](const Axis& axis, const IndexAfter& after, int64_t steps) {
      if (axis.extent == 1) return;
      std::vector<OutlineAxis::Part>& parts = out.axes[next++].parts =
          axis.table < 0 ? parts_of(after, steps) : uneven(after, steps);
      for (const auto& [dim, place, extent] : parts) {
        even &= place != 0;
        (place > 0 ? hi : lo)[dim] += place * (extent - 1);
      }
    };
    for (std::size_t l = 0; l < box_.loops.size(); ++l) take(box_.loops[l], loop(l), box_.loops[l].extent);
    int64_t inner = box_.along_src.count;
    for (auto row = box_.along_src.axes.rbegin(); row != box_.along_src.axes.rend(); ++row) {
      inner /= row->extent;
      take(
          *row, [this, inner](int64_t j) { return index_in(row_of(j * inner)); }, row->extent);
    }
    columns(take);
    take(
        {elements_of_piece(plan_, box_), {}, -1}, [this](int64_t j) { return index_in(block(0), j); },
        elements_of_piece(plan_, box_));
    if (!even || box_.as<Stages>() || box_.as<TileRuns>() || box_.as<ProgrammedLines>() || box_.as<Fill>())
      by_moves(lo, hi);
    out.origin = lo;
    for (int d = 0; d < lo.size(); ++d) out.extents.push_back(hi[d] - lo[d] + 1);
  }

 private:
  using Walk = std::function<void(MoveWalker&)>;

  template <typename Take>
  void columns(const Take& take) {
    // Where columns are one run, a step is a piece, which may be a byte of an element, or hold parts of two.
    const int64_t piece = piece_bits(box_), element = element_bits_[kDst];
    if (box_.along_dst.axes.size() == 1 && piece % element != 0 && element % piece != 0) {
      const int64_t elements = box_.along_dst.count * piece / element;
      take(
          box_.along_dst.axes[0], [this](int64_t j) { return index_in(row_of(0), j); }, elements);
      return;
    }
    const int64_t by = piece < element ? element / piece : 1;
    int64_t inner = box_.along_dst.count;
    for (auto col = box_.along_dst.axes.rbegin(); col != box_.along_dst.axes.rend(); ++col) {
      inner /= col->extent;
      take(
          *col, [this, inner, by](int64_t j) { return index_in(col_of(j * inner * by)); }, col->extent / by);
    }
  }

  Walk block(int64_t number) const {
    return [this, number](MoveWalker& walker) { walker.block(box_, {}, number); };
  }
  Walk row_of(int64_t row) const {
    return [this, row](MoveWalker& walker) {
      walker.region(box_, walker.loops_at(box_, {}, 0), {row, row + 1, 0, box_.along_dst.count});
    };
  }
  Walk col_of(int64_t col) const {
    return [this, col](MoveWalker& walker) {
      walker.region(box_, walker.loops_at(box_, {}, 0), {0, 1, col, box_.along_dst.count});
    };
  }
  IndexAfter loop(std::size_t number) const {
    int64_t inner = box_.along_src.blocks * box_.along_dst.blocks;
    for (std::size_t l = number + 1; l < box_.loops.size(); ++l) inner *= box_.loops[l].extent;
    return [this, inner](int64_t j) { return index_in(block(j * inner)); };
  }

  /// The index of the first element that a walk finds, or of one behind it.
  Index index_in(const Walk& walk, int64_t behind = 0) const {
    Index out;
    MoveWalker walker(plan_, element_bits_, [&](int64_t, int64_t dst, int64_t count, bool) {
      if (behind < count) out = index_at(dst + behind);
      behind -= count;
      return behind >= 0;
    });
    walk(walker);
    return out;
  }
  Index index_at(int64_t offset) const {
    Dims index;
    if (plan_.dst().layout.inverse(offset, &index) == Slot::gap) return {};
    return index;
  }

  /// All that the box reaches; of a large one, all that its first and its last block do.
  void by_moves(Dims& lo, Dims& hi) const {
    hi = lo = Dims{};
    MoveWalker walker(plan_, element_bits_, [&](int64_t, int64_t dst, int64_t count, bool) {
      for (int64_t i = 0; i < count; ++i) {
        if (const Index index = index_at(dst + i)) include(lo, hi, *index);
      }
      return true;
    });
    if (box_.elements <= kMostWalked) return void(walker.whole(box_, {}));
    walker.block(box_, {}, 0);
    walker.block(box_, {}, box_.blocks - 1);
  }

  /// Takes the steps of an axis apart.
  static std::vector<OutlineAxis::Part> parts_of(const IndexAfter& after, int64_t steps) {
    std::vector<OutlineAxis::Part> out;
    const Index first = after(0);
    for (int64_t done = 1; first && done < steps;) {
      const auto part = part_of(after, *first, done, steps / done);
      if (!part || steps / done % part->extent != 0) return uneven(after, steps);
      out.push_back(*part);
      done *= part->extent;
    }
    return out;
  }

  /// What each `done` steps of an axis do, up to where they do something else; nothing where they change several dims.
  static std::optional<OutlineAxis::Part> part_of(const IndexAfter& after, const Dims& first, int64_t done,
                                                  int64_t most) {
    const Index next = after(done);
    if (!next) return {};
    std::optional<OutlineAxis::Part> out;
    for (int d = 0; d < first.size(); ++d) {
      if ((*next)[d] == first[d]) continue;
      if (out) return {};
      out = {d, (*next)[d] - first[d], most};
    }
    if (!out) return {};
    const auto even = [&](int64_t j) {
      Dims expected = first;
      expected[out->dim] += j * out->place;
      return after(j * done) == Index(expected);
    };
    if (even(most - 1)) return out;
    int64_t is = 1, is_not = most - 1;
    while (is + 1 < is_not) (even((is + is_not) / 2) ? is : is_not) = (is + is_not) / 2;
    out->extent = is_not;
    return out;
  }

  /// The dims that change along an axis, without places.
  static std::vector<OutlineAxis::Part> uneven(const IndexAfter& after, int64_t steps) {
    std::vector<OutlineAxis::Part> out;
    const Index first = after(0);
    for (int64_t j = 1; j < std::min(steps, kMostProbed); ++j) {
      const Index index = after(j);
      for (int d = 0; first && index && d < first->size(); ++d) {
        const auto same = [&](const OutlineAxis::Part& part) { return part.dim == d; };
        if ((*index)[d] != (*first)[d] && std::ranges::none_of(out, same)) out.push_back({d, 0, steps});
      }
    }
    return out;
  }

  const PlanData& plan_;
  const BoxPlan& box_;
  std::array<int64_t, 2> element_bits_;
};

}  // namespace

PlanOutline outline(const Plan& plan, std::size_t most) {
  const PlanData& data = plan.data();
  const auto list = [&](std::span<const BoxPlan> boxes, std::vector<BoxOutline>& out) {
    for (const BoxPlan& box : boxes.first(std::min(most, boxes.size()))) {
      out.push_back(outline_of(data, box));
      BoxIndices(data, box).add_to(out.back());
    }
    return boxes.size() - out.size();
  };
  PlanOutline out{values_words(data), padding_words(data), store_words(data)};
  out.more_boxes = list(data.boxes(), out.boxes);
  out.more_fills = list(data.fills(), out.fills);
  return out;
}

}  // namespace relayout
