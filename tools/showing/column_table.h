// Tables of the command that have a column for each dim and a label in front of each row.
#pragma once

#include <string>
#include <vector>

namespace relayout::tools {

/// A row for each label, the first of them a heading; columns have as many cells, at the right of at least 5 places. A
/// row without any text is left out. Columns that have no room in 80 places go on in a further table below.
std::string column_table(const std::vector<std::string>& labels, const std::vector<std::vector<std::string>>& columns);

}  // namespace relayout::tools
