// Pages of mapped sources (mapped.h).
#include "relayout/checkpoint/mapped.h"

#include <algorithm>
#include <cmath>

#include "relayout/io/pages.h"

namespace relayout::checkpoint {

std::span<const std::byte> touched(const Layout& src, DType dtype, std::span<const std::byte> all) {
  if (src.empty()) return {};
  const auto [low, high] = src.offset_range();
  const auto first = static_cast<std::size_t>(low * bits(dtype) / 8);
  const auto last = std::min(static_cast<std::size_t>((high + 1) * bits(dtype) / 8 + 1), all.size());
  return first < last ? all.subspan(first, last - first) : std::span<const std::byte>();
}

double mapped_bytes(const Layout& src, DType dtype) {
  constexpr double kAround = 2 << 20;
  if (src.empty()) return 0;
  const double item = bits(dtype) / 8.0;
  const auto [low, high] = src.offset_range();
  double runs = 1, run = item;
  for (int d = 0; d < src.ndims(); ++d)
    for (const Digit& digit : src.digits_under_swizzle(d)) {
      const double step = std::abs(static_cast<double>(digit.stride)) * item, count = static_cast<double>(digit.extent);
      if (step >= kAround) {
        runs *= count;
      } else {
        run += step * (count - 1);
      }
    }
  return std::min(static_cast<double>(high - low + 1) * item, runs * (run + kAround));
}

void release(std::span<const std::byte> all, std::span<const std::byte> bytes) {
  const Dims count{static_cast<int64_t>(bytes.size())};
  if (!bytes.empty()) io::release_slab({Layout::strided(count, Dims{1}, bytes.data() - all.data()), DType::u8}, all);
}

}  // namespace relayout::checkpoint
