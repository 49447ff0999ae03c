// The scripts for zsh and fish, which have lists of options themselves; that for bash is completion_bash.cc.
#include "tools/command/completion_scripts.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/command/known_values.h"

namespace relayout::tools {
namespace {

using Names = std::vector<std::string>;

std::string escaped_by(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

/// A word between single quotes. Zsh and bash leave the quotes for one in between, fish escapes it.
std::string zsh_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}
std::string fish_quoted(std::string_view text) { return "'" + escaped_by(text, "'\\") + "'"; }

/// What zsh completes a value by: a list, files or nothing.
std::string zsh_action(const OptionText& option, const Names& known) {
  if (takes_file(option, known)) return "_files";
  if (known.empty()) return "";
  Names words;
  for (const std::string& value : known) words.push_back(escaped_by(value, "\\:()'|;& \t"));
  return fmt::format("({})", fmt::join(words, " "));
}

/// The specifications of an option for _arguments, one for each of its names.
std::string zsh_option(const VerbText& verb, const OptionText& option, const Names& verbs, int operand) {
  const Names known = known_values(verb, option, verbs);
  const std::string action = zsh_action(option, known);
  if (option.operand) {
    const char* const optional = option.required ? ":" : "::";
    return "      " +
           zsh_quoted(fmt::format("{}{}{}:{}", operand, optional, escaped_by(option.names[0], ":"), action)) + " \\\n";
  }
  std::string out;
  const std::string help = escaped_by(option.help, "[]:\\");
  for (const std::string& name : option.names) {
    std::string spec = name;
    if (option.value) {
      const bool is_long = name.starts_with("--");
      // "=-": the value follows "=" in the same word; "=": or it is the next word.
      spec += option.optional_value ? "=-" : is_long ? "=" : "";
      spec += fmt::format("[{}]{}{}:{}", help, option.optional_value ? "::" : ":", "value", action);
    } else {
      spec += fmt::format("[{}]", help);
    }
    out += "      " + zsh_quoted(spec) + " \\\n";
  }
  return out;
}

std::string fish_option(const VerbText& verb, const OptionText& option, const Names& verbs) {
  const Names known = known_values(verb, option, verbs);
  const std::string list = fish_quoted(fmt::format("{}", fmt::join(known, " ")));
  const std::size_t space = verb.name.find(' ');
  std::string where = "__fish_use_subcommand";
  if (!verb.name.empty() && verb.name != "relayout")
    where = "__fish_seen_subcommand_from " + verb.name.substr(0, space);
  if (space != std::string::npos) where += "; and __fish_seen_subcommand_from " + verb.name.substr(space + 1);
  const std::string start = fmt::format("complete -c relayout -n {}", fish_quoted(where));
  if (option.operand) return known.empty() ? "" : fmt::format("{} -f -a {}\n", start, list);
  std::string out = start;
  for (const std::string& name : option.names) {
    out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  // -x: a value is required and it is no file; -r: one is required.
  if (option.value && !option.optional_value) out += takes_file(option, known) ? " -r" : " -x";
  if (!known.empty()) out += " -a " + list;
  return out + " -d " + fish_quoted(option.help) + "\n";
}

}  // namespace

std::vector<std::string> first_words(const std::vector<VerbText>& texts) {
  Names out;
  for (std::size_t i = 1; i < texts.size(); ++i) {
    if (texts[i].name.find(' ') == std::string::npos) out.push_back(texts[i].name);
  }
  return out;
}

std::vector<std::string> second_words(const std::vector<VerbText>& texts) {
  Names out;
  for (const VerbText& text : texts) {
    if (text.name.find(' ') != std::string::npos) out.push_back(completion_key(text));
  }
  return out;
}

std::string completion_key(const VerbText& verb) {
  std::string out = verb.name;
  std::ranges::replace(out, ' ', '/');
  return out;
}

std::string zsh_completion(const std::vector<VerbText>& texts) {
  const Names verbs = first_words(texts);
  std::string out = "#compdef relayout\n# Completion of relayout in zsh, written by `relayout completion zsh`.\n\n";
  out += "_relayout() {\n  local -a verbs=(\n";
  for (std::size_t i = 1; i < texts.size(); ++i) {
    if (texts[i].name.find(' ') == std::string::npos)
      out += "    " + zsh_quoted(texts[i].name + ":" + escaped_by(texts[i].description, ":\\")) + "\n";
  }
  out += "  )\n  if (( CURRENT == 2 )); then\n    if [[ $words[2] == -* ]]; then\n      _arguments \\\n";
  for (const OptionText& option : texts[0].options) out += zsh_option(texts[0], option, verbs, 0);
  out += "      && return\n    fi\n    _describe -t verbs verb verbs\n    return\n  fi\n";
  out += "  local verb=$words[2]\n  shift words\n  (( CURRENT-- ))\n";
  out += fmt::format(
      "  local -a second=({})\n  if (( CURRENT > 2 && $second[(Ie)$verb/$words[2]] )); then\n"
      "    verb=$verb/$words[2]\n    shift words\n    (( CURRENT-- ))\n  fi\n  case $verb in\n",
      fmt::join(second_words(texts), " "));
  for (std::size_t i = 1; i < texts.size(); ++i) {
    out += "    " + completion_key(texts[i]) + ")\n      _arguments \\\n";
    int operand = 0;
    for (const OptionText& option : texts[i].options) {
      if (option.operand) ++operand;
      out += zsh_option(texts[i], option, verbs, operand);
    }
    out += "      && return\n      ;;\n";
  }
  return out + "  esac\n}\n\n_relayout \"$@\"\n";
}

std::string fish_completion(const std::vector<VerbText>& texts) {
  const Names verbs = first_words(texts);
  std::string out = "# Completion of relayout in fish, written by `relayout completion fish`.\n\n";
  for (std::size_t i = 1; i < texts.size(); ++i) {
    if (texts[i].name.find(' ') != std::string::npos) continue;
    out += fmt::format("complete -c relayout -n __fish_use_subcommand -f -a {} -d {}\n", texts[i].name,
                       fish_quoted(texts[i].description));
  }
  for (const VerbText& verb : texts) {
    out += "\n";
    for (const OptionText& option : verb.options) out += fish_option(verb, option, verbs);
  }
  return out;
}

}  // namespace relayout::tools
