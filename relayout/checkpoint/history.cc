// The rules that a checkpoint records.
#include "relayout/checkpoint/history.h"

#include <algorithm>

#include "relayout/core/error.h"

namespace relayout::checkpoint {
namespace {

constexpr std::string_view kBegin = "[[rule]]\n";

std::string without_line_ends(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace

RuleHistory::RuleHistory(const Checkpoint& model) {
  const MetadataValue* value = model.find_metadata(kRulesKey);
  if (!value || value->type() != ValueType::text) return;
  const std::string& text = value->text();
  for (std::size_t at = text.find(kBegin); at != text.npos;) {
    const std::size_t next = text.find("\n" + std::string(kBegin), at);
    entries_.push_back(without_line_ends(text.substr(at, next == text.npos ? next : next - at)));
    at = next == text.npos ? next : next + 1;
  }
}

int64_t RuleHistory::last(const Rule& rule) const {
  const auto found = std::ranges::find(entries_.rbegin(), entries_.rend(), without_line_ends(toml_of(rule)));
  return entries_.rend() - found - 1;
}

int64_t RuleHistory::last_inverse(const Rule& rule) const {
  try {
    return last(inverse_of(rule));
  } catch (const Error&) {
    return -1;  // it loses something, so nothing has undone it
  }
}

bool RuleHistory::applied(const Rule& rule) const {
  const int64_t at = last(rule);
  return at >= 0 && at > last_inverse(rule);
}

bool RuleHistory::undoes(const Rule& rule) const {
  const int64_t at = last_inverse(rule);
  return at >= 0 && at > last(rule);
}

void RuleHistory::add(const Rule& rule) { entries_.push_back(without_line_ends(toml_of(rule))); }

std::string RuleHistory::text() const {
  std::string out;
  for (const std::string& entry : entries_) out += (out.empty() ? "" : "\n") + entry + "\n";
  return out;
}

}  // namespace relayout::checkpoint
