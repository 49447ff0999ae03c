// Models by name: "model:unet,image=128".
#include <algorithm>
#include <sstream>

#include "relayout/core/extents.h"
#include "relayout/graph/models/models.h"

namespace relayout::graph {
namespace {

[[noreturn]] void refuse_model(const std::string& text, const std::string& why, std::string_view value,
                               const std::string& limit) {
  throw Error(ErrorCode::invalid_argument, escaped(text) + ": " + why, "MODEL", escaped(value), limit);
}

ModelBuilder builder_of(const std::string& text, std::string_view wanted) {
  const auto found = std::ranges::find(models(), wanted, &ModelBuilder::name);
  if (found != models().end()) return *found;
  std::string names;
  for (const ModelBuilder& model : models()) names += (names.empty() ? "" : ", ") + std::string(model.name);
  refuse_model(text, "the models of the project are " + names, wanted, names);
}

}  // namespace

Graph named_model(const std::string& text, ModelBuildOptions options) {
  static constexpr const char* kWords = "image=N, channels=N";
  std::istringstream words(text.substr(std::min(text.size(), kNamedModel.size())));
  std::string name, word;
  std::getline(words, name, ',');
  const ModelBuilder model = builder_of(text, name);
  options.image = 64;
  options.channels = 16;
  // getline() would pass over an empty last one.
  if (text.ends_with(','))
    refuse_model(text, "it ends with a comma; the form is NAME[,image=N][,channels=N]", text, kWords);
  while (std::getline(words, word, ',')) {
    const std::size_t equals = word.find('=');
    const std::string key = word.substr(0, equals), value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (key != "image" && key != "channels")
      refuse_model(text, escaped(word) + " is neither image=N nor channels=N", word, kWords);
    (key == "image" ? options.image : options.channels) = parse_int(value, "MODEL " + key);
  }
  if (std::max(options.image, options.channels) > 1 << 14)
    refuse_model(text, "image and channels are at most 16384", text, "16384");
  return model.build(options);
}

}  // namespace relayout::graph
