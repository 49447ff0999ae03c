// Tests of the cache of tuning results: keys, saving and loading files, and refusing files that are not tuning files.
#include "relayout/cpu/tune_cache.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "relayout/cpu/reorder.h"
#include "relayout/reorder/boxes/policy.h"
#include "tests/support/scoped_isa.h"
#include "tests/support/testing.h"

namespace relayout::cpu {
namespace {

namespace fs = std::filesystem;
using test::desc;
using Stream = Tuning::Stream;

class TuneCacheFile : public testing::Test {
 protected:
  TuneCacheFile() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~TuneCacheFile() override { fs::remove_all(folder_); }
  void write(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }
  std::string content() const {
    std::ostringstream text;
    text << std::ifstream(path_, std::ios::binary).rdbuf();
    return text.str();
  }

  fs::path folder_ = fs::path(testing::TempDir()) /
                     (std::string("tune-") + testing::UnitTest::GetInstance()->current_test_info()->name());
  fs::path path_ = folder_ / "tune.txt";
};

TEST(TuneKey, EverythingThatMatters) {
  const Dims dims{2, 17, 5, 4};
  const Machine machine{32 << 10, 1 << 20, 32 << 20};
  alignas(64) std::byte memory[128];
  const TensorDesc nchw = desc("nchw", dims), nhwc = desc("nhwc", dims);
  Attributes scale, per_channel, keep;
  scale.src_scale = {{2}, 0};
  per_channel.src_scale = {std::vector<double>(17, 2.0), 2};
  keep.padding = Padding::keep();
  const auto key = [&](const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes = {}, int src_at = 0,
                       int dst_at = 0, int threads = 1) {
    return tune_key(src, dst, attributes, memory + src_at, memory + dst_at, threads, machine);
  };
  std::vector<std::string> keys{
      key(nchw, nhwc),
      key(nhwc, nchw),
      key(nchw, desc("nhwc", dims, DType::u8)),
      key(desc("nchw", dims, DType::s32), desc("nhwc", dims, DType::s32)),
      key(nchw, desc("nChw8c", dims)),
      key(desc("nchw", {2, 17, 5, 5}), desc("nhwc", {2, 17, 5, 5})),
      key(nchw, nhwc, scale),
      key(nchw, nhwc, per_channel),
      key(nchw, nhwc, keep),
      key(nchw, nhwc, {}, 4),
      key(nchw, nhwc, {}, 0, 4),
      tune_key(nchw, nhwc, {}, memory, memory, 1, {32 << 10, 1 << 20, 16 << 20}),
  };
  if (default_threads() > 1) keys.push_back(key(nchw, nhwc, {}, 0, 0, 2));
  std::string scalar;
  {
    const test::ScopedIsa isa_scope("scalar");
    scalar = key(nchw, nhwc);
  }
  if (isa() != "scalar") keys.push_back(scalar);
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), keys.size());

  // The key is the same for another spelling of the layout, an address another multiple of a line, and other attribute
  // values.
  EXPECT_EQ(key(nchw, nhwc), key(desc("strides:340,20,4,1", dims), nhwc, {}, 64));
  Attributes other = scale;
  other.src_scale.values[0] = 3;
  EXPECT_EQ(key(nchw, nhwc, scale), key(nchw, nhwc, other));
  EXPECT_EQ(key(nchw, nhwc, {}, 0, 0, 0), key(nchw, nhwc, {}, 0, 0, default_threads() + 7));
  TuneCache cache;
  for (const std::string& one : keys) EXPECT_TRUE(cache.insert(one, {}));
}

TEST(TuneCache, FindInsert) {
  TuneCache cache;
  EXPECT_FALSE(cache.find("a"));
  EXPECT_TRUE(cache.insert("a", {.strip = 32}));
  EXPECT_TRUE(cache.insert("b", {}));
  EXPECT_EQ(cache.find("a"), (Tuning{.strip = 32}));
  EXPECT_EQ(cache.find("b"), Tuning{});
  EXPECT_TRUE(cache.insert("a", {.panel = 64}));
  EXPECT_EQ(cache.find("a"), (Tuning{.panel = 64}));
  EXPECT_EQ(cache.size(), 2u);
  cache.clear();
  EXPECT_EQ(cache.size(), 0u);
  for (const std::string& key : {std::string(), std::string("a\nb"), std::string("a\0b", 3), std::string("\xc3\xa9"),
                                 std::string(TuneCache::kMaxKey + 1, 'k')}) {
    EXPECT_EQ(test::code_of([&] { cache.insert(key, {}); }), ErrorCode::invalid_argument);
  }
  for (const Tuning& tuning : {Tuning{.panel = kMaxBlockSide + 1}, Tuning{.strip = kMaxTunedStrip + 1},
                               Tuning{.ahead = kMaxTunedAhead + 1}, Tuning{.strip = -1}}) {
    EXPECT_EQ(test::code_of([&] { cache.insert("a", tuning); }), ErrorCode::invalid_argument);
  }
}

TEST(TuneCache, Full) {
  TuneCache cache;
  for (std::size_t i = 0; i < TuneCache::kMaxEntries; ++i) ASSERT_TRUE(cache.insert(std::to_string(i), {}));
  EXPECT_FALSE(cache.insert("one more", {}));
  EXPECT_TRUE(cache.insert("7", {.panel = 64}));
  EXPECT_EQ(cache.find("7"), (Tuning{.panel = 64}));
}

