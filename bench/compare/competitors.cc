// The list of competitors that this build has.
#include "bench/compare/entries.h"

namespace relayout::bench {

const std::vector<Competitor>& competitors() {
  static const std::vector<Competitor> all = [] {
    std::vector<Competitor> list;
#if RELAYOUT_COMPARE_ONEDNN
    list.push_back(onednn_competitor());
#endif
#if RELAYOUT_COMPARE_HPTT
    list.push_back(hptt_competitor());
#endif
#if RELAYOUT_COMPARE_TORCH
    list.push_back(torch_competitor());
#endif
#if RELAYOUT_COMPARE_EIGEN
    list.push_back(eigen_competitor());
#endif
    return list;
  }();
  return all;
}

}  // namespace relayout::bench
