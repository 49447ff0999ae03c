// Aligned memory for tensors (internal to execute).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace relayout::execute {

inline constexpr std::align_val_t kAlignment{64};
struct FreeAligned {
  void operator()(std::byte* at) const { ::operator delete(at, kAlignment); }
};
using Buffer = std::unique_ptr<std::byte, FreeAligned>;

inline Buffer allocate(int64_t bytes) {
  return Buffer(
      static_cast<std::byte*>(::operator new(static_cast<std::size_t>(std::max<int64_t>(bytes, 64)), kAlignment)));
}

}  // namespace relayout::execute
