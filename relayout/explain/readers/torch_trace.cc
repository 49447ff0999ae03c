// Traces of torch.profiler: operators with shapes, strides and times. See torch_trace.h.
#include "relayout/explain/readers/torch_trace.h"

#include "relayout/explain/readers/tensors.h"

#ifdef RELAYOUT_HAVE_JSON
#include <algorithm>

#include "relayout/explain/json.h"
#endif

namespace relayout::explaining {

#ifdef RELAYOUT_HAVE_JSON
namespace {

/// Entry `number` of a list of lists of numbers: the dims or strides of that argument.
std::optional<Dims> dims_at(const Json& args, const char* key, std::size_t number) {
  const auto list = args.find(key);
  if (list == args.end() || !list->is_array() || number >= list->size() || !(*list)[number].is_array())
    return std::nullopt;
  Dims out;
  for (const Json& dim : (*list)[number]) {
    if (!dim.is_number_integer() || out.size() == kMaxDims) return std::nullopt;
    out.push_back(dim.get<int64_t>());
  }
  return out;
}

std::string type_at(const Json& args, std::size_t number) {
  const auto list = args.find("Input type");
  if (list == args.end() || !list->is_array() || number >= list->size() || !(*list)[number].is_string()) return "";
  const std::string type = (*list)[number].get<std::string>();
  if (type == "c10::BFloat16") return "bf16";
  if (type == "c10::Half") return "f16";
  return type;  // float, double, int, ...
}

Tensor argument(const Json& args, std::size_t number) {
  const auto dims = dims_at(args, "Input Dims", number), strides = dims_at(args, "Input Strides", number);
  std::string type = type_at(args, number);
  if (type == "float") type = "f32";
  if (type == "double") type = "f64";
  Tensor out = dims && strides ? strided("", *dims, *strides, type) : described("", "", dims, type);
  if (out.dims) out.key = out.dtype + ":" + join(*out.dims, "x") + ":" + out.layout;
  return out;
}

Event event_of_operator(const Json& entry, int64_t place) {
  Event out{.place = place, .kind = text_of(entry, "name")};
  out.ms = plausible_ms(number_of(entry, "dur").value_or(0) / 1e3);
  const auto args = entry.find("args");
  if (args == entry.end() || !args->is_object()) return out;
  if (out.kind != "aten::copy_") {
    if (Tensor read = argument(*args, 0); read.dims) out.reads.push_back(std::move(read));
    return out;
  }
  Tensor dst = argument(*args, 0), src = argument(*args, 1);
  if (!src.dims || src.dims != dst.dims) return out;
  out.reorder = true;
  out.reads.push_back(std::move(src));
  out.writes.push_back(std::move(dst));
  return out;
}

/// Operators that call others: their times hold those of what they call.
bool leaf(std::string_view kind) {
  for (const std::string_view outer : {"aten::contiguous", "aten::clone", "aten::to", "aten::_to_copy", "aten::conv2d",
                                       "aten::convolution", "aten::_convolution", "aten::reshape", "aten::linear"}) {
    if (kind == outer) return false;
  }
  return true;
}

}  // namespace

Trace read_torch_trace(std::string_view text) {
  const Json all = parse_json(text, "the trace of torch.profiler");
  const auto listed = all.is_object() ? all.find("traceEvents") : all.end();
  const Json& events = all.is_array() ? all : listed != all.end() ? *listed : all;
  if (!events.is_array())
    throw Error(ErrorCode::parse, "explain: the trace of torch.profiler has no list \"traceEvents\"", "text");
  Trace out{.system = "PyTorch", .source = "profiler trace"};
  int64_t place = 0;
  bool shapes = false, strides = false;
  std::vector<std::pair<double, Event>> ordered;
  for (const Json& entry : events) {
    ++place;
    if (!entry.is_object() || text_of(entry, "cat") != "cpu_op" || !leaf(text_of(entry, "name"))) continue;
    const auto args = entry.find("args");
    if (args != entry.end() && args->is_object()) {
      shapes = shapes || args->contains("Input Dims");
      strides = strides || args->contains("Input Strides");
    }
    ordered.emplace_back(number_of(entry, "ts").value_or(0), event_of_operator(entry, place));
  }
  std::ranges::stable_sort(ordered, {}, [](const auto& entry) { return entry.first; });
  for (auto& [time, event] : ordered) out.events.push_back(std::move(event));
  if (out.events.empty())
    throw Error(ErrorCode::parse, "explain: the trace of torch.profiler has no operators of the CPU (cat cpu_op)",
                "text");
  if (!shapes) out.notes.push_back("The trace has no shapes; profile with record_shapes=True.");
  if (shapes && !strides) out.notes.push_back("The trace has no strides, which PyTorch writes from 2.2 on.");
  return out;
}
#else
Trace read_torch_trace(std::string_view) {
  throw Error(ErrorCode::unsupported, "explain: this build has no nlohmann-json, which traces are read with");
}
#endif

}  // namespace relayout::explaining
