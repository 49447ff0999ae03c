// The rules that a checkpoint records.
#include "relayout/checkpoint/history.h"

#include <algorithm>

#include "relayout/core/error.h"
#include "relayout/core/print.h"

namespace relayout::checkpoint {
namespace {

constexpr std::string_view kBegin = "[[rule]]\n", kExcept = "\n# not applied to ";

/// A name on one line: a line end and a backslash in it are \\n and \\\\.
std::string one_line(std::string_view name) {
  std::string out;
  for (const char c : name) out += c == '\n' ? "\\n" : c == '\\' ? "\\\\" : std::string(1, c);
  return out;
}
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool pair = text[i] == '\\' && i + 1 < text.size();
    if (pair) ++i;
    out += pair && text[i] == 'n' ? '\n' : text[i];
  }
  return out;
}

std::string without_line_ends(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace

RuleHistory::RuleHistory(const Checkpoint& model) {
  const CheckpointFile* first = nullptr;
  for (const CheckpointFile& file : model.files()) {
    if (file.problem) continue;
    if (first == nullptr) first = &file;
    if (file.rules != first->rules && !differing_)
      differing_ = {first->path.filename().native(), file.path.filename().native()};
  }
  const MetadataValue* value = model.find_metadata(kRulesKey);
  if (!value || value->type() != ValueType::text) return;
  const std::string& text = value->text();
  for (std::size_t at = text.find(kBegin); at != text.npos;) {
    const std::size_t next = text.find("\n" + std::string(kBegin), at);
    Entry entry{.toml = without_line_ends(text.substr(at, next == text.npos ? next : next - at))};
    for (std::size_t line = entry.toml.find(kExcept); line != entry.toml.npos; line = entry.toml.find(kExcept)) {
      const std::size_t end = std::min(entry.toml.find('\n', line + 1), entry.toml.size());
      entry.except.push_back(unescaped(entry.toml.substr(line + kExcept.size(), end - line - kExcept.size())));
      entry.toml.erase(line, end - line);
    }
    entries_.push_back(std::move(entry));
    at = next == text.npos ? next : next + 1;
  }
}

int64_t RuleHistory::last(const Rule& rule) const {
  const auto found =
      std::ranges::find(entries_.rbegin(), entries_.rend(), without_line_ends(toml_of(rule)), &Entry::toml);
  return entries_.rend() - found - 1;
}

int64_t RuleHistory::last_inverse(const Rule& rule) const {
  try {
    return last(inverse_of(rule));
  } catch (const Error&) {
    return -1;  // it loses something, so nothing has undone it
  }
}

bool RuleHistory::applied(const Rule& rule, std::string_view name) const {
  if (differing_)
    throw Error(ErrorCode::invalid_argument,
                rule.where + ": files \"" + escaped(differing_->first, 200) + "\" and \"" +
                    escaped(differing_->second, 200) +
                    "\" record different rules as applied, so that it is not known to which tensors this one was; "
                    "convert each file alone",
                "rule", rule.where);
  const int64_t at = last(rule);
  if (at < 0 || at <= last_inverse(rule)) return false;
  const std::vector<std::string>& except = entries_[static_cast<std::size_t>(at)].except;
  return std::ranges::find(except, name) == except.end();
}

bool RuleHistory::undoes(const Rule& rule) const {
  const int64_t at = last_inverse(rule);
  return at >= 0 && at > last(rule);
}

void RuleHistory::add(const Rule& rule, std::vector<std::string> except) {
  entries_.push_back({without_line_ends(toml_of(rule)), std::move(except)});
}

std::string RuleHistory::text() const {
  std::string out;
  for (const Entry& entry : entries_) {
    out += (out.empty() ? "" : "\n") + entry.toml;
    for (const std::string& name : entry.except) out += std::string(kExcept) + one_line(name);
    out += "\n";
  }
  return out;
}

std::vector<std::string> not_applied_to(const Checkpoint& model, const Rules& rules, std::size_t rule,
                                        const std::vector<Target>& targets) {
  std::vector<std::string> out;
  const Rule& it = rules.rules[rule];
  // Layouts and packed formats have a record a tensor, and a rule that goes on takes all names that it matches.
  if (it.go_on || !(it.permute || it.split || it.merge || it.rename)) return out;
  const auto matches = [&](const std::string& name) {
    return std::ranges::any_of(it.match, [&](const NamePattern& pattern) { return pattern.match(name).has_value(); });
  };
  for (const Target& target : targets)
    if (target.rule != rule && !target.pieces.empty() && matches(target.spec.name) &&
        matches(model.tensors()[target.pieces[0].source].name))
      out.push_back(target.spec.name);
  return out;
}

}  // namespace relayout::checkpoint
