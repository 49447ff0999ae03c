// Other systems that convert layouts, behind one interface, so that all are timed in the same run.
//
//     std::string why;
//     for (const Competitor& competitor : competitors()) {
//       auto run = competitor.prepare(src, src_data, dst, dst_data, {}, 1, &why);
//       if (run) run(); else report(competitor.name, why);
//     }
//
// Each one derives its own description of the two tensors from the digits of their layouts, by rule, and says why
// where it has none. What a build lacks is not in the list.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/core/layout.h"
#include "relayout/reorder/attributes.h"

namespace relayout::bench {

struct Competitor {
  std::string_view name;  // "onednn", "torch", "eigen", "hptt"
  std::string version;
  /// A callable that converts once, everything else being done before; or an empty one, with `*why` set, where the
  /// competitor cannot do this pair. Never throws. The data pointers are those of cpu::run: element 0 of buffers of
  /// span_bytes(), which must outlive the callable. A source's padding must hold zeros. The result has the bytes
  /// that relayout gives, with these exceptions, which are the competitor's own: PyTorch truncates where it converts
  /// to an integer and does not saturate; oneDNN 2 does not saturate bf16 beyond the range of s32. Callables of
  /// several competitors may be run in turns, each keeps to its `threads`, but on one thread at a time.
  std::function<void()> (*prepare)(const TensorDesc& src, const void* src_data, const TensorDesc& dst, void* dst_data,
                                   const Attributes& attributes, int threads, std::string* why);
};

/// The competitors that this build has.
const std::vector<Competitor>& competitors();

}  // namespace relayout::bench