TEST(TuneCache, ManyThreads) {
  TuneCache cache;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&cache, t] {
      for (int i = 0; i < 500; ++i) {
        cache.insert(std::to_string(i), {.strip = 1 + i % 7});
        const auto found = cache.find(std::to_string((i + t) % 500));
        EXPECT_TRUE(!found || found->strip > 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(cache.size(), 500u);
}

TEST_F(TuneCacheFile, RoundTrip) {
  TuneCache cache;
  EXPECT_FALSE(cache.load(path_));
  cache.insert("x @0 | y", {Stream::always, 256, 64, 4096});
  cache.insert("z", {});
  cache.save(path_);
  EXPECT_EQ(content(), "relayout-tune 1\nalways 256 64 4096 x @0 | y\nby_size 0 0 0 z\nend 2\n");
  TuneCache other;
  EXPECT_TRUE(other.load(path_));
  EXPECT_EQ(other.size(), 2u);
  EXPECT_EQ(other.find("x @0 | y"), (Tuning{Stream::always, 256, 64, 4096}));
  EXPECT_EQ(other.find("z"), Tuning{});
  TuneCache().save(folder_ / "empty");
  EXPECT_TRUE(TuneCache().load(folder_ / "empty"));
}

TEST_F(TuneCacheFile, SavesAreJoined) {
  TuneCache first, second;
  first.insert("a", {.strip = 1});
  first.insert("b", {.strip = 2});
  first.save(path_);
  second.insert("b", {.strip = 3});
  second.insert("c", {.strip = 4});
  second.save(path_);
  first.load(path_);
  EXPECT_EQ(first.find("a")->strip, 1);
  EXPECT_EQ(first.find("b")->strip, 2);  // its own
  EXPECT_EQ(first.find("c")->strip, 4);
  TuneCache third;
  third.load(path_);
  EXPECT_EQ(third.find("b")->strip, 3);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1) << "a file was left over";
}

TEST_F(TuneCacheFile, Corrupt) {
  const std::string good = "relayout-tune 1\nalways 256 64 4096 x\nnever 0 0 0 y\nend 2\n";
  write(good);
  EXPECT_TRUE(TuneCache().load(path_));
  std::vector<std::string> bad{
      "",
      "relayout-tune 1",
      "relayout-tune 1\n",
      "\x93NUMPY",
      good + "more",
      "relayout-tune 1\nend 1\n",
      "relayout-tune 1\nend -0\n",
      "relayout-tune 1\nsometimes 0 0 0 x\nend 1\n",
      "relayout-tune 1\nalways 0 0 x\nend 1\n",
      "relayout-tune 1\nalways 0 0 0 \nend 1\n",
      "relayout-tune 1\nalways -1 0 0 x\nend 1\n",
      "relayout-tune 1\nalways 0x1 0 0 x\nend 1\n",
      "relayout-tune 1\nalways 1025 0 0 x\nend 1\n",
      "relayout-tune 1\nalways 0 257 0 x\nend 1\n",
      "relayout-tune 1\nalways 0 0 99999999999999999999999 x\nend 1\n",
      "relayout-tune 1\nalways 0 0 0 x\x1b[2J\nend 1\n",
      "relayout-tune 1\nalways 0 0 0 x\nnever 0 0 0 x\nend 2\n",
      "relayout-tune 1\nalways 0 0 0 " + std::string(TuneCache::kMaxKey + 1, 'k') + "\nend 1\n",
      std::string(5000, '\0')};
  for (std::size_t cut = 1; cut < good.size(); ++cut) bad.push_back(good.substr(0, cut));
  for (const std::string& text : bad) {
    write(text);
    TuneCache cache;
    cache.insert("mine", {});
    EXPECT_EQ(test::code_of([&] { cache.load(path_); }), ErrorCode::corrupt) << text;
    EXPECT_EQ(cache.size(), 1u) << text;
    EXPECT_EQ(test::code_of([&] { cache.save(path_); }), ErrorCode::corrupt) << text;
    EXPECT_EQ(content(), text) << "the file was changed";
  }
}

TEST_F(TuneCacheFile, NotReadable) {
  TuneCache cache;
  cache.insert("mine", {});
  write("relayout-tune 2\nsomething else\n");
  const Error error = test::error_of([&] { cache.load(path_); });
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_EQ(error.value(), "2");
  EXPECT_EQ(test::code_of([&] { cache.save(path_); }), ErrorCode::unsupported);
  EXPECT_EQ(test::code_of([&] { cache.load(folder_); }), ErrorCode::io);
  EXPECT_EQ(test::code_of([&] { cache.load("/dev/zero"); }), ErrorCode::io);
  EXPECT_EQ(test::code_of([&] { cache.save(folder_ / "none" / "tune.txt"); }), ErrorCode::io);
  fs::resize_file(path_, static_cast<std::uintmax_t>(TuneCache::kMaxFileBytes) + 1);
  EXPECT_EQ(test::code_of([&] { cache.load(path_); }), ErrorCode::limit);
  EXPECT_EQ(cache.size(), 1u);
}

TEST_F(TuneCacheFile, ALinksTargetIsReplaced) {
  TuneCache cache;
  cache.insert("mine", {});
  cache.save(path_);
  fs::create_symlink(path_, folder_ / "link");
  cache.insert("more", {});
  cache.save(folder_ / "link");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  TuneCache other;
  other.load(path_);
  EXPECT_EQ(other.size(), 2u);
}

}  // namespace
}  // namespace relayout::cpu
