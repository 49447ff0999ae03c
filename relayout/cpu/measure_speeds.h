// Measuring what this machine's memory and kernels take (Speeds).
//
//     Machine machine = cpu::machine();
//     machine.speeds = measure_speeds();      // plans for this machine are then priced by what was measured
#pragma once

#include "relayout/cpu/stopwatch.h"
#include "relayout/reorder/machine.h"

namespace relayout::cpu {

/// Measures on the calling thread, with the kernels in use, for about half a second. Needs 130 MB of memory.
Speeds measure_speeds(Stopwatch& stopwatch = system_stopwatch());

}  // namespace relayout::cpu
