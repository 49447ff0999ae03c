// Counting lines: each run of offsets marks the lines that it lies in.
#include "bench/lines.h"

#include <algorithm>
#include <vector>

#include "relayout/core/runs.h"
#include "relayout/reorder/refine/nest.h"

namespace relayout::bench {
namespace {

class LineSet {
 public:
  LineSet(const TensorDesc& desc, int64_t misalign)
      : bits_(bits(desc.dtype)),
        start_(misalign * 8),
        touched_(static_cast<std::size_t>((misalign + desc.span_bytes()) / kCacheLine + 1)) {}

  /// Marks the lines of so many elements from an offset on.
  void add(int64_t offset, int64_t length) {
    static constexpr int64_t kLineBits = kCacheLine * 8;
    const int64_t first = start_ + offset * bits_, last = first + length * bits_ - 1;
    for (int64_t line = first / kLineBits; line <= last / kLineBits; ++line) {
      touched_[static_cast<std::size_t>(line)] = true;
    }
  }
  int64_t count() const { return std::ranges::count(touched_, true); }

 private:
  int64_t bits_, start_;
  std::vector<bool> touched_;
};

}  // namespace

int64_t lines_touched(const TensorDesc& desc, Touched what, int64_t misalign) {
  LineSet lines(desc, misalign);
  const auto add = [&](int64_t offset, int64_t length) { lines.add(offset, length); };
  for_each_run(desc.layout, add);
  if (what == Touched::elements_and_padding) for_each_padding_run(desc.layout, add);
  return lines.count();
}

int64_t bytes_of_lines(const TensorDesc& src, const TensorDesc& dst, int64_t misalign) {
  return kCacheLine * (lines_touched(src, Touched::elements, misalign) +
                       lines_touched(dst, Touched::elements_and_padding, misalign));
}

}  // namespace relayout::bench
