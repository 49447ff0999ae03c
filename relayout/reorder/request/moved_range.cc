// Which indices are moved: a few more than there are, where both sides have padding and that makes fewer boxes.
#include <algorithm>

#include "relayout/reorder/refine/refine_dim.h"
#include "relayout/reorder/request/request.h"

namespace relayout {

Dims moved_dims(const Request& request) {
  Dims moved = request.src.layout.dims();
  if (request.converts || request.packed() || request.swizzled() ||
      request.attributes.padding.kind != Padding::Kind::value)
    return moved;
  for (int d = 0; d < moved.size(); ++d) {
    const int64_t most = std::min(request.src.layout.capacity(d), request.dst.layout.capacity(d)), extent = moved[d];
    if (most <= extent) continue;
    const Layout src = request.src.layout.canonical(), dst = request.dst.layout.canonical();
    const DimRefiner refiner(src, dst, d, {}, 0, extent);
    // One more range of indices takes about a quarter of the time that the largest takes, mostly for lines that are
    // read once more.
    constexpr double kRange = 0.25;
    double least = 1 + kRange * static_cast<double>(refiner.ranges() - 1);
    for (const Level& level : refiner.levels()) {
      const int64_t end = ceil_div(extent, level.place) * level.place;
      if (end > most) continue;
      double time = static_cast<double>(end) / static_cast<double>(extent) - kRange;
      refiner.cut(0, end, [&](int64_t, std::size_t, int64_t) { time += kRange; });
      if (time >= least) continue;
      least = time;
      moved[d] = end;
    }
  }
  return moved;
}

}  // namespace relayout
