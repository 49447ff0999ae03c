// Where what was measured on this machine is kept, and how the machine is told from others.
//
//     fs::path file = io::cache_file("RELAYOUT_COST_FILE", "costs.txt");      // ~/.cache/relayout/costs.txt
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace relayout::io {

/// The file that this variable of the environment names or, without it, relayout/NAME in the user's folder for caches
/// (XDG_CACHE_HOME, or .cache in HOME); empty if none of these is set. The XDG specification says that relative paths
/// are to be ignored.
std::filesystem::path cache_file(const char* variable, std::string_view name);

/// "AMD EPYC 9454 25 17", as the system names the first processor.
std::string processor();

}  // namespace relayout::io
