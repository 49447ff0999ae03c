// How often a program ran its model, found in what it did: the end of a trace repeats itself.
#pragma once

#include <vector>

#include "relayout/explain/trace.h"

namespace relayout::explaining {

/// The run that each event is part of, from 0 on, and how many there are.
struct Runs {
  std::vector<int64_t> run_of{};
  int64_t count = 1;
};

/// Finds the shortest sequence of events that the trace consists of, one repetition after the other. The first may be
/// longer by what is done once, as reorders of weights; longer warm-ups of other shapes are allowed where what repeats
/// is at least half of the trace. Where nothing repeats, all is one run. `given` says how many runs there were, which
/// then have equal numbers of events as far as possible. A trace whose events are not in order is one run here. In
/// traces of more than 20,000 events a longer first run is only found in front of two others. Cost: most often in
/// proportion to the number of events.
Runs find_runs(const Trace& trace, int64_t given = 0);

}  // namespace relayout::explaining
