// Properties of boxes and destinations that decide whether they are written past the cache.
#include "relayout/reorder/past_cache.h"

namespace relayout {
namespace {

/// Whether a box of a method takes longer past the cache than through it.
bool loses(const Loops&, const auto&) { return false; }
bool loses(const Loops& loops, const RepeatedRuns&) { return shares_lines(loops); }
bool loses(const Loops& loops, const CopiedPieces&) { return copies_scraps(loops); }
bool loses(const Loops& loops, const Transposition&) { return scatters_rows(loops); }
bool loses(const Loops& loops, const ConvertedTransposition&) { return scatters_rows(loops); }
bool loses(const Loops& loops, const ConvertedElements& method) { return method.runs && copies_scraps(loops); }
/// These write through the cache, whatever Answer::streams says. (A few such boxes are not done by tiles once they are
/// planned for the cache.)
bool loses(const Loops&, const RegisterTiles&) { return true; }
}  // namespace

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

bool loses_past_cache(const BoxPlan& most) {
  return std::visit([&](const auto& method) { return loses(most, method); }, most.method);
}

bool loses_past_cache(const TiledBoxes& tiled, const TensorDesc& src, const TensorDesc& dst, const Machine& machine) {
  const int64_t elements = src.layout.elements();
  if (tiled.reads_again || 2 * tiled.in_few_sets > elements) return true;
  const bool in_cache =
      src.span_bytes() <= machine.l3_share() && dst.span_bytes() <= machine.l3_share() - src.span_bytes();
  return in_cache ? tiled.started > dst.layout.padded_elements() * units(dst.dtype)
                  : 2 * tiled.in_small_pieces > elements;
}

bool by_line_programs(const BoxPlan& box) {
  const auto* tiles = box.as<TileRuns>();
  return tiles && box.piece[kDst] <= kRegister && tiles->by_lines();
}

bool apart_by_lines(const TensorDesc& dst) {
  const int64_t unit = units(dst.dtype), line = bits(dst.dtype) < 8 ? 2 * kCacheLine : kCacheLine;
  for (int d = 0; d < dst.layout.ndims(); ++d) {
    for (const Digit& digit : dst.layout.digits_under_swizzle(d)) {
      if (digit.extent == 1) continue;  // nothing steps along it, and its stride may be any number
      const int64_t apart = std::abs(digit.stride) * unit;
      if (apart >= line && apart % line != 0) return false;
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
