// The completion script for bash: tables of the verbs' flags and values, and a function that looks into them.
#include <fmt/format.h>

#include <map>

#include "tools/command/completion_scripts.h"
#include "tools/command/known_values.h"

namespace relayout::tools {
namespace {

using Names = std::vector<std::string>;

/// What follows the tables. `$cur` is the word that is being typed, as a whole, whatever bash breaks words at; what
/// bash takes for the word's start is cut off the answers at the end.
constexpr std::string_view kBashFunction = R"script(
_relayout() {
  local line=${COMP_LINE:0:COMP_POINT} cur verb typed flag='' list='' last operand=1 first=2 i
  local -a words
  read -ra words <<<"$line"
  cur=${line##*[[:space:]]}
  [[ -n $cur ]] && unset 'words[${#words[@]}-1]'
  COMPREPLY=()
  verb=${words[1]-} typed=$cur last=
  ((${#words[@]} > 2)) && last=${words[${#words[@]}-1]}
  if [[ " $_relayout_second_words " == *" $verb/${words[2]-} "* ]]; then
    verb=$verb/${words[2]} first=3
  fi
  if [[ -z $verb ]]; then
    list="$_relayout_verbs $(_relayout_flags '')"
  elif [[ $cur == --*=* ]]; then
    flag=${cur%%=*} typed=${cur#*=}
    list=$(_relayout_values "$verb:$flag")
  elif [[ -n $last ]] && _relayout_takes_value "$verb:$last"; then
    list=$(_relayout_values "$verb:$last")
  elif [[ $cur == -* ]]; then
    list=$(_relayout_flags "$verb")
  else
    # Which operand it is: words that are neither flags nor their values.
    for ((i = first; i < ${#words[@]}; ++i)); do
      if _relayout_takes_value "$verb:${words[i]}"; then
        ((++i))
      elif [[ ${words[i]} != -?* ]]; then
        ((++operand))
      fi
    done
    list=$(_relayout_values "$verb:$operand")
  fi
  # Without a list the shell completes names of files.
  [[ -n $list ]] || return 0
  compopt +o default 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -W "$list" -- "$typed")
  if [[ $typed == *:* && $COMP_WORDBREAKS == *:* ]]; then
    COMPREPLY=("${COMPREPLY[@]#"${typed%"${typed##*:}"}"}")
  fi
  if [[ -n $flag && $COMP_WORDBREAKS != *=* ]]; then
    COMPREPLY=("${COMPREPLY[@]/#/$flag=}")
  fi
}

complete -o default -F _relayout relayout
)script";

/// Cases "key|key) text ;;" of the texts' keys.
std::string cases(const std::map<std::string, Names>& keys_of_text) {
  std::string out;
  for (const auto& [text, keys] : keys_of_text) {
    std::string line = "    ", patterns;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::string word = keys[i] + (i + 1 < keys.size() ? " | " : ")");
      if (line.size() + word.size() > 118) {
        patterns += line + "\\\n";
        line = "      ";
      }
      line += word;
    }
    out += patterns + line + " " + text + " ;;\n";
  }
  return out;
}

}  // namespace

std::string bash_completion(const std::vector<VerbText>& texts) {
  const Names verbs = first_words(texts), second = second_words(texts);
  std::map<std::string, Names> values, takes_value;
  std::string flags;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string verb = i == 0 ? "''" : completion_key(texts[i]);
    Names names;
    int operand = 0;
    for (const OptionText& option : texts[i].options) {
      const Names known = known_values(texts[i], option, verbs);
      const Names keys = option.operand ? Names{std::to_string(++operand)} : option.names;
      for (const std::string& key : keys) {
        if (!known.empty()) values[fmt::format("echo '{}'", fmt::join(known, " "))].push_back(verb + ":" + key);
        if (!option.operand && option.value && !option.optional_value)
          takes_value["return 0"].push_back(verb + ":" + key);
        if (!option.operand) names.push_back(key);
      }
    }
    flags += fmt::format("    {}) echo '{}' ;;\n", verb, fmt::join(names, " "));
  }
  return fmt::format(
      "# Completion of relayout in bash, written by `relayout completion bash`.\n\n_relayout_verbs='{}'\n"
      "# GROUP/VERB of verbs with two words.\n_relayout_second_words='{}'\n\n"
      "# The flags of a verb.\n_relayout_flags() {{\n  case $1 in\n{}  esac\n}}\n\n"
      "# The known values of VERB:FLAG, or of VERB:N, the Nth operand.\n_relayout_values() {{\n  case $1 in\n{}  "
      "esac\n}}\n\n"
      "# Whether a value follows VERB:FLAG as the next word.\n_relayout_takes_value() {{\n  case $1 in\n{}  esac\n"
      "  return 1\n}}\n{}",
      fmt::join(verbs, " "), fmt::join(second, " "), flags, cases(values), cases(takes_value), kBashFunction);
}

}  // namespace relayout::tools
