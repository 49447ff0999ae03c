// Swizzle: its limits and its text.
#include "relayout/core/swizzle.h"

#include "relayout/core/error.h"
#include "relayout/core/extents.h"

namespace relayout {

Swizzle Swizzle::make(int64_t bits, int64_t base, int64_t shift) {
  const auto refuse = [&](const std::string& why, const std::string& limit) {
    const std::string value = std::to_string(bits) + "," + std::to_string(base) + "," + std::to_string(shift);
    throw Error(ErrorCode::invalid_argument, "swizzle: Sw<" + value + "> " + why, "swizzle", value, limit);
  };
  const std::string most = std::to_string(kMaxBit);
  if (bits < 0 || bits > kMaxBit)
    refuse("has " + std::to_string(bits) + " bits; the first number is 0 to " + most, "0 to " + most);
  if (base < 0 || base > kMaxBit)
    refuse("begins at bit " + std::to_string(base) + "; the second number is 0 to " + most, "0 to " + most);
  if (bits == 0) return {};
  const int64_t farthest = kMaxBit - base - bits;  // bits below kMaxBit are read
  const std::string least = std::to_string(bits), limit = std::to_string(farthest);
  const std::string allowed = least + " to " + limit + " or -" + limit + " to -" + least;
  if (farthest < bits)
    refuse("has no bits below bit " + most + " that it could XOR into " + least + " bits from bit " +
               std::to_string(base) + " on",
           "bits below " + most);
  if (shift > -bits && shift < bits)
    refuse("XORs bits into bits that overlap with them; the third number is " + allowed, allowed);
  if (shift < -farthest || shift > farthest)
    refuse("XORs bits that lie too far off, beyond bit " + std::to_string(kMaxBit - 1) + "; the third number is " +
               allowed,
           allowed);
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
