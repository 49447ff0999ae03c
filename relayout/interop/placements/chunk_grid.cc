// Chunks of zarr and HDF5 as places: a regular grid, whose chunks are numbered by rows. A chunk at the edge of an array
// has the extents of the others in memory, and what lies beyond the array is padding.
//
//     zarr:chunks=(64,32)               order=F: chunks by columns
//     hdf5:chunks=(64,32)
//
// The layout expression zarr:chunks(64,32) is another thing: the same chunks behind each other in one memory.
//
// Source: Zarr's storage specification, version 3 (the "regular" chunk grid, the keys "c/0/3") and version 2 ("order");
// the HDF5 user guide on chunked data sets.
#include "relayout/interop/placements/parts.h"

namespace relayout::placements {

PlacementText read_chunk_grid(Reader& text) {
  PlacementText out;
  bool chunks = false;
  do {
    if (text.take_word("chunks") || text.take_word("chunk_shape")) {
      text.expect('=');
      for (const int64_t extent : text.numbers("extent of a chunk", 1)) out.dims.push_back({{}, extent});
      chunks = true;
    } else if (text.take_word("shape")) {
      text.expect('=');
      Dims dims;
      for (const int64_t extent : text.numbers("extent of the array", 0)) {
        if (dims.size() == kMaxDims) text.fail("more than " + std::to_string(kMaxDims) + " dims");
        dims.push_back(extent);
      }
      out.extents = dims;
    } else if (text.take_word("order")) {
      text.expect('=');
      const std::string order = text.name("C or F");
      if (order != "C" && order != "F") text.fail("the order of a chunk is C or F");
      out.by_columns = order == "F";
    } else {
      text.fail("expected chunks=(64,32), shape=(...) or order=");
    }
  } while (text.take(','));
  if (!text.done()) text.fail("expected ',' or the end");
  if (!chunks) text.fail("expected chunks=(64,32)");
  if (out.dims.size() > kMaxDims) text.fail("more than " + std::to_string(kMaxDims) + " dims");
  out.all_dims = true;
  out.chunked = true;
  out.noun = "chunk";
  return out;
}

std::string write_chunk_grid(const Placement& placement) {
  std::string out;
  Dims chunk;
  for (int d = 0; d < placement.dims().size(); ++d) {
    const int64_t block = placement.of_dims()[static_cast<std::size_t>(d)].block;
    out += (d == 0 ? "" : ",") + std::to_string(block);
    chunk.push_back(block);
  }
  if (!(Placement::chunks(placement.dims(), chunk) == placement))
    refuse("a grid of chunks has each block at a place of its own, numbered by rows; this placement has blocks of (" +
           out + ") over " + std::to_string(placement.places()) + " places");
  return "chunks=(" + out + ")";
}

}  // namespace relayout::placements
