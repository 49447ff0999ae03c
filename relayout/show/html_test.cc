// Pages: what their policy allows, that nothing a name says becomes a mark, and what scripts compute from.
#include "relayout/show/html.h"

#include <gtest/gtest.h>

#include "relayout/core/error.h"

namespace relayout::show {
namespace {

Scene scene(const std::string& expression, const Dims& dims) {
  const Format format = Format::parse(expression);
  View view{.expression = expression, .layout = format.bind(dims), .letters = format.dim_names(dims.size())};
  return {expression, {view}};
}

std::size_t scripts(const std::string& page) {
  std::size_t count = 0;
  for (std::size_t at = page.find("<script"); at != std::string::npos; at = page.find("<script", at + 1)) ++count;
  return count;
}

TEST(Html, AsksForNothingAndFitsAMegabyte) {
  const std::string page = html(scene("nchw", {1024, 1024, 1024, 1024}));
  EXPECT_LT(page.size(), 1U << 20);
  EXPECT_NE(page.find("default-src 'none'; script-src 'sha256-"), std::string::npos);
  for (const char* asked : {"src=", "href=", "http://", "https://", "fetch(", "import ", "url(", "eval("}) {
    std::size_t at = page.find(asked);
    // The name of SVG's language is written as an address.
    while (at != std::string::npos && page.substr(at).starts_with("http://www.w3.org/2000/svg"))
      at = page.find(asked, at + 1);
    EXPECT_EQ(at, std::string::npos) << asked;
  }
}

TEST(Html, NamesAndValuesAreNoMarks) {
  const std::string hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&";
  Scene bad = scene("ab", {1, 2});
  bad.title = bad.views[0].expression = bad.views[0].name = hostile;
  bad.views[0].values = {hostile, hostile};
  const std::string page = html(bad);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(scripts(page), scripts(html(scene("ab", {1, 2}))));
}

TEST(Html, DataHasTheDigits) {
  EXPECT_EQ(scene_json(scene("nChw8c", {2, 17, 5, 4})),
            R"({"title":"nChw8c","kind":"sides","bytes":0,"views":[{"name":"","expression":"nChw8c","letters":"nchw",)"
            R"("dims":[2,17,5,4],"padded":[2,24,5,4],"digits":[[[2,480]],[[8,1],[3,160]],[[5,32]],[[4,8]]],)"
            R"("offset0":0,"span":960,"formula":"480*n + 160*(c/8) + 32*h + 8*w + c%8","dtype":"f32","bits":32}]})");
}

TEST(Html, RefusesOffsetsThatScriptsCannotHold) {
  EXPECT_THROW(html(scene("strides:9007199254740992,1", {2, 2})), Error);
  EXPECT_NO_THROW(html(scene("strides:4503599627370496,1", {2, 2})));
}

TEST(Scene, ComparesTwoViews) {
  View a = scene("nchw", {1, 2, 2, 2}).views[0], b = scene("nhwc", {1, 2, 2, 2}).views[0];
  EXPECT_EQ(comparison(a, b).text,
            "nchw and nhwc part at index (0,0,0,1): 1 in nchw, 2 in nhwc; 6 of 8 elements lie "
            "elsewhere");
  b = scene("acdb", {1, 2, 2, 2}).views[0];
  EXPECT_EQ(comparison(scene("nhwc", {1, 2, 2, 2}).views[0], b).text,
            "nhwc and acdb are the same function: each of 8 elements has the same offset in both");
}

}  // namespace
}  // namespace relayout::show
