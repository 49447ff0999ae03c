// What is offered for a word that is no layout.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "relayout/core/format.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

/// What the error offers, "a, b"; empty where it offers nothing.
std::string offered(std::string_view text) {
  const std::string message = test::error_of([&] { Format::parse(text); }).message();
  const std::string before = "did you mean ";
  const std::size_t at = message.find(before);
  if (at == std::string::npos) return "";
  const std::size_t from = at + before.size();
  return message.substr(from, message.find('?', from) - from);
}

TEST(Suggestions, OtherSpellingsOfWords) {
  for (const char* text : {"channels-last", "Channels_Last", "CHANNELS_LAST", "channelsLast", "channels last",
                           "torch.channels_last", "torch.Channels-Last"})
    EXPECT_EQ(offered(text), "channels_last") << text;
  EXPECT_EQ(offered("channels-last-3d"), "channels_last_3d");
  EXPECT_EQ(offered("channels_first"), "contiguous");
  EXPECT_EQ(offered("row-major"), "contiguous");
  EXPECT_EQ(offered("n-h-w-c"), "nhwc");
  EXPECT_EQ(offered("Nhwc"), "nhwc");
}

TEST(Suggestions, NamesOfOtherSystems) {
  const std::pair<const char*, const char*> cases[] = {{"NC4HW4", "nChw4c, cudnn:NC/4HW4, mnn:NC4HW4, ncnn:NC4HW4"},
                                                       {"NC/4HW4", "nChw4c, cudnn:NC/4HW4, mnn:NC4HW4, ncnn:NC4HW4"},
                                                       {"NC/32HW32", "nChw32c, cudnn:NC/32HW32"},
                                                       {"NC8HW8", "nChw8c, ncnn:NC8HW8, tnn:NC8HW8"},
                                                       {"NC6HW6", "nChw6c"},
                                                       {"C4NHW4", "Cnhw4c, mnn:C4NHW4"},
                                                       {"KCRS", "oihw, cudnn:KCRS"},
                                                       {"krsc", "ohwi, cudnn:KRSC"},
                                                       {"RSCK", "hwio"},
                                                       {"KCTRS", "oidhw"},
                                                       {"BHWC", "tflite:BHWC"},
                                                       {"NC1HWC0", "nChw16c"},
                                                       {"NCHW_VECT_C", "cudnn:NC/4HW4"}};
  for (const auto& [text, names] : cases) EXPECT_EQ(offered(text), names) << text;
}

TEST(Suggestions, BlocksWithoutTheirCapitalNumberOrLetter) {
  const std::pair<const char*, const char*> cases[] = {
      {"nchw16c", "nChw16c"},   {"NCHWc", "nChw16c"}, {"NCHW16", "nChw16c"},         {"nChw16", "nChw16c"},
      {"OIHWio", "OIhw16i16o"}, {"abcd8b", "aBcd8b"}, {"oihw4i16o4i", "OIhw4i16o4i"}};
  for (const auto& [text, names] : cases) EXPECT_EQ(offered(text), names) << text;
}

TEST(Suggestions, RecurrentWeightsBeginWithLayersAndDirections) {
  EXPECT_EQ(offered("igo"), "ldigo");
  EXPECT_EQ(offered("dgoi"), "ldgoi");
  EXPECT_EQ(offered("go"), "ldgo");
  // Letters that are there already are not added, which would take seconds.
  EXPECT_EQ(offered("dlgoi"), "ldgoi");
  EXPECT_EQ(offered("dlgo"), "ldgo");
}

TEST(Suggestions, LettersAway) {
  EXPECT_EQ(offered("nhcw"), "nhwc, nchw");
  EXPECT_EQ(offered("NHCW"), "nhwc, nchw");
  EXPECT_EQ(offered("chanels_last"), "channels_last");
  EXPECT_EQ(offered("hello_world"), "");
}

/// What is offered can be used as it stands.
TEST(Suggestions, AreLayouts) {
  for (const char* text : {"channels-last", "NC4HW4", "KCRS", "RSCK", "NCHWc", "NC/32HW32", "nhcw", "kctrs"}) {
    std::string names = offered(text);
    while (!names.empty()) {
      const std::size_t end = std::min(names.find(", "), names.size());
      EXPECT_NO_THROW(Format::parse(names.substr(0, end))) << text;
      names.erase(0, end + 2);
    }
  }
}

}  // namespace
}  // namespace relayout
