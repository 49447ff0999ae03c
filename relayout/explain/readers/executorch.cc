// Programs of ExecuTorch as traces: the text that print(edge_program.exported_program()) gives, whose lines are
//
//     conv: "f32[1, 16, 32, 32]" = executorch_exir_dialects_edge__ops_aten_convolution_default(x, w, b, ...);  x = None
//     copy: "f32[...]" = executorch_exir_dialects_edge__ops_dim_order_ops__to_dim_order_copy_default(conv, dtype =
//         torch.float32, dim_order = [0, 2, 3, 1])
//
// _to_dim_order_copy and _clone_dim_order are the reorders. The dim order of every other result is that of its first
// tensor of the same rank; placeholders are in the order of their dims. There are no times in a program.
#include <charconv>
#include <map>

#include "relayout/explain/readers.h"
#include "relayout/explain/readers/tensors.h"

namespace relayout::explaining {
namespace {

constexpr std::string_view kEdge = "executorch_exir_dialects_edge__ops_";

/// A result as a line names it: its name, and its type and dims of "f32[1, 3, 4]".
struct Annotated {
  std::string name, dtype;
  std::optional<Dims> dims;
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// The numbers of "1, 3, 4" up to the first letter that is neither digit, comma nor blank.
std::optional<Dims> numbers_in(std::string_view text) {
  Dims out;
  while (!text.empty()) {
    while (!text.empty() && (text.front() == ' ' || text.front() == ',')) text.remove_prefix(1);
    int64_t value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    if (read.ec != std::errc() || out.size() == kMaxDims) break;
    out.push_back(value);
    text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  }
  if (!trimmed(text).empty()) return std::nullopt;
  return out;
}

/// Reads `name: "f32[1, 3]"`, and a name alone.
Annotated annotated(std::string_view text) {
  Annotated out;
  const std::size_t colon = text.find(':');
  out.name = trimmed(text.substr(0, colon));
  const std::size_t open = text.find('"'), bracket = text.find('[');
  if (colon == std::string_view::npos || open == std::string_view::npos || bracket == std::string_view::npos)
    return out;
  out.dtype = text.substr(open + 1, bracket - open - 1);
  out.dims = numbers_in(text.substr(bracket + 1, text.find(']') - bracket - 1));
  return out;
}

std::vector<std::string> names_in(std::string_view arguments) {
  std::vector<std::string> out;
  std::string word;
  for (const char letter : arguments) {
    const bool part = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || letter == '_' ||
                      letter == '.' || (letter >= '0' && letter <= '9');
    if (part) {
      word += letter;
    } else if (!word.empty()) {
      out.push_back(std::move(word));
      word.clear();
    }
  }
  if (!word.empty()) out.push_back(std::move(word));
  return out;
}

std::vector<int> identity_order(int rank) {
  std::vector<int> out;
  for (int d = 0; d < rank; ++d) out.push_back(d);
  return out;
}

class ProgramReader {
 public:
  void placeholders(std::string_view arguments) {
    for (std::size_t at = 0; (at = arguments.find(": \"", at)) != std::string_view::npos; ++at) {
      const std::size_t start = arguments.find_last_of(" ,(", at - 1);
      const std::size_t from = start == std::string_view::npos ? 0 : start + 1;
      const std::size_t end = arguments.find('"', at + 3);
      Annotated found = annotated(arguments.substr(from, end - from + 1));
      add(found, identity_order(found.dims ? found.dims->size() : 0), found.name.starts_with("p_"));
    }
  }

  void call(std::string_view line, int64_t place) {
    const std::size_t equals = line.find(" = "), target = line.find(kEdge);
    if (equals == std::string_view::npos || target == std::string_view::npos || target < equals) return;
    const std::size_t open = line.find('(', target);
    if (open == std::string_view::npos) return;
    const std::string_view arguments = line.substr(open + 1, line.rfind(')') - open - 1);
    Annotated result = annotated(line.substr(0, equals));
    Event event{.place = place, .name = result.name};
    event.kind = line.substr(target + kEdge.size(), open - target - kEdge.size());
    for (const std::string& argument : names_in(arguments)) {
      const auto known = tensors_.find(argument);
      if (known != tensors_.end()) event.reads.push_back(known->second);
    }
    const bool moves = event.kind.find("_to_dim_order_copy") != std::string::npos ||
                       event.kind.find("_clone_dim_order") != std::string::npos;
    std::vector<int> order = order_of_reads(event, result);
    if (moves) {
      if (const std::size_t at = arguments.find("dim_order = ["); at != std::string_view::npos) {
        const std::string_view rest = arguments.substr(at + 13);
        if (const auto dims = numbers_in(rest.substr(0, rest.find(']')))) {
          order.clear();
          for (const int64_t d : *dims) order.push_back(static_cast<int>(d));
        }
      }
    }
    event.reorder = moves && !event.reads.empty();
    event.freedom = event.kind.find("convolution") != std::string::npos ? Freedom::channels_last : Freedom::any;
    event.writes.push_back(add(result, order, false));
    events.push_back(std::move(event));
  }

  std::vector<Event> events;

 private:
  static std::vector<int> order_of_reads(const Event& event, const Annotated& result) {
    const int rank = result.dims ? result.dims->size() : 0;
    for (const Tensor& tensor : event.reads) {
      if (!tensor.dims || tensor.dims->size() != rank || tensor.weights) continue;
      std::vector<int> out;
      for (const char letter : tensor.layout) out.push_back(letter - 'a');
      return out;
    }
    return identity_order(rank);
  }

  Tensor add(const Annotated& result, const std::vector<int>& order, bool weights) {
    Tensor made = described(result.name, reordered_tag(order), result.dims, result.dtype);
    made.key = result.name;
    made.weights = weights;
    return tensors_[result.name] = made;
  }

  std::map<std::string, Tensor> tensors_;
};

}  // namespace

Trace read_executorch(std::string_view text) {
  Trace out{.system = "ExecuTorch", .source = "exported program", .in_order = false};
  ProgramReader reader;
  for (int64_t place = 1; !text.empty(); ++place) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find("def forward(") != std::string_view::npos)
      reader.placeholders(line);
    else
      reader.call(line, place);
  }
  out.events = std::move(reader.events);
  if (out.events.empty())
    throw Error(ErrorCode::parse,
                "explain: the text has no calls of ExecuTorch's edge operators; give what "
                "print(edge_program.exported_program()) writes",
                "text");
  out.notes.push_back("A program has no times. Dim orders are followed from operator to operator.");
  return out;
}

}  // namespace relayout::explaining
