// What a user should know of files that a conversion has written (internal to checkpoint).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "relayout/checkpoint/conversion.h"

namespace relayout::checkpoint {

/// A sentence for each type that could not hold values; `beyond` has how many, by their targets.
std::vector<std::string> beyond_notes(const Conversion& conversion, const std::map<std::size_t, int64_t>& beyond);

/// What a kind of file does not keep of a conversion, a sentence each.
std::vector<std::string> lost_in(FileKind kind, const Conversion& conversion);

/// The files that the checkpoint of this path consists of now: itself, and what an index beside it leads to.
std::vector<std::filesystem::path> files_of(const std::filesystem::path& path);
/// A sentence where some of these files are still there and are none of the new ones.
std::vector<std::string> left_notes(const std::vector<std::filesystem::path>& old_files,
                                    const std::vector<std::filesystem::path>& new_files);

}  // namespace relayout::checkpoint
