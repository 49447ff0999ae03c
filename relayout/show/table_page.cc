// Writes pages with a table: see table_page.h.
#include "relayout/show/table_page.h"

#include "relayout/show/escape.h"

namespace relayout::show {
namespace {

constexpr std::string_view kTableStyle =
    "body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:72em;padding:0 1em;color:#1f2328}"
    "h1{font-size:1.4em}table{border-collapse:collapse;width:100%}th,td{padding:.3em .7em;text-align:left;"
    "border-bottom:1px solid #d0d7de;vertical-align:top}td.number{text-align:right;font-variant-numeric:tabular-nums}"
    "tr.marked td{background:#fff4e0}dl{display:grid;grid-template-columns:max-content 1fr;gap:.2em 1em;margin:.3em 0}"
    "dt{color:#59636e}dd{margin:0}summary{cursor:pointer}code,td:first-child{font-family:ui-monospace,monospace}"
    "@media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}th,td{border-color:#30363d}"
    "tr.marked td{background:#3a2d12}dt{color:#9198a1}}";

bool looks_numeric(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789.,% -e+") == std::string::npos;
}

std::string cell_html(const std::string& text, const TablePage::Row& row, bool first) {
  if (!first || row.details.empty())
    return std::string("<td") + (looks_numeric(text) ? " class=\"number\">" : ">") + xml_escaped(text) + "</td>";
  std::string out = "<td><details><summary>" + xml_escaped(text) + "</summary><dl>";
  for (const auto& [label, words] : row.details)
    out += "<dt>" + xml_escaped(label) + "</dt><dd>" + xml_escaped(words) + "</dd>";
  return out + "</dl></details></td>";
}

}  // namespace

std::string table_html(const TablePage& page) {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\"><title>" +
      xml_escaped(page.title) + "</title>\n<style>" + std::string(kTableStyle) + "</style></head>\n<body><h1>" +
      xml_escaped(page.title) + "</h1>\n";
  for (const std::string& line : page.lines) out += "<p>" + xml_escaped(line) + "</p>\n";
  out += "<table><thead><tr>";
  for (const std::string& column : page.columns) out += "<th>" + xml_escaped(column) + "</th>";
  out += "</tr></thead><tbody>\n";
  for (const TablePage::Row& row : page.rows) {
    out += row.marked ? "<tr class=\"marked\">" : "<tr>";
    for (std::size_t k = 0; k < row.cells.size(); ++k) out += cell_html(row.cells[k], row, k == 0);
    out += "</tr>\n";
  }
  out += "</tbody></table>\n";
  for (const std::string& note : page.notes) out += "<p>" + xml_escaped(note) + "</p>\n";
  return out + "</body></html>\n";
}

}  // namespace relayout::show
