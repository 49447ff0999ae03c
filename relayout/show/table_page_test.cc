// Pages with a table: what stands in them, and that no text can end up as a tag.
#include "relayout/show/table_page.h"

#include <gtest/gtest.h>

namespace relayout::show {
namespace {

int times_in(const std::string& text, const std::string& part) {
  int out = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++out;
  return out;
}

TEST(TablePage, HasARowForEachRowAndOpensWhatThereIsToSay) {
  const TablePage page{
      .title = "reorders",
      .lines = {"one line"},
      .columns = {"name", "empty", "ms"},
      .rows = {{.cells = {"a", "", "1.5"}, .details = {{"why", "because"}}, .marked = true}, {.cells = {"b", "", "2"}}},
      .notes = {"a note"}};
  const std::string html = table_html(page);
  EXPECT_EQ(times_in(html, "class=\"cells"), 3);
  EXPECT_EQ(times_in(html, ">empty<"), 0);
  EXPECT_EQ(times_in(html, "<details"), 1);
  EXPECT_EQ(times_in(html, "class=\"number\""), 3);  // the name of the column as well
  EXPECT_EQ(times_in(html, "<details class=\"marked\">"), 1);
  for (const char* part : {"<dt>why</dt><dd>because</dd>", "<p>one line</p>", "<p>a note</p>",
                           "<span class=\"number\">ms</span>", "<span class=\"number\" data-label=\"ms\">1.5</span>"})
    EXPECT_EQ(times_in(html, part), 1) << part;
}

TEST(TablePage, TextsAreEscaped) {
  const std::string bad = "<script>alert(1)</script>&\"";
  const std::string html = table_html({.title = bad,
                                       .lines = {bad},
                                       .columns = {bad},
                                       .rows = {{.cells = {bad, bad}, .details = {{bad, bad}}}},
                                       .notes = {bad}});
  EXPECT_EQ(times_in(html, "<script"), 0);
  EXPECT_EQ(times_in(html, "&lt;script&gt;"), 9);  // no cell of the first column has a label
}

}  // namespace
}  // namespace relayout::show
