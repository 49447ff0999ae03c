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

/// Of an expression between slashes that has literal text, (\d+) and (.*) alone.
std::optional<std::vector<NamePattern::Piece>> expression_pieces(std::string_view text) {
  std::vector<NamePattern::Piece> out(1);
  while (!text.empty()) {
    const auto takes = [&](std::string_view group, char wildcard) {
      if (!text.starts_with(group)) return false;
      out.back().wildcard = wildcard;
      out.emplace_back();
      text.remove_prefix(group.size());
      return true;
    };
    if (takes("(\\d+)", '#') || takes("(.*)", '*') || takes("(.+)", '*')) continue;
    if (text[0] == '\\' && text.size() > 1 && std::ispunct(static_cast<unsigned char>(text[1]))) {
      out.back().literal += text[1];
      text.remove_prefix(2);
    } else if (std::isalnum(static_cast<unsigned char>(text[0])) || text[0] == '_' || text[0] == '-') {
      out.back().literal += text[0];
      text.remove_prefix(1);
    } else {
      return std::nullopt;
    }
  }
  return out;
}

/// A character of UTF-8, or a byte that begins none.
constexpr const char* kOneCharacter = "([^\x80-\xff]|[\xc0-\xff][\x80-\xbf]*|[\x80-\xbf])";

std::string expression_of(const std::vector<NamePattern::Piece>& pieces) {
  std::string out;
  for (const NamePattern::Piece& piece : pieces) {
    for (const char c : piece.literal) {
      if (std::ispunct(static_cast<unsigned char>(c)) && c != '_') out += '\\';
      out += c;
    }
    if (piece.wildcard != 0) out += piece.wildcard == '*' ? "(.*)" : piece.wildcard == '?' ? kOneCharacter : "(\\d+)";
  }
  return out;
}

}  // namespace

struct NamePattern::Compiled {
  std::regex expression;
};

NamePattern NamePattern::parse(std::string_view text) {
  if (text.empty()) fail_text("pattern", text, "it is empty; * matches every name");
  if (text.size() > kMostCharacters) fail_text("pattern", text, "it has over 1000 characters");
  const std::string expression =
      is_expression(text) ? std::string(text.substr(1, text.size() - 2)) : expression_of(glob_pieces(text));
  NamePattern out;
  out.text_ = text;
  try {
    out.compiled_ = std::make_shared<const Compiled>(Compiled{std::regex(expression)});
  } catch (const std::regex_error& error) {
    fail_text("pattern", text, std::string("it is no regular expression: ") + error.what());
  }
  return out;
}

std::optional<Captures> NamePattern::match(std::string_view name) const {
  if (name.size() > kMostCharacters) return std::nullopt;
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

std::optional<InverseNames> inverse_names(const NamePattern& pattern, const NameTemplate& made) {
  const auto pieces = pattern.pieces();
  if (!pieces) return std::nullopt;
  std::vector<char> wildcards;  // of the captures, in the pattern's order
  for (const NamePattern::Piece& piece : *pieces)
    if (piece.wildcard != 0) wildcards.push_back(piece.wildcard);
  InverseNames out;
  std::vector<int> place(wildcards.size(), 0);  // where each capture stands in the new pattern
  int next = 0;
  for (const NameTemplate::Piece& piece : made.pieces()) {
    if (piece.literal.find_first_of("*?#") != std::string::npos) return std::nullopt;
    out.pattern += piece.literal;
    if (piece.capture == 0) return std::nullopt;
    if (piece.capture < 0) continue;
    const auto capture = static_cast<std::size_t>(piece.capture) - 1;
    if (capture >= wildcards.size()) return std::nullopt;
    out.pattern += wildcards[capture];
    ++next;
    if (place[capture] == 0) place[capture] = next;
  }
  std::size_t capture = 0;
  for (const NamePattern::Piece& piece : *pieces) {
    if (piece.literal.find_first_of("{}") != std::string::npos) return std::nullopt;
    out.made += piece.literal;
    if (piece.wildcard == 0) continue;
    if (place[capture] == 0) return std::nullopt;
    out.made += "{" + std::to_string(place[capture++]) + "}";
  }
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
