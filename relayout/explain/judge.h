// Why a reorder is there, and whether it need be (internal to explain).
#pragma once

#include "relayout/explain/links.h"
#include "relayout/explain/verdict.h"

namespace relayout::explaining {

struct Judgement {
  Verdict verdict = Verdict::needed;
  std::string why, advice;
};

/// All that is known about the events round a reorder.
struct Surroundings {
  const Trace& trace;
  const Runs& runs;
  const Links& links;
  bool trains = false;  // some event writes a gradient of weights
};

/// "line 7" or "conv1": an event as the report names it; and "convolution (line 7)".
std::string place_of(const Trace& trace, std::size_t event);
std::string named(const Trace& trace, std::size_t event);

/// The verdict that follows from layouts, makers and readers alone. It is never `slow`. `times_in_runs` is in how many
/// runs an equal reorder stands.
Judgement judge(const Surroundings& all, std::size_t event, int64_t times_in_runs);

}  // namespace relayout::explaining
