// What scenes are made of: views, the fields of a record, and the sentence about two layouts.
#include "relayout/show/scene.h"

#include "relayout/core/decide.h"
#include "relayout/core/error.h"
#include "relayout/core/print.h"
#include "relayout/interop/directml.h"

namespace relayout::show {
namespace {

std::string dims_words(const Layout& layout) { return layout.ndims() == 0 ? "scalar" : join(layout.dims(), "x"); }

}  // namespace

View view_of(const Format& format, const Dims& dims, DType dtype) {
  if (format.notation() == "dml") directml::data_type(dtype);  // DirectML has few types
  View out;
  out.expression = format.text();
  out.layout = format.bind(dims);
  out.letters = format.dim_names(out.layout.ndims());
  out.dtype = dtype;
  if (format.is_image() && format.views().empty()) out.image = format.image(dims);
  return out;
}

Scene scene_of(std::vector<View> views) {
  Scene out;
  if (views.size() == 2) {
    if (views[0].layout.dims() != views[1].layout.dims()) {
      const std::string a = dims_words(views[0].layout), b = dims_words(views[1].layout);
      throw Error(ErrorCode::invalid_argument,
                  escaped(views[0].expression) + " has dims " + a + ", and " + escaped(views[1].expression) + " has " +
                      b +
                      ": both describe one tensor, so they must be the same, in the same order; expected are dims " +
                      a + " on both sides, perhaps by views such as .permute or .reshape",
                  "dims", b, a);
    }
    const bool equal = views[0].expression == views[1].expression;
    views[0].name = equal ? "A" : views[0].expression;
    views[1].name = equal ? "B" : views[1].expression;
    out.title = views[0].name + " and " + views[1].name + "  " + dims_words(views[0].layout);
  } else if (!views.empty()) {
    out.title = views[0].expression + "  " + dims_words(views[0].layout);
  }
  out.views = std::move(views);
  return out;
}

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
