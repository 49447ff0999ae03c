// Verbose logs of oneDNN as traces: lines of primitives that were run, in their order. Lines about primitives that were
// created, or not (dispatch, check), and about the library (info) are no events.
#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_map>

#include "relayout/explain/readers.h"
#include "relayout/explain/readers/tensors.h"
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

double milliseconds(std::string_view text) {
  double out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return plausible_ms(out).value_or(0);
}

/// Whether attributes change values: everything but scratchpad, accumulation and rounding modes and the like.
bool changes_values(const std::string& attributes) {
  for (const std::string_view word : {"scale", "zero-point", "zero_point", "oscale", "post-ops", "post_ops"}) {
    if (attributes.find(word) != std::string::npos) return true;
  }
  return false;
}

Event event_of(const onednn::VerboseLine& line) {
  Event out{.kind = line.primitive,
            .implementation = line.implementation,
            .reorder = line.primitive == "reorder",
            .freedom = freedom_of(line.primitive),
            .detail = line.attributes};
  out.arithmetic = changes_values(line.attributes);
  const bool backward = line.propagation.starts_with("backward");
  for (const onednn::VerboseTensor& tensor : line.tensors) {
    if (tensor.data_type == "undef" || tensor.format_kind == "undef") continue;
    const Tensor made = operand(tensor);
    if (writes(tensor.name, backward)) out.writes.push_back(made);
    if (reads(tensor.name, backward)) out.reads.push_back(made);
  }
  if (out.reorder && (out.reads.empty() || out.writes.empty()))
    throw Error(ErrorCode::parse, "a reorder has no source or no destination", "descriptors");
  return out;
}

/// The word behind `before` up to a blank, a comma or the line's end; empty where it is not there.
std::string word_behind(std::string_view text, std::string_view before) {
  const std::size_t at = text.find(before);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = text.substr(at + before.size());
  return std::string(rest.substr(0, rest.find_first_of(" ,\r\n")));
}

/// Lines of a log, one after the other. A line that says the same as one before, but for its times, is not parsed
/// again.
class LogReader {
 public:
  void line(int64_t number, std::string_view text) {
    const std::size_t exec = text.find(",exec,");
    if (exec == std::string_view::npos || text.find(",graph,") < exec) return about_library(text);
    const std::size_t time = text.rfind(',');
    const auto [found, added] = known_.try_emplace(std::string(text.substr(exec, time - exec)));
    try {
      if (added) found->second = event_of(onednn::parse_verbose_line(text));
      Event& event = trace.events.emplace_back(found->second);
      event.place = number;
      event.ms = milliseconds(text.substr(time + 1));
    } catch (const Error& error) {
      known_.erase(found);
      if (unread_++ == 0) first_ = number, why_ = error.message();
    }
  }

  void note_unread() {
    if (unread_ == 0) return;
    trace.notes.push_back(std::to_string(unread_) + (unread_ == 1 ? " line" : " lines") +
                          " of primitives could not be read, the first of them line " + std::to_string(first_) + ": " +
                          why_);
  }

  Trace trace{.system = "oneDNN", .source = "verbose log"};

 private:
  void about_library(std::string_view text) {
    if (trace.version.empty()) trace.version = escaped(word_behind(text, "info,oneDNN v"));
    if (trace.version.empty()) trace.version = escaped(word_behind(text, "info,DNNL v"));
    const std::string threads = word_behind(text, "nthr:");
    std::from_chars(threads.data(), threads.data() + threads.size(), trace.threads);
  }

  std::unordered_map<std::string, Event> known_;
  int64_t unread_ = 0, first_ = 0;
  std::string why_;
};

}  // namespace

Trace read_onednn(std::string_view text) {
  LogReader reader;
  onednn::for_each_verbose_line(text, [&](int64_t number, std::string_view line) { reader.line(number, line); });
  reader.note_unread();
  if (reader.trace.events.empty()) {
    throw Error(ErrorCode::parse,
                "explain: the log has no line of a primitive that was run; set ONEDNN_VERBOSE=1 (oneDNN before 2.6: "
                "DNNL_VERBOSE=1) where the program runs, and give its standard output",
                "text");
  }
  return std::move(reader.trace);
}

}  // namespace relayout::explaining
