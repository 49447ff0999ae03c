// A program that runs a model by the C interface alone, and links its shared libraries.
#include <relayout/relayout_models_c.h>

#include <cstdio>
#include <cstring>

int main() {
  const relayout_speeds speeds = {1e5, 4e4, 2e4, 1e4, 1.0, 0.5};
  relayout_model_options options = RELAYOUT_MODEL_OPTIONS_INIT;
  options.speeds = &speeds;
  relayout_model* model = nullptr;
  if (relayout_model_load("model:small_cnn,image=32,channels=8", &options, &model) != RELAYOUT_OK) {
    std::fprintf(stderr, "%s\n", relayout_error_message());
    return std::strstr(relayout_error_message(), "this build lacks oneDNN") == nullptr ? 1 : 0;
  }
  static float image[3 * 32 * 32], scores[10];
  for (int i = 0; i < 3 * 32 * 32; ++i) image[i] = static_cast<float>(i % 17);
  relayout_desc *in = nullptr, *out = nullptr;
  relayout_model_input_desc(model, 0, &in);
  relayout_model_output_desc(model, 0, &out);
  const relayout_model_source source = {nullptr, in, image, sizeof image};
  const relayout_model_destination destination = {nullptr, out, scores, sizeof scores};
  const relayout_status status = relayout_model_run(model, &source, 1, &destination, 1, nullptr);
  relayout_desc_free(in);
  relayout_desc_free(out);
  relayout_model_free(model);
  if (status != RELAYOUT_OK) std::fprintf(stderr, "%s\n", relayout_error_message());
  return status == RELAYOUT_OK && scores[0] != scores[1] ? 0 : 1;
}
