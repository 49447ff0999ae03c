// Scenes as drawings and as text.
#include "relayout/core/print.h"
#include "relayout/show/memory_drawing.h"
#include "relayout/show/memory_text.h"
#include "relayout/show/reorder_text.h"
#include "relayout/show/scene.h"

namespace relayout::show {
namespace {

constexpr double kBetweenViews = 10, kSentence = 28;

std::string heading_of(const View& view) {
  const std::string dims = join(view.layout.dims(), "x");
  return (view.name.empty() || view.name == view.expression ? "" : view.name + ": ") + view.expression + "  " +
         (dims.empty() ? "scalar" : dims) + "  " + std::string(name(view.dtype));
}

/// The value of an element, where the view has values.
LabelOf label_of(const View& view) {
  if (view.values.empty()) return {};
  return [&view](const Dims& index) {
    int64_t number = 0;
    for (int d = 0; d < index.size(); ++d) number = number * view.layout.dim(d) + index[d];
    return view.values[static_cast<std::size_t>(number)];
  };
}

bool compares(const Scene& scene) {
  return scene.kind == Scene::Kind::sides && scene.views.size() == 2 &&
         scene.views[0].layout.dims() == scene.views[1].layout.dims();
}

}  // namespace

Drawing scene_drawing(const Scene& scene) {
  Drawing out(0, 0, scene.title, true);
  double top = 0;
  if (compares(scene)) {
    out.add(Words{.x = 12, .y = 22, .words = comparison(scene.views[0], scene.views[1]).text, .size = 13});
    out.resize(24 + 8.0 * static_cast<double>(std::get<Words>(out.shapes().back()).words.size()), kSentence);
    top = kSentence;
  }
  const CellColours colours = scene.reorder ? colours_of(*scene.reorder) : CellColours{};
  for (const View& view : scene.views) {
    draw_memory(out, top, view.layout, view.letters, heading_of(view), label_of(view), colours);
    top = out.height() + kBetweenViews;
  }
  if (scene.reorder && scene.views.size() == 2)
    draw_reorder(out, top, *scene.reorder, scene.views[1].layout, scene.views[1].letters);
  return out;
}

std::string scene_text(const Scene& scene, bool colour) {
  std::string out;
  if (scene.views.size() > 1) out += scene.title + "\n";
  if (compares(scene)) out += comparison(scene.views[0], scene.views[1]).text + "\n";
  for (const View& view : scene.views) {
    if (!out.empty()) out += "\n";
    const std::string heading = heading_of(view);
    out += (colour ? "\x1b[1m" + heading + "\x1b[0m" : heading) + "\n";
    out += labelled("offset", offset_formula(view.layout, view.letters));
    out += memory_text(view.layout, view.letters, {.colour = colour, .label = label_of(view)});
  }
  if (scene.reorder && scene.views.size() == 2)
    out += "\n" + reorder_text(*scene.reorder, scene.views[1].layout, scene.views[1].letters, colour);
  for (const Note& note : scene.notes) out += "\n" + note.title + "\n" + note.text + "\n";
  return out;
}

}  // namespace relayout::show
