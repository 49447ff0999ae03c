// A backend's answers as lines of text, each parsed when its question is asked: see remembering_backend.h.
#include "relayout/execute/measure/remembering_backend.h"

#include <charconv>
#include <mutex>
#include <unordered_map>

#include "relayout/execute/measure/cost_cache.h"
#include "relayout/io/text_file.h"

namespace relayout::execute {

using graph::CostKey;
using graph::Graph;
using graph::Implementation;
using graph::kNone;
using graph::Node;
using graph::NodeId;
using graph::TensorId;

namespace {

namespace fs = std::filesystem;

/// The number of entries needs no limit of its own, because the size of the file is limited.
constexpr io::EntryFile kFile{"file of implementations", "relayout-implementations", "1", std::size_t{1} << 30};
constexpr std::string_view kHeader = "relayout-implementations 1\n";
constexpr std::size_t kQuestionDigits = 32;

void append(std::string& text, int64_t value) {
  char digits[24];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr).push_back(' ');
}

void append(std::string& text, const std::optional<Layout>& layout) {
  if (!layout) return append(text, int64_t{-1});
  append(text, int64_t{layout->ndims()});
  for (int d = 0; d < layout->ndims(); ++d) {
    append(text, layout->dim(d));
    append(text, static_cast<int64_t>(layout->digits(d).size()));
    for (const Digit& digit : layout->digits(d)) append(text, digit.extent), append(text, digit.stride);
  }
  append(text, layout->offset0());
}

/// One line without its end.
std::string text_of(const std::vector<Implementation>& answer) {
  std::string out;
  append(out, static_cast<int64_t>(answer.size()));
  for (const Implementation& implementation : answer) {
    out += implementation.name + ' ';
    append(out, int64_t{implementation.reference} + 2 * int64_t{implementation.rounds_more});
    for (const auto* layouts : {&implementation.src, &implementation.dst}) {
      for (const std::optional<Layout>& layout : *layouts) append(out, layout);
    }
    append(out, static_cast<int64_t>(implementation.opaque.size()));
    for (const std::optional<graph::Opaque>& opaque : implementation.opaque) {
      append(out, int64_t{opaque.has_value()});
      if (!opaque) continue;
      out += opaque->name + ' ';
      append(out, opaque->bytes), append(out, static_cast<int64_t>(opaque->hash));
    }
  }
  return out;
}

/// The words of a line, one after the other. A word that should be a number but is none is read as -2.
class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) {}
  std::string_view word() {
    const std::size_t end = std::min(rest_.find(' '), rest_.size());
    const std::string_view out = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return out;
  }
  int64_t number() {
    const std::string_view text = word();
    int64_t out = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc() && end == text.data() + text.size() ? out : -2;
  }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

/// The layout that the words describe; nothing if they describe none, or one of other dims. `digits` is working memory.
std::optional<Layout> read_layout(Words& words, const Dims& dims, std::vector<Digits>& digits) {
  if (words.number() != dims.size()) return std::nullopt;
  digits.resize(static_cast<std::size_t>(dims.size()));
  for (Digits& each : digits) each.clear();
  int total = 0;
  for (int d = 0; d < dims.size(); ++d) {
    const int64_t dim = words.number(), count = words.number();
    if (dim != dims[d] || count < 1 ||
        (total += static_cast<int>(std::min<int64_t>(count, kMaxDigits + 1))) > kMaxDigits)
      return std::nullopt;
    for (int64_t k = 0; k < count; ++k) {
      const int64_t extent = words.number(), stride = words.number();
      digits[static_cast<std::size_t>(d)].push_back({extent, stride});
    }
  }
  return Layout::from_digits(dims, digits, words.number());
}

