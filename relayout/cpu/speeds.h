// The file that keeps what this machine's memory and kernels take (Speeds), in the user's folder for caches.
//
//     save_speeds(speeds_file(), measure_speeds());        // what `relayout doctor --measure` does
//
// machine() reads the file, so that plans of later processes are priced by it. Without a file nothing is measured:
// plans must not depend on how busy a machine was when a process started.
#pragma once

#include <filesystem>
#include <optional>

#include "relayout/reorder/machine.h"

namespace relayout::cpu {

/// The environment's RELAYOUT_SPEEDS_FILE or, without it, relayout/speeds.txt in the user's folder for caches; empty if
/// there is none.
std::filesystem::path speeds_file();

/// The speeds that a file has for this processor and the kernels in use. Nothing where there is no such file, or where
/// it is of another processor, instruction set or version of the library. Errors: corrupt (it names the line),
/// unsupported (another version of the format), limit (a larger file), io.
std::optional<Speeds> load_speeds(const std::filesystem::path& path);
/// Replaces the file, and makes its folder. The file appears whole or not at all. Errors: io, also where the file is
/// something else than a speeds file; limit.
void save_speeds(const std::filesystem::path& path, const Speeds& speeds);

}  // namespace relayout::cpu
