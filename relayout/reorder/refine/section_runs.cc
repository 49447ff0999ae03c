// Joining the sections of all dims to runs.
#include "relayout/reorder/refine/section_runs.h"

#include <limits>

namespace relayout {

void SectionRun::measure(int64_t element) {
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  begin = kNone;
  int64_t end = 0;
  for (const SectionBox& box : boxes) {
    const Interval own = reach(box.offset, box.axes, kDst, element);
    end = begin == kNone ? own.end : std::max(end, own.end);
    begin = std::min(begin, own.begin);
  }
  bytes = end - begin;
}

int64_t SectionRun::elements(bool padding) const {
  int64_t count = 0;
  for (const SectionBox& box : boxes) {
    if (!box.padding || padding) count += count_elements(box.axes);
  }
  return count;
}

void RunBundle::multiply(const Bundle& bundle) {
  common.insert(common.end(), bundle.common.begin(), bundle.common.end());
  for (std::size_t k = 0; k < kOperands; ++k) offset[k] += bundle.offset[k];
  if (bundle.sections.empty()) return;
  std::vector<SectionRun> more;
  more.reserve(runs.size() * bundle.sections.size());
  for (const SectionRun& run : runs) {
    for (const Section& section : bundle.sections) {
      SectionRun& out = more.emplace_back();
      out.boxes.reserve(run.boxes.size() * section.size());
      for (const SectionBox& a : run.boxes) {
        for (const SectionBox& b : section) {
          SectionBox& box = out.boxes.emplace_back(a);
          for (std::size_t k = 0; k < kOperands; ++k) box.offset[k] += b.offset[k];
          box.axes.insert(box.axes.end(), b.axes.begin(), b.axes.end());
          box.padding = a.padding || b.padding;
        }
      }
    }
  }
  runs = std::move(more);
}

}  // namespace relayout
