// The command line by CLI11: see command_line.h.
#include "tools/command/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "tools/command/common.h"

namespace relayout::tools {
namespace {

/// Lets an option take the whole numbers of a range only. The error names the flag, the text and the range.
CLI::Option* between(CLI::Option* option, Range range) {
  const std::string limits = std::to_string(range.least) + " to " + std::to_string(range.most);
  const auto check = [=, flag = option->get_name()](const std::string& text) {
    int64_t value = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = status == std::errc() && end == text.data() + text.size();
    if (whole && value >= range.least && value <= range.most) return std::string();
    usage_error(flag + " " + (text.empty() ? "\"\"" : escaped(text)) + ": a whole number from " + limits +
                    " is needed" + (range.reason.empty() ? "" : "; " + std::string(range.reason)),
                flag, escaped(text), limits);
  };
  return option->check(CLI::Validator(check, limits, ""));
}

/// The first argument that looks like a flag and that the verb does not have. What follows "--" is no flag.
std::optional<std::string> unknown_flag(const CLI::App& app, int argc, char** argv) {
  const std::vector<std::string> left = app.remaining(true);
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string_view text = argv[i];
    const bool is_flag = text.size() > 1 && text[0] == '-' && (text[1] < '0' || text[1] > '9') && text[1] != '.';
    if (is_flag && std::ranges::find(left, text) != left.end()) return std::string(text);
  }
  return std::nullopt;
}

/// The words behind "relayout" that call a verb or a group.
std::string full_name(const CLI::App& app) {
  const CLI::App* const group = app.get_parent();
  const bool inner = group != nullptr && group->get_parent() != nullptr;
  return (inner ? group->get_name() + " " : "") + app.get_name();
}

Error unknown_flag_error(const std::string& text, const CLI::App* verb, const CLI::App& app) {
  const std::string flag = text.substr(0, text.find('='));
  std::vector<std::string> flags;
  for (const CLI::Option* option : (verb ? *verb : app).get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  const std::vector<std::string_view> names(flags.begin(), flags.end());
  const std::string_view near = nearest_name(flag, names);
  const std::string whose = verb ? "relayout " + full_name(*verb) : "relayout";
  const std::string advice = near.empty() ? "see " + whose + " --help" : "did you mean " + std::string(near) + "?";
  return {ErrorCode::invalid_argument, escaped(flag) + ": " + whose + " has no such flag; " + advice, escaped(flag),
          escaped(flag)};
}

/// The texts of "{a,b}" at the end of a type's name, where CLI11 puts the values of one_of().
std::vector<std::string> listed_values(const std::string& type) {
  std::vector<std::string> out;
  const std::size_t open = type.find('{');
  if (open == std::string::npos || !type.ends_with('}')) return out;
  std::istringstream list(type.substr(open + 1, type.size() - open - 2));
  for (std::string value; std::getline(list, value, ',');) out.push_back(value);
  return out;
}

OptionText text_of(const CLI::Option& option) {
  OptionText out;
  out.operand = option.get_positional();
  if (out.operand) {
    out.names = {option.get_name(true)};
  } else {
    for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  }
  const std::string type = option.get_type_name();
  out.values = listed_values(type);
  out.type = type.substr(0, out.values.empty() ? std::string::npos : type.find(':'));
  out.required = option.get_required();
  out.value = option.get_items_expected_max() > 0 && !type.empty();
  out.optional_value = out.value && option.get_items_expected_min() == 0;
  out.help = option.get_description();
  return out;
}

VerbText text_of(const CLI::App& app) {
  VerbText out{full_name(app), app.get_description(), app.get_footer()};
  for (const CLI::Option* option : app.get_options()) out.options.push_back(text_of(*option));
  return out;
}

}  // namespace

CommandOption& CommandOption::required() {
  option_->required();
  return *this;
}

CommandOption& CommandOption::one_value_each() {
  option_->allow_extra_args(false);
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
CommandOption Command::add_option(const std::string& name, int& value, Range range, const std::string& help) {
  return CommandOption(between(app_->add_option(name, value, help), range));
}
CommandOption Command::add_option(const std::string& name, int64_t& value, Range range, const std::string& help) {
  return CommandOption(between(app_->add_option(name, value, help), range));
}
CommandOption Command::add_option(const std::string& name, std::optional<int>& value, Range range,
                                  const std::string& help) {
  return CommandOption(between(app_->add_option(name, value, help), range));
}
CommandOption Command::add_option(const std::string& name, std::optional<int64_t>& value, Range range,
                                  const std::string& help) {
  return CommandOption(between(app_->add_option(name, value, help), range));
}
CommandOption Command::add_option(const std::string& name, double& value, const std::string& help) {
  CLI::Option* const option = app_->add_option(name, value, help);
  const auto check = [flag = option->get_name()](const std::string& text) {
    if (std::isfinite(number_argument(text, flag))) return std::string();
    usage_error(flag + " " + escaped(text) + ": a finite number is needed", flag, escaped(text), "finite");
  };
  option->check(CLI::Validator(check, "", ""));
  return CommandOption(option);
}
CommandOption Command::add_flag(const std::string& name, bool& value, const std::string& help) {
  return CommandOption(app_->add_flag(name, value, help));
}
CommandOption Command::add_flag(const std::string& name, std::string& value, const std::string& help) {
  return CommandOption(app_->add_flag(name, value, help));
}

void Command::take_anything() { app_->allow_extras(); }

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
  const std::size_t space = verb.find(' ');
  CLI::App* const group = space == std::string::npos ? app_.get() : app_->get_subcommand(verb.substr(0, space));
  CLI::App* const command =
      group->add_subcommand(space == std::string::npos ? verb : verb.substr(space + 1), description);
  command->footer(footer);
  commands_.emplace_back(command);
  return commands_.back();
}

void CommandLine::add_group(const std::string& group, const std::string& description, const std::string& footer) {
  CLI::App* const added = app_->add_subcommand(group, description);
  added->require_subcommand(1);
  added->footer(footer);
}

std::vector<std::string> CommandLine::verbs() const {
  std::vector<std::string> out;
  for (const Command& command : commands_) out.push_back(full_name(*command.app_));
  return out;
}

std::optional<std::string> CommandLine::help(const std::string& verb) const {
  // CLI11's help() of the whole is that of the verb that was parsed.
  if (verb.empty()) return app_->get_formatter()->make_help(app_.get(), app_->get_name(), CLI::AppFormatMode::Normal);
  const CLI::App* found = nullptr;
  for (const Command& command : commands_) {
    for (const CLI::App* app : {command.app_, command.app_->get_parent()}) {
      if (app != app_.get() && full_name(*app) == verb) found = app;
    }
  }
  if (found == nullptr) return std::nullopt;
  return app_->get_formatter()->make_help(found, app_->get_name() + " " + verb, CLI::AppFormatMode::Normal);
}

std::vector<VerbText> CommandLine::texts() const {
  std::vector<VerbText> out{text_of(*app_)};
  for (const Command& command : commands_) {
    const CLI::App* const group = command.app_->get_parent();
    if (group != app_.get()) {
      if (out.back().name != group->get_name() && !out.back().name.starts_with(group->get_name() + " ")) {
        out.push_back(text_of(*group));
        out.back().options.push_back(
            {.names = {"VERB"}, .operand = true, .required = true, .help = "What is to be done"});
      }
      // The group stands before its verbs.
      const auto of_group = std::ranges::find(out, group->get_name(), &VerbText::name);
      of_group->options.back().values.push_back(command.app_->get_name());
    }
    out.push_back(text_of(*command.app_));
  }
  return out;
}

Parsed CommandLine::parse(int argc, char** argv) {
  Parsed out;
  std::optional<std::string> message;
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream answer, rest;
    if (error.get_exit_code() == 0) {
      app_->exit(error, answer, rest);
      out.answer = answer.str();
      return out;
    }
    message = error.what();
  } catch (const Failure& failure) {
    out.error = failure.error();
  }
  const CLI::App* verb = nullptr;
  for (std::size_t i = 0; i < commands_.size(); ++i) {
    if (!commands_[i].app_->parsed()) continue;
    out.verb = i;
    verb = commands_[i].app_;
  }
  const bool any_flag = verb != nullptr && verb->get_allow_extras();
  if (const auto unknown = any_flag ? std::nullopt : unknown_flag(*app_, argc, argv)) {
    out.error = unknown_flag_error(*unknown, verb, *app_);
  } else if (message) {
    const std::string help = verb ? full_name(*verb) + " --help" : "--help";
    out.error = Error(ErrorCode::invalid_argument, printable(*message) + "; see relayout " + help, "arguments");
  }
  return out;
}

}  // namespace relayout::tools
