// Writes pages with a table: see table_page.h.
#include "relayout/show/table_page.h"

#include <algorithm>

#include "relayout/show/escape.h"

namespace relayout::show {
namespace {

// A row is a grid of cells with the same columns as its neighbours; on a narrow screen its cells follow each other,
// each behind its column's name.
constexpr std::string_view kTableStyle =
    "body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:76em;padding:0 1em;color:#1f2328}"
    "h1{font-size:1.4em}p{margin:.3em 0}.table{margin:1.2em 0}.table>*{border-bottom:1px solid #d0d7de}"
    ".cells{display:grid;gap:0 1em;padding:.35em .7em}.head{font-weight:600;align-items:end}"
    ".cells>span{overflow-wrap:anywhere}.number{text-align:right;font-variant-numeric:tabular-nums}"
    ".marked>.cells{background:#fff4e0}summary{cursor:pointer;list-style:none}"
    "summary::-webkit-details-marker{display:none}summary>:first-child::before{content:'\\25B8\\A0'}"
    "[open]>summary>:first-child::before{content:'\\25BE\\A0'}code,.name{font-family:ui-monospace,monospace}"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:.2em 1em;margin:0;padding:.5em .7em .8em 2em}"
    "dt{color:#59636e}dd{margin:0;overflow-wrap:anywhere}"
    "@media(max-width:52em){.table .cells{display:flex;flex-wrap:wrap}.table "
    ".head{display:none}.cells>.name{flex-basis:100%}"
    ".cells>:empty{display:none}[data-label]::before{content:attr(data-label) ' ';color:#59636e}"
    "dl{grid-template-columns:1fr;padding-left:1em}}"
    "@media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}.table>*{border-color:#30363d}"
    ".marked>.cells{background:#3a2d12}dt{color:#9198a1}}"
    "@media(prefers-color-scheme:dark) and (max-width:52em){[data-label]::before{color:#9198a1}}";

bool looks_numeric(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789.,% -e+") == std::string::npos;
}

TablePage without_empty_columns(TablePage page) {
  for (std::size_t k = page.rows.empty() ? 0 : page.columns.size(); k-- > 0;) {
    const auto cell = [&](const TablePage::Row& row) { return k < row.cells.size() && !row.cells[k].empty(); };
    if (std::ranges::any_of(page.rows, cell)) continue;
    page.columns.erase(page.columns.begin() + static_cast<std::ptrdiff_t>(k));
    for (TablePage::Row& row : page.rows) {
      if (k < row.cells.size()) row.cells.erase(row.cells.begin() + static_cast<std::ptrdiff_t>(k));
    }
  }
  return page;
}

/// For each column, whether its cells are numbers, as far as they are not empty.
std::vector<bool> numeric_columns(const TablePage& page) {
  std::vector<bool> any(page.columns.size(), false), other(page.columns.size(), false);
  for (const TablePage::Row& row : page.rows) {
    for (std::size_t k = 0; k < std::min(any.size(), row.cells.size()); ++k)
      if (!row.cells[k].empty()) (looks_numeric(row.cells[k]) ? any : other)[k] = true;
  }
  for (std::size_t k = 0; k < any.size(); ++k) any[k] = any[k] && !other[k];
  return any;
}

/// The cells of a row, or with none the names of the columns.
std::string cells_html(const TablePage& page, const std::vector<bool>& numeric, const TablePage::Row* row) {
  const std::vector<std::string>& texts = row ? row->cells : page.columns;
  std::string out;
  for (std::size_t k = 0; k < texts.size(); ++k) {
    out += k == 0 ? "<span class=\"name\"" : k < numeric.size() && numeric[k] ? "<span class=\"number\"" : "<span";
    if (row && k > 0 && k < page.columns.size()) out += " data-label=\"" + xml_escaped(page.columns[k]) + "\"";
    out += ">" + xml_escaped(texts[k]) + "</span>";
  }
  return out;
}

std::string row_html(const TablePage& page, const std::vector<bool>& numeric, const TablePage::Row& row) {
  const std::string marked = row.marked ? " class=\"marked\"" : "";
  if (row.details.empty())
    return "<div" + marked + "><div class=\"cells\">" + cells_html(page, numeric, &row) + "</div></div>\n";
  std::string out =
      "<details" + marked + "><summary class=\"cells\">" + cells_html(page, numeric, &row) + "</summary><dl>";
  for (const auto& [label, words] : row.details)
    out += "<dt>" + xml_escaped(label) + "</dt><dd>" + xml_escaped(words) + "</dd>";
  return out + "</dl></details>\n";
}

}  // namespace

std::string table_html(const TablePage& given) {
  const TablePage page = without_empty_columns(given);
  const std::size_t columns = page.columns.size();
  const std::vector<bool> numeric = numeric_columns(page);
  const std::string others =
      columns > 2 ? " minmax(7em,1.5fr) repeat(" + std::to_string(columns - 2) + ",minmax(3em,1fr))" : " 1fr";
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\"><title>" +
      xml_escaped(page.title) + "</title>\n<style>" + std::string(kTableStyle) +
      ".cells{grid-template-columns:minmax(11em,2fr)" + others + "}</style></head>\n<body><h1>" +
      xml_escaped(page.title) + "</h1>\n";
  for (const std::string& line : page.lines) out += "<p>" + xml_escaped(line) + "</p>\n";
  out += "<div class=\"table\"><div class=\"cells head\">" + cells_html(page, numeric, nullptr) + "</div>\n";
  for (const TablePage::Row& row : page.rows) out += row_html(page, numeric, row);
  out += "</div>\n";
  for (const std::string& note : page.notes) out += "<p>" + xml_escaped(note) + "</p>\n";
  return out + "</body></html>\n";
}

}  // namespace relayout::show
