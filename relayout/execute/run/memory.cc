// Greedy placement by size, as in Pisarchyk & Lee, "Efficient memory management for deep neural net inference" (2020).
#include "relayout/execute/run/memory.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "relayout/execute/run/aligned.h"

namespace relayout::execute {

int64_t place(std::span<Lifetime> buffers) {
  constexpr auto kStep = static_cast<int64_t>(kAlignment);
  const auto rounded = [](int64_t bytes) { return (bytes + kStep - 1) / kStep * kStep; };
  std::vector<Lifetime*> order(buffers.size());
  std::ranges::transform(buffers, order.begin(), [](Lifetime& buffer) { return &buffer; });
  std::ranges::stable_sort(order, std::greater(), &Lifetime::bytes);
  std::vector<const Lifetime*> placed;  // by offset
  int64_t peak = 0;
  for (Lifetime* buffer : order) {
    int64_t offset = 0;
    for (const Lifetime* other : placed) {
      if (other->last < buffer->first || buffer->last < other->first) continue;
      if (offset + rounded(buffer->bytes) <= other->offset) break;
      offset = std::max(offset, other->offset + rounded(other->bytes));
    }
    buffer->offset = offset;
    placed.insert(std::ranges::upper_bound(placed, offset, {}, &Lifetime::offset), buffer);
    peak = std::max(peak, offset + rounded(buffer->bytes));
  }
  return peak;
}

}  // namespace relayout::execute
