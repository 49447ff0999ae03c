// Running models in C: the outputs of the C++ library, any layout and type, lists and tensors that are refused,
// threads.
#include <array>
#include <thread>

#include "relayout/cpu/reorder.h"
#include "tests/c/models_fixture.h"

namespace relayout::testing {
namespace {

TEST_F(CModels, AgreeWithTheCppLibraryForDimsByName) {
  for (const auto& [batch, seq] : {std::pair<int64_t, int64_t>{3, 5}, {1, 1}, {2, 9}}) {
    const relayout_model_dim dims[] = {{"seq", seq}, {"batch", batch}};
    const Model model = loaded(file_.path(), options(dims));
    ASSERT_NE(model, nullptr);
    Arrays arrays(batch, seq);
    const ByCpp expected(net_, {.dims = {{"batch", batch}, {"seq", seq}}}, arrays);
    ASSERT_EQ(run(model, arrays), RELAYOUT_OK) << relayout_error_message();
    EXPECT_EQ(arrays.y, expected.y);
    EXPECT_EQ(arrays.pooled, expected.pooled);
    test::expect_outputs_near({arrays.y.begin(), arrays.y.end()}, expected.values[0], 1e-5);
    test::expect_outputs_near({arrays.pooled.begin(), arrays.pooled.end()}, expected.values[1], 1e-5);
    EXPECT_EQ(explanation(model), expected.explanation);
    EXPECT_EQ(warnings(model), "");
  }
}

TEST_F(CModels, ConvertAnyLayoutAndType) {
  const Model model = loaded(file_.path(), options(kDims));
  ASSERT_NE(model, nullptr);
  Arrays arrays(3, 5);
  const ByCpp expected(net_, {.dims = {{"batch", 3}, {"seq", 5}}}, arrays);
  // x in f64, blocked with padding; lengths in u8, backwards; y in f64, transposed; pooled in f32 with gaps.
  const TensorDesc blocked(Format::parse("aBc4b").bind({3, 5, 4}), DType::f64);
  std::vector<double> x(static_cast<std::size_t>(blocked.layout.span())), y(60), pooled(3 * 7, -1);
  cpu::reorder(TensorDesc(Layout::contiguous({3, 5, 4}), DType::f32), arrays.x, blocked, x);
  std::vector<uint8_t> lengths(arrays.lengths.rbegin(), arrays.lengths.rend());
  const Desc x_desc("aBc4b", {3, 5, 4}, RELAYOUT_F64), lengths_desc("strides:-1@2", {3}, RELAYOUT_U8);
  const Desc y_desc("cba", {3, 5, 4}, RELAYOUT_F64), pooled_desc("strides:7,1", {3, 4}, RELAYOUT_F64);
  const relayout_model_source sources[] = {{"lengths", lengths_desc, lengths.data(), 3},
                                           {"x", x_desc, x.data(), bytes_of(x)}};
  const relayout_model_destination destinations[] = {{"pooled", pooled_desc, pooled.data(), bytes_of(pooled)},
                                                     {"y", y_desc, y.data(), bytes_of(y)}};
  ASSERT_EQ(relayout_model_run(model.get(), sources, 2, destinations, 2, nullptr), RELAYOUT_OK)
      << relayout_error_message();
  for (int64_t n = 0; n < 3; ++n) {
    for (int64_t c = 0; c < 4; ++c) {
      EXPECT_EQ(pooled[static_cast<std::size_t>(n * 7 + c)], expected.pooled[static_cast<std::size_t>(n * 4 + c)]);
      for (int64_t s = 0; s < 5; ++s) {
        EXPECT_EQ(y[static_cast<std::size_t>((c * 5 + s) * 3 + n)],
                  expected.y[static_cast<std::size_t>((n * 5 + s) * 4 + c)]);
      }
    }
    for (int64_t gap = 4; gap < 7; ++gap) EXPECT_EQ(pooled[static_cast<std::size_t>(n * 7 + gap)], -1);
  }
}

TEST_F(CModels, OfTheProjectByName) {
  relayout_model_options how = options();
  how.batch = 2;
  how.threads = 1;
  how.input_scale = 0.5;
  const Model model = loaded("model:small_cnn,image=32,channels=8", how);
  ASSERT_NE(model, nullptr);
  how.input_scale = 1;
  const Model plain = loaded("model:small_cnn,image=32,channels=8", how);
  ASSERT_NE(plain, nullptr);
  const Desc photo("nhwc", {2, 3, 32, 32}, RELAYOUT_U8), scores("ab", {2, 10}, RELAYOUT_F32);
  const Desc halves("nchw", {2, 3, 32, 32}, RELAYOUT_F32);
  std::vector<uint8_t> pixels(2 * 3 * 32 * 32);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * 11);
  std::vector<float> values(pixels.size()), got(20), expected(20);
  ASSERT_EQ(
      relayout_reorder(photo, pixels.data(), pixels.size(), halves, values.data(), bytes_of(values), nullptr, nullptr),
      RELAYOUT_OK);
  for (float& value : values) value /= 2;
  const relayout_model_source scaled = {nullptr, photo, pixels.data(), pixels.size()};
  const relayout_model_source plain_source = {nullptr, halves, values.data(), bytes_of(values)};
  const relayout_model_destination out = {nullptr, scores, got.data(), bytes_of(got)};
  const relayout_model_destination plain_out = {nullptr, scores, expected.data(), bytes_of(expected)};
  ASSERT_EQ(relayout_model_run(model.get(), &scaled, 1, &out, 1, nullptr), RELAYOUT_OK) << relayout_error_message();
  ASSERT_EQ(relayout_model_run(plain.get(), &plain_source, 1, &plain_out, 1, nullptr), RELAYOUT_OK);
  EXPECT_EQ(got, expected);
  EXPECT_NE(got, std::vector<float>(20, got[0]));
}

/// A model of the batch 3 and the sequence 5, and lists of its tensors that a test makes wrong in one place.
class CModelRuns : public CModels {
 protected:
  void SetUp() override {
    CModels::SetUp();
    if (IsSkipped()) return;
    model_ = loaded(file_.path(), options(kDims));
    ASSERT_NE(model_, nullptr);
  }
  std::string refused(relayout_status status, size_t source_count = 2, size_t destination_count = 2) {
    const std::vector<float> before = arrays_.y;
    EXPECT_EQ(relayout_model_run(model_.get(), sources_.data(), source_count, destinations_.data(), destination_count,
                                 nullptr),
              status);
    EXPECT_EQ(arrays_.y, before) << "nothing is written";
    return relayout_error_message();
  }

