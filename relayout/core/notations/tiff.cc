// The image data of TIFF files without compression, of dims h,w,c, as one run of whole tiles or strips.
//
//     tiff:tiles(16,32)           tiles of 16 rows and 32 columns by rows, the samples of a pixel together
//     tiff:tiles(16,32):planar    cAB16a32b: all tiles of the first sample, then those of the next
//     tiff:strips                 abc: strips of any number of rows follow each other; the last one is shorter
//     tiff:strips:planar          cab
//
// A tile at the edge is as large as the others, and what lies beyond the image is padding. Sides of tiles are multiples
// of 16. A file may have its tiles and strips anywhere (TileOffsets, StripOffsets); in this run they follow each other.
//
// Source: TIFF revision 6.0, "Tiled Images" and PlanarConfiguration; its samples of fewer than 8 bits fill each row up
// to a whole byte, which is not this.
#include "relayout/core/format.h"
#include "relayout/core/notations/notation.h"
#include "relayout/core/tag_names.h"

namespace relayout {
namespace {

/// The side of a tile.
int64_t side(NotationText& text, const std::string& what) {
  const std::size_t at = text.at();
  const int64_t extent = text.number(what + " of a tile", 1);
  if (extent % 16 == 0 && extent <= kMaxBlock) return extent;
  text.fail(at, "the " + what + " of a tile is a multiple of 16 of up to " + std::to_string(kMaxBlock));
}

/// The samples of a pixel stand together, in tiles: no tag, because their number is that of a dim.
std::string digits_of_tiles(int64_t rows, int64_t columns) {
  const std::string r = std::to_string(rows), c = std::to_string(columns), all = std::to_string(rows * columns);
  return "(" + r + "," + c + "C)(A/" + r + "," + all + "C*B/" + c + ")|(" + c + ",C)(B/" + c + "," + all + "C)|(C,1)";
}

}  // namespace

Spelled read_tiff(NotationText& text) {
  std::string planar = "cab", digits;
  if (text.take("tiles(")) {
    const int64_t rows = side(text, "length");
    text.expect(',');
    const int64_t columns = side(text, "width");
    text.expect(')');
    planar = "cAB" + std::to_string(rows) + "a" + std::to_string(columns) + "b";
    digits = digits_of_tiles(rows, columns);
  } else if (!text.take("strips")) {
    text.fail("TIFF's data are tiles(LENGTH,WIDTH), as in tiles(16,32), or strips, and :planar behind these");
  }
  const bool planes = text.take(":planar");
  if (!text.done()) text.fail("expected the end or :planar");
  if (planes || digits.empty()) return {.tag = planes ? planar : "abc", .names = "hwc"};
  NotationText formula(digits, 0, digits.size(), [&](std::size_t, const std::string& why) { text.fail(why); });
  Spelled out = read_digits(formula);
  out.names = "hwc";
  return out;
}

}  // namespace relayout
