// relayout help, which prints what --help does, and the manual page; relayout completion, which prints a shell's
// script.
#include <fmt/format.h>

#include "tools/command/common.h"
#include "tools/command/completion_scripts.h"
#include "tools/command/known_values.h"
#include "tools/command/manual_page.h"

namespace relayout::tools {
namespace {

struct HelpOptions {
  std::vector<std::string> words;
  bool manual = false;
};

Json json_texts(const std::vector<VerbText>& texts) {
  Json out = Json::array();
  for (const VerbText& text : texts) {
    Json options = Json::array();
    for (const OptionText& option : text.options) {
      Json object = {{"names", option.names}, {"required", option.required}, {"value", option.value}};
      object["type"] = option.type;
      object["values"] = option.values;
      object["help"] = option.help;
      options.push_back(std::move(object));
    }
    Json verb = {{"name", text.name}, {"description", text.description}, {"notes", text.footer}};
    verb["options"] = std::move(options);
    out.push_back(std::move(verb));
  }
  return out;
}

int run_help(const CommandLine& line, const HelpOptions& options, bool json) {
  std::string asked;
  for (const std::string& word : options.words) asked += (asked.empty() ? "" : " ") + word;
  const std::optional<std::string> help = line.help(asked);
  if (!help) {
    const std::vector<std::string> verbs = line.verbs();
    const std::vector<std::string_view> names(verbs.begin(), verbs.end());
    const std::string_view near = nearest_name(asked, names);
    usage_error("VERB \"" + escaped(asked) + "\" is not a verb; " +
                    (near.empty() ? "see relayout help" : "did you mean " + std::string(near) + "?"),
                "VERB", escaped(asked));
  }
  if (options.manual) {
    write_stdout(manual_page(line.texts()));
  } else if (json) {
    std::vector<VerbText> texts = line.texts();
    if (!asked.empty())
      std::erase_if(texts,
                    [&](const VerbText& text) { return text.name != asked && !text.name.starts_with(asked + " "); });
    write_stdout(json_text(json_texts(texts)));
  } else {
    write_stdout(*help);
  }
  return kOk;
}

int run_completion(const CommandLine& line, const std::string& shell, bool json) {
  const std::vector<VerbText> texts = line.texts();
  const std::string script = shell == "bash"  ? bash_completion(texts)
                             : shell == "zsh" ? zsh_completion(texts)
                                              : fish_completion(texts);
  write_stdout(json ? json_text({{"shell", shell}, {"script", script}}) : script);
  return kOk;
}

}  // namespace

Verb add_help(CommandLine& line) {
  auto [command, json] = add_verb(
      line, "help", "Print the help of the command or of a verb, as --help does",
      "  relayout help\n  relayout help convert\n  relayout help checkpoint list\n  relayout help --man | man -l -");
  auto options = std::make_shared<HelpOptions>();
  command.add_option("VERB", options->words, "A verb; the whole command unless given");
  command.add_flag("--man", options->manual, "Print the manual page of the whole command, as man reads it");
  return {command, [&line, options, json = json] { return run_help(line, *options, *json); }, json};
}

Verb add_completion(CommandLine& line) {
  auto [command, json] =
      add_verb(line, "completion", "Print what makes a shell complete this command's verbs, flags and values",
               "  source <(relayout completion bash)\n"
               "  relayout completion zsh > ~/.zfunc/_relayout      a folder of $fpath\n"
               "  relayout completion fish > ~/.config/fish/completions/relayout.fish\n"
               "Installed packages have all three in the folders where the shells look for them.");
  auto shell = std::make_shared<std::string>();
  command.add_option("SHELL", *shell, "The shell").required().one_of(shell_names());
  return {command, [&line, shell, json = json] { return run_completion(line, *shell, *json); }, json};
}

}  // namespace relayout::tools
