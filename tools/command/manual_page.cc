// The manual page: see manual_page.h.
#include "tools/command/manual_page.h"

#include <fmt/format.h>

#include <cctype>

namespace relayout::tools {
namespace {

/// Text as troff takes it: no backslash or minus of its own, and no line that looks like a request.
std::string troff(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool starts_line = i == 0 || text[i - 1] == '\n';
    if (starts_line && (text[i] == '.' || text[i] == '\'')) out += "\\&";
    if (text[i] == '\\') {
      out += "\\e";
    } else if (text[i] == '-') {
      out += "\\-";
    } else {
      out += text[i];
    }
  }
  return out;
}

/// Lines as they are.
std::string verbatim(std::string_view text) { return text.empty() ? "" : fmt::format(".nf\n{}\n.fi\n", troff(text)); }

/// "[OPTIONS] IN OUT" of a verb.
std::string operands(const VerbText& verb) {
  std::string out = " [\\fIOPTIONS\\fR]";
  for (const OptionText& option : verb.options) {
    if (!option.operand) continue;
    out += fmt::format(fmt::runtime(option.required ? " \\fI{}\\fR" : " [\\fI{}\\fR]"), troff(option.names[0]));
  }
  return out;
}

std::string option_lines(const OptionText& option) {
  std::string head;
  for (const std::string& name : option.names) {
    if (!head.empty()) head += ", ";
    head += fmt::format(fmt::runtime(option.operand ? "\\fI{}\\fR" : "\\fB{}\\fR"), troff(name));
  }
  if (!option.operand && option.value) {
    const std::string type =
        option.values.empty() ? troff(option.type) : troff(fmt::format("{}", fmt::join(option.values, "|")));
    head += fmt::format(fmt::runtime(option.optional_value ? "[=\\fI{}\\fR]" : " \\fI{}\\fR"), type);
  }
  return fmt::format(".TP\n{}\n{}{}\n", head, troff(option.help), option.required ? " (required)" : "");
}

}  // namespace

std::string manual_page(const std::vector<VerbText>& texts) {
  const VerbText& whole = texts[0];
  std::string about = whole.description;
  about[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(about[0])));
  if (about.ends_with('.')) about.pop_back();
  std::string out = fmt::format(
      ".\\\" Written by `relayout help \\-\\-man`.\n.TH RELAYOUT 1 \"\" \"relayout {}\" \"User Commands\"\n"
      ".SH NAME\nrelayout \\- {}\n.SH SYNOPSIS\n\\fBrelayout\\fR \\fIVERB\\fR [\\fIOPTIONS\\fR] [\\fIOPERAND\\fR]...\n"
      ".SH DESCRIPTION\n{}.SH OPTIONS\n",
      RELAYOUT_VERSION, troff(about), verbatim(whole.footer));
  for (const OptionText& option : whole.options) out += option_lines(option);
  out += ".SH VERBS\n";
  for (std::size_t i = 1; i < texts.size(); ++i) {
    out += fmt::format(".SS \\fBrelayout {}\\fR{}\n{}.\n", troff(texts[i].name), operands(texts[i]),
                       troff(texts[i].description));
    for (const OptionText& option : texts[i].options) {
      if (option.names.back() != "--help") out += option_lines(option);
    }
    if (!texts[i].footer.empty()) out += ".PP\n" + verbatim(texts[i].footer);
  }
  return out;
}

}  // namespace relayout::tools
