// Scenes as a page: one file with its script, style and data inside, that asks no network for anything.
#pragma once

#include <string>

#include "relayout/show/scene.h"

namespace relayout::show {

/// The largest offset that a page shows: numbers of its script are exact up to here.
inline constexpr int64_t kMostOfPage = int64_t{1} << 53;

/// A page that browsers open from disk. A policy of its own (CSP) allows only the script and the style that come with
/// the library, so that nothing that a name or a value says is ever run; without scripts it shows scene_drawing(). A
/// scene without values takes some 100 KB, whatever the size of its layouts. Errors: limit where an offset exceeds
/// kMostOfPage; those of scene_drawing() and comparison().
std::string html(const Scene& scene);

/// What the page computes from: the views with their digits, as JSON (docs/show.md lists the keys).
std::string scene_json(const Scene& scene);

}  // namespace relayout::show
