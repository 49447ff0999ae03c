// The relayout command: reads the command line, runs one verb, and turns errors into exit codes.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "tools/command/common.h"
#include "tools/command/interrupt.h"

namespace relayout::tools {
namespace {

/// Where a standard stream is closed, the next file that is opened would take its number, and messages would be written
/// into that file. So /dev/null is opened in its place.
void hold_standard_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) < 0) return;
  }
}

bool wants_json(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--json") return true;
  }
  return false;
}

/// What to call instead of a verb that there is not.
std::string advice_for(std::string_view wrong, const std::vector<std::string>& verbs, const std::string& help) {
  const std::vector<std::string_view> names(verbs.begin(), verbs.end());
  const std::string_view near = nearest_name(wrong, names);
  return near.empty() ? "see relayout " + help : "did you mean " + std::string(near) + "?";
}

/// Where the arguments call no verb: that the first one is none or, behind a group's name, the second one.
std::optional<Error> no_verb_error(const CommandLine& line, std::string_view first, std::string_view second) {
  if (first.empty() || first.starts_with('-')) return std::nullopt;
  std::vector<std::string> words, of_group;
  for (const std::string& verb : line.verbs()) words.push_back(verb.substr(0, verb.find(' ')));
  if (std::ranges::find(words, first) == words.end())
    return Error(ErrorCode::invalid_argument,
                 "\"" + escaped(first) + "\" is not a verb; " + advice_for(first, words, "--help"), "arguments");
  const std::string group = std::string(first) + " ";
  for (const std::string& verb : line.verbs()) {
    if (verb.starts_with(group)) of_group.push_back(verb.substr(group.size()));
  }
  if (of_group.empty() || second.starts_with('-')) return std::nullopt;
  std::string list;
  for (const std::string& verb : of_group) list += (list.empty() ? "" : ", ") + verb;
  if (second.empty())
    return Error(ErrorCode::invalid_argument,
                 std::string(first) + ": what is to be done? " + list + "; see relayout " + group + "--help",
                 "arguments", {}, list);
  return Error(ErrorCode::invalid_argument,
               group + "\"" + escaped(second) + "\" is not a verb; " + advice_for(second, of_group, group + "--help"),
               "arguments", escaped(second), list);
}

/// Says what is wrong with the arguments; first of all, that the verb is none.
int usage_result(const CommandLine& line, const Parsed& parsed, std::string_view first, std::string_view second,
                 bool json) {
  const auto no_verb = parsed.verb ? std::nullopt : no_verb_error(line, first, second);
  print_error(no_verb ? *no_verb : *parsed.error, json);
  return kUsage;
}

/// The library cannot know that the command's flag for overwriting is -f.
Error with_flag(const Error& error) {
  if (error.field() != "overwrite") return error;
  return {error.code(), error.message() + "; -f replaces it", error.field(), error.value(), error.limit()};
}

int run(int argc, char** argv) {
  CommandLine line(
      "Describes tensor memory layouts, converts tensors between any two of them, and plans the layouts of a model.",
      "relayout", "relayout " RELAYOUT_VERSION,
      "LAYOUT is a tag (nchw, nChw16c, OIhw4i16o4i, acdb), contiguous, channels_last,\n"
      "strides:15,1,5,1, or an image such as mace:in_out_channel or 'nh|Cw4c;pitch=64'.\n"
      "relayout tags lists the names of layouts. relayout help VERB shows examples.\n"
      "Exit codes: 0 success, 1 values or padding differ or an image does not fit, 2 wrong usage,\n"
      "3 bad data, 4 input or output failed, 5 unsupported, 70 internal error, 130 interrupted.");
  std::vector<Verb> verbs;
  for (Verb (*add)(CommandLine&) : {add_describe, add_show, add_diff, add_offset, add_index, add_record, add_banks,
                                    add_image, add_convert, add_redistribute, add_compare, add_bench})
    verbs.push_back(add(line));
  for (Verb& verb : add_checkpoint(line)) verbs.push_back(std::move(verb));
  for (Verb (*add)(CommandLine&) :
       {add_plan, add_check, add_run, add_any, add_explain, add_tags, add_doctor, add_help, add_completion})
    verbs.push_back(add(line));
  bool json = wants_json(argc, argv), in_parts = false;
  try {
    const Parsed parsed = line.parse(argc, argv);
    if (parsed.error) return usage_result(line, parsed, argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "", json);
    if (!parsed.answer.empty()) {
      write_stdout(parsed.answer);
      return kOk;
    }
    const Verb& verb = verbs[parsed.verb.value()];
    json = *verb.json;
    in_parts = verb.command.has("--max-memory");
    return verb.run();
  } catch (const Failure& failure) {
    print_error(with_flag(failure.error()), json);
    return failure.exit_code();
  } catch (const Error& error) {
    print_error(with_flag(error), json);
    return exit_code(error, kBadData);
  } catch (const std::bad_alloc&) {
    const char* advice = in_parts ? "; with --max-memory the work is done in parts" : "";
    print_error(Error(ErrorCode::io, std::string("out of memory") + advice, "memory"), json);
    return kIo;
  } catch (const std::exception& error) {
    print_error(Error(ErrorCode::internal, std::string("internal error: ") + error.what()), json);
    return kInternal;
  }
}

}  // namespace
}  // namespace relayout::tools

int main(int argc, char** argv) {
  relayout::tools::hold_standard_streams();
  if (relayout::tools::wants_json(argc, argv)) relayout::tools::interrupts_as_json();
  relayout::tools::install_interrupt_handlers();
  return relayout::tools::run(argc, argv);
}
