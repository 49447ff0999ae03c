// The conversion of single values of any type.
#include "relayout/reorder/cast.h"

namespace relayout {

uint64_t encode(DType dtype, double value) {
  uint64_t bits = 0;
  with_dtype(dtype, [&](auto type) {
    constexpr DType kType = decltype(type)::value;
    write_element<kType>(&bits, 0, store<kType, double>(value));
  });
  return bits;
}

}  // namespace relayout
