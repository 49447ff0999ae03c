// Chunked arrays of zarr and HDF5, as one run of whole chunks without compression.
//
//     zarr:chunks(64,32)    AB64a32b: the grid of chunks by rows, and each chunk by rows
//     hdf5:chunks(64,32)    the same
//
// A chunk at the edge of an array is as large as the others, and what lies beyond the array is padding. In a store each
// chunk has a place of its own; in this run they follow each other in the order of the grid.
//
// Source: Zarr's storage specification, version 2 ("chunks", order C); the HDF5 user guide on chunked data sets.
#include "relayout/core/format.h"
#include "relayout/core/notations/notation.h"
#include "relayout/core/tag_names.h"

namespace relayout {
Spelled read_chunks(NotationText& text) {
  if (!text.take("chunks(")) text.fail("chunks are written as in chunks(64,32), with an extent for each dim");
  Spelled out;
  std::string blocks;
  do {
    const std::size_t at = text.at();
    const auto dim = static_cast<char>(out.tag.size());
    if (dim == kMaxDims) text.fail("more than " + std::to_string(kMaxDims) + " dims");
    const int64_t extent = text.number("extent of a chunk", 1);
    if (extent > kMaxBlock) text.fail(at, "an extent of a chunk of over " + std::to_string(kMaxBlock));
    out.tag += static_cast<char>('A' + dim);
    blocks += std::to_string(extent) + static_cast<char>('a' + dim);
  } while (text.take(','));
  text.expect(')');
  if (!text.done()) text.fail("expected the end");
  out.tag += blocks;
  return out;
}

}  // namespace relayout
