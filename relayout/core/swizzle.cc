// Swizzle: its limits and its text.
#include "relayout/core/swizzle.h"

#include <cstdlib>

#include "relayout/core/error.h"
#include "relayout/core/extents.h"

namespace relayout {

Swizzle Swizzle::make(int64_t bits, int64_t base, int64_t shift) {
  const auto refuse = [&](const std::string& why, const std::string& limit) {
    const std::string value = std::to_string(bits) + "," + std::to_string(base) + "," + std::to_string(shift);
    throw Error(ErrorCode::invalid_argument, "swizzle: Sw<" + value + "> " + why, "swizzle", value, limit);
  };
  const std::string most = std::to_string(kMaxBit);
  if (bits < 0 || bits > kMaxBit) refuse("has " + std::to_string(bits) + " bits", "0 to " + most);
  if (base < 0 || base > kMaxBit)
    refuse("begins at bit " + std::to_string(base) + "; the second number is 0 or more", "0 to " + most);
  if (bits == 0) return {};
  if (shift < -kMaxBit || shift > kMaxBit || std::abs(shift) < bits)
    refuse(
        "XORs bits into bits that overlap with them, or lie too far off: the third number is at least the first, or "
        "at most the first below 0",
        std::to_string(bits) + " to " + most + " or -" + most + " to -" + std::to_string(bits));
  if (base + std::abs(shift) + bits > kMaxBit)
    refuse("reaches bit " + std::to_string(base + std::abs(shift) + bits - 1), "bits below " + most);
  return {static_cast<int>(bits), static_cast<int>(base), static_cast<int>(shift)};
}

Swizzle Swizzle::parse(std::string_view numbers) {
  const Dims list = numbers.empty() ? Dims() : parse_dims(numbers, "swizzle");
  if (list.size() != 3) {
    throw Error(ErrorCode::parse, "a swizzle has three numbers: swizzle=BITS,BASE,SHIFT", "swizzle", escaped(numbers),
                "3 numbers");
  }
  return make(list[0], list[1], list[2]);
}

Swizzle Swizzle::within(int64_t most) const {
  Swizzle out = *this;
  while (out.bits_ > 0 && most >> (out.source() + out.bits_ - 1) == 0) --out.bits_;
  return out.bits_ > 0 ? out : Swizzle();
}

std::string Swizzle::text() const {
  return "Sw<" + std::to_string(bits_) + "," + std::to_string(base_) + "," + std::to_string(shift_) + ">";
}

}  // namespace relayout
