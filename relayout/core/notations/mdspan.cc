// mdspan: the layout mappings of C++23 and C++26 that the extents decide, of any rank.
//
//     mdspan:layout_right              row-major
//     mdspan:layout_left               the first dim innermost
//     mdspan:layout_right_padded<8>    the last dim's rows begin at multiples of 8 elements
//     mdspan:layout_left_padded<8>     the first dim's columns do
//
// Source: the C++26 working draft, [mdspan.layout]: a padded mapping rounds the stride of the innermost dim but one up
// to a multiple of the padding value, and the dims outside it follow. interop/mdspan.h has the types.
#include "relayout/core/notations/notation.h"

namespace relayout {
namespace {

/// The mapping for so many dims; without padding below two, where none shows.
Spelled of_rank(int rank, bool left, int64_t padding) {
  Spelled out;
  for (int k = 0; k < rank; ++k) out.tag += static_cast<char>('a' + (left ? rank - 1 - k : k));
  if (rank >= 2 && padding > 1) out.tag += ";align=" + std::to_string(padding);
  return out;
}

}  // namespace

Spelled read_mdspan(NotationText& text) {
  const std::size_t from = text.at();
  const bool left = text.take("layout_left");
  if (!left && !text.take("layout_right"))
    text.fail(from,
              "mdspan's mappings here are layout_right, layout_left, layout_right_padded<8> and layout_left_padded<8>");
  int64_t padding = 1;
  if (text.take("_padded")) {
    text.expect('<');
    padding = text.number("padding value", 1);
    text.expect('>');
  }
  if (!text.done()) text.fail("expected the end, or _padded<8>");
  Spelled out = of_rank(2, left, padding);
  for (int rank = 0; rank <= kMaxDims; ++rank) {
    if (rank != 2) out.others.push_back(of_rank(rank, left, padding));
  }
  return out;
}

}  // namespace relayout
