// The report as a table of 100 columns and words.
#include <algorithm>
#include <cstdio>

#include "relayout/explain/report.h"

namespace relayout::explaining {
namespace {

constexpr std::size_t kWidth = 100, kReorderWidth = 29, kDimsWidth = 16, kThatMatter = 10;

std::string formatted(const char* format, double value) {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

/// Four digits at most: "12.3", "0.0153".
std::string ms_text(double ms) {
  return formatted(ms >= 100 ? "%.0f" : ms >= 10 ? "%.1f" : ms >= 1 ? "%.2f" : ms >= 0.1 ? "%.3f" : "%.4f", ms);
}

std::string padded(std::string text, std::size_t width, bool right = false) {
  if (text.size() > width) text = text.substr(0, width - 2) + "..";
  const std::string blanks(width - text.size(), ' ');
  return right ? blanks + text : text + blanks;
}

std::string types_of(const Reorder& reorder) {
  if (reorder.src.dtype == reorder.dst.dtype) return reorder.src.dtype;
  return reorder.src.dtype + " -> " + reorder.dst.dtype;
}

std::string move_text(const Reorder& reorder) {
  return (reorder.src.layout.empty() ? "?" : escaped(reorder.src.layout, 60)) + " -> " +
         (reorder.dst.layout.empty() ? "?" : escaped(reorder.dst.layout, 60));
}

std::string dims_of(const Reorder& reorder) {
  return reorder.src.dims ? join(*reorder.src.dims, "x") : std::string("?");
}

/// "  label     text" with the text wrapped at blanks to the width.
std::string labelled(const std::string& label, const std::string& text) {
  const std::string indent(12, ' ');
  std::string out, line = "     " + padded(label, 7);
  bool empty = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!empty && line.size() + 1 + word.size() > kWidth) {
      out += line + "\n";
      line = indent;
      empty = true;
    }
    line += (empty ? "" : " ") + word;
    empty = false;
    at = end + 1;
  }
  return out + line + "\n";
}

std::string head(const Report& report) {
  std::string out = report.system + (report.version.empty() ? "" : " " + report.version) + ", " + report.source + ": ";
  int64_t reorders = 0;
  for (const Reorder& reorder : report.reorders) reorders += reorder.times;
  out += std::to_string(report.events) + " operations in " + std::to_string(report.runs) +
         (report.runs == 1 ? " run" : " runs") + ", " + std::to_string(reorders) + " of them reorders.\n";
  if (!report.timed) return out + "The source has no times.\n";
  const std::string all = ms_text(report.run_ms), moved = ms_text(report.run_reorder_ms);
  if (report.predicted) return out + "Reorders are predicted to take " + moved + " ms a run on this machine.\n";
  const double share = report.run_ms > 0 ? 100 * report.run_reorder_ms / report.run_ms : 0;
  return out + "Reorders take " + moved + " of " + all + " ms in a typical run, " + formatted("%.0f", share) + " %.\n";
}

std::string table_head(const Report& report) {
  return "\n  # " + padded("reorder", kReorderWidth) + " " + padded("dims", kDimsWidth) + " " +
         padded("times", 5, true) + " " + padded(report.timed ? "ms a run" : "", 9, true) + " " +
         padded(report.timed && !report.predicted ? "share" : "", 6, true) + " " + padded("GB/s", 6, true) + " " +
         padded("copy", 6, true) + " verdict\n";
}

std::string row(const Report& report, const Reorder& reorder, std::size_t number) {
  const auto gbps = reorder.gbps();
  std::string copy;
  if (reorder.copy_ms && *reorder.copy_ms > 0)
    copy = formatted("%.1f", static_cast<double>(reorder.bytes) / *reorder.copy_ms / 1e6);
  std::string out = padded(std::to_string(number), 3, true) + " " + padded(move_text(reorder), kReorderWidth) + " " +
                    padded(dims_of(reorder), kDimsWidth) + " " + padded(std::to_string(reorder.times), 5, true) + " ";
  const auto a_run = reorder.run_ms(report.runs);
  out += padded(a_run ? ms_text(*a_run) : "", 9, true) + " ";
  out +=
      padded(a_run && report.run_ms > 0 && !report.predicted ? formatted("%.1f %%", 100 * *a_run / report.run_ms) : "",
             6, true) +
      " ";
  out += padded(gbps ? formatted("%.1f", *gbps) : "", 6, true) + " " + padded(copy, 6, true) + " ";
  return out + std::string(name(reorder.verdict)) + "\n";
}

std::string places_text(const Reorder& reorder) {
  if (!reorder.name.empty()) return "";
  std::string out = reorder.places.size() == 1 ? "line " : "lines ";
  for (std::size_t k = 0; k < std::min<std::size_t>(4, reorder.places.size()); ++k)
    out += (k == 0 ? "" : ", ") + std::to_string(reorder.places[k]);
  return out + (reorder.places.size() > 4 ? " ..." : "");
}

/// The advice, or the number of the row above that has the same one.
std::string advice_text(const Report& report, std::size_t number) {
  const std::string& advice = report.reorders[number - 1].advice;
  for (std::size_t k = 0; k + 1 < number; ++k) {
    if (report.reorders[k].advice == advice) return "As for row " + std::to_string(k + 1) + ".";
  }
  return advice;
}

std::string details(const Report& report, const Reorder& reorder, std::size_t number) {
  std::string out = "\n" + padded(std::to_string(number), 3, true) + "  " + move_text(reorder) + ", " +
                    dims_of(reorder) + ", " + types_of(reorder);
  if (!reorder.name.empty()) out += ", " + escaped(reorder.name, 60);
  const std::string places = places_text(reorder);
  out += (places.empty() ? "" : ", " + places) + ": " + std::string(name(reorder.verdict)) + "\n";
  out += labelled("from", reorder.maker + "; to " + reorder.reader);
  out += labelled("why", reorder.why);
  if (!reorder.advice.empty()) out += labelled("do", advice_text(report, number));
  if (reorder.saves_ms > 0) out += labelled("saves", ms_text(reorder.saves_ms) + " ms a run");
  if (reorder.planned_ms && reorder.typical_ms && !report.predicted)
    out += labelled("here", "a plan of relayout is predicted to take " + ms_text(*reorder.planned_ms) +
                                " ms each time on one thread; it took " + ms_text(*reorder.typical_ms) + " ms");
  const std::string bench = bench_line(reorder);
  if (!bench.empty()) out += labelled("replay", bench);
  return out;
}

std::string totals_text(const Report& report) {
  std::string out = "\n";
  for (const auto& [verdict, total] : report.totals()) {
    out += "  " + padded(std::string(name(verdict)), 13) + padded(std::to_string(total.reorders), 6, true) +
           (total.reorders == 1 ? " reorder " : " reorders");
    if (report.timed)
      out += padded(ms_text(total.run_ms), 9, true) + " ms a run" +
             (total.saves_ms > 0 ? ", of which " + ms_text(total.saves_ms) + " ms can be saved" : "");
    out += "\n";
  }
  return out;
}

}  // namespace

std::string to_text(const Report& report, bool all) {
  std::string out = head(report);
  if (report.reorders.empty()) out += "There is no reorder.\n";
  const std::size_t count = all ? report.reorders.size() : std::min(kThatMatter, report.reorders.size());
  if (count > 0) out += table_head(report);
  for (std::size_t k = 0; k < count; ++k) out += row(report, report.reorders[k], k + 1);
  if (count < report.reorders.size())
    out += "    and " + std::to_string(report.reorders.size() - count) + " more rows, which --all shows\n";
  if (!report.reorders.empty()) out += totals_text(report);
  for (std::size_t k = 0; k < std::min(kThatMatter, report.reorders.size()); ++k)
    out += details(report, report.reorders[k], k + 1);
  for (const std::string& note : report.notes) out += "\n" + labelled("note", note);
  return out;
}

}  // namespace relayout::explaining
