// Tells the forms of logs, profiles and graphs apart by how they begin and what words they have.
#include "relayout/explain/readers.h"

namespace relayout::explaining {
namespace {

/// Text in UTF-16 with a byte order mark, as PowerShell writes what a program prints, with "?" for all that is not
/// ASCII.
std::string from_utf16(std::string_view text) {
  const std::size_t low = text[0] == '\xff' ? 0 : 1;
  std::string out;
  for (std::size_t at = 2; at + 1 < text.size(); at += 2) {
    const bool ascii = text[at + 1 - low] == '\0' && static_cast<unsigned char>(text[at + low]) < 0x80;
    out += ascii ? text[at + low] : '?';
  }
  return out;
}

bool has(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

}  // namespace

Trace read_any(std::string_view text, std::string_view profile, std::span<const NamedNode> nodes) {
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) return read_any(from_utf16(text), profile, nodes);
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const char begins = first == std::string_view::npos ? '\0' : text[first];
  if (begins == '<' && has(text, "<layer ")) return read_openvino_graph(text);
  if ((begins == '{' || begins == '[') && has(text, "\"Layers\"")) return read_tensorrt_layers(text, profile);
  if (begins == '[' && has(text, "_kernel_time\"")) return read_onnxruntime_profile(text, nodes);
  if (has(text, "onednn_verbose,") || has(text, "dnnl_verbose,")) return read_onednn(text);
  if (has(text, "_to_dim_order_copy")) return read_executorch(text);
  if (has(text, "# AOT ID: ") || has(text, "torch._inductor") || has(text, "assert_size_stride") ||
      (begins == '{' && has(text, "\"traceEvents\"")))
    return read_inductor(text);
  throw Error(ErrorCode::parse,
              "explain: the text is none of the forms that are read: a log of oneDNN (ONEDNN_VERBOSE=1), a profile of "
              "ONNX Runtime, an execution graph of OpenVINO, layers of TensorRT (--exportLayerInfo), a program of "
              "ExecuTorch with dim_order operators, code of TorchInductor or a trace of torch.profiler; the command "
              "also takes models (.onnx)",
              "text", escaped(text.substr(0, 60)));
}

}  // namespace relayout::explaining
