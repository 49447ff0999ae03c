// Tags as names: the names that a tag has beside its letters, and those that are offered for a misspelt word.
#include <gtest/gtest.h>

#include <algorithm>

#include "relayout/core/format.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

using test::bound;

std::string tag_error(std::string_view text) {
  return test::error_of([&] { Format::parse(text); }).message();
}

TEST(Tag, Aliases) {
  const auto has = [](std::string_view tag, std::string_view alias) {
    return std::ranges::count(aliases_of(tag), alias) == 1;
  };
  EXPECT_TRUE(has("abcd", "nchw") && has("abcd", "oihw") && has("abcd", "ldnc") && has("acdb", "nhwc") &&
              has("acdb", "ohwi"));
  EXPECT_TRUE(has("aBcd16b", "nChw16c") && has("ABcd4b16a4b", "OIhw4i16o4i") && has("a", "x") && has("ab", "nc") &&
              has("ba", "nt"));
  EXPECT_TRUE(has("ac|Bd4b", "mace:in_out_channel"));
  for (const char* tag : {"abc", "bac", "acdb", "aBcde16b", "ABcd16a16b", "abCde4c"}) {
    for (const std::string& alias : aliases_of(tag)) {
      const Format format = Format::parse(alias);
      EXPECT_EQ(format.generic_tag(*format.rank()), tag) << alias;
    }
  }
}

/// All permutations of so many letters from a on, each with blocks: 4 of one dim, or 2 of one and 2 of another. Images
/// have their row break at every place; other tags also stand without blocks.
std::vector<std::string> many_tags(int rank, bool image) {
  std::vector<std::string> out;
  std::string order = std::string("abcdef").substr(0, static_cast<std::size_t>(rank));
  do {
    for (std::size_t rows = 0; rows <= (image ? order.size() : 0); ++rows) {
      for (std::size_t first = 0; first < order.size(); ++first) {
        for (std::size_t second = 0; second < order.size(); ++second) {
          std::string tag = order;
          for (const std::size_t k : {first, second}) tag[k] = static_cast<char>(order[k] - 'a' + 'A');
          if (image) tag.insert(rows, 1, '|');
          const std::string a(1, order[first]), b(1, order[second]);
          out.push_back(tag + (first == second ? "4" + a : "2" + a + "2" + b));
        }
      }
    }
    if (!image) out.push_back(order);
  } while (std::ranges::next_permutation(order).found);
  return out;
}

TEST(Tag, EveryAliasIsTheSameLayout) {
  int64_t of_images = 0;
  for (const bool image : {false, true}) {
    for (int rank = 1; rank <= 5 - (image ? 1 : 0); ++rank) {
      Dims dims{1, 9, 4, 5, 3};
      while (dims.size() > rank) dims.erase(rank);
      for (const std::string& tag : many_tags(rank, image)) {
        const Layout layout = bound(tag, dims);
        for (const std::string& alias : aliases_of(tag)) {
          ASSERT_NO_THROW(Format::parse(alias)) << alias << " of " << tag;
          ASSERT_EQ(Format::parse(alias).bind(dims), layout) << alias << " of " << tag;
          ASSERT_EQ(Format::parse(alias).is_image(), image) << alias << " of " << tag;
          of_images += image ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(of_images, 1000);
  EXPECT_EQ(aliases_of("ac|Bd4b"), (std::vector<std::string>{"mace:in_out_channel", "nh|Cw4c", "oh|Iw4i", "gi|Ow4o"}));
}

TEST(Tag, NamesNearAnImageAreImages) {
  const auto bind_error = [](std::string_view text) {
    return test::error_of([&] { bound(text, {1, 9, 4, 5}); }).message();
  };
  const std::string has = "bind: I|hw4i has 3 dims, dims 1,9,4,5 has 4";
  EXPECT_EQ(bind_error("I|hw4i"), has + "; names of rank 4: I|mhw4i");
  EXPECT_EQ(bind_error("w|H4h"), "bind: w|H4h has 2 dims, dims 1,9,4,5 has 4") << "no image is near";
  EXPECT_NE(bind_error("ncw").find("names of rank 4: nchw"), std::string::npos);
  EXPECT_NE(tag_error("I|mhhw4i").find("did you mean I|mhw4i?"), std::string::npos) << tag_error("I|mhhw4i");
  EXPECT_EQ(tag_error("q|zz4q").find("did you mean"), std::string::npos) << tag_error("q|zz4q");
  EXPECT_NE(tag_error("nhcw").find("did you mean nhwc, nchw?"), std::string::npos);
}

}  // namespace
}  // namespace relayout
