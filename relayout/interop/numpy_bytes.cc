// Elements of one a byte, packed: see numpy_bytes.h.
#include "relayout/interop/numpy_bytes.h"

#include <cstdint>

namespace relayout::numpy {

bool has_one_a_byte(std::string_view descr, DType dtype) {
  return bits(dtype) < 8 && (descr == "<V1" || descr == ">V1");
}

std::vector<std::byte> packed(std::span<const std::byte> elements, DType dtype) {
  const int width = bits(dtype);
  std::vector<std::byte> out;
  out.reserve((elements.size() * static_cast<std::size_t>(width) + 7) / 8);
  uint32_t held = 0;
  int count = 0;  // of bits in `held`
  for (const std::byte element : elements) {
    held |= (std::to_integer<uint32_t>(element) & ((1U << width) - 1)) << count;
    for (count += width; count >= 8; count -= 8, held >>= 8) out.push_back(static_cast<std::byte>(held));
  }
  if (count > 0) out.push_back(static_cast<std::byte>(held));
  return out;
}

}  // namespace relayout::numpy
