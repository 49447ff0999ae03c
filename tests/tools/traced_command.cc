// Traces another process with ptrace().
#include "tests/tools/traced_command.h"

#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <iterator>
#include <stdexcept>

namespace relayout::tools {
namespace {

constexpr int kNotAllowed = 77;
constexpr int kSystemCall = SIGTRAP | 0x80;  // the stop of PTRACE_O_TRACESYSGOOD

[[noreturn]] void become(const std::vector<std::string>& args, const std::filesystem::path& folder, int stderr_writer) {
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) std::signal(signal_number, SIG_DFL);
  ::setenv("ASAN_OPTIONS", "detect_leaks=0", 1);  // the leak check would use ptrace() itself
  const int nothing = ::open("/dev/null", O_RDWR);
  const bool ready = ::chdir(folder.c_str()) == 0 && ::dup2(nothing, STDIN_FILENO) >= 0 &&
                     ::dup2(nothing, STDOUT_FILENO) >= 0 && ::dup2(stderr_writer, STDERR_FILENO) >= 0;
  if (!ready) ::_exit(1);
  if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(kNotAllowed);
  std::vector<char*> words;
  for (const std::string& each : args) words.push_back(const_cast<char*>(each.c_str()));
  words.push_back(nullptr);
  ::raise(SIGSTOP);
  ::execv(words[0], words.data());
  ::_exit(1);
}

}  // namespace

TracedCommand::TracedCommand(const std::vector<std::string>& args, const std::filesystem::path& folder) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
  stderr_reader_ = ends[0];
  process_ = ::fork();
  if (process_ < 0) throw std::runtime_error("fork failed");
  if (process_ == 0) become(args, folder, ends[1]);
  ::close(ends[1]);
  allowed_ =
      wait_for_stop() && ::ptrace(PTRACE_SETOPTIONS, process_, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) == 0;
  if (!allowed_ && !ended_) kill();
}

TracedCommand::~TracedCommand() {
  if (!ended_) kill();
  ::close(stderr_reader_);
}

bool TracedCommand::wait_for_stop() {
  pid_t changed;
  do {
    changed = ::waitpid(process_, &status_, 0);
  } while (changed < 0 && errno == EINTR);
  ended_ = changed < 0 || !WIFSTOPPED(status_);
  return !ended_;
}

bool TracedCommand::next() {
  long passed_on = 0;  // a signal that arrives in the meantime, which goes to the program
  while (!ended_) {
    ::ptrace(PTRACE_SYSCALL, process_, nullptr, passed_on);
    if (!wait_for_stop()) return false;
    if (WSTOPSIG(status_) != kSystemCall) {
      passed_on = WSTOPSIG(status_) == SIGTRAP ? 0 : WSTOPSIG(status_);
      continue;
    }
    __ptrace_syscall_info call{};
    ::ptrace(PTRACE_GET_SYSCALL_INFO, process_, sizeof call, &call);
    returned_ = call.op == PTRACE_SYSCALL_INFO_EXIT;
    if (returned_) {
      result_ = call.exit.rval;
    } else {
      number_ = static_cast<int64_t>(call.entry.nr);
      std::copy(std::begin(call.entry.args), std::end(call.entry.args), arguments_.begin());
    }
    return true;
  }
  return false;
}

void TracedCommand::kill() {
  ::kill(process_, SIGKILL);
  while (wait_for_stop()) ::ptrace(PTRACE_CONT, process_, nullptr, nullptr);
}

int TracedCommand::finish(int signal_number) {
  if (signal_number != 0) ::kill(process_, signal_number);
  for (long passed_on = 0; !ended_;) {
    ::ptrace(PTRACE_CONT, process_, nullptr, passed_on);
    if (wait_for_stop()) passed_on = WSTOPSIG(status_) == SIGTRAP ? 0 : WSTOPSIG(status_);
  }
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : -WTERMSIG(status_);
}

std::string TracedCommand::standard_error() {
  std::string text;
  char part[4096];
  for (ssize_t count; (count = ::read(stderr_reader_, part, sizeof part)) > 0;) {
    text.append(part, static_cast<std::size_t>(count));
  }
  return text;
}

}  // namespace relayout::tools
