// View steps: the views at the end of a layout expression, as text and as functions of a layout.
//
// A LAYOUT may end in views, each written like a call: "nchw.transpose(0,2).narrow(1,0,8)". The name and the meaning of
// each are those of the function in view.h ("reshape" and "view" are both view()); a list of dims and one of offsets
// are parted by a colon, and blanks inside the parentheses do not count.
//
//     for (const ViewStep& step : Format::parse("nchw.submemory(0,8,0,0:2,8,5,4)").views())
//       layout = apply(layout, step);        // step.name == "submemory", step.arguments == {{0,8,0,0}, {2,8,5,4}}
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/core/layout.h"

namespace relayout {

/// One view with its arguments: one list, or several where colons part them.
struct ViewStep {
  std::string name;
  std::string text;  // as written, e.g. "narrow(1,8,8)"
  std::vector<Dims> arguments;
};

/// The names of all views that an expression can end in, in alphabetical order.
std::span<const std::string_view> view_names();

/// Reads ".narrow(1,8,8).flip(0)" from position `at` of `text` to its end. An error is passed to `fail` with its
/// position; `fail` must throw.
std::vector<ViewStep> read_views(std::string_view text, std::size_t at,
                                 const std::function<void(std::size_t, const std::string&)>& fail);

/// The view of a layout. Errors are those of the function in view.h.
Layout apply(const Layout& layout, const ViewStep& step);

/// One letter a dim behind the view, of the letters before it. Nothing where the view makes dims that have no letter
/// (reshape, split, merge, unsqueeze, an expand to a higher rank), or where the extents decide (squeeze of all).
std::optional<std::string> letters_after(const std::string& letters, const ViewStep& step);

/// The dims before the view, of those behind it. Nothing where they do not follow (narrow, slice, select, submemory,
/// expand, reshape, split, merge, squeeze of all), or where the view does not have these dims.
std::optional<Dims> dims_before(const Dims& after, const ViewStep& step);

}  // namespace relayout
