// The caches of the machine that this runs on, as plans want them.
//
//     Plan plan = Plan::make(src, dst, {}, cpu::machine());  // as cpu::make_plan(src, dst)
//
// The sizes come from Linux's sysfs. sysconf() is no substitute: it adds up caches that do not belong together, and in
// virtual machines it reports the host's.
#pragma once

#include <filesystem>

#include "relayout/reorder/plan.h"

namespace relayout::cpu {

/// The caches of the first core, and the speeds that were measured here (speeds.h), read once. Never throws. What
/// cannot be read keeps Machine's defaults.
const Machine& machine() noexcept;

/// The same from a folder like /sys/devices/system/cpu/cpu0/cache: index*/{level,type,size}. A cache that is missing,
/// or whose size is not plausible, keeps Machine's default. But without a third level, the second is the last level. No
/// level is smaller than the one before it.
Machine read_machine(const std::filesystem::path& folder);

}  // namespace relayout::cpu
