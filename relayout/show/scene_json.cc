// Scenes as JSON: what pages compute from.
#include "relayout/core/error.h"
#include "relayout/core/print.h"
#include "relayout/show/escape.h"
#include "relayout/show/html.h"

namespace relayout::show {
namespace {

std::string list(const Dims& dims) { return "[" + join(dims) + "]"; }

std::string digits_json(const Layout& layout) {
  std::string out = "[";
  for (int d = 0; d < layout.ndims(); ++d) {
    out += d == 0 ? "[" : ",[";
    bool first = true;
    for (const Digit& digit : layout.digits_under_swizzle(d)) {
      out += (first ? "[" : ",[") + std::to_string(digit.extent) + "," + std::to_string(digit.stride) + "]";
      first = false;
    }
    out += "]";
  }
  return out + "]";
}

std::string view_json(const View& view) {
  const Layout& layout = view.layout;
  if (layout.span() > kMostOfPage) {
    throw Error(ErrorCode::limit,
                "show: " + escaped(view.expression) + " reaches offset " + std::to_string(layout.span() - 1) +
                    "; a page shows those below 2^53",
                "span", std::to_string(layout.span()), std::to_string(kMostOfPage));
  }
  const Swizzle& swizzle = layout.swizzle();
  std::string out = "{\"name\":" + json_quoted(view.name) + ",\"expression\":" + json_quoted(view.expression) +
                    ",\"letters\":" + json_quoted(view.letters) + ",\"dims\":" + list(layout.dims()) +
                    ",\"padded\":" + list(layout.padded_dims()) + ",\"digits\":" + digits_json(layout) +
                    ",\"offset0\":" + std::to_string(layout.offset0()) + ",\"span\":" + std::to_string(layout.span()) +
                    ",\"formula\":" + json_quoted(offset_formula(layout, view.letters)) +
                    ",\"dtype\":" + json_quoted(name(view.dtype)) + ",\"bits\":" + std::to_string(bits(view.dtype));
  if (layout.swizzled()) {
    out += ",\"swizzle\":{\"bits\":" + std::to_string(swizzle.bits()) +
           ",\"source\":" + std::to_string(swizzle.source()) + ",\"target\":" + std::to_string(swizzle.target()) +
           ",\"text\":" + json_quoted(swizzle.text()) + "}";
  }
  if (view.image) {
    out += ",\"image\":{\"width\":" + std::to_string(view.image->width) +
           ",\"height\":" + std::to_string(view.image->height) + ",\"pitch\":" + std::to_string(view.image->pitch) +
           "}";
  }
  if (!view.values.empty()) {
    out += ",\"values\":[";
    for (std::size_t i = 0; i < view.values.size(); ++i) out += (i == 0 ? "" : ",") + json_quoted(view.values[i]);
    out += "]";
  }
  return out + "}";
}

}  // namespace

std::string scene_json(const Scene& scene) {
  const bool fields = scene.kind == Scene::Kind::fields;
  std::string out = "{\"title\":" + json_quoted(scene.title) + ",\"kind\":\"" + (fields ? "fields" : "sides") +
                    "\",\"bytes\":" + std::to_string(scene.bytes) + ",\"views\":[";
  for (std::size_t i = 0; i < scene.views.size(); ++i) out += (i == 0 ? "" : ",") + view_json(scene.views[i]);
  out += "]";
  if (!scene.typed.empty()) {
    out += ",\"typed\":[";
    for (std::size_t i = 0; i < scene.typed.size(); ++i) {
      const auto& [text, dims, dtype] = scene.typed[i];
      out += std::string(i == 0 ? "" : ",") + "{\"text\":" + json_quoted(text) + ",\"dims\":" + json_quoted(dims) +
             ",\"dtype\":" + json_quoted(dtype) + "}";
    }
    out += "]";
  }
  if (!scene.notes.empty()) {
    out += ",\"notes\":[";
    for (std::size_t i = 0; i < scene.notes.size(); ++i) {
      out += std::string(i == 0 ? "" : ",") + "{\"title\":" + json_quoted(scene.notes[i].title) +
             ",\"text\":" + json_quoted(scene.notes[i].text) + "}";
    }
    out += "]";
  }
  if (!fields && scene.views.size() == 2 && scene.views[0].layout.dims() == scene.views[1].layout.dims()) {
    const Comparison found = comparison(scene.views[0], scene.views[1]);
    out += ",\"comparison\":{\"text\":" + json_quoted(found.text) +
           ",\"index\":" + (found.index ? list(*found.index) : "null") + "}";
  }
  if (scene.reorder && scene.views.size() == 2)
    out += ",\"reorder\":" + reorder_json(*scene.reorder, scene.views[1].layout, scene.views[1].letters);
  return out + "}";
}

}  // namespace relayout::show
