// Reorders through the C interface: values, attributes, sizes of buffers, and options of other versions.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "relayout/cpu/kept_plan.h"
#include "tests/c/owned.h"

namespace {

using relayout::testing::Desc;

TEST(CReorder, PlansAndRunsAndComesBack) {
  const Desc nchw("nchw", {2, 17, 5, 4}, RELAYOUT_F32), blocked("nChw8c", {2, 17, 5, 4}, RELAYOUT_F32);
  std::vector<float> in(680), out(960, -1), back(680);
  std::iota(in.begin(), in.end(), 1.0f);
  relayout_plan* plan = nullptr;
  ASSERT_EQ(relayout_plan_make(nchw, blocked, nullptr, &plan), RELAYOUT_OK) << relayout_error_message();
  ASSERT_EQ(relayout_plan_run(plan, in.data(), 2720, out.data(), 3840, nullptr), RELAYOUT_OK);
  EXPECT_EQ(out[408], in[16 * 20 + 2 * 4 + 3]);
  EXPECT_EQ(out[409], 0) << "padding";
  ASSERT_EQ(relayout_reorder(blocked, out.data(), 3840, nchw, back.data(), 2720, nullptr, nullptr), RELAYOUT_OK);
  EXPECT_EQ(in, back);

  size_t length = 0;
  ASSERT_EQ(relayout_plan_explain(plan, nullptr, 0, &length), RELAYOUT_OK);
  std::string text(length + 1, ' ');
  ASSERT_EQ(relayout_plan_explain(plan, text.data(), text.size(), nullptr), RELAYOUT_OK);
  EXPECT_NE(text.find("2x17x5x4"), std::string::npos);
  relayout_plan_free(plan);
}

TEST(CReorder, ACompiledPlanGivesTheSameBytes) {
  constexpr int64_t n = 2, c = 23, hw = 22, full = 24;
  const Desc src("nChw6c", {n, c, 2, 11}, RELAYOUT_U16), dst("nChw8c", {n, c, 2, 11}, RELAYOUT_U16);
  std::vector<uint16_t> in(static_cast<std::size_t>(n * full * hw)), out(in.size(), 7), expected(in.size(), 0);
  std::iota(in.begin(), in.end(), uint16_t{1});
  for (int64_t i = 0; i < n * c * hw; ++i) {
    const int64_t image = i / (c * hw), channel = i / hw % c, pixel = i % hw;
    const auto at = [&](int64_t block) {
      return static_cast<std::size_t>((image * full + channel / block * block) * hw + pixel * block + channel % block);
    };
    expected[at(8)] = in[at(6)];
  }
  relayout_plan* plan = nullptr;
  ASSERT_EQ(relayout_plan_make_compiled(src, dst, nullptr, &plan), RELAYOUT_OK) << relayout_error_message();
  const std::size_t bytes = in.size() * sizeof(uint16_t);
  ASSERT_EQ(relayout_plan_run(plan, in.data(), bytes, out.data(), bytes, nullptr), RELAYOUT_OK);
  EXPECT_EQ(out, expected);
  std::string text(10000, ' ');
  ASSERT_EQ(relayout_plan_explain(plan, text.data(), text.size(), nullptr), RELAYOUT_OK);
  EXPECT_EQ(text.find("machine code") != std::string::npos, relayout::cpu::generated_code_problem().empty()) << text;
  relayout_plan_free(plan);
}

TEST(CReorder, Attributes) {
  const Desc src("ab", {2, 3}, RELAYOUT_F32), dst("ab", {2, 3}, RELAYOUT_U8);
  const std::array<float, 6> in{0, 1, 2, 3, 4, 500};
  std::array<uint8_t, 6> out{};
  const std::array<double, 3> scales{0.5, 1, 2};
  const double zero_point = 10;
  relayout_attributes attributes = RELAYOUT_ATTRIBUTES_INIT;
  attributes.dst_scale = scales.data();
  attributes.dst_scale_count = 3;
  attributes.dst_scale_mask = 2;
  attributes.dst_zero_point = &zero_point;
  attributes.dst_zero_point_count = 1;
  ASSERT_EQ(relayout_reorder(src, in.data(), sizeof in, dst, out.data(), sizeof out, &attributes, nullptr), RELAYOUT_OK)
      << relayout_error_message();
  EXPECT_EQ(out, (std::array<uint8_t, 6>{10, 11, 11, 16, 14, 255}));

  // Two indices of the second dim share a scale, and the last has its own.
  const std::array<int64_t, 2> groups{1, 2};
  attributes.ndims = 2;
  attributes.dst_scale_groups = groups.data();
  attributes.dst_scale_count = 2;
  ASSERT_EQ(relayout_reorder(src, in.data(), sizeof in, dst, out.data(), sizeof out, &attributes, nullptr), RELAYOUT_OK)
      << relayout_error_message();
  EXPECT_EQ(out, (std::array<uint8_t, 6>{10, 12, 12, 16, 18, 255}));
  attributes.ndims = 13;
  EXPECT_EQ(relayout_reorder(src, in.data(), sizeof in, dst, out.data(), sizeof out, &attributes, nullptr),
            RELAYOUT_INVALID_ARGUMENT);
  attributes.dst_scale_groups = nullptr;
  attributes.ndims = 0;

  EXPECT_EQ(relayout_reorder(src, in.data(), sizeof in, dst, out.data(), sizeof out, &attributes, nullptr),
            RELAYOUT_INVALID_ARGUMENT);
  attributes.dst_scale = nullptr;
  EXPECT_EQ(relayout_reorder(src, in.data(), sizeof in, dst, out.data(), sizeof out, &attributes, nullptr),
            RELAYOUT_INVALID_ARGUMENT);
  EXPECT_STREQ(relayout_error_field(), "dst_scale");
}

TEST(CReorder, IndexTables) {
  const Desc pages("ab", {6, 2}, RELAYOUT_U8), keys("ab", {4, 2}, RELAYOUT_U8);
  const std::array<uint8_t, 12> in{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  std::array<uint8_t, 8> out{};
  std::array<int64_t, 2> entries{2, 0};
  const relayout_index_table table{0, 2, entries.data(), entries.size()};
  relayout_attributes attributes = RELAYOUT_ATTRIBUTES_INIT;
  attributes.src_index = &table;
  attributes.src_index_count = 1;
  ASSERT_EQ(relayout_reorder(pages, in.data(), 12, keys, out.data(), 8, &attributes, nullptr), RELAYOUT_OK)
      << relayout_error_message();
  EXPECT_EQ(out, (std::array<uint8_t, 8>{8, 9, 10, 11, 0, 1, 2, 3}));

  relayout_attributes scatter = RELAYOUT_ATTRIBUTES_INIT;
  scatter.dst_index = &table;
  scatter.dst_index_count = 1;
  std::array<uint8_t, 12> back{};
  back.fill(99);
  ASSERT_EQ(relayout_reorder(keys, out.data(), 8, pages, back.data(), 12, &scatter, nullptr), RELAYOUT_OK);
  EXPECT_EQ(back, (std::array<uint8_t, 12>{0, 1, 2, 3, 99, 99, 99, 99, 8, 9, 10, 11}));

  entries[1] = 3;
  EXPECT_EQ(relayout_reorder(pages, in.data(), 12, keys, out.data(), 8, &attributes, nullptr),
            RELAYOUT_INVALID_ARGUMENT);
  EXPECT_NE(std::string(relayout_error_message()).find("is block 3; the layout has 0 to 2"), std::string::npos);
  attributes.src_index = nullptr;
  EXPECT_EQ(relayout_reorder(pages, in.data(), 12, keys, out.data(), 8, &attributes, nullptr),
            RELAYOUT_INVALID_ARGUMENT);
}

TEST(CReorder, PaddingIsKeptOrSet) {
  const Desc src("ab", {1, 3}, RELAYOUT_U8), dst("aB4b", {1, 3}, RELAYOUT_U8);
  const std::array<uint8_t, 3> in{1, 2, 3};
  std::array<uint8_t, 4> out{9, 9, 9, 9};
  relayout_attributes attributes = RELAYOUT_ATTRIBUTES_INIT;
  attributes.padding = RELAYOUT_PADDING_KEEP;
  ASSERT_EQ(relayout_reorder(src, in.data(), 3, dst, out.data(), 4, &attributes, nullptr), RELAYOUT_OK);
  EXPECT_EQ(out, (std::array<uint8_t, 4>{1, 2, 3, 9}));
  attributes.padding = RELAYOUT_PADDING_VALUE;
  attributes.padding_value = 7;
  ASSERT_EQ(relayout_reorder(src, in.data(), 3, dst, out.data(), 4, &attributes, nullptr), RELAYOUT_OK);
  EXPECT_EQ(out, (std::array<uint8_t, 4>{1, 2, 3, 7}));
  attributes.padding = 5;
  EXPECT_EQ(relayout_reorder(src, in.data(), 3, dst, out.data(), 4, &attributes, nullptr), RELAYOUT_INVALID_ARGUMENT);
}

TEST(CReorder, BuffersAreChecked) {
  const Desc ab("ab", {4, 3}, RELAYOUT_F32), ba("ba", {4, 3}, RELAYOUT_F32);
  std::array<float, 24> memory{};
  EXPECT_EQ(relayout_reorder(ab, memory.data(), 48, ba, memory.data() + 12, 47, nullptr, nullptr),
            RELAYOUT_BUFFER_TOO_SMALL);
  EXPECT_EQ(relayout_reorder(ab, memory.data(), 48, ba, memory.data() + 11, 48, nullptr, nullptr), RELAYOUT_OVERLAP);
  EXPECT_EQ(relayout_reorder(ab, nullptr, 48, ba, memory.data(), 48, nullptr, nullptr), RELAYOUT_INVALID_ARGUMENT);
  relayout_plan* plan = nullptr;
  ASSERT_EQ(relayout_plan_make(ab, ba, nullptr, &plan), RELAYOUT_OK);
  EXPECT_EQ(relayout_plan_run(plan, memory.data(), 47, memory.data() + 12, 48, nullptr), RELAYOUT_BUFFER_TOO_SMALL);
  EXPECT_STREQ(relayout_error_field(), "src");
  EXPECT_STREQ(relayout_error_value(), "47");
  EXPECT_STREQ(relayout_error_limit(), "48");
  EXPECT_EQ(relayout_plan_run(plan, memory.data(), 48, memory.data() + 6, 48, nullptr), RELAYOUT_OVERLAP);
  EXPECT_EQ(relayout_plan_run(plan, memory.data(), 48, memory.data() + 12, 48, nullptr), RELAYOUT_OK);
  relayout_plan_free(plan);

  const Desc nothing("ab", {0, 3}, RELAYOUT_F32);
  EXPECT_EQ(relayout_reorder(nothing, nullptr, 0, nothing, nullptr, 0, nullptr, nullptr), RELAYOUT_OK);
}

TEST(CReorder, InPlace) {
  const Desc ab("ab", {2, 3}, RELAYOUT_S32), ba("ba", {2, 3}, RELAYOUT_S32);
  std::array<int32_t, 6> memory{0, 1, 2, 3, 4, 5};
  ASSERT_EQ(relayout_reorder_in_place(ab, ba, memory.data(), sizeof memory, nullptr, nullptr), RELAYOUT_OK)
      << relayout_error_message();
  EXPECT_EQ(memory, (std::array<int32_t, 6>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(relayout_reorder_in_place(ab, ba, memory.data(), 20, nullptr, nullptr), RELAYOUT_BUFFER_TOO_SMALL);
}

/// Options of a later version, whose further fields this one does not know.
struct LaterOptions {
  relayout_run_options known;
  int64_t unknown;
};

TEST(CReorder, OptionsOfOtherVersions) {
  const Desc ab("ab", {4, 3}, RELAYOUT_U8), ba("ba", {4, 3}, RELAYOUT_U8);
  std::array<uint8_t, 24> memory{};
  const auto run = [&](const relayout_run_options* options) {
    return relayout_reorder(ab, memory.data(), 12, ba, memory.data() + 12, 12, nullptr, options);
  };
  LaterOptions later{{sizeof(LaterOptions), 1}, 0};
  EXPECT_EQ(run(&later.known), RELAYOUT_OK);
  later.unknown = 3;
  EXPECT_EQ(run(&later.known), RELAYOUT_UNSUPPORTED);
  relayout_run_options earlier{sizeof(size_t), 99};
  EXPECT_EQ(run(&earlier), RELAYOUT_OK);
  // The struct without progress(), whose memory ends behind `threads`.
  struct {
    size_t struct_size;
    int32_t threads;
  } first{sizeof first, 1};
  EXPECT_EQ(run(reinterpret_cast<const relayout_run_options*>(&first)), RELAYOUT_OK) << relayout_error_message();
  relayout_run_options wrong{3, 1};
  EXPECT_EQ(run(&wrong), RELAYOUT_INVALID_ARGUMENT);
  EXPECT_STREQ(relayout_error_field(), "options");
}

TEST(CReorder, ErrorsBelongToTheirThread) {
  const Desc ab("ab", {4, 3}, RELAYOUT_U8);
  relayout_desc* none = nullptr;
  ASSERT_EQ(relayout_desc_view(ab, "x", &none), RELAYOUT_INVALID_ARGUMENT);
  const std::string here = relayout_error_message();
  std::string there = "?";
  std::thread([&] { there = relayout_error_message(); }).join();
  EXPECT_EQ(there, "");
  EXPECT_EQ(here, relayout_error_message());
}

/// What progress() was told, and when it asks to stop.
struct Watch {
  int64_t stop_at = INT64_MAX, calls = 0, done = 0, total = 0;
  static int told(void* context, int64_t done, int64_t total) {
    auto& watch = *static_cast<Watch*>(context);
    EXPECT_GT(done, watch.done);
    EXPECT_LE(done, total);
    ++watch.calls;
    watch.done = done;
    watch.total = total;
    return done >= watch.stop_at ? 1 : 0;
  }
};

TEST(CReorder, ProgressIsToldAndMayEndTheCall) {
  constexpr int64_t kSide = 4096;  // 64 MiB of both sides
  const Desc src("ab", {kSide, kSide}, RELAYOUT_U8), dst("ba", {kSide, kSide}, RELAYOUT_S16);
  const std::vector<uint8_t> in(kSide * kSide, 7);
  std::vector<int16_t> out(kSide * kSide, -1);
  const auto run = [&](Watch& watch) {
    relayout_run_options options = RELAYOUT_RUN_OPTIONS_INIT;
    options.progress = Watch::told;
    options.context = &watch;
    return relayout_reorder(src, in.data(), in.size(), dst, out.data(), out.size() * 2, nullptr, &options);
  };
  Watch all;
  ASSERT_EQ(run(all), RELAYOUT_OK) << relayout_error_message();
  EXPECT_GT(all.calls, 1);
  EXPECT_EQ(all.done, all.total);
  EXPECT_EQ(all.total, kSide * kSide * 3);
  EXPECT_EQ(out, std::vector<int16_t>(kSide * kSide, 7));

  out.assign(out.size(), -1);
  Watch stopped{.stop_at = 1};
  EXPECT_EQ(run(stopped), RELAYOUT_INTERRUPTED);
  EXPECT_STREQ(relayout_error_field(), "progress");
  EXPECT_EQ(stopped.calls, 1);
  EXPECT_NE(std::find(out.begin(), out.end(), 7), out.end());
  EXPECT_NE(std::find(out.begin(), out.end(), -1), out.end()) << "the rest was not done";
}

TEST(CReorder, ProgressOfPlansGatesAndInPlace) {
  const Desc w("ldigo", {1, 1, 4, 3, 2}, RELAYOUT_F32);
  const std::array<float, 24> in{};
  std::array<float, 24> out{};
  Watch watch;
  const relayout_run_options options{sizeof options, 1, Watch::told, &watch};
  relayout_plan* plan = nullptr;
  ASSERT_EQ(relayout_plan_make(w, w, nullptr, &plan), RELAYOUT_OK);
  EXPECT_EQ(relayout_plan_run(plan, in.data(), 96, out.data(), 96, &options), RELAYOUT_OK);
  EXPECT_EQ(watch.calls, 1);
  EXPECT_EQ(watch.done, watch.total);
  relayout_plan_free(plan);

  watch = {};
  EXPECT_EQ(relayout_permute_gates(w, in.data(), 96, w, out.data(), 96, 3, "zrh", "rzh", &options), RELAYOUT_OK);
  EXPECT_EQ(watch.calls, 3) << "once a gate";
  EXPECT_EQ(watch.done, watch.total);
  watch = {.stop_at = 1};
  EXPECT_EQ(relayout_permute_gates(w, in.data(), 96, w, out.data(), 96, 3, "zrh", "rzh", &options),
            RELAYOUT_INTERRUPTED);

  watch = {};
  EXPECT_EQ(relayout_reorder_in_place(w, w, out.data(), 96, nullptr, &options), RELAYOUT_UNSUPPORTED);
  EXPECT_STREQ(relayout_error_field(), "progress");
  EXPECT_EQ(watch.calls, 0);
}

}  // namespace
