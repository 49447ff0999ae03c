// Zeros for the padding of a layout, dim by dim: see padding.h.
#include "relayout/execute/own/padding.h"

#include <algorithm>
#include <cstring>

namespace relayout::execute {

ZeroPadding::ZeroPadding(const Layout& layout, DType dtype) {
  const int64_t size = bits(dtype) / 8;
  if (layout.empty()) return;
  for (int d = 0; d < layout.ndims(); ++d) {
    Part part;
    for (int64_t i = layout.dim(d); i < layout.capacity(d); ++i) {
      const int64_t offset = layout.dim_offset(d, i) * size;
      if (!part.runs.empty() && part.runs.back().offset + part.runs.back().bytes == offset) {
        part.runs.back().bytes += size;
      } else {
        part.runs.push_back({offset, size});
      }
    }
    if (part.runs.empty()) continue;
    for (Run& run : part.runs) run.offset += layout.offset0() * size;
    // The zeros repeat at all indices of the other dims, padding included.
    for (int other = 0; other < layout.ndims(); ++other) {
      for (const Digit& digit : layout.digits(other)) {
        if (other != d && digit.extent > 1) part.axes.push_back({digit.extent, digit.stride * size});
      }
    }
    std::sort(part.axes.begin(), part.axes.end(), [](const Digit& a, const Digit& b) { return a.stride > b.stride; });
    parts_.push_back(std::move(part));
  }
}

void ZeroPadding::run(const Part& part, std::size_t axis, std::byte* at) noexcept {
  if (axis == part.axes.size()) {
    for (const Run& run : part.runs) std::memset(at + run.offset, 0, static_cast<std::size_t>(run.bytes));
    return;
  }
  for (int64_t i = 0; i < part.axes[axis].extent; ++i) run(part, axis + 1, at + i * part.axes[axis].stride);
}

void ZeroPadding::run(void* data) const noexcept {
  for (const Part& part : parts_) run(part, 0, static_cast<std::byte*>(data));
}

}  // namespace relayout::execute
