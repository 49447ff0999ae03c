// TorchInductor's generated code as a trace.
//
// Of output_code.py (TORCH_COMPILE_DEBUG=1, or TORCH_LOGS=output_code) the function call() is read: buffers with sizes
// and strides, kernels that are called with them, and calls of libraries.
//
//     assert_size_stride(arg0_1, (4, 3, 224, 224), (150528, 50176, 224, 1))
//     buf0 = empty_strided_cpu((4, 3, 224, 224), (150528, 1, 672, 3), torch.float32)
//     cpp_fused_convolution_0(arg0_1, buf0)
//     buf1 = extern_kernels.convolution(buf0, ...)
//
// A kernel that is fused of copies alone (clone, _to_copy, permute, or convolution for the layout that it wants) and
// writes a buffer of the sizes of one that it reads, with other strides, is a reorder: a clone or a layout constraint.
#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>

#include "relayout/explain/readers.h"
#include "relayout/explain/readers/tensors.h"
#include "relayout/explain/readers/torch_trace.h"

namespace relayout::explaining {
namespace {

/// The numbers of "(4, 3, 224, 224)" at the start of a text, and the rest behind it.
std::optional<Dims> tuple_at(std::string_view& text) {
  const std::size_t open = text.find('('), close = text.find(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  std::string_view inside = text.substr(open + 1, close - open - 1);
  text.remove_prefix(close + 1);
  Dims out;
  while (!inside.empty()) {
    while (!inside.empty() && (inside.front() == ' ' || inside.front() == ',')) inside.remove_prefix(1);
    if (inside.empty()) break;
    int64_t value = 0;
    const auto read = std::from_chars(inside.data(), inside.data() + inside.size(), value);
    if (read.ec != std::errc() || out.size() == kMaxDims) return std::nullopt;
    out.push_back(value);
    inside.remove_prefix(static_cast<std::size_t>(read.ptr - inside.data()));
  }
  return out;
}

std::string torch_type(std::string_view text) {
  const std::size_t at = text.find("torch.");
  if (at == std::string_view::npos) return "float32";
  const std::string_view rest = text.substr(at + 6);
  return std::string(rest.substr(0, rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_")));
}

/// Names of buffers and arguments in a text: arg0_1, primals_2, buf3.
std::vector<std::string> buffers_in(std::string_view text) {
  std::vector<std::string> out;
  std::string word;
  for (const char letter : std::string(text) + " ") {
    const bool part = (letter >= 'a' && letter <= 'z') || letter == '_' || (letter >= '0' && letter <= '9');
    if (part) {
      word += letter;
      continue;
    }
    const bool buffer = word.starts_with("arg") || word.starts_with("buf") || word.starts_with("primals_") ||
                        word.starts_with("tangents_");
    if (buffer && word.find_first_of("0123456789") != std::string::npos) out.push_back(word);
    word.clear();
  }
  return out;
}

/// Whether a kernel's name says that it only copies: cpp_fused_clone_convolution_3.
bool copies_alone(std::string_view kernel) {
  const std::size_t fused = kernel.find("_fused_");
  if (fused == std::string_view::npos) return false;
  std::string_view rest = kernel.substr(fused + 7);
  rest = rest.substr(0, rest.find_last_of('_'));
  static constexpr std::array<std::string_view, 9> kCopies = {"_to_copy",   "convolution", "clone", "permute", "copy",
                                                              "contiguous", "transpose",   "view",  "mkldnn"};
  while (!rest.empty()) {
    const auto word = std::ranges::find_if(kCopies, [&](std::string_view copy) { return rest.starts_with(copy); });
    if (word == kCopies.end()) return false;
    rest.remove_prefix(word->size());
    if (rest.starts_with("_") && !rest.starts_with("_to_copy")) rest.remove_prefix(1);
    if (rest.starts_with("__to_copy")) rest.remove_prefix(1);
  }
  return true;
}

template <typename F>
void for_each_line(std::string_view text, F&& f) {
  for (int64_t place = 1; !text.empty(); ++place) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    f(text.substr(0, end), place);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

class CodeReader {
 public:
  /// arg0_1 = rand_strided((4, 3), (3, 1), device='cpu', dtype=torch.float32)
  void type(std::string_view text) {
    const std::size_t equals = text.find(" = rand_strided(");
    const std::vector<std::string> names = buffers_in(text.substr(0, equals));
    if (equals != std::string_view::npos && !names.empty()) types_[names.front()] = torch_type(text);
  }

  void line(std::string_view text, int64_t place) {
    const std::size_t first = text.find_first_not_of(' ');
    if (first == std::string_view::npos) return;
    text.remove_prefix(first);
    if (text.starts_with("assert_size_stride(")) return assertion(text);
    const std::size_t equals = text.find(" = ");
    const std::string left(equals == std::string_view::npos ? "" : text.substr(0, equals));
    if (text.find("empty_strided") != std::string_view::npos && !left.empty()) return allocation(left, text);
    if (text.find("# reuse") != std::string_view::npos && !left.empty()) return reuse(left, text.substr(equals + 3));
    if (left.starts_with("buf") && text.find('(') != std::string_view::npos) return library(left, text, place);
    if (text.find("_fused_") != std::string_view::npos && left.empty()) return kernel(text, place);
  }

  std::vector<Event> events;

 private:
  struct Buffer {
    Tensor tensor;
    bool written = false;
  };

  void define(const std::string& name, const Dims& sizes, const Dims& strides, const std::string& type, bool written) {
    Tensor made = strided(name, sizes, strides, type);
    made.key = name;
    buffers_[name] = {made, written};
  }

  /// Arguments and results of libraries get their sizes by assertions. Types of arguments stand in the code's
  /// benchmark, those of results are taken for their first source's.
  void assertion(std::string_view text) {
    text.remove_prefix(text.find('(') + 1);
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string name(text.substr(0, comma));
    text.remove_prefix(comma);
    const auto sizes = tuple_at(text), strides = tuple_at(text);
    if (!sizes || !strides) return;
    const auto type = types_.find(name);
    std::string dtype = type == types_.end() ? "float32" : type->second;
    const bool result = !events.empty() && events.back().name == name;
    if (result && !events.back().reads.empty()) dtype = events.back().reads.front().dtype;
    define(name, *sizes, *strides, dtype, true);
    if (result) events.back().writes = {buffers_[name].tensor};
  }

  void allocation(const std::string& name, std::string_view text) {
    text.remove_prefix(text.find("empty_strided"));
    text.remove_prefix(text.find('(') + 1);
    const auto sizes = tuple_at(text), strides = tuple_at(text);
    if (sizes && strides) define(name, *sizes, *strides, torch_type(text), false);
  }

  void reuse(const std::string& name, std::string_view text) {
    const std::vector<std::string> from = buffers_in(text);
    const auto known = from.empty() ? buffers_.end() : buffers_.find(from.front());
    if (known == buffers_.end()) return;
    Buffer made = known->second;
    made.tensor.name = name;  // the key stays: it is the same memory
    buffers_[name] = made;
  }

  void library(const std::string& name, std::string_view text, int64_t place) {
    const std::size_t equals = text.find(" = ") + 3, open = text.find('(', equals);
    Event event{.place = place, .name = name, .kind = std::string(text.substr(equals, open - equals))};
    if (const std::size_t dot = event.kind.rfind('.'); dot != std::string::npos && event.kind.ends_with(".default"))
      event.kind.resize(dot);
    if (const std::size_t dot = event.kind.rfind('.'); dot != std::string::npos) event.kind.erase(0, dot + 1);
    for (const std::string& read : buffers_in(text.substr(open))) add_read(event, read);
    if (event.kind.find("convolution") != std::string::npos && event.reads.size() > 1) event.reads[1].weights = true;
    Tensor made{.name = name};
    made.key = name;
    buffers_[name] = {made, true};
    event.writes.push_back(made);
    events.push_back(std::move(event));
  }

  void add_read(Event& event, const std::string& name) {
    const auto known = buffers_.find(name);
    if (known != buffers_.end()) event.reads.push_back(known->second.tensor);
  }

  void kernel(std::string_view text, int64_t place) {
    const std::size_t open = text.find('(');
    if (open == std::string_view::npos) return;
    std::string name(text.substr(0, open));
    if (name.ends_with(".run")) name.resize(name.size() - 4);
    std::vector<std::string> reads, writes;
    for (const std::string& buffer : buffers_in(text.substr(open))) {
      const auto known = buffers_.find(buffer);
      if (known == buffers_.end()) continue;
      std::vector<std::string>& list = known->second.written ? reads : writes;
      if (std::ranges::find(list, buffer) == list.end()) list.push_back(buffer);
    }
    for (const std::string& buffer : writes) buffers_[buffer].written = true;
    if (!copies_alone(name)) return compute(name, reads, writes, place);
    std::set<std::string> used;
    for (const std::string& written : writes) {
      const Tensor& dst = buffers_[written].tensor;
      const auto source = std::ranges::find_if(reads, [&](const std::string& read) {
        return !used.contains(read) && buffers_[read].tensor.dims == dst.dims;
      });
      if (source == reads.end()) continue;
      used.insert(*source);
      Event event{.place = place, .name = name, .kind = "copy", .reorder = true};
      event.reads.push_back(buffers_[*source].tensor);
      event.writes.push_back(dst);
      event.detail = text;
      events.push_back(std::move(event));
    }
  }

  void compute(const std::string& name, const std::vector<std::string>& reads, const std::vector<std::string>& writes,
               int64_t place) {
    Event event{.place = place, .name = name, .kind = "kernel", .freedom = Freedom::any};
    for (const std::string& read : reads) add_read(event, read);
    for (const std::string& write : writes) event.writes.push_back(buffers_[write].tensor);
    if (writes.empty()) event.writes = event.reads;  // it works in place
    events.push_back(std::move(event));
  }

  std::map<std::string, Buffer> buffers_;
  std::map<std::string, std::string> types_;
};

}  // namespace

Trace read_inductor(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && (text[first] == '{' || text[first] == '[')) return read_torch_trace(text);
  Trace out{.system = "TorchInductor", .source = "generated code", .in_order = false};
  CodeReader reader;
  for_each_line(text, [&](std::string_view line, int64_t) { reader.type(line); });
  for_each_line(text, [&](std::string_view line, int64_t place) { reader.line(line, place); });
  out.events = std::move(reader.events);
  if (out.events.empty())
    throw Error(ErrorCode::parse,
                "explain: the code of TorchInductor calls no kernels; give output_code.py of TORCH_COMPILE_DEBUG=1",
                "text");
  out.notes.push_back("Generated code has no times; a trace of torch.profiler with record_shapes has them.");
  return out;
}

}  // namespace relayout::explaining
