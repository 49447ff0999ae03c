// Scene: what is shown of layouts, as one value for all writers: a page, a drawing, text.
//
//     Scene scene{.title = "nChw8c  2x17x5x4", .views = {{.expression = "nChw8c", .layout = layout, .letters =
//     "nchw"}}}; html(scene)              // a page that a browser opens from disk (html.h) svg(scene_drawing(scene))
//     scene_text(scene, true)  // for a terminal
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "relayout/core/format.h"
#include "relayout/core/record/record.h"
#include "relayout/show/drawing.h"
#include "relayout/show/reorder_view.h"

namespace relayout::show {

/// A layout with what people call it.
struct View {
  std::string name = {};  // of a field, or of a side where there are two; else ""
  std::string expression = {};
  Layout layout = {};
  std::string letters = {};  // one for each dim
  DType dtype = DType::f32;
  std::optional<ImageExtent> image = {};
  /// Of all elements in row-major order, or none.
  std::vector<std::string> values = {};
};

/// Words that stand below the views, in lines of their own: how a plan moves the elements.
struct Note {
  std::string title, text;
};

/// A side as people type it: a layout expression, a record, or a text of another program (interop/tensor_text.h), with
/// dims ("2,17,5,4") and type where the text does not say them, and else "".
struct TypedSide {
  std::string text{}, dims{}, dtype{};
};

struct Scene {
  /// How the views belong together: each has a buffer of its own, and two of them are compared; or all are fields of
  /// one buffer.
  enum class Kind : uint8_t { sides, fields };

  std::string title;
  std::vector<View> views;
  Kind kind = Kind::sides;
  int64_t bytes = 0;  // of the one buffer
  std::vector<Note> notes = {};
  /// What is typed for the sides, or for the record, to get this scene; empty where no text says it, as of an array.
  std::vector<TypedSide> typed = {};
  /// How the elements of the first view are moved to the second, of a scene of two sides.
  std::optional<ReorderView> reorder = {};
};

/// A layout of an expression, with the letters that it names. Errors: those of Format::bind(), and of
/// directml::data_type() where the expression is DirectML's.
View view_of(const Format& format, const Dims& dims, DType dtype);
/// One view, or two that are compared, with names for two sides and a title. Error{invalid_argument} unless two have
/// the same dims.
Scene scene_of(std::vector<View> views);

/// The fields of a record as a scene.
Scene scene_of(const Record& record, const std::string& title);

/// Whether two views are the same function: "A and B are the same function: ...", or the first index at which they part
/// and how many elements lie elsewhere. Errors: invalid_argument unless the dims are equal; limit as difference()
/// (core/decide.h).
struct Comparison {
  std::string text;
  std::optional<Dims> index;  // where they part
};
Comparison comparison(const View& a, const View& b);

/// The views below each other. Errors: those of Layout::inverse().
Drawing scene_drawing(const Scene& scene);

/// The same for a terminal, with the formula of each view; `colour`: with the sequences that colour letters.
std::string scene_text(const Scene& scene, bool colour);

}  // namespace relayout::show
