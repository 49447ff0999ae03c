// Patterns and templates of names, rules in one line, rules as TOML, and their inverse.
#include "relayout/checkpoint/rules/rules.h"

#include <gtest/gtest.h>

#include "relayout/checkpoint/rules/known.h"
#include "relayout/core/error.h"

namespace relayout::checkpoint {
namespace {

std::string message_of(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(Names, WildcardsAreCaptures) {
  const auto captures = NamePattern::parse("layers.#.*.weight").match("layers.12.attn.q.weight");
  ASSERT_TRUE(captures);
  EXPECT_EQ(*captures, (Captures{"12", "attn.q"}));
  EXPECT_EQ(NameTemplate::parse("blk.{1}.{2}_{1}").with(*captures), "blk.12.attn.q_12");
  EXPECT_FALSE(NamePattern::parse("layers.#.*.weight").match("layers.x.attn.weight"));
  EXPECT_FALSE(NamePattern::parse("a.b").match("aXb")) << "a dot is a dot";
  EXPECT_EQ(NamePattern::parse("/a(\\d+)(b|c)/").match("a7c"), (Captures{"7", "c"}));
  EXPECT_EQ(NamePattern::parse("[a](b)+$").match("[a](b)+$"), Captures{}) << "other signs stand for themselves";
}

TEST(Names, LeadBack) {
  const auto back = [](const char* pattern, const char* made) {
    const auto out = inverse_names(NamePattern::parse(pattern), NameTemplate::parse(made));
    std::string text = out ? out->pattern : "none";
    if (out) text.append(" -> ").append(out->made);
    return text;
  };
  EXPECT_EQ(back("a.#.*.w", "b.{2}.{1}"), "b.*.# -> a.{2}.{1}.w");
  EXPECT_EQ(back("a.#.w", "b"), "none") << "a number gets lost";
  EXPECT_EQ(back("/a\\.(\\d+)\\.(.*)/", "b.{1}.{2}"), "/b\\.(\\d+)\\.(.*)/ -> a.{1}.{2}");
  EXPECT_EQ(back("/a(b|c)/", "d{1}"), "/d(b|c)/ -> a{1}");
  EXPECT_EQ(back("/a(b(c))/", "d{1}"), "none") << "a group inside a group";
}

TEST(Names, NumbersCountAsNumbers) {
  EXPECT_TRUE(names_in_order("w.2", "w.10"));
  EXPECT_FALSE(names_in_order("w.10", "w.2"));
  EXPECT_TRUE(names_in_order("w.9.a", "w.9.b"));
  EXPECT_TRUE(names_in_order("w", "w.1"));
  EXPECT_FALSE(names_in_order("w.1", "w.1"));
}

TEST(Rules, InOneLine) {
  EXPECT_EQ(Rules::from_line("*.w: oihw -> ohwi").to->text(), "ohwi");
  EXPECT_EQ(Rules::from_line("*.w: f32 -> bf16").from_type, DType::f32);
  EXPECT_EQ(Rules::from_line("*.w: f16").type, DType::f16);
  EXPECT_TRUE(Rules::from_line("*.w: skip").skip);
  EXPECT_EQ(Rules::from_line("*.w: {1}.weight").rename->text(), "{1}.weight");
  EXPECT_EQ(Rules::from_line("*.w: bfloat16").type, DType::bf16) << "NumPy's names too";
  EXPECT_NE(message_of([] { Rules::from_line("w: f33"); }).find("\"f33\" is no type"), std::string::npos);
  EXPECT_NE(message_of([] { Rules::from_line("w: o!i -> io"); }).find("rule \"w: o!i -> io\": "), std::string::npos);
  EXPECT_NE(message_of([] { Rules::from_line("no colon"); }).find("GLOB: LAYOUT -> LAYOUT"), std::string::npos);
}

constexpr const char* kRules = R"(unmatched = "error"

[[rule]]
match = "conv#.w"
layout = "oihw -> ohwi"
rename = "c.{1}.weight"

[[rule]]
match = ["l.#.q", "l.#.k"]
rename = "l.{1}.qk"
merge = { dim = 0, sizes = [4, 2] }

[[rule]]
match = "e.#.w"
rename = "e.w"
merge = { dim = 0, stack = true }

[[rule]]
match = "lstm.*"
permute = { dim = 0, blocks = [1, 2, 3, 0] }

[[rule]]
match = "rope"
permute = { dim = 0, view = [32, 2, -1], order = [2, 0, 1] }
)";

TEST(Rules, TheInverseOfTheInverseIsTheSame) {
  const Rules rules = Rules::from_toml(kRules, "r.toml");
  ASSERT_EQ(rules.rules.size(), 5U);
  EXPECT_EQ(Rules::from_toml(rules.toml(), "again").toml(), rules.toml());
  const Rules back = rules.inverse();
  EXPECT_TRUE(back.rules[0].inverted);
  EXPECT_EQ(back.rules[0].match[0].text(), "c.#.weight");
  EXPECT_EQ(back.rules[0].to->text(), "oihw");
  EXPECT_EQ(back.rules[1].split->into[1].text(), "l.{1}.k");
  EXPECT_EQ(back.rules[2].split->into[0].text(), "e.{i}.w");
  EXPECT_EQ(back.rules[3].permute->blocks, (std::vector<int64_t>{3, 0, 1, 2}));
  EXPECT_EQ(back.rules[4].permute->view, (Dims{-1, 32, 2}));
  EXPECT_EQ(back.rules[4].permute->order, (std::vector<int>{1, 2, 0}));
  const Rules again = Rules::from_toml(back.toml(), "b").inverse();
  EXPECT_EQ(again.rules.size(), 5U);
  EXPECT_FALSE(again.rules[0].inverted);
  EXPECT_EQ(again.rules[1].match[1].text(), "l.#.k");
  EXPECT_EQ(again.rules[2].merge->stack, true);
}

TEST(Rules, ThoseOfTheLibraryAreRulesAndLeadBack) {
  EXPECT_GE(known_rules().size(), 5U);
  for (const KnownRules& known : known_rules()) {
    const Rules rules = Rules::from_toml(known.text, std::string(known.name));
    EXPECT_FALSE(rules.rules.empty()) << known.name;
    EXPECT_EQ(rules.inverse().rules.size(), rules.rules.size()) << known.name;
    EXPECT_EQ(find_known_rules(known.name), &known);
  }
  EXPECT_EQ(find_known_rules("pytorch"), nullptr);
}

TEST(Rules, NamesThatGoThroughSeveralLeadBackInTheOtherOrder) {
  const Rules rules = Rules::from_toml(
      "[[rule]]\nmatch = \"a.*\"\nrename = \"b.{1}\"\ngo_on = true\n"
      "[[rule]]\nmatch = \"b.*\"\nrename = \"c.{1}\"\ngo_on = true\n"
      "[[rule]]\nmatch = [\"*.#.x\", \"*.#.y\"]\nrename = \"{1}.xy\"\nmerge = { dim = 0, stack = true, join = 1 }\n"
      "[[rule]]\nmatch = \"*.z\"\nlayout = \"ab -> ba\"\n",
      "r.toml");
  EXPECT_EQ(Rules::from_toml(rules.toml(), "again").toml(), rules.toml());
  const Rules back = rules.inverse();
  EXPECT_EQ(back.rules[0].split->into[1].text(), "{1}.{i}.y");
  EXPECT_EQ(back.rules[0].split->join, 1);
  EXPECT_TRUE(back.rules[1].from);
  EXPECT_EQ(back.rules[2].match[0].text(), "c.*");
  EXPECT_EQ(back.rules[3].match[0].text(), "b.*");
  EXPECT_EQ(back.inverse().toml(), rules.toml());
}

TEST(Rules, WhatIsLostIsNamed) {
  const auto why = [](const std::string& rule) {
    return message_of([&] { Rules::from_toml("[[rule]]\nmatch = \"a.#\"\n" + rule, "r.toml").inverse(); });
  };
  EXPECT_NE(why("skip = true").find("r.toml, line 1: what it skips is lost"), std::string::npos);
  EXPECT_NE(why("type = \"f16\"").find("does not say which type"), std::string::npos);
  EXPECT_NE(why("type = \"f32 -> f16\"").find("f32 -> f16 rounds values"), std::string::npos);
  EXPECT_NE(why("rename = \"b\"").find("cannot be found again"), std::string::npos);
  EXPECT_NE(why("rename = \"b\"\nmerge = { dim = 0 }").find("it needs sizes"), std::string::npos);
  EXPECT_EQ(why("type = \"f16 -> f32\""), "");
}

}  // namespace
}  // namespace relayout::checkpoint
