// Models of the C interface: arguments that are refused, and what is said where oneDNN or ONNX is missing.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "relayout/relayout_models_c.h"
#include "tests/c/owned.h"

namespace {

using relayout::testing::Desc;

TEST(CModelArguments, NullIsAnErrorEverywhere) {
  relayout_model* model = nullptr;
  relayout_desc* desc = nullptr;
  size_t size = 0;
  relayout_speeds speeds;
  const std::array<relayout_status, 12> all{relayout_model_load(nullptr, nullptr, &model),
                                            relayout_model_load("x.onnx", nullptr, nullptr),
                                            relayout_model_input_count(nullptr, &size),
                                            relayout_model_output_count(nullptr, &size),
                                            relayout_model_input_name(nullptr, 0, nullptr, 0, &size),
                                            relayout_model_output_name(nullptr, 0, nullptr, 0, &size),
                                            relayout_model_input_desc(nullptr, 0, &desc),
                                            relayout_model_output_desc(nullptr, 0, &desc),
                                            relayout_model_explain(nullptr, nullptr, 0, &size),
                                            relayout_model_warnings(nullptr, nullptr, 0, &size),
                                            relayout_model_speeds(nullptr, &speeds),
                                            relayout_model_run(nullptr, nullptr, 0, nullptr, 0, nullptr)};
  for (std::size_t k = 0; k < all.size(); ++k) EXPECT_EQ(all[k], RELAYOUT_INVALID_ARGUMENT) << "call " << k;
  EXPECT_EQ(model, nullptr);
  EXPECT_EQ(desc, nullptr);
  relayout_model_free(nullptr);
}

TEST(CModelArguments, AnotherKindOfHandleIsNoModel) {
  const Desc desc("ab", {2, 3}, RELAYOUT_F32);
  auto* const mistaken =
      reinterpret_cast<relayout_model*>(const_cast<relayout_desc*>(static_cast<const relayout_desc*>(desc)));
  size_t size = 0;
  EXPECT_EQ(relayout_model_input_count(mistaken, &size), RELAYOUT_INVALID_ARGUMENT);
  EXPECT_STREQ(relayout_error_message(), "model is no relayout_model: another handle, or one that was freed");
  relayout_model_free(mistaken);  // which leaves it alone
  int32_t ndims = 0;
  EXPECT_EQ(relayout_desc_ndims(desc, &ndims), RELAYOUT_OK);
}

TEST(CModelArguments, AFileThatIsNotThere) {
  relayout_model* model = nullptr;
  const relayout_status status = relayout_model_load("no such file.onnx", nullptr, &model);
  if (std::string(relayout_error_message()).find("this build lacks") == std::string::npos) {
    EXPECT_EQ(status, RELAYOUT_IO) << relayout_error_message();
  } else {
    EXPECT_EQ(status, RELAYOUT_UNSUPPORTED);
  }
  EXPECT_EQ(model, nullptr);
}

TEST(CModelArguments, AnErrorThatIsSet) {
  relayout_error_set("what happened", "where", nullptr, "10");
  EXPECT_STREQ(relayout_error_message(), "what happened");
  EXPECT_STREQ(relayout_error_field(), "where");
  EXPECT_STREQ(relayout_error_value(), "");
  EXPECT_STREQ(relayout_error_limit(), "10");
  relayout_error_set(std::string(5000, 'x').c_str(), nullptr, nullptr, nullptr);
  EXPECT_EQ(std::string(relayout_error_message()), std::string(2047, 'x'));
}

}  // namespace
