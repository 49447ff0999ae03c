// Drawings in files of JSON, by which scripts have their pictures written (docs/show.md lists the keys).
#pragma once

#include <string>

#include "relayout/show/drawing.h"

namespace relayout::tools {

/// Reads a drawing; "-" is standard input. Failure: io, bad data (which names the shape and the key).
show::Drawing drawing_file(const std::string& path);

}  // namespace relayout::tools
