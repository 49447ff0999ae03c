// The caches of the machine that this runs on, as plans want them.
//
//     Plan plan = Plan::make(src, dst, {}, cpu::machine());  // as cpu::make_plan(src, dst)
//
// Read from Linux's sysfs: sysconf() adds up what does not belong together, and in virtual machines reports the host's.
#pragma once

#include <filesystem>

#include "relayout/reorder/plan.h"

namespace relayout::cpu {

/// Of the first core, read once; the same value ever after. Never throws; where nothing can be read, Machine's
/// defaults.
const Machine& machine() noexcept;

/// The same from a folder like /sys/devices/system/cpu/cpu0/cache: index*/{level,type,size}. A cache that it does not
/// have, or whose size is beyond reason, keeps Machine's default, except that without a third level the second is the
/// last. No level is smaller than the one before it.
Machine read_machine(const std::filesystem::path& folder);

}  // namespace relayout::cpu
