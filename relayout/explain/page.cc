// The report as a page: a table whose rows open.
#include <cstdio>

#include "relayout/explain/report.h"
#include "relayout/show/table_page.h"

namespace relayout::explaining {
namespace {

std::string number_text(const char* format, const std::optional<double>& value) {
  if (!value) return "";
  char text[48];
  std::snprintf(text, sizeof text, format, *value);
  return text;
}

show::TablePage::Row row_of(const Report& report, const Reorder& reorder) {
  show::TablePage::Row out{.marked = reorder.verdict != Verdict::needed};
  const std::optional<double> a_run = reorder.run_ms(report.runs);
  std::optional<double> share;
  if (a_run && !report.predicted && report.run_ms > 0) share = 100 * *a_run / report.run_ms;
  out.cells = {
      reorder.src.layout + " -> " + reorder.dst.layout,
      reorder.src.dims ? join(*reorder.src.dims, "x") : "",
      reorder.src.dtype == reorder.dst.dtype ? reorder.src.dtype : reorder.src.dtype + " -> " + reorder.dst.dtype,
      std::to_string(reorder.times),
      number_text("%.4f", a_run),
      number_text("%.1f", share),
      number_text("%.1f", reorder.gbps()),
      std::string(name(reorder.verdict)),
      reorder.saves_ms > 0 ? number_text("%.4f", reorder.saves_ms) : ""};
  if (!reorder.name.empty()) out.details.emplace_back("name", reorder.name);
  out.details.emplace_back("from", reorder.maker);
  out.details.emplace_back("to", reorder.reader);
  out.details.emplace_back("why", reorder.why);
  if (!reorder.advice.empty()) out.details.emplace_back("do", reorder.advice);
  if (reorder.planned_ms && !report.predicted)
    out.details.emplace_back("a plan here", number_text("%.4g ms each time, predicted", reorder.planned_ms));
  if (reorder.copy_ms) out.details.emplace_back("a copy here", number_text("%.4g ms", reorder.copy_ms));
  if (const std::string bench = bench_line(reorder); !bench.empty()) out.details.emplace_back("replay", bench);
  return out;
}

}  // namespace

std::string to_html(const Report& report) {
  show::TablePage page{.title = report.system + (report.version.empty() ? "" : " " + report.version) + ": reorders"};
  page.lines.push_back(report.source + ": " + std::to_string(report.events) + " operations in " +
                       std::to_string(report.runs) + (report.runs == 1 ? " run." : " runs."));
  if (report.timed) {
    const std::optional<double> moved = report.run_reorder_ms, all = report.run_ms;
    page.lines.push_back(
        "Reorders " + std::string(report.predicted ? "are predicted to take " : "take ") + number_text("%.4g", moved) +
        (report.predicted ? " ms a run on this machine." : number_text(" of %.4g ms in a typical run.", all)));
  }
  for (const auto& [verdict, total] : report.totals()) {
    const std::optional<double> saves = total.saves_ms;
    page.lines.push_back(std::string(name(verdict)) + ": " + std::to_string(total.reorders) +
                         (total.reorders == 1 ? " reorder" : " reorders") +
                         (total.saves_ms > 0 ? number_text("; %.4g ms a run can be saved", saves) : ""));
  }
  page.columns = {"reorder", "dims", "type", "times", "ms a run", "share, %", "GB/s", "verdict", "saves, ms a run"};
  for (const Reorder& reorder : report.reorders) page.rows.push_back(row_of(report, reorder));
  page.notes = report.notes;
  return show::table_html(page);
}

}  // namespace relayout::explaining
