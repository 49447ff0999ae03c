// A reorder as a command that measures it here, and as a text for a bug report.
#include <algorithm>
#include <cstdio>

#include "relayout/core/format.h"
#include "relayout/explain/programs.h"
#include "relayout/explain/report.h"

namespace relayout::explaining {
namespace {

std::string full_ms(double ms) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g ms", ms);
  return text;
}

/// The tensor's layout as an expression that the command takes; empty where there is none.
std::string expression(const Tensor& tensor) {
  if (!tensor.desc) return "";
  try {
    if (Format::parse(tensor.layout).bind(tensor.desc->layout.dims()) == tensor.desc->layout) return tensor.layout;
  } catch (const Error&) {  // a word of the source
  }
  if (const auto tag = tag_of(tensor.desc->layout)) return *tag;
  return digits_expression(tensor.desc->layout);
}

/// How the first sentence of a bug report ends.
std::string headline(Verdict verdict) {
  switch (verdict) {
    case Verdict::slow: return " takes longer than it should.\n\n";
    case Verdict::repeated: return " is done again in every run.\n\n";
    case Verdict::avoidable: return " need not be there.\n\n";
    case Verdict::padding_only: return " only changes padding.\n\n";
    case Verdict::needed: break;
  }
  return " takes time.\n\n";
}

/// The text with its lines indented.
std::string indented(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) out += "    " + text.substr(at, end - at);
    out += "\n";
    at = end + 1;
  }
  return out;
}

/// The program with the sentence in front of it, or a sentence why there is none.
std::string program_text(const Report& report, const Reorder& reorder) {
  try {
    const std::string program = program_of(report, reorder);
    const bool of_onednn = report.system == "OpenVINO" && reorder.perm.empty();
    return (of_onednn ? "\nOpenVINO's CPU plugin runs it with oneDNN. A program that does it alone:\n\n"
                      : "\nA program that does it alone:\n\n") +
           indented(program);
  } catch (const Error& error) {
    return std::string("\nThere is no program of ") + report.system + " that does it alone: " + error.what() + "\n";
  }
}

}  // namespace

std::string bench_line(const Reorder& reorder) {
  const std::string src = expression(reorder.src), dst = expression(reorder.dst);
  if (src.empty() || dst.empty()) return "";
  const TensorDesc &from = *reorder.src.desc, &to = *reorder.dst.desc;
  if (!(from.layout.dims() == to.layout.dims()) || from.layout.ndims() == 0) return "";
  std::string out = "relayout bench --src " + src + " --dst " + dst + " --dims " + join(from.layout.dims());
  if (from.dtype != DType::f32 || to.dtype != DType::f32) out += " --dtype " + std::string(name(from.dtype));
  if (from.dtype != to.dtype) out += " --to-dtype " + std::string(name(to.dtype));
  return out;
}

std::string bug_report(const Report& report, const Reorder& reorder) {
  const std::string bench = bench_line(reorder);
  std::string out = "A reorder from " + escaped(reorder.src.layout) + " to " + escaped(reorder.dst.layout);
  if (reorder.src.dims) out += " of " + join(*reorder.src.dims, "x");
  out += headline(reorder.verdict);
  out += "System      " + report.system + (report.version.empty() ? "" : " " + report.version) + "\n";
  if (!reorder.implementation.empty()) out += "Kernel      " + escaped(reorder.implementation, 200) + "\n";
  if (!reorder.detail.empty()) out += "Attributes  " + escaped(reorder.detail, 200) + "\n";
  if (!report.machine.empty()) out += "Machine     " + report.machine + "\n";
  if (report.threads > 0) out += "Threads     " + std::to_string(report.threads) + "\n";
  if (const auto each = reorder.typical_ms)
    out += "Seen        " + full_ms(*each) + ", typical of " + std::to_string(reorder.times) + "\n";
  if (reorder.planned_ms)
    out += "Expected    " + full_ms(*reorder.planned_ms) + " on one thread, predicted by relayout\n";
  if (reorder.copy_ms) out += "A copy      " + full_ms(*reorder.copy_ms) + ", of as many bytes on this machine\n";
  out += "\nIt is there because: " + reorder.why + "\n";
  out += program_text(report, reorder);
  if (!bench.empty()) out += "\nThis project's time for it:\n\n    " + bench + " --verify\n";
  return out;
}

}  // namespace relayout::explaining
