// New files: nobody sees one before it is complete, and a killed writer leaves nothing for long.
#include "relayout/io/new_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "tests/support/tensor_files.h"

namespace relayout::io {
namespace {

using Names = std::vector<std::string>;

template <int error_number>
int fail_with(const char*, mode_t) {
  errno = error_number;
  return -1;
}
constexpr OpenNameless kNoNamelessFiles = fail_with<EOPNOTSUPP>;

/// Every test runs on a file system with nameless files and on one without.
class NewFiles : public ::testing::TestWithParam<OpenNameless> {
 protected:
  void SetUp() override {
    const Descriptor file(open_nameless(folder_.path().c_str(), 0600));
    if (nameless() && file.get() < 0) {
      std::cout << "skipped: the file system has no nameless files" << std::endl;
      GTEST_SKIP();
    }
  }
  static bool nameless() { return GetParam() == open_nameless; }
  NewFile make(const std::string& name, const std::string& text) const {
    NewFile file = NewFile::make(folder_ / name, GetParam());
    file.write(bytes_of(text));
    return file;
  }
  /// What is in the folder while files are under construction: their names if they have any.
  static Names with(const std::vector<const NewFile*>& files, Names more = {}) {
    for (const NewFile* file : files) {
      if (!nameless()) more.push_back(std::filesystem::path(file->temporary_path()).filename());
    }
    std::ranges::sort(more);
    return more;
  }
  TestFolder folder_;
};

mode_t mode_of(const std::filesystem::path& path) {
  struct stat about {};
  EXPECT_EQ(::stat(path.c_str(), &about), 0);
  return about.st_mode & 07777;
}

TEST_P(NewFiles, AppearWhole) {
  NewFile file = make("a", "abc");
  EXPECT_EQ(folder_.names(), with({&file}));
  file.write(bytes_of("def"));
  file.publish(false);
  EXPECT_EQ(folder_.names(), Names{"a"});
  EXPECT_EQ(read_file(folder_ / "a"), "abcdef");
  const mode_t mask = ::umask(0);
  ::umask(mask);
  EXPECT_EQ(mode_of(folder_ / "a"), 0666 & ~mask);
}

TEST_P(NewFiles, LeaveNothingWithoutPublish) {
  { const NewFile dropped = make("a", "abc"); }
  EXPECT_EQ(folder_.names(), Names{});
  NewFile first = make("a", "first"), second = make("b", "second");
  second = std::move(first);
  second.publish(false);
  EXPECT_EQ(read_file(folder_ / "a"), "first");
}

TEST_P(NewFiles, ReplaceOnlyWhenAsked) {
  write_file(folder_ / "a", std::string("before"));
  {
    NewFile file = make("a", "abc");
    const Error error = error_of([&] { file.publish(false); });
    EXPECT_EQ(error.code(), ErrorCode::io);
    EXPECT_EQ(error.field(), "overwrite");
    EXPECT_EQ(read_file(folder_ / "a"), "before");
  }
  EXPECT_EQ(folder_.names(), Names{"a"});
  NewFile file = make("a", "abc");
  file.publish(true);
  EXPECT_EQ(read_file(folder_ / "a"), "abc");
  EXPECT_EQ(folder_.names(), Names{"a"});
}

TEST_P(NewFiles, CannotBePublished) {
  std::filesystem::create_directory(folder_ / "folder");
  EXPECT_ERROR(ErrorCode::io, make("folder", "abc").publish(true));
  const std::string too_long(256, 'n');
  EXPECT_ERROR(ErrorCode::io, make(too_long, "abc").publish(true));
  EXPECT_ERROR(ErrorCode::io, make("missing/a", "abc"));
  EXPECT_EQ(folder_.names(), Names{"folder"});
}

TEST_P(NewFiles, KeepLinks) {
  namespace fs = std::filesystem;
  fs::create_directory(folder_ / "real");
  write_file(folder_ / "real/old", std::string("before"));
  fs::create_symlink("real/old", folder_ / "to_old");
  fs::create_symlink(folder_.path() / "real/new", folder_ / "to_new");
  fs::create_symlink("to_new", folder_ / "to_link");
  EXPECT_EQ(error_of([&] { make("to_old", "abc").publish(false); }).field(), "overwrite");
  EXPECT_EQ(read_file(folder_ / "real/old"), "before");
  make("to_old", "after").publish(true);
  EXPECT_EQ(read_file(folder_ / "real/old"), "after");
  for (const std::string link : {"to_new", "to_link"}) {
    for (const bool overwrite : {false, true}) {
      make(link, "of " + link).publish(overwrite);
      EXPECT_EQ(read_file(folder_ / "real/new"), "of " + link);
      fs::remove(folder_ / "real/new");
    }
  }
  for (const char* link : {"to_old", "to_new", "to_link"}) EXPECT_TRUE(fs::is_symlink(folder_ / link));
  EXPECT_EQ(folder_.names(), (Names{"real", "to_link", "to_new", "to_old"}));

  fs::create_symlink("to_itself", folder_ / "to_itself");
  EXPECT_ERROR(ErrorCode::io, make("to_itself", "abc"));
  fs::create_symlink("missing/a", folder_ / "to_missing");
  EXPECT_ERROR(ErrorCode::io, make("to_missing", "abc"));
}

/// Ends the calling process as `kill -9` does.
[[noreturn]] void be_killed() {
  ::raise(SIGKILL);
  ::_exit(1);
}

TEST_P(NewFiles, OfKilledWritersAreRemovedByTheNext) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const NewFile file = make("a", "abc");
    be_killed();
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(folder_.names().size(), nameless() ? 0U : 1U);
  const NewFile next = make("b", "next");
  EXPECT_EQ(folder_.names(), with({&next}));
}

TEST_P(NewFiles, OfLivingWritersStay) {
  int ready[2], end[2];
  ASSERT_EQ(::pipe(ready) + ::pipe(end), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  char byte = 0;
  if (child == 0) {
    NewFile file = make("a", "abc");
    const bool told = ::write(ready[1], &byte, 1) == 1 && ::read(end[0], &byte, 1) == 1;
    file.publish(false);
    ::_exit(told ? 0 : 1);
  }
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);  // the other process is writing now
  NewFile here = make("b", "here");
  remove_abandoned_files(folder_.path());
  EXPECT_EQ(folder_.names().size(), nameless() ? 0U : 2U);
  ASSERT_EQ(::write(end[1], &byte, 1), 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  here.publish(false);
  EXPECT_EQ(read_file(folder_ / "a"), "abc");
  EXPECT_EQ(read_file(folder_ / "b"), "here");
  for (const int each : {ready[0], ready[1], end[0], end[1]}) ::close(each);
}

INSTANTIATE_TEST_SUITE_P(Nameless, NewFiles, ::testing::Values(&open_nameless));
INSTANTIATE_TEST_SUITE_P(Named, NewFiles, ::testing::Values(kNoNamelessFiles, &fail_with<EISDIR>, &fail_with<EINVAL>));

TEST(NewFile, OtherErrorsAreErrors) {
  const TestFolder folder;
  EXPECT_ERROR(ErrorCode::io, NewFile::make(folder / "a", fail_with<EACCES>));
  EXPECT_ERROR(ErrorCode::io, NewFile::make(folder / "a", fail_with<ENOSPC>));
  EXPECT_EQ(folder.names(), Names{});
}

TEST(NewFile, TemporaryNamesAreTheOnlyOnesRemoved) {
  const TestFolder folder;
  const std::string ours = ".a.relayout-tmp-0123456789abcdef";
  const Names others = {".a.relayout-abcdef",
                        ".a.relayout-tmp-",
                        ".a.relayout-tmp-0123456789abcde",
                        ".a.relayout-tmp-0123456789abcdeg",
                        ".a.relayout-tmp-0123456789abcdefa",
                        "a.relayout-tmp-0123456789abcdef",
                        ".relayout-tmp",
                        "a"};
  for (const std::string& name : others) write_file(folder / name, std::string("kept"));
  std::filesystem::create_directory(folder / ".folder.relayout-tmp-0123456789abcdef");
  std::filesystem::create_symlink("a", folder / ".link.relayout-tmp-0123456789abcdef");
  write_file(folder / ours, std::string("left"));
  ::chmod((folder / ours).c_str(), 0444);
  remove_abandoned_files(folder.path());
  EXPECT_FALSE(std::filesystem::exists(folder / ours));
  EXPECT_EQ(folder.names().size(), others.size() + 2);
  remove_abandoned_files(folder / "missing");  // no error
}

TEST(NewFile, StaysWhereItIsToBeResumed) {
  const TestFolder folder;
  const std::filesystem::path path = folder / "x";
  { NewFile::resume(path).write_at(3, bytes_of("abc")); }
  EXPECT_EQ(folder.names(), Names{".x.relayout-part"});
  EXPECT_EQ(resumed_path(path), folder / ".x.relayout-part");
  {
    NewFile file = NewFile::resume(path);
    EXPECT_EQ(file.size(), 6);
    std::string have(5, '.');
    EXPECT_EQ(file.read_at(4, std::as_writable_bytes(std::span(have))), 2U);
    EXPECT_EQ(have, "bc...");
    EXPECT_ERROR(ErrorCode::io, NewFile::resume(path));  // somebody has it
    const NewFile other = NewFile::make(folder / "y");   // whose search for abandoned files leaves it alone
    file.resize(4);
    file.publish(false);
  }
  EXPECT_EQ(folder.names(), Names{"x"});
  EXPECT_EQ(read_file(path), std::string("\0\0\0a", 4));
  {
    NewFile file = NewFile::resume(path);
    EXPECT_EQ(file.size(), 0);
    EXPECT_ERROR(ErrorCode::io, file.publish(false));
    EXPECT_ERROR(ErrorCode::io, file.reserve(INT64_MAX / 2));
  }
  EXPECT_EQ(folder.names(), (Names{".x.relayout-part", "x"}));
  NewFile::resume(path).forget();
  EXPECT_EQ(folder.names(), Names{"x"});
}

}  // namespace
}  // namespace relayout::io
