// One convolution by the layout `any`: everything that the backend offers, with layouts and times, and what `any`
// takes.
#include <relayout/relayout.h>

#include <cstdio>

using namespace relayout;

int main() {
  if (!execute::has_onednn()) return std::puts("built without oneDNN: nothing to choose from") < 0;
  graph::Graph g;
  const auto src = g.input("src", {1, 3, 224, 224}), weights = g.input("weights", {64, 3, 7, 7});
  g.output(g.convolution(src, weights, graph::kNone, {.strides = {2, 2}, .pads_begin = {3, 3}, .pads_end = {3, 3}}));

  const auto backend = execute::onednn_backend();
  const auto costs = graph::analytic_costs(execute::calibrate(*backend).speeds, *backend);  // or measured_costs()
  int by_any = 0;
  for (const graph::PrimitiveChoice& choice : primitive_choices(g, 0, *backend, *costs)) {
    const graph::Implementation& one = choice.implementation;
    std::printf("%-24s %-8s %-12s %-8s %8.1f us %s\n", one.name.c_str(),
                graph::display_name(*one.src[0], false).c_str(), graph::display_name(*one.src[1], true).c_str(),
                graph::display_name(*one.dst[0], false).c_str(), choice.us, choice.by_any ? "<- any" : "");
    by_any += choice.by_any;
  }
  return by_any == 1 ? 0 : 1;
}
