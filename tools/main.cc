// The relayout command: reads the command line, runs one verb, and turns errors into exit codes.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>

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

/// Says what is wrong with the arguments; first of all, that the verb is none.
int usage_result(const CommandLine& line, const Parsed& parsed, std::string_view first_argument, bool json) {
  if (!parsed.verb && !first_argument.empty() && !first_argument.starts_with('-')) {
    const std::vector<std::string> verbs = line.verbs();
    const std::vector<std::string_view> names(verbs.begin(), verbs.end());
    const std::string_view near = nearest_name(first_argument, names);
    const std::string advice = near.empty() ? "see relayout --help" : "did you mean " + std::string(near) + "?";
    print_error(
        Error(ErrorCode::invalid_argument, "\"" + escaped(first_argument) + "\" is not a verb; " + advice, "arguments"),
        json);
  } else {
    print_error(*parsed.error, json);
  }
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
  const Verb verbs[] = {add_describe(line), add_diff(line),  add_offset(line),    add_index(line),   add_record(line),
                        add_banks(line),    add_image(line), add_convert(line),   add_compare(line), add_bench(line),
                        add_plan(line),     add_check(line), add_run(line),       add_any(line),     add_tags(line),
                        add_doctor(line),   add_help(line),  add_completion(line)};
  bool json = wants_json(argc, argv), in_parts = false;
  try {
    const Parsed parsed = line.parse(argc, argv);
    if (parsed.error) return usage_result(line, parsed, argc > 1 ? argv[1] : "", json);
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
