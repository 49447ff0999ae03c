// The process becomes Python's by execvp, so that signals, standard streams and the exit code are Python's own.
#include "tools/converting/python_program.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "tools/command/common.h"

namespace relayout::tools {
namespace {

/// Says in one sentence which package is missing, and where it was looked for.
constexpr char kProgram[] = R"py(import importlib, sys
try:
    module = importlib.import_module(sys.argv[1])
except ModuleNotFoundError as error:
    if (error.name or "").split(".")[0] == "relayout":
        what = "the package relayout, which does this (docs/python.md: pip install . in the project's folder)"
    else:
        what = "the package %s (pip install %s)" % (error.name, error.name)
    sys.stderr.write("relayout: %s has not %s; RELAYOUT_PYTHON names another Python\n" % (sys.executable, what))
    sys.exit(5)
sys.exit(module.main(sys.argv[2:], "relayout"))
)py";

}  // namespace

void become_python(const std::string& module, const std::vector<std::string>& arguments) {
  const char* named = std::getenv("RELAYOUT_PYTHON");
  const std::string python = named != nullptr && *named != '\0' ? named : "python3";
  std::vector<std::string> words{python, "-c", kProgram, module};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execvp(python.c_str(), argv.data());
  throw Error(ErrorCode::io,
              escaped(python) + ": " + std::strerror(errno) +
                  "; arrays in chunks are moved by the Python package relayout, and RELAYOUT_PYTHON names the Python "
                  "that has it",
              "RELAYOUT_PYTHON", escaped(python));
}

}  // namespace relayout::tools
