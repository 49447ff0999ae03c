// Which digits of two layouts divide each other, and which follow each other.
#include "relayout/reorder/request/shared_lines.h"

#include <algorithm>

namespace relayout {

bool divides_evenly(const TensorDesc& src_desc, const TensorDesc& dst_desc) {
  const Layout &src = src_desc.layout, &dst = dst_desc.layout;
  if (bits(src_desc.dtype) < 8 || bits(dst_desc.dtype) < 8) return true;
  if (dst.padded()) return false;
  for (int d = 0; d < dst.ndims(); ++d) {
    int64_t places[2 * kMaxDigits], count = 0;
    for (const Layout* side : {&src, &dst}) {
      int64_t place = 1;
      for (const Digit& digit : side->digits_under_swizzle(d)) {
        if (place > dst.dim(d) / std::max<int64_t>(1, digit.extent)) break;
        place *= digit.extent;
        if (dst.dim(d) % place != 0) return false;
        places[count++] = place;
      }
    }
    for (int64_t a = 0; a < count; ++a) {
      for (int64_t b = 0; b < a; ++b) {
        if (places[a] % places[b] != 0 && places[b] % places[a] != 0) return false;
      }
    }
  }
  return true;
}

bool without_gaps(const Layout& layout) {
  if (layout.swizzled()) return layout.packed();
  int64_t next = 1;
  for (int64_t before = 0; before != next;) {
    before = next;
    for (int d = 0; d < layout.ndims(); ++d) {
      for (const Digit& digit : layout.digits(d)) {
        if (digit.extent > 1 && digit.stride == next) next *= digit.extent;
      }
    }
  }
  return next == layout.padded_elements();
}

}  // namespace relayout
