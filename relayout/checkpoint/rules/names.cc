// Patterns of names as regular expressions, templates as pieces, and how one becomes the other.
#include "relayout/checkpoint/rules/names.h"

#include <algorithm>
#include <cctype>
#include <regex>

#include "relayout/core/error.h"
#include "relayout/core/print.h"

namespace relayout::checkpoint {
namespace {

constexpr std::size_t kMostCharacters = 1000;

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_expression(std::string_view text) { return text.size() >= 2 && text.front() == '/' && text.back() == '/'; }

[[noreturn]] void fail_text(const char* what, std::string_view text, const std::string& why) {
  throw Error(ErrorCode::parse, std::string(what) + " \"" + escaped(text, 200) + "\": " + why, what,
              escaped(text, 200));
}

std::vector<NamePattern::Piece> glob_pieces(std::string_view text) {
  std::vector<NamePattern::Piece> out(1);
  for (const char c : text) {
    if (c == '*' || c == '?' || c == '#') {
      out.back().wildcard = c;
      out.emplace_back();
    } else {
      out.back().literal += c;
    }
  }
  return out;
}

/// The group at the front of an expression, with its parentheses; "" where there is none, or one with groups inside.
std::string_view group_at(std::string_view text) {
  if (!text.starts_with('(') || text.starts_with("(?")) return {};
  int open = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '(') {
      if (open++ > 0 && !text.substr(at).starts_with("(?")) return {};
    } else if (text[at] == ')' && --open == 0) {
      return text.substr(0, at + 1);
    }
  }
  return {};
}

/// Of an expression that has literal text and groups alone.
std::optional<std::vector<NamePattern::Piece>> expression_pieces(std::string_view text) {
  std::vector<NamePattern::Piece> out(1);
  while (!text.empty()) {
    const std::string_view group = group_at(text);
    if (!group.empty()) {
      out.back().wildcard = group == "(\\d+)" ? '#' : '*';
      out.back().group = group;
      out.emplace_back();
      text.remove_prefix(group.size());
      continue;
    }
    if (text[0] == '\\' && text.size() > 1 && std::ispunct(static_cast<unsigned char>(text[1]))) {
      out.back().literal += text[1];
      text.remove_prefix(2);
    } else if (std::isalnum(static_cast<unsigned char>(text[0])) || text[0] == '_' || text[0] == '-') {
      out.back().literal += text[0];
      text.remove_prefix(1);
    } else {
      return std::nullopt;
    }
    // A sign behind it says how often it stands there.
    if (!text.empty() && std::string_view("*+?{").find(text[0]) != std::string_view::npos) return std::nullopt;
  }
  return out;
}

/// Literal text as an expression has it.
std::string expression_text(std::string_view literal) {
  std::string out;
  for (const char c : literal) {
    if (std::ispunct(static_cast<unsigned char>(c)) && c != '_') out += '\\';
    out += c;
  }
  return out;
}

/// A character of UTF-8, or a byte that begins none.
constexpr const char* kOneCharacter = "([^\x80-\xff]|[\xc0-\xff][\x80-\xbf]*|[\x80-\xbf])";

std::string expression_of(const std::vector<NamePattern::Piece>& pieces) {
  std::string out;
  for (const NamePattern::Piece& piece : pieces) {
    out += expression_text(piece.literal);
    if (piece.wildcard != 0) out += piece.wildcard == '*' ? "(.*)" : piece.wildcard == '?' ? kOneCharacter : "(\\d+)";
  }
  return out;
}

}  // namespace

struct NamePattern::Compiled {
  std::regex expression;
  std::vector<std::string> literals;  // which a name has that matches, as looking for them is quick
};

NamePattern NamePattern::parse(std::string_view text) {
  if (text.empty()) fail_text("pattern", text, "it is empty; * matches every name");
  if (text.size() > kMostCharacters) fail_text("pattern", text, "it has over 1000 characters");
  const std::string expression =
      is_expression(text) ? std::string(text.substr(1, text.size() - 2)) : expression_of(glob_pieces(text));
  NamePattern out;
  out.text_ = text;
  try {
    std::vector<std::string> literals;
    for (Piece& piece : out.pieces().value_or(std::vector<Piece>{}))
      if (!piece.literal.empty()) literals.push_back(std::move(piece.literal));
    out.compiled_ = std::make_shared<const Compiled>(Compiled{std::regex(expression), std::move(literals)});
  } catch (const std::regex_error& error) {
    fail_text("pattern", text, std::string("it is no regular expression: ") + error.what());
  }
  return out;
}

