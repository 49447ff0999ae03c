// Loading models in C: dims by name and by descriptors, what a model says of itself, options that are refused.
#include <array>
#include <cmath>

#include "tests/c/models_fixture.h"

namespace relayout::testing {
namespace {

TEST_F(CModels, TakeTheDimsOfDescriptors) {
  Arrays arrays(3, 5);
  const Desc x("cab", {3, 5, 4}, RELAYOUT_F16), lengths("a", {3}, RELAYOUT_S64);
  const relayout_model_source by_place[] = {{nullptr, x, nullptr, 0}, {nullptr, lengths, nullptr, 0}};
  relayout_model_options how = options();
  how.sources = by_place;
  how.source_count = 2;
  Model model = loaded(file_.path(), how);
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(run(model, arrays), RELAYOUT_OK) << relayout_error_message();
  // With names, one may be left out.
  const relayout_model_source by_name[] = {{"x", x, nullptr, 0}};
  how.sources = by_name;
  how.source_count = 1;
  model = loaded(file_.path(), how);
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(run(model, arrays), RELAYOUT_OK) << relayout_error_message();
  // A name that is given, and a shape that says something else.
  const relayout_model_dim four[] = {{"batch", 4}};
  how.dims = four;
  how.dim_count = 1;
  EXPECT_EQ(error_of_load(file_.path(), how, RELAYOUT_INVALID_ARGUMENT),
            "onnx: dim \"batch\" is 4 as given, and 3 in input \"x\"");
}

TEST_F(CModels, SayWhatTheyTakeAndGive) {
  const relayout_model_dim dims[] = {{"batch", 3}, {"x[1]", 5}};
  const Model model = loaded(file_.path(), options(dims));
  ASSERT_NE(model, nullptr);
  size_t inputs = 0, outputs = 0;
  EXPECT_EQ(relayout_model_input_count(model.get(), &inputs), RELAYOUT_OK);
  EXPECT_EQ(relayout_model_output_count(model.get(), &outputs), RELAYOUT_OK);
  EXPECT_EQ(inputs, 2u);
  EXPECT_EQ(outputs, 2u);
  const auto input = [&](size_t i) {
    return text_of([&](char* text, size_t n, size_t* length) {
      return relayout_model_input_name(model.get(), i, text, n, length);
    });
  };
  const auto output = [&](size_t i) {
    return text_of([&](char* text, size_t n, size_t* length) {
      return relayout_model_output_name(model.get(), i, text, n, length);
    });
  };
  EXPECT_EQ(input(0), "x");
  EXPECT_EQ(input(1), "lengths");
  EXPECT_EQ(output(0), "y");
  EXPECT_EQ(output(1), "pooled");
  const Desc x("abc", {3, 5, 4}, RELAYOUT_F32), pooled("ab", {3, 4}, RELAYOUT_F32);
  relayout_desc *own_x = nullptr, *own_pooled = nullptr, *none = nullptr;
  int equal = 0;
  EXPECT_EQ(relayout_model_input_desc(model.get(), 0, &own_x), RELAYOUT_OK);
  EXPECT_EQ(relayout_desc_equal(own_x, x, &equal), RELAYOUT_OK);
  EXPECT_EQ(equal, 1);
  EXPECT_EQ(relayout_model_output_desc(model.get(), 1, &own_pooled), RELAYOUT_OK);
  EXPECT_EQ(relayout_desc_equal(own_pooled, pooled, &equal), RELAYOUT_OK);
  EXPECT_EQ(equal, 1);
  relayout_desc_free(own_x);
  relayout_desc_free(own_pooled);
  relayout_speeds speeds;
  EXPECT_EQ(relayout_model_speeds(model.get(), &speeds), RELAYOUT_OK);
  EXPECT_EQ(speeds.cache_bytes_per_us, kSpeeds.cache_bytes_per_us);
  EXPECT_EQ(speeds.step_us, kSpeeds.step_us);
  EXPECT_EQ(relayout_model_input_desc(model.get(), 2, &none), RELAYOUT_INVALID_ARGUMENT);
  EXPECT_STREQ(relayout_error_message(), "input is 2, and the model has 2");
  EXPECT_EQ(relayout_model_output_desc(model.get(), 0, nullptr), RELAYOUT_INVALID_ARGUMENT);
  EXPECT_EQ(relayout_model_output_name(model.get(), 2, nullptr, 0, &inputs), RELAYOUT_INVALID_ARGUMENT);
  EXPECT_EQ(relayout_model_speeds(model.get(), nullptr), RELAYOUT_INVALID_ARGUMENT);
  EXPECT_EQ(none, nullptr);
}

TEST_F(CModels, RefuseDimsThatAreNotTheModels) {
  relayout_model_options how = options();
  EXPECT_EQ(error_of_load(file_.path(), how, RELAYOUT_INVALID_ARGUMENT),
            "onnx: dim 1 of input \"x\" (\"seq\") has no value; options.dims gives it as \"seq\", or a descriptor in "
            "options.sources shows it");
  EXPECT_STREQ(relayout_error_value(), "seq");
  const relayout_model_dim misspelt[] = {{"bach", 3}};
  how.dims = misspelt;
  how.dim_count = 1;
  EXPECT_EQ(error_of_load(file_.path(), how, RELAYOUT_INVALID_ARGUMENT),
            "onnx: no dim of the model's inputs is called \"bach\"; those without a value are batch, seq; did you mean "
            "batch?");
  how.dims = nullptr;
  EXPECT_EQ(error_of_load(file_.path(), how, RELAYOUT_INVALID_ARGUMENT), "options.dims is null, but its count is 1");
  const relayout_model_dim unnamed[] = {{nullptr, 3}};
  how.dims = unnamed;
  EXPECT_EQ(error_of_load(file_.path(), how, RELAYOUT_INVALID_ARGUMENT), "options.dims.name is null");
  how = options();
  how.batch = -1;
  EXPECT_EQ(error_of_load(file_.path(), how, RELAYOUT_INVALID_ARGUMENT), "options.batch is -1");
  how.batch = 0;
  how.threads = -2;
  EXPECT_EQ(error_of_load(file_.path(), how, RELAYOUT_INVALID_ARGUMENT), "options.threads is -2");
  how = options(kDims);
  how.input_scale = INFINITY;
  EXPECT_EQ(error_of_load(file_.path(), how, RELAYOUT_INVALID_ARGUMENT), "options.input_scale is inf");
}

TEST_F(CModels, RefuseWrongOptions) {
  relayout_model_options how = options();
  how.struct_size = 3;
  error_of_load(file_.path(), how, RELAYOUT_INVALID_ARGUMENT);
  how = options(kDims);
  how.cost = static_cast<relayout_cost>(7);
  EXPECT_EQ(error_of_load(file_.path(), how, RELAYOUT_INVALID_ARGUMENT),
            "options.cost is 7, which is no relayout_cost");
  how.cost = RELAYOUT_COST_MEASURED;
  error_of_load(file_.path(), how, RELAYOUT_INVALID_ARGUMENT);  // with speeds
  how.cost = RELAYOUT_COST_ANALYTIC;
  const relayout_speeds no_speeds{};
  how.speeds = &no_speeds;
  error_of_load(file_.path(), how, RELAYOUT_INVALID_ARGUMENT);
  how.speeds = &kSpeeds;
  const Desc x("abc", {3, 5, 4}, RELAYOUT_F32);
  const relayout_model_source sources[] = {{"z", x, nullptr, 0}};
  how.dim_count = 0;
  how.sources = sources;
  how.source_count = 1;
  EXPECT_EQ(error_of_load(file_.path(), how, RELAYOUT_INVALID_ARGUMENT),
            "options.sources names \"z\"; the model has 2: \"x\" and \"lengths\"");
  const relayout_model_source one_of_two[] = {{nullptr, x, nullptr, 0}};
  how.sources = one_of_two;
  EXPECT_EQ(error_of_load(file_.path(), how, RELAYOUT_INVALID_ARGUMENT),
            "options.sources has 1; the model has 2: \"x\" and \"lengths\"");
  // Where all dims are known, descriptors are looked at all the same.
  how = options(kDims);
  how.sources = sources;
  how.source_count = 1;
  EXPECT_EQ(error_of_load(file_.path(), how, RELAYOUT_INVALID_ARGUMENT),
            "options.sources names \"z\"; the model has 2: \"x\" and \"lengths\"");
  const Desc wrong("abc", {3, 6, 4}, RELAYOUT_F32);
  const relayout_model_source other_dims[] = {{"x", wrong, nullptr, 0}};
  how.sources = other_dims;
  EXPECT_EQ(error_of_load(file_.path(), how, RELAYOUT_INVALID_ARGUMENT),
            "options.sources: input \"x\" has dims 3x5x4, and its descriptor 3x6x4");
  const relayout_model_source without_desc[] = {{"x", nullptr, nullptr, 0}};
  how.sources = without_desc;
  EXPECT_EQ(error_of_load(file_.path(), how, RELAYOUT_INVALID_ARGUMENT), "options.sources.desc is null");
}

TEST_F(CModels, RefuseWhatIsNoModel) {
  const ModelFile text(Net(), "c_models_empty.onnx");
  error_of_load(text.path(), options(), RELAYOUT_CORRUPT);
  error_of_load("c_models_absent.onnx", options(), RELAYOUT_IO);
  EXPECT_NE(error_of_load("model:none", options(), RELAYOUT_INVALID_ARGUMENT).find("small_cnn"), std::string::npos);
  relayout_model_options how = options();
  const relayout_model_dim dims[] = {{"batch", 3}};
  how.dims = dims;
  how.dim_count = 1;
  error_of_load("model:small_cnn", how, RELAYOUT_INVALID_ARGUMENT);
}

TEST_F(CModels, LoadingIsStopped) {
  int calls = 0;
  relayout_model_options how = options(kDims);
  how.speeds = nullptr;  // measuring asks before it begins
  how.context = &calls;
  how.stop = [](void* context) { return ++*static_cast<int*>(context); };
  error_of_load(file_.path(), how, RELAYOUT_INTERRUPTED);
  EXPECT_EQ(calls, 1);
}

TEST_F(CModels, PlannedByMeasuredCosts) {
  const ModelFile file(Net().input("x", {2, 3}).node("Relu", {"x"}, {"y"}).output("y"), "c_models_relu.onnx");
  relayout_model_options how = RELAYOUT_MODEL_OPTIONS_INIT;
  how.cost = RELAYOUT_COST_MEASURED;
  how.cost_file = "c_models_costs.txt";
  const Model model = loaded(file.path(), how);
  ASSERT_NE(model, nullptr);
  EXPECT_NE(explanation(model).find("predicted by measured prices: "), std::string::npos);
  relayout_speeds speeds;
  EXPECT_EQ(relayout_model_speeds(model.get(), &speeds), RELAYOUT_UNSUPPORTED);
  const Desc desc("ab", {2, 3}, RELAYOUT_F32);
  const std::array<float, 6> x{-1, 2, -3, 4, -5, 6};
  std::array<float, 6> y{};
  const relayout_model_source source = {"x", desc, x.data(), sizeof x};
  const relayout_model_destination destination = {"y", desc, y.data(), sizeof y};
  ASSERT_EQ(relayout_model_run(model.get(), &source, 1, &destination, 1, nullptr), RELAYOUT_OK);
  EXPECT_EQ(y, (std::array<float, 6>{0, 2, 0, 4, 0, 6}));
  std::filesystem::remove("c_models_costs.txt");
}

}  // namespace
}  // namespace relayout::testing
