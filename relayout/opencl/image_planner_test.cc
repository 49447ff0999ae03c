// Choices and splits of images: the order of choices, and parts against all grids that there are.
#include "relayout/opencl/image_planner.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>

namespace relayout::opencl {
namespace {

TEST(ImagePlanner, ChoicesThatFitComeFirst) {
  const auto choices = plan_images({1, 64, 256, 256}, ChannelType::f16, {4096, 4096, 0});
  ASSERT_EQ(choices.size(), 7u);  // all but argument
  std::set<std::string> fitting;
  bool refused = false;
  int64_t bytes = 0;
  for (const ImageChoice& choice : choices) {
    if (choice.refusal.empty()) {
      EXPECT_FALSE(refused);
      EXPECT_GE(choice.image->bytes(), bytes);
      bytes = choice.image->bytes();
      fitting.insert(choice.name);
    }
    refused = refused || !choice.refusal.empty();
  }
  EXPECT_EQ(fitting, (std::set<std::string>{"mace:in_out_channel", "mace:in_out_width"}));
  for (const ImageChoice& choice : choices) {
    if (choice.name != "mace:in_out_height") continue;
    EXPECT_NE(choice.refusal.find("16384 x 64"), std::string::npos) << choice.refusal;
    EXPECT_NE(choice.refusal.find("4096 x 4096"), std::string::npos) << choice.refusal;
  }
}

TEST(ImagePlanner, RanksMultipliersAndPitch) {
  const auto one = plan_images({10}, ChannelType::f32, {});
  ASSERT_EQ(one.size(), 2u);  // argument and, promoted, in_out_channel
  const auto filter = plan_images({2, 8, 3, 3}, ChannelType::f32, {});
  const auto depthwise =
      std::ranges::find(filter, std::string("mace:dw_conv2d_filter"), [](const ImageChoice& c) { return c.name; });
  ASSERT_NE(depthwise, filter.end());
  EXPECT_FALSE(depthwise->image);
  EXPECT_NE(depthwise->refusal.find("M = 2"), std::string::npos) << depthwise->refusal;
  for (const ImageChoice& choice : plan_images({1, 5, 3, 7}, ChannelType::f32, {}, 16)) {
    EXPECT_EQ(choice.image->row_pitch_bytes() % 256, 0);
    EXPECT_LT(choice.image->row_pitch_bytes(), choice.image->row_bytes() + 256);
  }
  EXPECT_THROW(plan_images({10}, ChannelType::f32, {}, 0), Error);
}

TEST(ImagePlanner, TheFewestPartsWithOuterDimsCut) {
  const auto parts = split_image(Format::parse("mace:conv2d_filter"), {64, 64, 7, 7}, ChannelType::f32, {4096, 512, 0});
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[1].begin, (Dims{32, 0, 0, 0}));
  EXPECT_EQ(parts[1].image.height(), 392);
  EXPECT_EQ(split_image(Format::parse("nh|Cw4c"), {1, 9, 4, 5}, ChannelType::f32, {}).size(), 1u);
  try {
    split_image(Format::parse("nh|Cw4c"), {1, 9, 4, 5}, ChannelType::f32, {100, 100, 15});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::limit);
  }
}

/// What a planner may be asked to split, and the blocks of its dims.
struct Request {
  const char* tag;
  Dims block;
  Dims dims;
  ImageLimits limits;
  int64_t row_alignment;
};

/// Whether pieces of these sizes, in blocks, fit, by making the largest part.
bool fits(const Request& request, const Dims& size) {
  Dims extent;
  for (int d = 0; d < 4; ++d) extent.push_back(std::min(size[d] * request.block[d], request.dims[d]));
  const Image image = Image::make(Format::parse(request.tag), extent, ChannelType::f32);
  const int64_t row = 16 * request.row_alignment, pitch = ceil_div(image.row_pitch_bytes(), row) * row;
  const ImageLimits& most = request.limits;
  return (most.max_width == 0 || image.width() <= most.max_width) &&
         (most.max_height == 0 || image.height() <= most.max_height) &&
         (most.max_bytes == 0 || pitch * image.height() <= most.max_bytes);
}

