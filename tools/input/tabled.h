// Layouts with index tables in front of some dims (core/index_table.h), for the verbs that describe them: --table.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "relayout/core/format.h"
#include "relayout/core/index_table.h"
#include "tools/command/command_line.h"
#include "tools/command/common.h"

namespace relayout::tools {

void add_table_option(Command& command, std::vector<std::string>& tables);

class TabledLayout {
 public:
  /// The tables are read from the files of --table, and checked against the layout's extents. Failure: usage, bad data
  /// and those of open_tensor().
  TabledLayout(const Format& format, const Layout& layout, const std::vector<std::string>& tables);

  /// The extents in front of the tables: how many indices each is for, and the layout's where a dim has none.
  const Dims& dims() const { return dims_; }
  /// The layout's index of an index in front of the tables; nothing where an entry is -1. Failure{usage} where an index
  /// is beyond its table.
  std::optional<Dims> behind(const Dims& index) const;
  /// All indices that lead to one of the layout's, in row-major order. Each entry of the tables is looked at.
  std::vector<Dims> in_front(const Dims& index) const;
  /// A line a table for `describe`: "a goes through 2 entries, each for 2 indices: 4 indices; they name 4 of 6, ...".
  std::vector<std::string> texts(const std::string& letters) const;
  Json json() const;

 private:
  const IndexTable* of(int dim) const;

  Layout layout_;
  std::vector<IndexTable> tables_;
  Dims dims_;
};

}  // namespace relayout::tools