std::optional<Captures> NamePattern::match(std::string_view name) const {
  if (name.size() > kMostCharacters) return std::nullopt;
  for (const std::string& literal : compiled_->literals)
    if (name.find(literal) == name.npos) return std::nullopt;
  std::match_results<std::string_view::const_iterator> found;
  if (!std::regex_match(name.begin(), name.end(), found, compiled_->expression)) return std::nullopt;
  Captures out;
  for (std::size_t i = 1; i < found.size(); ++i) out.push_back(found[i].str());
  return out;
}

int NamePattern::captures() const { return static_cast<int>(compiled_->expression.mark_count()); }

std::optional<std::vector<NamePattern::Piece>> NamePattern::pieces() const {
  if (!is_expression(text_)) return glob_pieces(text_);
  return expression_pieces(std::string_view(text_).substr(1, text_.size() - 2));
}

NameTemplate NameTemplate::parse(std::string_view text) {
  if (text.empty()) fail_text("name", text, "it is empty");
  NameTemplate out;
  out.text_ = text;
  Piece piece;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '}') fail_text("name", text, "} without {");
    if (text[at] != '{') {
      piece.literal += text[at];
      continue;
    }
    const bool closed = at + 2 < text.size() && text[at + 2] == '}';
    const char what = closed ? text[at + 1] : '\0';
    if (what != 'i' && (!is_digit(what) || what == '0'))
      fail_text("name", text, "in braces stand {1} to {9}, a capture of the pattern, or {i}, a count");
    piece.capture = what == 'i' ? 0 : what - '0';
    out.captures_ = std::max(out.captures_, piece.capture);
    out.pieces_.push_back(std::exchange(piece, {}));
    at += 2;
  }
  out.pieces_.push_back(piece);
  return out;
}

bool NameTemplate::names(int number) const {
  return std::ranges::any_of(pieces_, [&](const Piece& piece) { return piece.capture == number; });
}

std::string NameTemplate::with(const Captures& captures, int64_t i) const {
  std::string out;
  for (const Piece& piece : pieces_) {
    out += piece.literal;
    if (piece.capture == 0) out += std::to_string(i);
    if (piece.capture > 0) out += captures.at(static_cast<std::size_t>(piece.capture) - 1);
  }
  return out;
}

std::optional<InverseNames> inverse_names(const NamePattern& pattern, const NameTemplate& made, bool counts) {
  const auto pieces = pattern.pieces();
  if (!pieces) return std::nullopt;
  const bool expression = is_expression(pattern.text());
  std::vector<const NamePattern::Piece*> captures;  // in the pattern's order
  for (const NamePattern::Piece& piece : *pieces)
    if (piece.wildcard != 0) captures.push_back(&piece);
  InverseNames out;
  std::vector<int> place(captures.size(), 0);  // where each capture stands in the new pattern
  int next = 0;
  for (const NameTemplate::Piece& piece : made.pieces()) {
    if (!expression && piece.literal.find_first_of("*?#") != std::string::npos) return std::nullopt;
    out.pattern += expression ? expression_text(piece.literal) : piece.literal;
    if (piece.capture < 0) continue;
    ++next;
    if (piece.capture == 0) {
      if (!counts) return std::nullopt;
      out.pattern += expression ? "(\\d+)" : "#";
      continue;
    }
    const auto capture = static_cast<std::size_t>(piece.capture) - 1;
    if (capture >= captures.size()) return std::nullopt;
    out.pattern += expression ? captures[capture]->group : std::string(1, captures[capture]->wildcard);
    if (place[capture] == 0) place[capture] = next;
  }
  std::size_t capture = 0;
  for (const NamePattern::Piece& piece : *pieces) {
    if (piece.literal.find_first_of("{}") != std::string::npos) return std::nullopt;
    out.made += piece.literal;
    if (piece.wildcard == 0) continue;
    const int at = place[capture++];
    if (at == 0 && (!counts || piece.wildcard != '#')) return std::nullopt;
    if (at == 0) ++out.counted;
    out.made += at == 0 ? "{i}" : "{" + std::to_string(at) + "}";
  }
  if (expression) out.pattern = "/" + out.pattern + "/";
  return out;
}

bool names_in_order(std::string_view a, std::string_view b) {
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const auto number = [](std::string_view text, std::size_t& at) {
        while (at + 1 < text.size() && text[at] == '0' && is_digit(text[at + 1])) ++at;
        const std::size_t begin = at;
        while (at < text.size() && is_digit(text[at])) ++at;
        return text.substr(begin, at - begin);
      };
      const std::string_view x = number(a, i), y = number(b, j);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
    } else {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
    }
  }
  return a.size() - i < b.size() - j;
}

}  // namespace relayout::checkpoint
