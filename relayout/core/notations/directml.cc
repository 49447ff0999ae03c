// dml: DirectML's description of a buffer tensor: sizes, then strides, or sizes alone, which are row-major.
//
//     dml:{1,1,3,5},{15,1,5,1}
#include <limits>

#include "relayout/core/notations/notation.h"

namespace relayout {
namespace {

/// "{1,1,3,5}": 1 to 8 numbers of 32 bits.
Dims braces(NotationText& text, const std::string& what, int64_t least) {
  static constexpr int kMostDims = 8;
  static constexpr int64_t kMost = std::numeric_limits<uint32_t>::max();
  if (!text.take('{')) text.fail("expected '{' and a " + what + " for each dim");
  if (text.rest().find('}') == std::string_view::npos)
    text.fail(text.at() + text.rest().size(), "the closing '}' is missing");
  Dims out;
  do {
    while (text.take(' ')) continue;
    if (out.size() == kMostDims) text.fail("DirectML has at most " + std::to_string(kMostDims) + " dims");
    const std::size_t at = text.at();
    out.push_back(text.number(what));
    if (out.back() < least || out.back() > kMost)
      text.fail(at, "a " + what + " of DirectML is " + std::to_string(least) + " to " + std::to_string(kMost));
  } while (text.take(','));
  text.expect('}');
  return out;
}

}  // namespace

Spelled read_directml(NotationText& text) {
  Spelled out;
  out.dims = braces(text, "size", 1);
  if (text.done()) return out;  // row-major
  if (!text.take(',')) text.fail("expected ',' and the strides");
  const std::size_t at = text.at();
  out.strides = braces(text, "stride", 0);
  if (out.strides->size() != out.dims->size())
    text.fail(at,
              std::to_string(out.strides->size()) + " strides of " + std::to_string(out.dims->size()) + " sizes");
  if (!text.done()) text.fail("nothing can stand behind the strides but an offset and views");
  return out;
}

}  // namespace relayout
