// `relayout convert` that is killed, interrupted, or loses its input, at chosen system calls: the output is the old
// file or the new one, and nothing else is left in the folder.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "tests/support/tensor_files.h"
#include "tests/tools/traced_command.h"

namespace relayout::tools {
namespace {

using Names = std::vector<std::string>;
using Args = std::vector<std::string>;

const Args kConvert = {RELAYOUT_COMMAND, "convert",  "in.bin",  "out.bin", "--from",    "ab", "--to", "ba",
                       "--dims",         "512,1024", "--dtype", "f32",     "--threads", "1",  "-f"};

bool is_temporary(const std::string& name) { return name.find(".relayout-tmp-") != std::string::npos; }

/// Whether the command is at the end of the call that opened the output, which has no name yet.
bool made_output(const TracedCommand& command) {
  constexpr uint64_t kFlag = O_TMPFILE;
  return command.returned_from(SYS_openat) && (command.arguments()[2] & kFlag) == kFlag && command.result() >= 0;
}
/// Whether it is at the end of the call that named the output (temporarily if a file is to be replaced).
bool linked_output(const TracedCommand& command) { return command.returned_from(SYS_linkat) && command.result() == 0; }

class KilledConvert : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string bytes(std::size_t{512} * 1024 * 4, '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7 / 64);
    write_file(folder_ / "in.bin", bytes);
    TracedCommand command(kConvert, folder_.path());
    if (!command.allowed()) {
      std::cout << "skipped: this process may not trace another" << std::endl;
      GTEST_SKIP();
    }
    while (command.next()) {
      ++stops_;
      nameless_ = nameless_ || made_output(command);
    }
    new_ = read_file(folder_ / "out.bin");
    ASSERT_EQ(new_.size(), bytes.size());
    reset(false);
  }

  /// Makes the folder as it is before a conversion, with or without an output that is to be replaced.
  void reset(bool with_old) {
    std::filesystem::remove(folder_ / "out.bin");
    if (with_old) write_file(folder_ / "out.bin", std::string("old"));
    before_ = folder_.names();
  }

  /// Kills a conversion at that stop, if it has not ended before. Returns whether it left a temporary file.
  bool kill_at(int64_t stop, bool with_old) {
    reset(with_old);
    {
      TracedCommand command(kConvert, folder_.path());
      for (int64_t i = 0; i < stop && command.next(); ++i) {
      }
    }  // SIGKILL, unless it has ended
    const std::string out = read_file(folder_ / "out.bin");
    EXPECT_TRUE(out == new_ || out == (with_old ? "old" : "")) << "stop " << stop << ": " << out.size() << " bytes";
    Names left;
    for (const std::string& name : folder_.names()) {
      if (name != "in.bin" && name != "out.bin") left.push_back(name);
    }
    if (left.empty()) return false;
    EXPECT_EQ(left.size(), 1U);
    EXPECT_TRUE(is_temporary(left[0])) << left[0];
    EXPECT_EQ(read_file(folder_ / left[0]).size(), new_.size());
    EXPECT_EQ(TracedCommand(kConvert, folder_.path()).finish(), 0);
    EXPECT_EQ(folder_.names(), (Names{"in.bin", "out.bin"})) << "after the next conversion";
    return true;
  }

  /// Kills many conversions. A third of the stops are spread over the whole run; the others are the last ones, where
  /// the output gets its name. Returns how many left a temporary file.
  int64_t kill_at_many(bool with_old) {
    const char* slow = std::getenv("RELAYOUT_SLOW_TESTS");
    const int64_t kills = slow && std::string(slow) != "0" ? 300 : 30, spread = kills / 3;
    int64_t leftovers = 0;
    for (int64_t i = 0; i < spread; ++i) leftovers += kill_at(1 + stops_ * i / spread, with_old);
    for (int64_t i = 0; i < kills - spread; ++i) {
      leftovers += kill_at(std::max<int64_t>(1, stops_ - i), with_old);
    }
    return leftovers;
  }

  /// Starts a conversion and runs it until when() is true.
  template <typename When>
  std::unique_ptr<TracedCommand> run_until(const Args& args, When when) {
    auto command = std::make_unique<TracedCommand>(args, folder_.path());
    while (command->next()) {
      if (when(*command)) return command;
    }
    ADD_FAILURE() << "the conversion ended before";
    return command;
  }

  TestFolder folder_;
  int64_t stops_ = 0;
  bool nameless_ = false;  // the file system has files without a name
  std::string new_;
  Names before_;
};

TEST_F(KilledConvert, ANewOutputIsWholeOrMissing) {
  const int64_t leftovers = kill_at_many(false);
  if (nameless_) {
    EXPECT_EQ(leftovers, 0);
  }
}

TEST_F(KilledConvert, AReplacedOutputIsTheOldOneOrTheNewOne) {
  const int64_t leftovers = kill_at_many(true);
  if (!nameless_) return;
  EXPECT_LE(leftovers, 2);
  // There are two such moments: the end of the call that gives the temporary name, and the beginning of rename().
  reset(true);
  int64_t stop = 0;
  run_until(kConvert, [&](const TracedCommand& command) {
    ++stop;
    return linked_output(command);
  });
  EXPECT_FALSE(kill_at(stop - 1, true));
  EXPECT_TRUE(kill_at(stop, true));
  EXPECT_TRUE(kill_at(stop + 1, true));
  EXPECT_FALSE(kill_at(stop + 2, true));
}

TEST_F(KilledConvert, AnInterruptLeavesNothing) {
  if (!nameless_) GTEST_SKIP() << "skipped: the file system has no nameless files";
  for (const bool with_old : {false, true}) {
    reset(with_old);
    for (const int signal_number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
      const auto command = run_until(kConvert, made_output);
      EXPECT_EQ(command->finish(signal_number), 130) << signal_number;
      EXPECT_EQ(command->standard_error(), "relayout: interrupted\n");
      EXPECT_EQ(folder_.names(), before_) << signal_number;
    }
  }
  // The conversion is stopped in the one instant in which a file that replaces another has a temporary name.
  const auto command = run_until(kConvert, linked_output);
  EXPECT_EQ(folder_.names().size(), before_.size() + 1);
  EXPECT_EQ(command->finish(SIGINT), 130);
  EXPECT_EQ(folder_.names(), before_);
  EXPECT_EQ(read_file(folder_ / "out.bin"), "old");
}

TEST_F(KilledConvert, AnInputThatIsShortenedIsAnError) {
  if (!nameless_) GTEST_SKIP() << "skipped: the file system has no nameless files";
  const std::string message = R"("in.bin" changed while it was read)";
  const std::string in = read_file(folder_ / "in.bin");
  for (const bool json : {false, true}) {
    write_file(folder_ / "in.bin", in);
    Args args = kConvert;
    if (json) args.push_back("--json");
    const auto command = run_until(args, made_output);
    std::filesystem::resize_file(folder_ / "in.bin", 4096);
    EXPECT_EQ(command->finish(), 4);
    const std::string said = command->standard_error();
    if (!json) {
      EXPECT_EQ(said, "relayout: " + message + "\n");
    } else {
      EXPECT_NE(said.find(R"("message":"\"in.bin\" changed while it was read")"), std::string::npos) << said;
    }
    EXPECT_EQ(folder_.names(), before_);
  }
}

}  // namespace
}  // namespace relayout::tools