  Arrays arrays_{3, 5};
  const Desc x_{"abc", {3, 5, 4}, RELAYOUT_F32}, lengths_{"a", {3}, RELAYOUT_S64}, pooled_{"ab", {3, 4}, RELAYOUT_F32};
  Model model_;
  std::array<relayout_model_source, 2> sources_{
      {{"x", x_, arrays_.x.data(), bytes_of(arrays_.x)},
       {"lengths", lengths_, arrays_.lengths.data(), bytes_of(arrays_.lengths)}}};
  std::array<relayout_model_destination, 2> destinations_{
      {{"y", x_, arrays_.y.data(), bytes_of(arrays_.y)},
       {"pooled", pooled_, arrays_.pooled.data(), bytes_of(arrays_.pooled)}}};
};

TEST_F(CModelRuns, RefuseWrongLists) {
  EXPECT_EQ(refused(RELAYOUT_INVALID_ARGUMENT, 1), "sources lacks \"lengths\"; the model has 2: \"x\" and \"lengths\"");
  EXPECT_EQ(refused(RELAYOUT_INVALID_ARGUMENT, 2, 1),
            "destinations lacks \"pooled\"; the model has 2: \"y\" and \"pooled\"");
  EXPECT_EQ(refused(RELAYOUT_INVALID_ARGUMENT, 0), "sources has 0; the model has 2: \"x\" and \"lengths\"");
  sources_[1].name = "length";
  EXPECT_EQ(refused(RELAYOUT_INVALID_ARGUMENT),
            "sources names \"length\"; did you mean lengths?; the model has 2: \"x\" and \"lengths\"");
  sources_[1].name = "x";
  EXPECT_EQ(refused(RELAYOUT_INVALID_ARGUMENT), "sources names \"x\" twice; the model has 2: \"x\" and \"lengths\"");
  sources_[1].name = nullptr;
  EXPECT_EQ(refused(RELAYOUT_INVALID_ARGUMENT),
            "sources names some and not others; the model has 2: \"x\" and \"lengths\"");
  EXPECT_EQ(relayout_model_run(model_.get(), nullptr, 2, destinations_.data(), 2, nullptr), RELAYOUT_INVALID_ARGUMENT);
  EXPECT_EQ(relayout_model_run(model_.get(), sources_.data(), 2, nullptr, 2, nullptr), RELAYOUT_INVALID_ARGUMENT);
}

TEST_F(CModelRuns, RefuseWrongTensors) {
  const Desc transposed("abc", {5, 3, 4}, RELAYOUT_F32);
  sources_[0].desc = transposed;
  EXPECT_EQ(refused(RELAYOUT_INVALID_ARGUMENT), "run: input \"x\" has dims 3x5x4, given are 5x3x4");
  sources_[0].desc = nullptr;
  EXPECT_EQ(refused(RELAYOUT_INVALID_ARGUMENT), "sources[0].desc is null");
  sources_[0].desc = reinterpret_cast<const relayout_desc*>(model_.get());
  EXPECT_EQ(refused(RELAYOUT_INVALID_ARGUMENT),
            "sources[0].desc is no relayout_desc: another handle, or one that was freed");
  sources_[0].desc = x_;
  sources_[0].bytes -= 1;
  EXPECT_EQ(refused(RELAYOUT_BUFFER_TOO_SMALL), "sources[0].bytes has 239 bytes, and its layout takes 240");
  sources_[0].bytes += 1;
  destinations_[1].bytes = 47;
  EXPECT_EQ(refused(RELAYOUT_BUFFER_TOO_SMALL), "destinations[1].bytes has 47 bytes, and its layout takes 48");
  destinations_[1].bytes = 48;
  destinations_[1].data = nullptr;
  EXPECT_EQ(refused(RELAYOUT_INVALID_ARGUMENT), "destinations[1].data is null, but its size is 48");
  destinations_[1].data = arrays_.y.data() + 10;
  EXPECT_EQ(refused(RELAYOUT_OVERLAP), "destination \"pooled\" shares memory with destination \"y\"");
  destinations_[1].data = arrays_.x.data();
  EXPECT_EQ(refused(RELAYOUT_OVERLAP), "destination \"pooled\" shares memory with source \"x\"");
  const Desc repeated("strides:0,1", {3, 4}, RELAYOUT_F32);
  destinations_[1] = {"pooled", repeated, arrays_.pooled.data(), 48};
  refused(RELAYOUT_NOT_INJECTIVE);
}

TEST_F(CModelRuns, TellProgressAndStop) {
  struct Seen {
    int64_t calls = 0, done = -1, total = 0, end = -1;
  } seen;
  relayout_model_run_options how = RELAYOUT_MODEL_RUN_OPTIONS_INIT;
  how.context = &seen;
  how.progress = [](void* context, int64_t done, int64_t total) {
    Seen& at = *static_cast<Seen*>(context);
    EXPECT_GE(done, at.done);
    ++at.calls;
    at.done = done;
    at.total = total;
    return at.calls == at.end ? 1 : 0;
  };
  EXPECT_EQ(run(model_, arrays_, &how), RELAYOUT_OK);
  EXPECT_GT(seen.calls, 3);
  EXPECT_EQ(seen.done, seen.total);
  seen = {.end = 2};
  EXPECT_EQ(run(model_, arrays_, &how), RELAYOUT_INTERRUPTED);
  EXPECT_EQ(seen.calls, 2);
  how.struct_size = 0;
  EXPECT_EQ(run(model_, arrays_, &how), RELAYOUT_INVALID_ARGUMENT);
  EXPECT_EQ(run(model_, arrays_), RELAYOUT_OK) << "as if nothing had been";
}

TEST_F(CModelRuns, MayBeRunByThreadsAtOnce) {
  ASSERT_EQ(run(model_, arrays_), RELAYOUT_OK);
  std::vector<Arrays> each(4, Arrays(3, 5));
  std::vector<std::thread> threads;
  for (Arrays& arrays : each) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) EXPECT_EQ(run(model_, arrays), RELAYOUT_OK);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Arrays& arrays : each) EXPECT_EQ(arrays.y, arrays_.y);
}

}  // namespace
}  // namespace relayout::testing
