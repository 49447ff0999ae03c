// A program that stops at each of its system calls, so that a test can kill it, interrupt it or change a file at a
// chosen moment, however fast the machine is.
//
//     TracedCommand command({"/usr/bin/cp", "a", "b"}, folder);
//     while (command.next()) {
//       if (command.returned_from(SYS_openat)) return command.kill();
//     }
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace relayout::tools {

class TracedCommand {
 public:
  /// Starts the program args[0] in that folder. Its signals have their default actions; its standard output and input
  /// are /dev/null.
  TracedCommand(const std::vector<std::string>& args, const std::filesystem::path& folder);
  TracedCommand(const TracedCommand&) = delete;
  ~TracedCommand();

  /// Whether the system allows this process to trace another one.
  bool allowed() const { return allowed_; }
  /// Runs to the next beginning or end of a system call. False if the program has ended.
  bool next();
  /// Whether the program is at the end of that system call (SYS_openat ...).
  bool returned_from(int64_t number) const { return returned_ && number_ == number; }
  /// That call's arguments, and its result: a negative errno value if it failed.
  const std::array<uint64_t, 6>& arguments() const { return arguments_; }
  int64_t result() const { return result_; }

  /// Sends SIGKILL, as `kill -9` does, and waits for the end.
  void kill();
  /// Sends the signal, unless it is 0, and lets the program run to its end. Returns its exit code, or the negative
  /// number of the signal that ended it.
  int finish(int signal_number = 0);
  /// What the program has written on standard error, once it has ended.
  std::string standard_error();

 private:
  bool wait_for_stop();

  pid_t process_ = -1;
  int stderr_reader_ = -1;
  bool allowed_ = true, ended_ = false, returned_ = false;
  int status_ = 0;
  int64_t number_ = -1, result_ = 0;
  std::array<uint64_t, 6> arguments_{};
};

}  // namespace relayout::tools