/// The answer that the text holds; nothing if it does not fit the node.
std::optional<std::vector<Implementation>> answer_of(std::string_view text, const Graph& graph, const Node& node,
                                                     const std::string& backend) {
  Words words(text);
  std::vector<Implementation> out;
  std::vector<Digits> digits;
  const int64_t count = words.number();
  if (count < 0 || count > static_cast<int64_t>(text.size())) return std::nullopt;
  // Layouts are large. Each is made in its final place, to avoid copies.
  out.reserve(static_cast<std::size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    Implementation& implementation = out.emplace_back(Implementation{.name = std::string(words.word())});
    const int64_t flags = words.number();
    implementation.reference = flags == 1;
    implementation.rounds_more = flags == 2;
    implementation.src.reserve(node.src.size());
    implementation.dst.reserve(node.dst.size());
    for (const auto& [operands, layouts] :
         {std::pair{&node.src, &implementation.src}, std::pair{&node.dst, &implementation.dst}}) {
      for (TensorId t : *operands) {
        if (t == kNone) {
          if (words.number() != -1) return std::nullopt;
          layouts->emplace_back();
        } else {
          layouts->push_back(read_layout(words, graph.tensor(t).dims, digits));
          if (!layouts->back()) return std::nullopt;
        }
      }
    }
    const int64_t opaque = words.number();
    if (opaque != 0 && opaque != std::ssize(node.src)) return std::nullopt;
    for (int64_t k = 0; k < opaque; ++k) {
      std::optional<graph::Opaque>& one = implementation.opaque.emplace_back();
      if (words.number() != 1) continue;
      one = graph::Opaque{.backend = backend, .name = std::string(words.word()), .bytes = words.number(), .hash = 0};
      one->hash = static_cast<uint64_t>(words.number());
    }
  }
  return words.empty() ? std::optional(std::move(out)) : std::nullopt;
}

std::string text_of(const CostKey& key) {
  std::string out(kQuestionDigits, '0');
  for (std::size_t i = 0; i < kQuestionDigits; ++i) {
    const uint64_t word = i < kQuestionDigits / 2 ? key.high : key.low;
    out[i] = "0123456789abcdef"[word >> (60 - 4 * (i % 16)) & 15];
  }
  return out;
}

/// Lines of the file's text by key.
using Lines = std::unordered_map<std::string_view, std::string_view>;

Lines lines_of(std::string_view text, const fs::path& path) {
  Lines out;
  io::read_own_entries(kFile, path, text, [&](std::string_view line) {
    if (line.size() <= kQuestionDigits || line[kQuestionDigits] != ' ') return "is no answer";
    return out.emplace(line.substr(0, kQuestionDigits), line.substr(kQuestionDigits + 1)).second ? "" : "repeats a key";
  });
  return out;
}

}  // namespace

struct RememberingBackend::Impl {
  Impl(const graph::Backend& b, fs::path f) : backend(b), file(std::move(f)), environment(environment_key(b)) {
    if (file.empty()) return;
    try {
      if (std::optional<std::string> found = io::read_text(file, kMaxFileBytes)) {
        text = std::move(*found);
        lines = lines_of(text, file);
      }
    } catch (const Error& error) {
      file_error = error;
      writable = error.code() == ErrorCode::corrupt;
      lines.clear();
    }
  }

  /// The line that answers the question of that key, from this process or the file. Lines are kept rather than layouts,
  /// which need more memory.
  std::optional<std::string_view> line(const std::string& key) const {
    if (const auto found = fresh.find(key); found != fresh.end()) return found->second;
    if (const auto found = saved.find(key); found != saved.end()) return found->second;
    if (const auto found = lines.find(key); found != lines.end()) return found->second;
    return std::nullopt;
  }

  /// Writes new answers together with those that the file has by now.
  void write();

  const graph::Backend& backend;
  fs::path file;
  CostKey environment;
  std::string text;  // the text of the file
  Lines lines;
  std::unordered_map<std::string, std::string> fresh;  // not yet in the file
  std::unordered_map<std::string, std::string> saved;  // written to the file after it was read
  std::optional<Error> file_error;
  bool writable = true;
  std::mutex mutex;  // protects everything that changes after construction
  int64_t remembered = 0, asked = 0;
};

RememberingBackend::RememberingBackend(const graph::Backend& backend, fs::path file)
    : impl_(std::make_unique<Impl>(backend, std::move(file))) {}

RememberingBackend::~RememberingBackend() {
  try {
    save();
  } catch (const std::exception&) {  // unsaved answers are asked for again by the next process
  }
}

