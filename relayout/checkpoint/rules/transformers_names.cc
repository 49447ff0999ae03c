// Expressions of Python as those of ECMAScript, as far as names of tensors need them.
#include "relayout/checkpoint/rules/transformers_names.h"

#include <cctype>

#include "relayout/core/error.h"
#include "relayout/core/print.h"

namespace relayout::checkpoint {
namespace {

bool is_letter_or_digit(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }
bool is_sign(char c) { return std::ispunct(static_cast<unsigned char>(c)) != 0; }

[[noreturn]] void refuse_name(std::string_view text, const std::string& what) {
  throw Error(ErrorCode::unsupported, "\"" + escaped(text, 200) + "\" has " + what + ", which rules do not read",
              "name", escaped(text, 200));
}

std::string literal(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_sign(c) && c != '_') out += '\\';
    out += c;
  }
  return out;
}

/// The length of the group at the front, with its parentheses.
std::size_t group_length(std::string_view whole, std::string_view text) {
  const bool captures = !text.starts_with("(?");
  int open = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '(') {
      if (open++ > 0 && captures && !text.substr(at).starts_with("(?")) refuse_name(whole, "a group inside a group");
    } else if (text[at] == ')' && --open == 0) {
      return at + 1;
    }
  }
  refuse_name(whole, "a parenthesis without its partner");
}

/// Of a group that captures nothing, one in which nothing else does.
std::string without_captures(std::string_view group) {
  std::string out;
  for (std::size_t at = 0; at < group.size(); ++at) {
    out += group[at];
    if (group[at] == '\\' && at + 1 < group.size()) {
      out += group[++at];
    } else if (group[at] == '(' && !group.substr(at).starts_with("(?")) {
      out += "?:";
    }
  }
  return out;
}

class ExpressionReader {
 public:
  explicit ExpressionReader(std::string_view text) : whole_(text), rest_(text) {}

  SourceName read(std::string_view scope, std::string_view base) {
    const bool begins = take("^");
    const bool ends = rest_.ends_with('$') && !rest_.ends_with("\\$");
    if (ends) rest_.remove_suffix(1);
    if (!scope.empty()) {
      const std::string before = base.empty() ? "" : "(?:" + literal(base) + "\\.)?";
      capture("(" + before + literal(scope) + "\\." + (begins ? ")" : ".*?)"));
    } else if (!begins) {
      capture("(.*?)");
    }
    out_.prefix = captures_ > 0;
    const bool bounded = !rest_.empty() && is_letter_or_digit(rest_.back());
    while (!rest_.empty()) piece();
    if (!ends) {
      capture(bounded ? "((?!\\w).*)" : "(.*)");
      out_.rest = captures_;
    }
    out_.pattern = "/" + expression_ + "/";
    return out_;
  }

 private:
  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  void capture(const std::string& group) {
    expression_ += group;
    ++captures_;
  }

  void piece() {
    if (rest_[0] == '(') return group();
    if (take("*.")) {
      if (!expression_.ends_with("\\.")) refuse_name(whole_, "a * that is no whole part of a name");
      capture("(\\d+)");
      expression_ += "\\.";
      ++out_.numbers;
    } else if (rest_[0] == '\\' && rest_.size() > 1 && is_sign(rest_[1])) {
      expression_ += literal(rest_.substr(1, 1));
      rest_.remove_prefix(2);
    } else if (is_letter_or_digit(rest_[0]) || std::string_view("._-:/ ").find(rest_[0]) != std::string_view::npos) {
      expression_ += literal(rest_.substr(0, 1));
      rest_.remove_prefix(1);
    } else {
      refuse_name(whole_, "\"" + escaped(rest_, 20) + "\"");
    }
  }

  void group() {
    const std::string_view text = rest_.substr(0, group_length(whole_, rest_));
    if (text.starts_with("(?<") || text.starts_with("(?P")) refuse_name(whole_, "\"" + escaped(text, 40) + "\"");
    rest_.remove_prefix(text.size());
    if (!rest_.empty() && std::string_view("*+?{").find(rest_[0]) != std::string_view::npos)
      refuse_name(whole_, "a group that is repeated");
    if (text.starts_with("(?")) {
      expression_ += without_captures(text);
    } else {
      capture(std::string(text));
      out_.groups.push_back(captures_);
    }
  }

  std::string_view whole_, rest_;
  SourceName out_;
  std::string expression_;
  int captures_ = 0;
};

}  // namespace

SourceName source_name(std::string_view text, std::string_view scope, std::string_view base) {
  return ExpressionReader(text).read(scope, base);
}

std::string target_name(std::string_view text, const SourceName& source) {
  std::string out = source.prefix ? "{1}" : "";
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at], next = at + 1 < text.size() ? text[at + 1] : '\0';
    if (c == '\\' && next >= '1' && next <= '9') {
      const auto group = static_cast<std::size_t>(next - '1');
      if (group >= source.groups.size()) refuse_name(text, "a \\" + std::string(1, next) + " without its group");
      out += "{" + std::to_string(source.groups[group]) + "}";
      ++at;
    } else if (c == '\\' && is_sign(next)) {
      out += next;
      ++at;
    } else if (c == '*') {
      out += "{i}";
    } else if (c == '^' && at == 0) {
      continue;
    } else if (std::string_view("\\{}()[]+?|$").find(c) != std::string_view::npos) {
      refuse_name(text, "\"" + std::string(1, c) + "\"");
    } else {
      out += c;
    }
  }
  if (source.rest > 0) out += "{" + std::to_string(source.rest) + "}";
  return out;
}

}  // namespace relayout::checkpoint
