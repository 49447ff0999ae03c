// Flags about index tables (core/index_table.h): --index and --index-to.
#pragma once

#include <string>
#include <vector>

#include "relayout/core/format.h"
#include "relayout/core/index_table.h"
#include "tools/command/command_line.h"

namespace relayout::tools {

struct IndexTableOptions {
  std::vector<std::string> from, to;

  bool empty() const { return from.empty() && to.empty(); }
};

void add_index_options(Command& command, IndexTableOptions& options);

/// The tables that a flag gives, each as DIM=FILE with ",block=N", ",longest=N" or ",starts=FILE,columns=N" behind it.
/// `format` names the dims. Failure: usage, bad data and those of open_tensor().
std::vector<IndexTable> index_tables(const std::vector<std::string>& given, const std::string& flag,
                                     const Format& format, int ndims);

}  // namespace relayout::tools
