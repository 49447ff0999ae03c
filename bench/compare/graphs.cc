// The list of graph competitors of this build.
#include "bench/compare/graphs.h"

namespace relayout::bench {

std::vector<GraphCompetitor> graph_competitors([[maybe_unused]] const graph::Graph& graph,
                                               [[maybe_unused]] int threads) {
  std::vector<GraphCompetitor> out;
#if RELAYOUT_COMPARE_TORCH
  for (bool channels_last : {false, true}) {
    try {
      out.push_back(torch_graph(graph, channels_last, threads));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
    }
  }
#endif
  return out;
}

}  // namespace relayout::bench
