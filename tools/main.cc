// The relayout command: reads the command line, runs one verb, and turns errors into exit codes.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <sstream>

#include "tools/common.h"
#include "tools/interrupt.h"

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

/// Prints the help or the version where that was asked for. All other outcomes of the parser are usage errors.
int parser_result(const CLI::App& app, const CLI::ParseError& error, std::string_view first_argument, bool json) {
  std::ostringstream out, err;
  if (error.get_exit_code() == 0) {
    app.exit(error, out, err);
    write_stdout(out.str());
    return kOk;
  }
  std::string verb = "relayout";
  for (const CLI::App* command : app.get_subcommands()) verb += " " + command->get_name();
  std::string message = printable(error.what()) + "; see " + verb + " --help";
  if (app.get_subcommands().empty() && !first_argument.empty() && !first_argument.starts_with('-')) {
    message = "\"" + escaped(first_argument) + "\" is not a verb";
    std::string advice = "see relayout --help";
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
      names.push_back(command->get_name());
    }
    const std::vector<std::string_view> views(names.begin(), names.end());
    if (const std::string_view near = nearest(first_argument, views); !near.empty()) {
      advice = "did you mean " + std::string(near) + "?";
    }
    message += "; " + advice;
  }
  print_error(Error(ErrorCode::invalid_argument, message, "arguments"), json);
  return kUsage;
}

/// The library cannot know that the command's flag for overwriting is -f.
Error with_flag(const Error& error) {
  if (error.field() != "overwrite") return error;
  return {error.code(), error.message() + "; -f replaces it", error.field(), error.value(), error.limit()};
}

int run(int argc, char** argv) {
  CLI::App app(
      "Describes tensor memory layouts, converts tensors between any two of them, and plans the layouts of a model.",
      "relayout");
  app.set_version_flag("--version", "relayout " RELAYOUT_VERSION);
  app.get_formatter()->column_width(30);
  app.require_subcommand(1);
  app.footer(
      "LAYOUT is a tag (nchw, nChw16c, OIhw4i16o4i, acdb), contiguous, channels_last,\n"
      "strides:15,1,5,1, or an image such as mace:in_out_channel or 'nh|Cw4c;pitch=64'.\n"
      "relayout tags lists the names of layouts. relayout VERB --help shows examples.\n"
      "Exit codes: 0 success, 1 the compared values differ, 2 wrong usage, 3 bad data,\n"
      "4 input or output failed, 5 unsupported, 70 internal error, 130 interrupted.");
  const Verb verbs[] = {add_describe(app), add_offset(app), add_index(app), add_convert(app),
                        add_compare(app),  add_bench(app),  add_plan(app),  add_check(app),
                        add_run(app),      add_tags(app),   add_doctor(app)};
  bool json = wants_json(argc, argv), in_parts = false;
  try {
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      return parser_result(app, error, argc > 1 ? argv[1] : "", json);
    }
    for (const Verb& verb : verbs) {
      if (!app.got_subcommand(verb.command)) continue;
      json = *verb.json;
      in_parts = verb.command->get_option_no_throw("--max-memory") != nullptr;
      return verb.run();
    }
    return kInternal;
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
