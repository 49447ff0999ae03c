// Reindexing: the indices of a dim in another order, where digits can say it.
#include <algorithm>

#include "relayout/core/view.h"
#include "relayout/core/view_parts.h"

namespace relayout {
namespace {

using IndexOrder = std::vector<int64_t>;

bool steps_by(const IndexOrder& places, std::size_t from, std::size_t count, int64_t step) {
  for (std::size_t j = 1; j < count; ++j) {
    if (places[from + j] - places[from + j - 1] != step) return false;
  }
  return true;
}

/// The digits (extent, step in places), innermost first, whose sums of digit times step, added to places[0], are these
/// places in their order; nothing if no digits do that.
std::optional<Digits> whole_digits(const IndexOrder& places) {
  if (places.size() == 1) return Digits{};
  for (std::size_t inner = places.size(); inner > 1; --inner) {
    if (places.size() % inner != 0) continue;
    const int64_t step = places[1] - places[0];
    IndexOrder blocks;
    bool same = true;
    for (std::size_t from = 0; from < places.size() && same; from += inner) {
      same = steps_by(places, from, inner, step);
      blocks.push_back(places[from]);
    }
    if (!same) continue;
    auto out = whole_digits(blocks);
    if (!out) continue;
    out->insert(0, {static_cast<int64_t>(inner), step});
    return out;
  }
  return std::nullopt;
}

/// The same with two digits, whose last block is not full. The indices that would fill up that block must lie in the
/// dim too; otherwise its padding would lie outside the dim.
std::optional<Digits> ragged_digits(const IndexOrder& places) {
  const auto count = static_cast<int64_t>(places.size());
  for (int64_t inner = 2; inner < count; ++inner) {
    const int64_t step = places[1] - places[0], outer_step = places[static_cast<std::size_t>(inner)] - places[0];
    const int64_t outer = ceil_div(count, inner);
    bool fits = true;
    for (int64_t j = 0; j < inner * outer && fits; ++j) {
      const int64_t place = places[0] + j % inner * step + j / inner * outer_step;
      fits = j < count ? place == places[static_cast<std::size_t>(j)] : place >= 0 && place < count;
    }
    if (fits) return Digits{{inner, step}, {outer, outer_step}};
  }
  return std::nullopt;
}

}  // namespace

Layout reindex(const Layout& layout, int d, std::span<const int64_t> places) {
  d = checked_dim("reindex", d, layout.ndims());
  const int64_t extent = layout.dim(d);
  const std::string which = "reindex: dim " + std::to_string(d);
  const std::string order = join(places);
  IndexOrder sorted(places.begin(), places.end());
  std::ranges::sort(sorted);
  bool each_once = static_cast<int64_t>(sorted.size()) == extent;
  for (std::size_t j = 0; j < sorted.size() && each_once; ++j) each_once = sorted[j] == static_cast<int64_t>(j);
  if (!each_once)
    refuse(which + " has extent " + std::to_string(extent) + ", and " + order + " are not its indices, each once", d,
           order, "0 to " + std::to_string(extent - 1));
  if (extent == 0 || layout.empty()) return layout;
  const auto simple = layout.plain().canonical().digits_of(d);
  const IndexOrder wanted(places.begin(), places.end());
  auto digits = whole_digits(wanted);
  if (!digits) digits = ragged_digits(wanted);
  if (simple.size() != 1 || layout.capacity(d) != extent || !digits) {
    const std::string why = simple.size() != 1             ? "it is blocked"
                            : layout.capacity(d) != extent ? "it is padded"
                                                           : "no digits count indices in the order " + order;
    needs_copy(which + " cannot be read in the order " + order + ": " + why +
                   "; copy it first, as permute_gates() does for gates",
               std::to_string(d));
  }
  if (digits->empty()) digits->push_back({1, 0});
  LayoutParts out(layout);
  const int64_t stride = simple[0].stride;
  out.offset0 += wanted[0] * stride;
  for (Digit& digit : *digits) digit.stride *= stride;
  out.digits[static_cast<std::size_t>(d)] = *digits;
  return out.layout();
}

}  // namespace relayout
