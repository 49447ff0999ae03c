// The tags that onednn::code() knows by name, against the library's header: exactly the names that oneDNN 2.6.3 has,
// and those of later versions with a comment that says so.
#include <gtest/gtest.h>

#include <set>

#include "relayout/core/format.h"
#include "relayout/interop/onednn.h"
#include "tag_names.h"

namespace relayout {
namespace {

/// The code, or the refusal.
std::string code_of(const Layout& layout) {
  try {
    return onednn::code({layout, DType::f32});
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.message();
    return error.message();
  }
}

TEST(OneDnnCode, NamesExactlyTheTagsOfOneDnn) {
  int known = 0, other = 0;
  std::set<std::string> names;
  for (const TagName& name : onednn_tag_names()) names.insert(name.canonical);
  for (const std::string& name : names) {
    if (name == "undef" || name == "any") continue;
    const Format format = Format::parse(name);
    Dims dims(*format.rank(), 0);
    for (int d = 0; d < dims.size(); ++d) dims[d] = 3 * 4096 + d;  // blocks multiply to at most 4096
    Layout layout;
    try {
      layout = format.bind(dims);
    } catch (const Error&) {  // over 63 bits
      for (int d = 0; d < dims.size(); ++d) dims[d] = d < 6 ? 512 + d : 2;
      layout = format.bind(dims);
    }
    const std::string text = code_of(layout);
    const std::string own = tag_of(layout).value_or("");
    if (own != name) {  // the layout has a simpler tag, which must be a name too
      ++other;
      EXPECT_TRUE(names.contains(own)) << name << " " << own;
    }
    EXPECT_NE(text.find("format_tag::" + own + ")"), std::string::npos) << name << "\n" << text;
    EXPECT_EQ(text.find("not in"), std::string::npos) << name << "\n" << text;
    ++known;
  }
  EXPECT_GT(known, 500);
  EXPECT_LT(other, 10);
  // And no others as names of this version: each of these is a tag, and some of them are names.
  int unknown = 0;
  for (const char* outer : {"Abcd", "aBcd", "ABcd", "BAcd", "aBdc", "acdB"}) {
    for (int block = 2; block <= 64; ++block) {
      const bool second = std::string_view(outer).find('B') == std::string_view::npos;
      const bool both = std::string_view(outer).find('A') != std::string_view::npos && !second;
      const std::string size = std::to_string(block);
      const std::string tag = std::string(outer) + (second ? size + "a" : both ? size + "a" + size + "b" : size + "b");
      const std::string text = code_of(Format::parse(tag).bind({200, 200, 3, 5}));
      const bool named = text.find("format_tag::" + tag + ")") != std::string::npos;
      EXPECT_EQ(named && text.find("not in") == std::string::npos, names.contains(tag)) << tag << "\n" << text;
      unknown += !names.contains(tag);
    }
  }
  EXPECT_GT(unknown, 300);
}

}  // namespace
}  // namespace relayout
