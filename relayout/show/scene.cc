// What scenes are made of: the fields of a record, and the sentence about two layouts.
#include "relayout/show/scene.h"

#include "relayout/core/decide.h"
#include "relayout/core/print.h"

namespace relayout::show {

Scene scene_of(const Record& record, const std::string& title) {
  Scene out{title, {}, Scene::Kind::fields, record.bytes()};
  for (const Field& field : record.fields()) {
    std::string letters;
    for (int d = 0; d < field.layout.ndims(); ++d) letters += static_cast<char>('a' + d);
    out.views.push_back({field.name, digits_expression(field.layout), field.layout, letters, field.dtype});
  }
  return out;
}

Comparison comparison(const View& a, const View& b) {
  const std::optional<Difference> found = difference(a.layout, b.layout);
  const std::string name_a = a.name.empty() ? a.expression : a.name, name_b = b.name.empty() ? b.expression : b.name;
  const std::string elements = std::to_string(a.layout.elements());
  if (!found) {
    const bool padding = !a.layout.empty() && !(a.layout == b.layout);
    return {name_a + " and " + name_b + " are the same function: each of " + elements +
                " elements has the same offset in both" + (padding ? "; only their padding differs" : ""),
            {}};
  }
  std::string text = name_a + " and " + name_b + " part at index (" + join(found->index) +
                     "): " + std::to_string(found->offset_a) + " in " + name_a + ", " +
                     std::to_string(found->offset_b) + " in " + name_b;
  if (found->count) text += "; " + std::to_string(*found->count) + " of " + elements + " elements lie elsewhere";
  return {text, found->index};
}

}  // namespace relayout::show
