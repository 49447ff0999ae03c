// The command line, as the verbs see it: what they add to it, and nothing of the library that parses it.
//
//     Command command = line.add_verb("offset", "Print the element offset of each index", "  relayout offset ...");
//     command.add_option("--dims", options->dims, "Logical extents, as 2,17,5,4").required();
//
// CLI11 is headers alone, and each file that includes them compiles all of it: that is command_line.cc only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/core/error.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace relayout::tools {

/// A flag or an operand that was added.
class CommandOption {
 public:
  explicit CommandOption(CLI::Option* option) : option_(option) {}

  CommandOption& required();
  /// Of a list: each value is given with the flag of its own.
  CommandOption& one_value_each();
  CommandOption& one_of(std::vector<std::string> values);
  /// Not together with that other flag, which is there.
  CommandOption& excludes(const std::string& other);

 private:
  CLI::Option* option_;
};

/// The whole numbers that a flag takes.
struct Range {
  int64_t least = 0;
  int64_t most = 0;
  /// Why no others, where the flag does not say it: the end of the error's sentence.
  std::string_view reason = {};
};

/// Of --threads, where 0 is all of the machine's, and of --batch.
inline constexpr Range kThreadRange{0, 1024}, kBatchRange{1, 1 << 20};

/// A verb's flags and operands. Names are as in "-o,--out" and, of operands, "MODEL". What is parsed is written to
/// `value`, which must live until then; where the flag is not given, it keeps what it holds.
class Command {
 public:
  explicit Command(CLI::App* app = nullptr) : app_(app) {}

  CommandOption add_option(const std::string& name, std::string& value, const std::string& help);
  CommandOption add_option(const std::string& name, std::optional<std::string>& value, const std::string& help);
  CommandOption add_option(const std::string& name, std::vector<std::string>& value, const std::string& help);
  CommandOption add_option(const std::string& name, int& value, Range range, const std::string& help);
  CommandOption add_option(const std::string& name, int64_t& value, Range range, const std::string& help);
  CommandOption add_option(const std::string& name, std::optional<int>& value, Range range, const std::string& help);
  CommandOption add_option(const std::string& name, std::optional<int64_t>& value, Range range,
                           const std::string& help);
  /// A finite number.
  CommandOption add_option(const std::string& name, double& value, const std::string& help);
  CommandOption add_flag(const std::string& name, bool& value, const std::string& help);
  /// Whose value may follow "="; "true", or what the name has in braces, where none does.
  CommandOption add_flag(const std::string& name, std::string& value, const std::string& help);

  /// Any flags and operands, which are not looked at.
  void take_anything();

  /// Whether such a flag was added.
  bool has(const std::string& name) const;

 private:
  friend class CommandLine;
  CLI::App* app_;
};

/// What parse() came to.
struct Parsed {
  /// The verb that was asked for, by its number; nothing where there is none.
  std::optional<std::size_t> verb{};
  /// What --help and --version print.
  std::string answer{};
  /// Else what is wrong with the arguments. A flag that there is not is named before anything else.
  std::optional<Error> error{};
};

/// A flag or an operand as the help has it.
struct OptionText {
  /// "-o", "--out"; of an operand its name alone, "MODEL".
  std::vector<std::string> names;
  bool operand = false, required = false;
  /// Whether a value follows, and whether it need not: then it follows "=".
  bool value = false, optional_value = false;
  /// What the value is: "TEXT", "INT", "INT:0 to 1024"; empty where any text is or none.
  std::string type{};
  /// The only values that it may have; empty where there are others.
  std::vector<std::string> values{};
  std::string help{};
};

/// A verb as its help has it; the options include --help. The name of a verb of a group has two words, "checkpoint
/// list".
struct VerbText {
  std::string name, description, footer;
  std::vector<OptionText> options{};
};

/// The version of the library that parses, for `relayout doctor`.
std::string_view command_line_version();

/// All of it: verbs, in the order in which they were added.
class CommandLine {
 public:
  CommandLine(const std::string& description, const std::string& name, const std::string& version,
              const std::string& footer);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  Command add_verb(const std::string& verb, const std::string& description, const std::string& footer);
  /// A first word that several verbs have, which are then added by both words, one after the other:
  /// add_verb("checkpoint list", ...). It has no flags of its own.
  void add_group(const std::string& group, const std::string& description, const std::string& footer);
  std::vector<std::string> verbs() const;
  /// What `relayout VERB --help` prints, also of a group; of an empty verb, what `relayout --help` does. Nothing if
  /// there is no such verb.
  std::optional<std::string> help(const std::string& verb) const;
  /// The whole command first, whose options it has without a verb, then each verb; before those of a group the group,
  /// with the operand VERB, whose values are their second words. It is what manual pages and completions are written
  /// from.
  std::vector<VerbText> texts() const;
  Parsed parse(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
  std::vector<Command> commands_;
};

}  // namespace relayout::tools
