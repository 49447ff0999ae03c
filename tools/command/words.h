// How the command writes dims, counts, sizes and times, and whether it may colour them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "relayout/core/layout.h"

namespace relayout::tools {

/// Dims as people write them, "2x17x5x4"; "scalar" for rank 0.
std::string dims_text(const Dims& dims);
/// "1 reorder", "2 reorders".
std::string counted(int64_t count, std::string_view what);
/// "3.8 KiB"; "960 bytes" under 1 KiB.
std::string size_text(int64_t bytes);

/// "963.4 ms"; s, ms or us with up to four digits, "-" where it is not finite.
std::string time_text(double us);

/// `text` where no line may be broken inside a `glue`.
std::string unbroken(std::string text, std::string_view glue);

/// Whether text for people may be coloured: a terminal, and NO_COLOR is not set.
bool colour_allowed(int fd);
/// `text` in bold where standard output may be coloured.
std::string bold(std::string_view text);

}  // namespace relayout::tools
