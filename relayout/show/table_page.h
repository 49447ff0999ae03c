// A page with a table and what there is to say of its rows: HTML alone, without a script.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "relayout/cxx20.h"

namespace relayout::show {

struct TablePage {
  std::string title{};
  std::vector<std::string> lines{};    // above the table, a paragraph each
  std::vector<std::string> columns{};  // their names
  struct Row {
    std::vector<std::string> cells{};
    /// What it says when it is opened: a label and its text, in lines of their own.
    std::vector<std::pair<std::string, std::string>> details{};
    bool marked = false;  // in colour
  };
  std::vector<Row> rows{};
  std::vector<std::string> notes{};  // below the table
};

/// A file that browsers open from disk. Texts may come from anywhere: they are escaped, and the page's policy (CSP)
/// allows nothing but its own style. Numbers stand to the right, and a column without any text is left out.
std::string table_html(const TablePage& page);

}  // namespace relayout::show
