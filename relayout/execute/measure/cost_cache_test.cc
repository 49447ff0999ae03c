// The file of measured times: saved times are found, other files are left alone, and processes join their times.
#include "relayout/execute/measure/cost_cache.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <limits>

#include "relayout/execute/onednn/backend.h"
#include "relayout/io/text_file.h"
#include "tests/support/testing.h"

namespace relayout::execute {
namespace {

namespace fs = std::filesystem;
using graph::CostKey;

class CostCacheTest : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  void write(std::string_view text) const {
    fs::create_directories(folder_);
    std::ofstream(file_, std::ios::binary) << text;
  }
  std::string contents() const {
    std::ifstream file(file_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path folder_ = fs::path(testing::TempDir()) /
                     (std::string("cost-cache-") + testing::UnitTest::GetInstance()->current_test_info()->name());
  fs::path file_ = folder_ / "sub" / ".." / "costs.txt";
};

TEST_F(CostCacheTest, FindsWhatWasSaved) {
  CostCache cache;
  EXPECT_FALSE(cache.load(file_));
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (uint64_t i = 0; i < 1000; ++i) EXPECT_TRUE(cache.insert({i, ~i}, 0.1 * static_cast<double>(i)));
  cache.insert({1, 2}, kInfinity);
  cache.save(folder_ / "new" / "costs.txt");
  CostCache other;
  EXPECT_TRUE(other.load(folder_ / "new" / "costs.txt"));
  EXPECT_EQ(other.size(), 1001u);
  for (uint64_t i = 0; i < 1000; ++i) EXPECT_EQ(other.find({i, ~i}), 0.1 * static_cast<double>(i));
  EXPECT_EQ(other.find({1, 2}), kInfinity);
  EXPECT_EQ(other.find({2, 1}), std::nullopt);
}

TEST_F(CostCacheTest, ThoseInMemoryWin) {
  fs::create_directories(folder_ / "sub");
  CostCache first, second;
  first.insert({1, 1}, 10);
  first.insert({2, 2}, 20);
  first.save(file_);
  second.insert({2, 2}, 21);
  second.insert({3, 3}, 31);
  second.save(file_);
  CostCache read;
  read.insert({1, 1}, 11);
  read.load(file_);
  EXPECT_EQ(read.find({1, 1}), 11);
  EXPECT_EQ(read.find({2, 2}), 21);
  EXPECT_EQ(read.find({3, 3}), 31);
}

TEST_F(CostCacheTest, WhatIsForgottenLeavesTheFileToo) {
  fs::create_directories(folder_ / "sub");
  CostCache first, second;
  first.insert({1, 1}, 10);
  first.insert({2, 2}, 20);
  first.save(file_);
  second.forget({1, 1});
  second.forget({2, 2});
  second.insert({2, 2}, 21);
  second.save(file_);
  CostCache read;
  read.load(file_);
  EXPECT_EQ(read.find({1, 1}), std::nullopt);
  EXPECT_EQ(read.find({2, 2}), 21);
}

TEST_F(CostCacheTest, IsNoTime) {
  CostCache cache;
  for (const double value : {-1.0, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_EQ(test::code_of([&] { cache.insert({1, 1}, value); }), ErrorCode::invalid_argument);
}

TEST_F(CostCacheTest, WhatIsDamagedIsReplacedAndWhatIsNoSuchFileIsLeftAlone) {
  fs::create_directories(folder_ / "sub");
  CostCache good;
  good.insert({1, 1}, 10);
  good.save(file_);
  const std::string text = contents(), key(32, '0'), other = std::string(31, '0') + "1";
  std::vector<std::pair<std::string, ErrorCode>> bad = {
      {"", ErrorCode::corrupt},
      {"my thesis", ErrorCode::unsupported},
      {"relayout-costs 2\nend 0\n", ErrorCode::unsupported},
      {"relayout-costs 1\n", ErrorCode::corrupt},
      {"relayout-costs 1\nend 1\n", ErrorCode::corrupt},
      {"relayout-costs 1\n" + key + " 1\nend 1\nmore\n", ErrorCode::corrupt},
      {"relayout-costs 1\n" + key + " 1\n" + key + " 2\nend 2\n", ErrorCode::corrupt},
      {"relayout-costs 1\n" + std::string(1 << 20, 'x') + "\nend 1\n", ErrorCode::corrupt},
  };
  for (const char* value : {"", "-1", "nan", "1e999", "0x10", "1 ", " 1", "1,5", "one", "1\r", "\x1b[2J"})
    bad.push_back({"relayout-costs 1\n" + other + " " + value + "\nend 1\n", ErrorCode::corrupt});
  for (const std::string& word : {std::string(31, '0'), std::string(33, '0'), std::string(32, 'g'),
                                  "+" + std::string(31, '0'), "0x" + std::string(30, '0')})
    bad.push_back({"relayout-costs 1\n" + word + " 1\nend 1\n", ErrorCode::corrupt});
  for (std::size_t cut = 0; cut < text.size(); ++cut) bad.push_back({text.substr(0, cut), ErrorCode::corrupt});
  for (const auto& [contents_of, code] : bad) {
    write(contents_of);
    CostCache cache;
    cache.insert({5, 5}, 5);
    EXPECT_EQ(test::code_of([&] { cache.load(file_); }), code) << escaped(contents_of);
    EXPECT_EQ(cache.size(), 1u);
    if (code == ErrorCode::corrupt) {
      cache.save(file_);
      CostCache replaced;
      EXPECT_TRUE(replaced.load(file_));
      EXPECT_EQ(replaced.size(), 1u);
      EXPECT_EQ(replaced.find({5, 5}), 5);
    } else {
      EXPECT_EQ(test::code_of([&] { cache.save(file_); }), code);
      EXPECT_EQ(contents(), contents_of);
    }
  }
}

TEST_F(CostCacheTest, AWrongValueIsNamedWithItsLine) {
  fs::create_directories(folder_ / "sub");
  const std::string key(32, '0'), other = std::string(31, '0') + "1";
  for (const std::string value : {"-1", "-inf", "nan", "1e999", "one"}) {
    write("relayout-costs 1\n" + key + " inf\n" + other + " " + value + "\nend 2\n");
    CostCache cache;
    const Error error = test::error_of([&] { cache.load(file_); });
    EXPECT_NE(error.message().find("line 3 has the value \"" + value + "\", which is no time"), std::string::npos)
        << error.message();
  }
}

TEST_F(CostCacheTest, WhereNoFileCanBe) {
  fs::create_directories(folder_ / "sub");
  CostCache cache;
  cache.insert({1, 1}, 1);
  EXPECT_EQ(test::code_of([&] { cache.load(folder_); }), ErrorCode::io);
  EXPECT_EQ(test::code_of([&] { cache.save(folder_); }), ErrorCode::io);
  write("");
  EXPECT_EQ(test::code_of([&] { cache.save(file_ / "below" / "a" / "file"); }), ErrorCode::io);
  EXPECT_EQ(test::code_of([&] { cache.load("/dev/null"); }), ErrorCode::io);
}

TEST_F(CostCacheTest, ProcessesJoinWhatTheyHave) {
  fs::create_directories(folder_ / "sub");
  constexpr uint64_t kProcesses = 4, kSaves = 10;
  std::vector<pid_t> children;
  for (uint64_t p = 0; p < kProcesses; ++p) {
    const pid_t child = fork();
    if (child == 0) {
      try {
        for (uint64_t i = 0; i < kSaves; ++i) {
          CostCache cache;
          cache.insert({p, i}, static_cast<double>(p));
          // The time to wait for the lock suffices on a machine that is busy with other work.
          cache.save(file_, std::chrono::hours(1));
        }
        _exit(0);
      } catch (const Error&) {
        _exit(1);
      }
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  CostCache all;
  all.load(file_);
  EXPECT_EQ(all.size(), kProcesses * kSaves);
}

TEST_F(CostCacheTest, ALockThatIsHeldIsAnErrorInTheEnd) {
  fs::create_directories(folder_ / "sub");
  const io::FileLock held(file_);
  const Error error = test::error_of([&] { io::FileLock(file_, std::chrono::milliseconds(0)); });
  EXPECT_EQ(error.code(), ErrorCode::io);
  EXPECT_NE(error.message().find("another process"), std::string::npos) << error.message();
}

TEST_F(CostCacheTest, DefaultFile) {
  const auto with = [](const char* file, const char* cache, const char* home) {
    const auto set = [](const char* name, const char* value) { value ? setenv(name, value, 1) : unsetenv(name); };
    set("RELAYOUT_COST_FILE", file);
    set("XDG_CACHE_HOME", cache);
    set("HOME", home);
    return default_cost_file();
  };
  const auto value = [](const char* name) {
    const char* found = std::getenv(name);
    return found ? std::optional<std::string>(found) : std::nullopt;
  };
  const auto file = value("RELAYOUT_COST_FILE"), cache = value("XDG_CACHE_HOME"), home = value("HOME");
  EXPECT_EQ(with("mine.txt", "/c", "/h"), "mine.txt");
  EXPECT_EQ(with(nullptr, "/c", "/h"), "/c/relayout/costs.txt");
  EXPECT_EQ(with("", "relative", "/h"), "/h/.cache/relayout/costs.txt");
  EXPECT_EQ(with(nullptr, nullptr, nullptr), "");
  with(file ? file->c_str() : nullptr, cache ? cache->c_str() : nullptr, home ? home->c_str() : nullptr);
}

TEST_F(CostCacheTest, EnvironmentsDifferInThreads) {
  if (!has_onednn()) GTEST_SKIP() << "built without oneDNN";
  const auto one = onednn_backend(1), two = onednn_backend(2);
  EXPECT_EQ(environment_key(*one), environment_key(*onednn_backend(1)));
  EXPECT_FALSE(environment_key(*one) == environment_key(*two));
}

}  // namespace
}  // namespace relayout::execute
