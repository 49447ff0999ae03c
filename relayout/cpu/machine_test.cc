// Cache sizes from folders like sysfs's.
#include "relayout/cpu/machine.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace relayout::cpu {
namespace {

namespace fs = std::filesystem;

/// A folder of this test's own, filled by add().
struct CacheFolder {
  fs::path path = fs::path(testing::TempDir()) /
                  (std::string("caches-") + testing::UnitTest::GetInstance()->current_test_info()->name());
  int count = 0;
  CacheFolder() {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~CacheFolder() { fs::remove_all(path); }
  void add(const std::string& level, const std::string& type, const std::string& size) {
    const fs::path index = path / ("index" + std::to_string(count++));
    fs::create_directories(index);
    std::ofstream(index / "level") << level << "\n";
    std::ofstream(index / "type") << type << "\n";
    std::ofstream(index / "size") << size << "\n";
  }
  void expect(int64_t l1, int64_t l2, int64_t l3) const {
    const Machine found = read_machine(path);
    EXPECT_EQ(found.l1, l1);
    EXPECT_EQ(found.l2, l2);
    EXPECT_EQ(found.l3, l3);
  }
};

constexpr int64_t kKiB = 1 << 10, kMiB = 1 << 20;

TEST(Machine, ReadsData) {
  CacheFolder folder;
  folder.add("1", "Instruction", "64K");
  folder.add("1", "Data", "48K");
  folder.add("2", "Unified", "2048K");
  folder.add("3", "Unified", "16M");
  folder.expect(48 * kKiB, 2 * kMiB, 16 * kMiB);
}

TEST(Machine, TwoLevels) {
  CacheFolder folder;
  folder.add("1", "Data", "65536");
  folder.add("2", "Unified", "4M");
  folder.expect(64 * kKiB, 4 * kMiB, 4 * kMiB);
}

TEST(Machine, NonsenseIsLeftOut) {
  const Machine normal;
  CacheFolder folder;
  folder.add("1", "Data", "0K");
  folder.add("2", "Unified", "99999999999999999999K");
  folder.add("3", "Unified", "-32M");
  folder.add("4", "Unified", "8M");
  folder.add("3", "Unified", "32MB");
  folder.add("3", "Unified", "17179869185G");  // 1G once 64 bits have overflowed
  folder.add("1", "Data", "1T");
  folder.add("1", "Data", std::string(100000, '7'));
  folder.add("2", "Unified", "");
  folder.expect(normal.l1, normal.l2, normal.l3);
  folder.add("3", "Unified", "512K");  // smaller than the second level
  folder.expect(normal.l1, normal.l2, normal.l2);
}

TEST(Machine, NoFolder) {
  const Machine normal, found = read_machine("/no/such/folder");
  EXPECT_EQ(found.l1, normal.l1);
  EXPECT_EQ(found.l2, normal.l2);
  EXPECT_EQ(found.l3, normal.l3);
}

TEST(Machine, ThisOne) {
  EXPECT_GE(machine().l1, 4 * kKiB);
  EXPECT_GE(machine().l2, machine().l1);
  EXPECT_GE(machine().l3, machine().l2);
  EXPECT_EQ(&machine(), &machine());
}

}  // namespace
}  // namespace relayout::cpu
