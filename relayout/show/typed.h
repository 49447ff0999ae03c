// Scenes of what people type: what `relayout show` and a page's fields have in common.
//
//     typed_scene({{{"nchw", "1,3,4,5", "f32"}, {"nhwc"}}})        // two sides; dims and type of the second as the
//     first's typed_scene({{{"torch (1,64,5,4) strides (1280,1,256,64)"}}}) typed_scene({{{"ggml:q4_0", "1,64"}}}) //
//     the fields of a record
#pragma once

#include <optional>
#include <span>

#include "relayout/core/error.h"
#include "relayout/show/scene.h"

namespace relayout::show {

/// A scene, or what is wrong with one of the sides.
struct TypedScene {
  std::optional<Scene> scene{};
  std::optional<Error> problem{};
  std::size_t side = 0;  // that the problem is with
};

/// The scene of one side or two. What a text says itself of dims and type counts; then what is given; then what is
/// given for the other side, where it has no views; then the extents that an expression's digits have, and f32.
/// `scene->typed` is `sides`, with what texts of other programs say themselves. A record stands alone. No errors but
/// those in the value.
TypedScene typed_scene(std::span<const TypedSide> sides);

}  // namespace relayout::show
