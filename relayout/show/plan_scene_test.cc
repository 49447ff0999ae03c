// Scenes of plans: what follows from a plan, its drawing, its page, and what is refused.
#include "relayout/show/plan_scene.h"

#include <gtest/gtest.h>

#include <set>

#include "relayout/core/error.h"
#include "relayout/show/plan_drawing.h"
#include "relayout/show/plan_html.h"
#include "relayout/show/svg.h"

namespace relayout::show {
namespace {

/// x -> pool -> relu -> conv -> y. Under "a" the reorder stands before conv and one of its weights at load; under "b"
/// there is none.
PlanScene small_scene() {
  PlanScene scene{.title = "small"};
  for (const char* name : {"x", "p", "r", "w", "y"}) scene.tensors.push_back({name, Dims{1, 8, 4, 4}, "f32"});
  scene.nodes = {{"pool", "pooling"}, {"relu", "eltwise"}, {"block/conv", "convolution", "forward", {"relu (n7)"}}};
  scene.outputs = {"y"};
  ShownPlan a{.policy = "a", .predicted_us = 30.0, .reorders = 1, .reorder_bytes = 4096, .load_reorders = 1};
  a.copies = {{.tensor = 0, .form = "nchw"},
              {.tensor = 1, .form = "nchw"},
              {.tensor = 2, .form = "nchw"},
              {.tensor = 3, .form = "oihw"},
              {.tensor = 4, .form = "nhwc"},
              {.tensor = 2, .form = "nhwc", .from = 2, .reason = "conv takes nhwc", .bytes = 4096, .us = 3.5},
              {.tensor = 3, .form = "OIhw8i8o", .from = 3, .reason = "at load", .bytes = 2048}};
  a.steps = {{"jit", {0}, {1}, 5.0}, {"jit", {1}, {2}, 6.0}, {"brg", {5, 6, -1}, {4}, 15.5}};
  a.inputs = {0};
  a.outputs = {4};
  ShownPlan b = a;
  b.policy = "b";
  b.copies.resize(5);
  b.steps[2].src = {2, 3, -1};
  scene.plans = {a, b, {.policy = "c", .problem = "conv cannot be run"}};
  return scene;
}

TEST(PlanScene, WhoMakesAndWhoReads) {
  const PlanScene scene = small_scene();
  const PlanFacts facts(scene, 0);
  EXPECT_EQ(facts.reorders(), std::vector<int>{5});
  EXPECT_EQ(facts.load_reorders(), std::vector<int>{6});
  EXPECT_TRUE(facts.constant(3) && facts.constant(6));
  EXPECT_FALSE(facts.constant(0) || facts.constant(5));
  ASSERT_EQ(facts.readers(5).size(), 1U);
  EXPECT_EQ(facts.readers(5)[0].number, 2);
  EXPECT_TRUE(facts.readers(2).empty());
  EXPECT_EQ(facts.form_of(2), "nhwc");
  EXPECT_EQ(facts.source_words(5),
            "The source is nchw because the model's input x has that layout; pool and relu keep it.");
}

TEST(PlanScene, SourcesThatANodeChose) {
  PlanScene scene = small_scene();
  scene.plans[0].copies[1].form = scene.plans[0].copies[2].form = "nChw8c";
  EXPECT_EQ(PlanFacts(scene, 0).source_words(5),
            "The source is nChw8c because pooling pool (jit) writes it; relu keeps it.");
  scene.plans[0].copies[1].form = "nchw";
  EXPECT_EQ(PlanFacts(scene, 0).source_words(5), "The source is nChw8c because eltwise relu (jit) writes it.");
}

TEST(PlanScene, RefusesNumbersOfNothing) {
  const auto refuses = [](auto&& change) {
    PlanScene scene = small_scene();
    change(scene);
    EXPECT_THROW(check(scene), Error);
    EXPECT_THROW(plan_html(scene), Error);
    EXPECT_THROW(model_explorer_json(scene), Error);
    EXPECT_THROW(plan_text(scene, false), Error);
  };
  EXPECT_NO_THROW(check(small_scene()));
  refuses([](PlanScene& scene) { scene.chosen = 3; });
  refuses([](PlanScene& scene) { scene.chosen = 2; });
  refuses([](PlanScene& scene) { scene.plans[0].copies[1].tensor = 5; });
  refuses([](PlanScene& scene) { scene.plans[1].steps[2].src[0] = 5; });
  refuses([](PlanScene& scene) { scene.plans[0].copies[2].from = 5; });
  refuses([](PlanScene& scene) { scene.plans[0].outputs = {-1}; });
  refuses([](PlanScene& scene) { scene.plans[1].inputs = {}; });
  refuses([](PlanScene& scene) { scene.plans[1].steps.pop_back(); });
  refuses([](PlanScene& scene) { scene.outputs = {}; });
}

TEST(PlanScene, StepsThatReadInACircleAreRefused) {
  PlanScene scene = small_scene();
  scene.plans[0].steps[0].src = {4};
  EXPECT_THROW(placed_plans(scene), Error);
}

TEST(PlanDrawing, NodesHaveOnePlaceUnderAllPolicies) {
  const PlacedPlans placed = placed_plans(small_scene());
  // Three nodes, an input, an output, and the place of the one reorder.
  ASSERT_EQ(placed.boxes.size(), 6U);
  ASSERT_EQ(placed.fillings.size(), 3U);
  EXPECT_EQ(placed.fillings[0].reorders.size(), 1U);
  EXPECT_EQ(placed.fillings[0].reorders[0].copy, 5);
  EXPECT_TRUE(placed.fillings[1].reorders.empty());
  EXPECT_TRUE(placed.fillings[2].flows.empty());
  const auto ways = [&](int plan) {
    std::set<std::pair<int, int>> out;
    for (const PlanFilling::Flow& flow : placed.fillings[static_cast<std::size_t>(plan)].flows) {
      const PlanLine& line = placed.lines[static_cast<std::size_t>(flow.line)];
      out.insert({line.from, line.to});
    }
    return out;
  };
  EXPECT_EQ(ways(0), (std::set<std::pair<int, int>>{{3, 0}, {0, 1}, {1, 5}, {5, 2}, {2, 4}}));
  EXPECT_EQ(ways(1), (std::set<std::pair<int, int>>{{3, 0}, {0, 1}, {1, 2}, {2, 4}}));
}

TEST(PlanDrawing, PlansThatReorderForTheSameReaderShareAPlace) {
  PlanScene scene = small_scene();
  scene.plans[1] = scene.plans[0];
  scene.plans[1].copies[5].form = "nChw8c";
  const PlacedPlans placed = placed_plans(scene);
  EXPECT_EQ(placed.boxes.size(), 6U);
  EXPECT_EQ(placed.fillings[0].reorders[0].box, placed.fillings[1].reorders[0].box);
  // A reorder of what a reorder has made stands behind it.
  scene.plans[1].copies.push_back({.tensor = 2, .form = "nwhc", .from = 5});
  scene.plans[1].steps[2].src[0] = 7;
  const PlacedPlans chained = placed_plans(scene);
  ASSERT_EQ(chained.fillings[1].reorders.size(), 2U);
  const auto y = [&](std::size_t k) {
    return chained.boxes[static_cast<std::size_t>(chained.fillings[1].reorders[k].box)].y;
  };
  EXPECT_LT(y(0), y(1));
}

TEST(PlanDrawing, SvgHasEachBoxAndEachReorderOnce) {
  const std::string text = svg(plan_drawing(small_scene(), 0));
  std::size_t titles = 0;
  for (std::size_t at = text.find("<title>"); at != std::string::npos; at = text.find("<title>", at + 1)) ++titles;
  EXPECT_EQ(titles, 6U);
  EXPECT_NE(text.find("reorder of r: nchw to nhwc, 4.0 KiB, 3.5 us\nconv takes nhwc\nThe source is nchw because"),
            std::string::npos);
  EXPECT_NE(text.find("1 reorders, 4.0 KiB; predicted 30 us"), std::string::npos);
}

TEST(PlanPage, HostileNamesAreNoMarks) {
  const std::string hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&";
  PlanScene bad = small_scene();
  bad.title = bad.tensors[0].name = bad.nodes[0].name = bad.nodes[1].kind = bad.outputs[0] = hostile;
  bad.plans[0].policy = bad.plans[0].steps[0].implementation = bad.plans[0].copies[5].reason = hostile;
  bad.plans[0].copies[0].form = bad.plans[2].problem = bad.notes.emplace_back() = hostile;
  for (const std::string& text : {plan_html(bad), model_explorer_json(bad), svg(plan_drawing(bad, 0))}) {
    EXPECT_EQ(text.find("<img"), std::string::npos);
    EXPECT_EQ(text.find("<script>alert"), std::string::npos);
  }
}

TEST(PlanPage, AsksForNothing) {
  const std::string page = plan_html(small_scene());
  EXPECT_NE(page.find("default-src 'none'; script-src 'sha256-"), std::string::npos);
  for (const char* asked : {"src=", "href=", "http://", "https://", "fetch(", "import ", "url(", "eval("}) {
    std::size_t at = page.find(asked);
    while (at != std::string::npos && page.substr(at).starts_with("http://www.w3.org/2000/svg"))
      at = page.find(asked, at + 1);
    EXPECT_EQ(at, std::string::npos) << asked;
  }
}

TEST(PlanText, ListsTheCostliestReorderFirst) {
  PlanScene scene = small_scene();
  scene.plans[0].copies.push_back({.tensor = 0, .form = "nhwc", .from = 0, .reason = "pool takes nhwc", .us = 9.0});
  scene.plans[0].steps[0].src = {7};
  const std::string text = plan_text(scene, false);
  EXPECT_LT(text.find("pool takes nhwc"), text.find("conv takes nhwc"));
  EXPECT_NE(text.find("conv cannot be run"), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(plan_text(scene, true).find("\x1b[1mNodes"), std::string::npos);
}

TEST(PlanWords, AreShort) {
  EXPECT_EQ(microseconds_words(12.345), "12.3 us");
  EXPECT_EQ(microseconds_words(999.9), "1 ms");
  EXPECT_EQ(microseconds_words(2.5e6), "2.5 s");
  EXPECT_EQ(bytes_words(1023), "1023 bytes");
  EXPECT_EQ(bytes_words(1536), "1.5 KiB");
  EXPECT_EQ(shortened("abcdefghij", 7), "abc\xE2\x80\xA6hij");
  EXPECT_EQ(shortened("\xC3\xA4\xC3\xB6\xC3\xBC", 3), "\xC3\xA4\xC3\xB6\xC3\xBC");
}

}  // namespace
}  // namespace relayout::show
