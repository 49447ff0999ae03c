// The page of a scene: its digits as JSON, in the frame that all pages have.
#include "relayout/show/html.h"

#include "relayout/show/frame.h"
#include "relayout/show/page.h"
#include "relayout/show/svg.h"

namespace relayout::show {

std::string html(const Scene& scene) {
  return framed(scene.title, svg(scene_drawing(scene)), scene_json(scene),
                {kPageScript, kPageStyle, kPageScriptHash, kPageStyleHash}, base64(packed_core()));
}

}  // namespace relayout::show
