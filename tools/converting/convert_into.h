// relayout convert --into: a tensor becomes a part of a tensor of a file that exists (relayout/checkpoint/whole.h).
#pragma once

#include "tools/converting/convert_options.h"

namespace relayout::tools {

void add_into_options(Command& command, ConvertOptions& options);

/// A conversion with --into. Failure: usage, bad data, io, unsupported; before a byte is written unless it is io.
int run_convert_into(const ConvertOptions& options, bool json);

}  // namespace relayout::tools
