// Boxes that are cut where digits end (boxes.h).
#include "relayout/checkpoint/boxes.h"

#include <optional>

#include "relayout/core/error.h"
#include "relayout/core/view.h"

namespace relayout::checkpoint {
namespace {

/// narrow(), or nothing where a copy would be needed.
std::optional<Layout> narrowed_dim(const Layout& layout, int d, int64_t begin, int64_t length) {
  try {
    return narrow(layout, d, begin, length);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::needs_copy) throw;
    return std::nullopt;
  }
}

/// Where indices [begin, end) of a dim are cut in two: at a multiple of the largest place value that has one inside.
int64_t cut_inside(const Layout& layout, int d, int64_t begin, int64_t end) {
  int64_t place = 1, out = begin + 1;
  for (const Digit& digit : layout.digits_of(d)) {
    const int64_t last = (end - 1) / place * place;
    const int64_t next = (begin / place + 1) * place;
    if (begin % place == 0 && last > begin) out = last;
    if (begin % place != 0 && next < end) out = next;
    if (digit.extent > end / place) break;
    place *= digit.extent;
  }
  return out;
}

}  // namespace

Layout boxed(Layout layout, const Dims& begin, const Dims& extents) {
  for (int d = 0; d < extents.size(); ++d)
    if (extents[d] != layout.dim(d)) layout = narrow(layout, d, begin[d], extents[d]);
  return layout;
}

bool is_one_box(const Layout& layout, const Dims& begin, const Dims& extents) {
  for (int d = 0; d < extents.size(); ++d)
    if (extents[d] != layout.dim(d) && !narrowed_dim(layout, d, begin[d], extents[d])) return false;
  return true;
}

void each_box(const Layout& layout, const Dims& begin, const Dims& extents,
              const std::function<void(const Layout& box, const Dims& first)>& take) {
  for (int d = 0; d < extents.size(); ++d) {
    if (extents[d] == layout.dim(d) || narrowed_dim(layout, d, begin[d], extents[d])) continue;
    const int64_t cut = cut_inside(layout, d, begin[d], begin[d] + extents[d]);
    Dims first = extents, rest = extents, rest_begin = begin;
    first[d] = cut - begin[d];
    rest[d] -= first[d];
    rest_begin[d] = cut;
    each_box(layout, begin, first, take);
    each_box(layout, rest_begin, rest, take);
    return;
  }
  take(boxed(layout, begin, extents), begin);
}

}  // namespace relayout::checkpoint
