// Any placement, by its digits. One dim after the other, parted by '|'; of each the extent of a block in parentheses
// and the digits of places (extent, @step), innermost first. '*' is a dim that no place divides.
//
//     places:(8)(4,@1)|*                  blocks of 8 go round over 4 places
//     places:(4,@2)|(2,@1)                one block a place: 4 x 2 places by rows
//     places:(8)(4,@1)+1|*                the first block is at coordinate 1
//     places:(4,@2)|*;places=16           axes that no dim has hold copies: 2 inside and 2 outside
//     places:(4,@1)|*;files=part-{}.bin   places are files
#include <algorithm>

#include "relayout/interop/placements/parts.h"

namespace relayout::placements {
namespace {

/// One dim: its block and its digits, which become axes of the mesh.
PlacedDim read_dim(Reader& text, PlacementText& out) {
  PlacedDim dim;
  if (text.take('*')) return dim;
  do {
    text.expect('(');
    const std::size_t at = text.at();
    const int64_t extent = text.number("extent of a block or of a digit of places", 1);
    if (text.take(',')) {
      text.expect('@');
      dim.axes.insert(dim.axes.begin(), out.mesh.size());
      out.mesh.push_back({"", extent, text.number("step of a digit of places", 1)});
      const std::optional<int64_t> reached = checked_mul(extent, out.mesh.back().step);
      if (!reached) text.fail(at, "the number of places does not fit 64 bits");
      out.places = std::max(out.places, *reached);
    } else {
      if (dim.block || !dim.axes.empty()) text.fail(at, "the block of a dim stands once, before its digits of places");
      dim.block = extent;
    }
    text.expect(')');
  } while (text.peek() == '(');
  if (text.take('+')) dim.first = text.number("coordinate of the first block", 0);
  return dim;
}

}  // namespace

PlacementText read_places(Reader& text) {
  PlacementText out;
  do {
    out.dims.push_back(read_dim(text, out));
    if (out.dims.size() > kMaxDims) text.fail("more than " + std::to_string(kMaxDims) + " dims");
  } while (text.take('|'));
  out.noun = "place";
  while (text.take(';')) {
    if (text.take_word("places")) {
      text.expect('=');
      out.places = text.number("number of places", 1);
    } else if (text.take_word("files")) {
      text.expect('=');
      while (!text.done() && text.peek() != ';') {
        out.files += text.peek();
        text.take(text.peek());
      }
      if (out.files.find("{}") == std::string::npos) text.fail("a name of files has {} for the number");
      out.noun = "file";
    } else {
      text.fail("expected places= or files=");
    }
  }
  if (!text.done()) text.fail("expected '|' and the next dim, ';' or the end");
  out.all_dims = true;
  return out;
}

std::string write_places(const Placement& placement) {
  std::string out = "places:";
  int64_t reached = 1;
  for (int d = 0; d < placement.dims().size(); ++d) {
    const DimPlaces& dim = placement.of_dims()[static_cast<std::size_t>(d)];
    if (d > 0) out += '|';
    if (dim.count() == 1) {
      out += '*';
      continue;
    }
    out += "(" + std::to_string(dim.block) + ")";
    for (const Digit& digit : dim.places) {
      out += "(" + std::to_string(digit.extent) + ",@" + std::to_string(digit.stride) + ")";
      reached = std::max(reached, digit.extent * digit.stride);
    }
    if (dim.first != 0) out += "+" + std::to_string(dim.first);
  }
  return out + (reached == placement.places() ? "" : ";places=" + std::to_string(placement.places()));
}

}  // namespace relayout::placements
