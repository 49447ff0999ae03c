// What is offered for a word that is no layout.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "relayout/core/format.h"
#include "relayout/core/notations/notation.h"
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
  EXPECT_EQ(offered("row-major"), "contiguous, tenstorrent:ROW_MAJOR");
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
                                                       {"NC1HWC0", "nChw16c, ascend:NC1HWC0"},
                                                       {"NCHW_VECT_C", "cudnn:NC/4HW4"}};
  for (const auto& [text, names] : cases) EXPECT_EQ(offered(text), names) << text;
}

TEST(Suggestions, BlocksWithoutTheirCapitalNumberOrLetter) {
  const std::pair<const char*, const char*> cases[] = {
      {"nchw16c", "nChw16c"},   {"NCHWc", "nChw16c"}, {"NCHW16", "nChw16c"},          {"nChw16", "nChw16c"},
      {"OIHWio", "OIhw16i16o"}, {"abcd8b", "aBcd8b"}, {"oihw4i16o4i", "OIhw4i16o4i"}, {"nC16hw", "nChw16c"}};
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

TEST(Suggestions, NotationsThatAreMisspeltOrLackTheirColon) {
  const std::pair<const char*, const char*> cases[] = {{"xls:{1,0}", "xla:{1,0}"},
                                                       {"XLA:{1,0}", "xla:{1,0}"},
                                                       {"xla{1,0}", "xla:{1,0}"},
                                                       {"cut:(2,3):(1,2)", "cute:(2,3):(1,2)"},
                                                       {"cute(2,3):(1,2)", "cute:(2,3):(1,2)"},
                                                       {"stride:1,2", "strides:1,2"},
                                                       {"cuddn:NCHW", "cudnn:NCHW"},
                                                       {"tflit:BHWC", "tflite:BHWC"},
                                                       {"directml:{2,3}", "dml:{2,3}"}};
  for (const auto& [text, names] : cases) EXPECT_EQ(offered(text), names) << text;
}

TEST(Suggestions, NotationsWithoutTheirNames) {
  const std::pair<const char*, const char*> cases[] = {{"{1,0}", "xla:{1,0}"},
                                                       {"(2,3):(3,1)", "cute:(2,3):(3,1)"},
                                                       {"f32[3,5]{1,0}", "xla:[3,5]{1,0}"},
                                                       {"f32[3,5]", "xla:[3,5]"},
                                                       {"12,4,1", "strides:12,4,1"},
                                                       {"{2,3},{5,1}", "dml:{2,3},{5,1}"},
                                                       {"(5,4)|(4,1)", "digits:(5,4)|(4,1)"}};
  for (const auto& [text, names] : cases) EXPECT_EQ(offered(text), names) << text;
}

/// Who writes the name of a notation alone, or what is no layout behind it, sees how its layouts are written.
TEST(Suggestions, NotationsByExample) {
  const std::pair<const char*, const char*> cases[] = {{"cute", "cute:((8,3),4):((1,32),8)"},
                                                       {"CuTe", "cute:((8,3),4):((1,32),8)"},
                                                       {"xla", "xla:{1,0:T(8,128)}"},
                                                       {"xls:1,0", "xla:{1,0:T(8,128)}"},
                                                       {"strides", "strides:15,1,5,1"},
                                                       {"stride", "strides:15,1,5,1"},
                                                       {"numpy", "strides:15,1,5,1"},
                                                       {"directml", "dml:{2,3},{5,1}"},
                                                       {"ncnn", "ncnn:NC4HW4"},
                                                       {"onednn", "nChw16c"},
                                                       {"digit:4", "digits:(5,4)|(4,1)"}};
  for (const auto& [text, example] : cases) {
    const std::string message = test::error_of([&] { Format::parse(text); }).message();
    EXPECT_TRUE(message.ends_with("\n  such layouts are written as in " + std::string(example))) << message;
  }
  for (const Notation& notation : all_notations()) EXPECT_NO_THROW(Format::parse(notation.example)) << notation.example;
  for (const char* text : {"hello:1", "tnq", "xl"}) {
    EXPECT_EQ(test::error_of([&] { Format::parse(text); }).message().find("written as in"), std::string::npos) << text;
  }
}

/// What is tried is not advised about in turn, which could go on for ever.
TEST(Suggestions, OfLongWordsAreFoundAtOnce) {
  for (const char* text :
       {"nchwoigtlm3bcdefk", "aaaa3bbbbcccc", "abcdefghijkl3mnopqrstuv", "f32f32f32f32", "xla3abc:1"})
    EXPECT_FALSE(Format::is_expression(text)) << text;
  EXPECT_EQ(offered("abcdefghijkl3mnopqrstuv"), "");
  EXPECT_TRUE(Format::is_expression("nChw16c") && Format::is_expression("cute:(4,2):(1,4)"));
}

TEST(Suggestions, ColumnMajor) {
  for (const char* text :
       {"fortran", "Fortran", "F", "column-major", "column_major", "colum-major", "f_contiguous", "fotran"})
    EXPECT_EQ(offered(text), "ba, cba, dcba") << text;
  EXPECT_EQ(offered("row-mjor"), "contiguous");
  EXPECT_EQ(offered("torch.contiguous_format"), "contiguous");
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