std::string RememberingBackend::name() const { return impl_->backend.name(); }
std::string RememberingBackend::settings() const { return impl_->backend.settings(); }
int RememberingBackend::threads() const { return impl_->backend.threads(); }
const std::optional<Error>& RememberingBackend::file_error() const { return impl_->file_error; }
int64_t RememberingBackend::remembered() const { return impl_->remembered; }
int64_t RememberingBackend::asked() const { return impl_->asked; }

std::vector<Implementation> RememberingBackend::implementations(const Graph& graph, NodeId id,
                                                                std::span<const graph::LayoutRequest> src,
                                                                std::span<const graph::LayoutRequest> dst,
                                                                const Implementation* forward) const {
  const CostKey question = graph::question_key(graph, id, src, dst, forward);
  const std::string name = text_of(graph::KeyMaker(impl_->environment).add(question.high).add(question.low).key());
  const std::lock_guard lock(impl_->mutex);
  if (const auto line = impl_->line(name)) {
    try {
      if (auto answer = answer_of(*line, graph, graph.node(id), impl_->backend.name())) {
        ++impl_->remembered;
        return std::move(*answer);
      }
    } catch (const Error&) {  // the line describes an impossible layout: ask the backend
    }
  }
  ++impl_->asked;
  std::vector<Implementation> out = impl_->backend.implementations(graph, id, src, dst, forward);
  impl_->fresh[name] = text_of(out);
  return out;
}

graph::Performance RememberingBackend::performance(const Graph& graph, NodeId node,
                                                   const Implementation& implementation) const {
  return impl_->backend.performance(graph, node, implementation);
}

std::unique_ptr<graph::Executable> RememberingBackend::make(const Graph& graph, NodeId node,
                                                            const Implementation& implementation,
                                                            const Implementation* forward_implementation,
                                                            graph::Executable* forward) const {
  return impl_->backend.make(graph, node, implementation, forward_implementation, forward);
}

void RememberingBackend::reorder_into(const Graph& graph, NodeId node, const Implementation& implementation,
                                      std::size_t operand, const void* src, void* dst) const {
  impl_->backend.reorder_into(graph, node, implementation, operand, src, dst);
}
void RememberingBackend::reorder_out_of(const Graph& graph, NodeId node, const Implementation& implementation,
                                        std::size_t operand, const void* src, void* dst) const {
  impl_->backend.reorder_out_of(graph, node, implementation, operand, src, dst);
}

void RememberingBackend::Impl::write() {
  std::error_code error;
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), error);  // FileLock reports it
  const io::FileLock file_lock(file);
  std::string empty(kHeader);
  empty.append("end 0\n");
  const std::string there = io::read_text(file, kMaxFileBytes).value_or(empty);
  Lines kept;
  try {
    kept = lines_of(there, file);
  } catch (const Error& wrong) {
    if (wrong.code() != ErrorCode::corrupt) throw;
  }
  std::string out(kHeader);
  std::size_t count = 0;
  const auto add = [&](std::string_view key, std::string_view answer) {
    if (static_cast<int64_t>(out.size() + answer.size()) + 100 > kMaxFileBytes) return;
    out.append(key).append(" ").append(answer).append("\n");
    ++count;
  };
  for (const auto& [key, answer] : fresh) add(key, answer);
  for (const auto& [key, answer] : kept) {
    if (!fresh.contains(std::string(key))) add(key, answer);
  }
  io::replace_text(file, out + "end " + std::to_string(count) + "\n");
  saved.merge(fresh);
  fresh.clear();
}

void RememberingBackend::save() {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->file.empty() || impl_->fresh.empty() || !impl_->writable) return;
  try {
    impl_->write();
    if (impl_->file_error && impl_->file_error->code() != ErrorCode::corrupt) impl_->file_error.reset();
  } catch (const Error& error) {
    impl_->file_error = error;
    throw;
  }
}

std::unique_ptr<RememberingBackend> remembering_backend(const graph::Backend& backend, fs::path file) {
  return std::make_unique<RememberingBackend>(backend, std::move(file));
}

fs::path default_implementations_file() {
  const fs::path costs = default_cost_file();
  return costs.empty() ? costs : costs.parent_path() / "implementations.txt";
}

}  // namespace relayout::execute