/// The grid that the rule of split_image names, by trying all: how many parts, then how many pieces of each dim from
/// the tag's innermost dim outwards. The result has the pieces of the dims; nothing where no grid fits.
std::optional<Dims> best_grid(const Request& request, const Dims& inside_out) {
  std::optional<std::pair<int64_t, std::vector<int64_t>>> best;
  std::optional<Dims> out;
  Dims blocks, size{1, 1, 1, 1};
  for (int d = 0; d < 4; ++d) blocks.push_back(ceil_div(request.dims[d], request.block[d]));
  for (size[0] = 1; size[0] <= blocks[0]; ++size[0])
    for (size[1] = 1; size[1] <= blocks[1]; ++size[1])
      for (size[2] = 1; size[2] <= blocks[2]; ++size[2])
        for (size[3] = 1; size[3] <= blocks[3]; ++size[3]) {
          Dims pieces;
          std::pair<int64_t, std::vector<int64_t>> rank{1, {}};
          for (int d = 0; d < 4; ++d) pieces.push_back(ceil_div(blocks[d], size[d]));
          for (const int64_t d : inside_out) {
            rank.second.push_back(pieces[static_cast<int>(d)]);
            rank.first *= rank.second.back();
          }
          if ((best && *best <= rank) || !fits(request, size)) continue;
          best = rank;
          out = pieces;
        }
  return out;
}

TEST(ImagePlanner, PartsCoverTheTensorOnceFitAndAreTheGridOfTheRule) {
  std::mt19937 random(4);
  const auto up_to = [&](int64_t most) { return 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(most)); };
  struct Tag {
    const char* text;
    Dims block, inside_out;
  };
  const Tag tags[] = {{"nh|Cw4c", {1, 4, 1, 1}, {3, 1, 2, 0}},   {"Ohw|i4o", {4, 1, 1, 1}, {1, 3, 2, 0}},
                      {"nH|cw4h", {1, 1, 4, 1}, {3, 1, 2, 0}},   {"o|hwI4i", {1, 4, 1, 1}, {1, 3, 2, 0}},
                      {"nC|WH2h2w", {1, 1, 2, 2}, {2, 3, 1, 0}}, {"w|hcN4n;align=3", {4, 1, 1, 1}, {0, 1, 2, 3}},
                      {"|nhCw4c", {1, 4, 1, 1}, {3, 1, 2, 0}},   {"nchW|4w", {1, 1, 1, 4}, {3, 2, 1, 0}},
                      {"CW|nh2c2w", {1, 2, 1, 2}, {2, 0, 3, 1}}};
  for (int round = 0; round < 600; ++round) {
    const Tag& tag = tags[random() % std::size(tags)];
    Request request{tag.text, tag.block, {}, {}, 1};
    for (int d = 0; d < 4; ++d) request.dims.push_back(up_to(9));
    // Limits are 0 (there is none), small or large, and rows may be aligned.
    if (random() % 4 != 0) request.limits.max_width = up_to(random() % 2 == 0 ? 12 : 200);
    if (random() % 4 != 0) request.limits.max_height = up_to(random() % 2 == 0 ? 12 : 200);
    if (random() % 3 != 0) request.limits.max_bytes = 16 * up_to(random() % 2 == 0 ? 20 : 400);
    if (random() % 3 == 0) request.row_alignment = up_to(8);
    SCOPED_TRACE(std::string(tag.text) + " " + join(request.dims) + " limits " +
                 std::to_string(request.limits.max_width) + " x " + std::to_string(request.limits.max_height) + ", " +
                 std::to_string(request.limits.max_bytes) + " bytes, rows of " + std::to_string(request.row_alignment));
    const std::optional<Dims> grid = best_grid(request, tag.inside_out);
    const auto parts_of = [&] {
      return split_image(Format::parse(tag.text), request.dims, ChannelType::f32, request.limits,
                         request.row_alignment);
    };
    if (!grid) {
      EXPECT_THROW(parts_of(), Error);
      continue;
    }
    Dims begin{0, 0, 0, 0};
    std::array<std::set<int64_t>, 4> begins;
    std::set<std::vector<int64_t>> seen;
    for (const ImagePart& part : parts_of()) {
      part.image.check(request.limits);
      EXPECT_EQ(part.image.row_pitch_bytes() % (16 * request.row_alignment), 0);
      EXPECT_GE(std::vector(part.begin.begin(), part.begin.end()), std::vector(begin.begin(), begin.end()));
      begin = part.begin;
      for (int d = 0; d < 4; ++d) {
        EXPECT_EQ(part.begin[d] % tag.block[d], 0);
        begins[static_cast<std::size_t>(d)].insert(part.begin[d]);
      }
      const Dims& e = part.image.dims();
      for (int64_t a = 0; a < e[0]; ++a)
        for (int64_t b = 0; b < e[1]; ++b)
          for (int64_t c = 0; c < e[2]; ++c)
            for (int64_t d = 0; d < e[3]; ++d)
              ASSERT_TRUE(seen.insert({begin[0] + a, begin[1] + b, begin[2] + c, begin[3] + d}).second);
    }
    ASSERT_EQ(static_cast<int64_t>(seen.size()), Layout::contiguous(request.dims).elements());
    for (int d = 0; d < 4; ++d)
      ASSERT_EQ(static_cast<int64_t>(begins[static_cast<std::size_t>(d)].size()), (*grid)[d]) << "dim " << d;
  }
}

