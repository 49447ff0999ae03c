// The law of sections.h: over all bundles, sections and parts, every index once, with the offsets of both layouts.
#include "relayout/reorder/refine/sections.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/support/testing.h"

namespace relayout {
namespace {

void step(const Axes& axes, std::vector<Offsets>& all) {
  for (const Axis& axis : axes) {
    ASSERT_LT(axis.table, 0);
    const std::size_t count = all.size();
    for (int64_t j = 1; j < axis.extent; ++j) {
      for (std::size_t i = 0; i < count; ++i) {
        Offsets at = all[i];
        for (std::size_t k = 0; k < kOperands; ++k) at[k] += j * axis.stride[k];
        all.push_back(at);
      }
    }
  }
}

TEST(Sections, HoldEveryIndexOnce) {
  std::mt19937 rng(3);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution(low, high)(rng); };
  const char* const tags[] = {"ab",    "ba",     "Ba4b",   "Ba8b",  "Ba12b",  "Ba16b",   "Ba48b",
                              "Ba32b", "Ba2b9b", "Ba5b3b", "Ba15b", "Ba4b5b", "BA2a8b3a"};
  int mixed = 0, padded = 0;
  for (int round = 0; round < 3000; ++round) {
    const Dims dims{pick(1, 3), pick(1, 220)};
    const Layout src = Format::parse(tags[pick(0, std::size(tags) - 1)]).bind(dims).canonical();
    const Layout dst = Format::parse(tags[pick(0, std::size(tags) - 1)]).bind(dims).canonical();
    const bool filled = pick(0, 1) == 1;
    Tables tables;
    const DimSections sections = sections_of(src, dst, 1, {7, 1}, {4, 4}, filled, tables);
    if (!tables.empty()) continue;  // too many parts
    std::vector<Offsets> elements, padding, expected, expected_padding;
    for (const Bundle& bundle : sections.bundles) {
      const std::vector<Section> none{Section(1)};
      for (const Section& section : bundle.sections.empty() ? none : bundle.sections) {
        for (const SectionBox& part : section) {
          std::vector<Offsets> all{part.offset};
          for (std::size_t k = 0; k < kOperands; ++k) all[0][k] += bundle.offset[k];
          step(part.axes, all);
          step(bundle.common, all);
          auto& to = part.padding ? padding : elements;
          to.insert(to.end(), all.begin(), all.end());
        }
      }
    }
    for (int64_t i = 0; i < dims[1]; ++i) expected.push_back({src.dim_offset(1, i), dst.dim_offset(1, i), 7 * i});
    if (sections.padding && filled) {
      for (int64_t i = dims[1]; i < dst.capacity(1); ++i) expected_padding.push_back({0, dst.dim_offset(1, i), 0});
    }
    for (auto* list : {&elements, &padding, &expected, &expected_padding}) std::ranges::sort(*list);
    ASSERT_EQ(elements, expected) << dims[1];
    ASSERT_EQ(padding, expected_padding) << dims[1];
    mixed += sections.mixed();
    padded += !padding.empty();
  }
  EXPECT_GT(mixed, 500);
  EXPECT_GT(padded, 500);
}

TEST(Sections, BlocksThatDoNotNest) {
  const Dims dims{2, 192};
  Tables tables;
  const DimSections sections = sections_of(Format::parse("Ba16b").bind(dims).canonical(),
                                           Format::parse("Ba12b").bind(dims).canonical(), 1, {}, {4, 4}, true, tables);
  ASSERT_EQ(sections.bundles.size(), 1u);
  const Bundle& bundle = sections.bundles[0];
  ASSERT_EQ(bundle.common.size(), 1u);
  EXPECT_EQ(bundle.common[0].extent, 4);
  ASSERT_EQ(bundle.sections.size(), 4u);
  for (const auto& [at, parts] : {std::pair(0u, 1u), {1u, 2u}, {2u, 2u}, {3u, 1u}})
    EXPECT_EQ(bundle.sections[at].size(), parts);
}

}  // namespace
}  // namespace relayout
