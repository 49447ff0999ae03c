// The command line by CLI11: see command_line.h.
#include "tools/command_line.h"

#include <CLI/CLI.hpp>
#include <sstream>

namespace relayout::tools {

CommandOption& CommandOption::required() {
  option_->required();
  return *this;
}

CommandOption& CommandOption::one_value_each() {
  option_->allow_extra_args(false);
  return *this;
}

CommandOption& CommandOption::between(int64_t least, int64_t most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

CommandOption& CommandOption::one_of(std::vector<std::string> values) {
  option_->check(CLI::IsMember(std::move(values)));
  return *this;
}

CommandOption& CommandOption::excludes(const std::string& other) {
  option_->excludes(other);
  return *this;
}

CommandOption Command::add_option(const std::string& name, std::string& value, const std::string& help) {
  return CommandOption(app_->add_option(name, value, help));
}
CommandOption Command::add_option(const std::string& name, std::optional<std::string>& value, const std::string& help) {
  return CommandOption(app_->add_option(name, value, help));
}
CommandOption Command::add_option(const std::string& name, std::vector<std::string>& value, const std::string& help) {
  return CommandOption(app_->add_option(name, value, help));
}
CommandOption Command::add_option(const std::string& name, int& value, const std::string& help) {
  return CommandOption(app_->add_option(name, value, help));
}
CommandOption Command::add_option(const std::string& name, int64_t& value, const std::string& help) {
  return CommandOption(app_->add_option(name, value, help));
}
CommandOption Command::add_option(const std::string& name, double& value, const std::string& help) {
  return CommandOption(app_->add_option(name, value, help));
}
CommandOption Command::add_option(const std::string& name, std::optional<int>& value, const std::string& help) {
  return CommandOption(app_->add_option(name, value, help));
}
CommandOption Command::add_option(const std::string& name, std::optional<int64_t>& value, const std::string& help) {
  return CommandOption(app_->add_option(name, value, help));
}
CommandOption Command::add_flag(const std::string& name, bool& value, const std::string& help) {
  return CommandOption(app_->add_flag(name, value, help));
}
CommandOption Command::add_flag(const std::string& name, std::string& value, const std::string& help) {
  return CommandOption(app_->add_flag(name, value, help));
}

bool Command::has(const std::string& name) const { return app_->get_option_no_throw(name) != nullptr; }

std::string_view command_line_version() { return CLI11_VERSION; }

CommandLine::CommandLine(const std::string& description, const std::string& name, const std::string& version,
                         const std::string& footer)
    : app_(std::make_unique<CLI::App>(description, name)) {
  app_->set_version_flag("--version", version);
  app_->get_formatter()->column_width(30);
  app_->require_subcommand(1);
  app_->footer(footer);
}

CommandLine::~CommandLine() = default;

Command CommandLine::add_verb(const std::string& verb, const std::string& description, const std::string& footer) {
  CLI::App* const command = app_->add_subcommand(verb, description);
  command->footer(footer);
  commands_.emplace_back(command);
  return commands_.back();
}

std::vector<std::string> CommandLine::verbs() const {
  std::vector<std::string> out;
  for (const Command& command : commands_) out.push_back(command.app_->get_name());
  return out;
}

Parsed CommandLine::parse(int argc, char** argv) {
  Parsed out;
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream answer, rest;
    if (error.get_exit_code() == 0) {
      app_->exit(error, answer, rest);
      out.answer = answer.str();
      return out;
    }
    out.error = error.what();
  }
  for (std::size_t i = 0; i < commands_.size(); ++i) {
    if (app_->got_subcommand(commands_[i].app_)) out.verb = i;
  }
  return out;
}

}  // namespace relayout::tools