TEST(ImagePlanner, WhereTheOutermostDimIsEnoughPartsAreRowsOrColumnsOfTheWholeImage) {
  // Cutting h or w of the filter would do as well; o is the outermost dim of the rows.
  const Format format = Format::parse("Ohw|i4o");
  const Image whole = Image::make(format, {40, 6, 3, 3}, ChannelType::f32);
  int64_t row = 0;
  for (const ImagePart& part : split_image(format, {40, 6, 3, 3}, ChannelType::f32, {100, 50, 0})) {
    EXPECT_EQ(part.image.dims(), (Dims{20, 6, 3, 3}));
    EXPECT_EQ(whole.desc().layout.offset(part.begin), row * whole.width() * kLanes);
    row += part.image.height();
  }
  EXPECT_EQ(row, whole.height());
}

TEST(ImagePlanner, DimsThatMacePromotesAreSplitAsPromotedOnes) {
  const auto parts = split_image(Format::parse("mace:in_out_height"), {2, 100, 9}, ChannelType::f32, {100, 10, 0});
  ASSERT_EQ(parts.size(), 5u);
  EXPECT_EQ(parts[4].begin, (Dims{0, 0, 80, 0}));  // n,1,h,w
  EXPECT_EQ(parts[4].image.dims(), (Dims{2, 1, 20, 9}));
}

TEST(ImagePlanner, TooManyPartsAreRefusedAtOnce) {
  const auto split = [](int64_t w, int64_t most) {
    return split_image(Format::parse("|W4w"), {w}, ChannelType::f16, {most, 0, 0}).size();
  };
  EXPECT_EQ(split(4 * kMostImageParts, 1), static_cast<std::size_t>(kMostImageParts));
  try {
    split(4 * kMostImageParts + 1, 1);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::limit);
    EXPECT_NE(error.message().find("65536 parts"), std::string::npos) << error.message();
  }
  EXPECT_THROW(split(int64_t{1} << 58, 16384), Error);
  EXPECT_THROW(split_image(Format::parse("nh|Cw4c"), {97, 4093, 997, 1009}, ChannelType::f32, {512, 512, 1 << 20}),
               Error);
  // As many dims as there are, all of them too long: the search stays small.
  EXPECT_EQ(
      split_image(Format::parse("nh|Cw4c"), {8, 4096, 997, 1009}, ChannelType::f32, {16384, 16384, 1 << 28}).size(),
      500u);
}

TEST(ImagePlanner, CandidatesOfOnesOwn) {
  const std::vector<Format> candidates = {Format::parse("nchw"), Format::parse("h|Wnc4w"),
                                          Format::parse("mace:argument"), Format::parse("nh|Cw4c;align=8"),
                                          Format::parse("nh|Cw4c")};
  const auto choices = plan_images({1, 5, 3, 7}, ChannelType::f32, {}, 1, candidates);
  ASSERT_EQ(choices.size(), 4u);  // an argument has one dim
  EXPECT_EQ(choices[0].name, "h|Wnc4w");
  EXPECT_EQ(choices[0].image->bytes(), 3 * 10 * 16);
  EXPECT_EQ(choices[0].image->unused_lanes(), 3 * 40 - 105);
  EXPECT_EQ(choices[1].name, "nh|Cw4c");
  EXPECT_EQ(choices[1].image->bytes(), 3 * 14 * 16);
  EXPECT_EQ(choices[2].name, "nh|Cw4c;align=8");
  EXPECT_EQ(choices[2].image->pitch_bytes(), 3 * 2 * 16);
  EXPECT_EQ(choices[3].name, "nchw");
  EXPECT_NE(choices[3].refusal.find("no row break"), std::string::npos) << choices[3].refusal;
  EXPECT_FALSE(choices[3].image);
  // Of an alignment that no memory has there is no image.
  for (const ImageChoice& choice : plan_images({1, 5, 3, 7}, ChannelType::f32, {}, int64_t{1} << 62))
    EXPECT_NE(choice.refusal.find("overflow"), std::string::npos) << choice.refusal;
}

}  // namespace
}  // namespace relayout::opencl
