// Verbose logs of oneDNN as traces: lines of primitives that were run, in their order. Lines about primitives that were
// created, or not (dispatch, check), and about the library (info) are no events.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "relayout/explain/readers.h"
#include "relayout/interop/onednn_verbose.h"

namespace relayout::explaining {
namespace {

/// Primitives that work in any layout and write the one that they read.
constexpr std::array<std::string_view, 13> kAnyLayout = {
    "eltwise", "binary",     "pooling", "pooling_v2", "batch_normalization",
    "softmax", "softmax_v2", "shuffle", "resampling", "concat",
    "sum",     "lrn",        "prelu"};
constexpr std::array<std::string_view, 2> kConvolutions = {"convolution", "deconvolution"};

Freedom freedom_of(std::string_view primitive) {
  if (std::ranges::find(kAnyLayout, primitive) != kAnyLayout.end()) return Freedom::any;
  return std::ranges::find(kConvolutions, primitive) != kConvolutions.end() ? Freedom::channels_last : Freedom::fixed;
}

/// Whether the primitive writes that operand. "data" of oneDNN 2 is read and written by passes forward.
bool writes(std::string_view name, bool backward) {
  if (name == "data") return !backward;
  if (name.starts_with("diff_"))
    return backward && (name.starts_with("diff_src") || name.starts_with("diff_wei") || name.starts_with("diff_bia") ||
                        name.starts_with("diff_data"));
  return !backward && name.starts_with("dst");
}

bool reads(std::string_view name, bool backward) {
  if (name.starts_with("diff_")) return backward && (name.starts_with("diff_dst") || name.starts_with("diff_data"));
  return name != "ws" && name != "stat" && !name.starts_with("dst");
}

Tensor operand(const onednn::VerboseTensor& tensor) {
  Tensor out{.name = tensor.name, .dtype = tensor.data_type, .dims = tensor.dims};
  out.weights = tensor.name.starts_with("wei") || tensor.name.starts_with("bia");
  out.layout = onednn::expression_of(tensor);
  if (out.layout.empty()) out.layout = tensor.format_kind == "blocked" ? tensor.tag : tensor.format_kind;
  try {
    out.desc = onednn::tensor_of(tensor);
  } catch (const Error&) {  // an opaque format, an extra field, or dims that are not known
    if (!tensor.extra.empty() && tensor.extra != "f0") out.layout += ":" + tensor.extra;
  }
  out.key = tensor.data_type + ":" + tensor.format_kind + ":" + tensor.tag + ":" + tensor.strides + ":" + tensor.extra;
  if (tensor.dims) out.key += ":" + join(*tensor.dims, "x");
  return out;
}

double milliseconds(const std::string& text) {
  double out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return std::isfinite(out) && out > 0 ? out : 0;
}

/// Whether attributes change values: everything but scratchpad, accumulation and rounding modes and the like.
bool changes_values(const std::string& attributes) {
  for (const std::string_view word : {"scale", "zero-point", "zero_point", "oscale", "post-ops", "post_ops"}) {
    if (attributes.find(word) != std::string::npos) return true;
  }
  return false;
}

Event event_of(int64_t number, const onednn::VerboseLine& line) {
  Event out{.place = number,
            .kind = line.primitive,
            .implementation = line.implementation,
            .reorder = line.primitive == "reorder",
            .freedom = freedom_of(line.primitive),
            .ms = milliseconds(line.time),
            .detail = line.attributes};
  out.arithmetic = changes_values(line.attributes);
  const bool backward = line.propagation.starts_with("backward");
  for (const onednn::VerboseTensor& tensor : line.tensors) {
    if (tensor.data_type == "undef" || tensor.format_kind == "undef") continue;
    const Tensor made = operand(tensor);
    if (writes(tensor.name, backward)) out.writes.push_back(made);
    if (reads(tensor.name, backward)) out.reads.push_back(made);
  }
  return out;
}

/// The word behind `before` up to a blank, a comma or the line's end; empty where it is not there.
std::string word_behind(std::string_view text, std::string_view before) {
  const std::size_t at = text.find(before);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = text.substr(at + before.size());
  return std::string(rest.substr(0, rest.find_first_of(" ,\r\n")));
}

}  // namespace

Trace read_onednn(std::string_view text) {
  const onednn::VerboseLog log = onednn::read_verbose_log(text);
  Trace out{.system = "oneDNN", .source = "verbose log"};
  for (const auto& [number, line] : log.lines) {
    if (line.operation == "exec") out.events.push_back(event_of(number, line));
  }
  int64_t unread = 0, first = 0;
  std::string why;
  for (const onednn::VerboseLog::Other& other : log.others) {
    if (out.version.empty()) {
      out.version = word_behind(other.text, "info,oneDNN v");
      if (out.version.empty()) out.version = word_behind(other.text, "info,DNNL v");
    }
    const std::string threads = word_behind(other.text, "nthr:");
    std::from_chars(threads.data(), threads.data() + threads.size(), out.threads);
    if (other.text.find(",exec,") == std::string::npos || other.text.find(",graph,") != std::string::npos) continue;
    if (unread++ == 0) first = other.number, why = other.why;
  }
  if (unread > 0)
    out.notes.push_back(std::to_string(unread) + (unread == 1 ? " line" : " lines") +
                        " of primitives could not be read, the first of them line " + std::to_string(first) + ": " +
                        why);
  if (out.events.empty()) {
    throw Error(ErrorCode::parse,
                "explain: the log has no line of a primitive that was run; set ONEDNN_VERBOSE=1 (oneDNN before 2.6: "
                "DNNL_VERBOSE=1) where the program runs, and give its standard output",
                "text");
  }
  return out;
}

}  // namespace relayout::explaining
