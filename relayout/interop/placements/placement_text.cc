// What texts of placements mean for a tensor.
#include "relayout/interop/placements/placement_text.h"

#include <algorithm>

#include "relayout/core/error.h"

namespace relayout {
namespace {

/// The digits of a dim's places, innermost first.
Digits digits_of(const PlacementText& text, const PlacedDim& dim) {
  Digits out;
  for (std::size_t k = dim.axes.size(); k-- > 0;) {
    const MeshAxis& axis = text.mesh[dim.axes[k]];
    out.push_back({axis.extent, axis.step});
  }
  return out;
}

[[noreturn]] void wrong_dims(const PlacementText& text, const Dims& dims, const std::string& why) {
  throw Error(ErrorCode::invalid_argument, "placement: " + escaped(text.text) + ": " + why, "dims", join(dims));
}

/// The coordinates of a chunk in the grid.
Dims chunk_of(const Placement& placement, int64_t place) {
  Dims out;
  for (int d = 0; d < placement.dims().size(); ++d) out.push_back(placement.coordinate(place, d));
  return out;
}

}  // namespace

Placement PlacementText::bind(const Dims& tensor) const {
  const auto rank = static_cast<std::size_t>(tensor.size());
  if (extents && *extents != tensor)
    wrong_dims(*this, tensor, "its dims are " + join(*extents) + ", not " + join(tensor));
  if (dims.size() > rank || (all_dims && dims.size() < rank))
    wrong_dims(*this, tensor,
               "it has " + std::to_string(dims.size()) + " dims, and the tensor " + std::to_string(rank));
  std::vector<DimPlaces> of_dims(rank);
  if (chunked) {
    Dims chunk;
    for (const PlacedDim& dim : dims) chunk.push_back(*dim.block);
    return Placement::chunks(tensor, chunk);
  }
  for (std::size_t d = 0; d < rank; ++d) {
    const PlacedDim dim = d < dims.size() ? dims[d] : PlacedDim{};
    const int64_t extent = tensor[static_cast<int>(d)];
    if (extent % dim.divides != 0)
      throw Error(ErrorCode::unsupported,
                  "placement: dim " + std::to_string(d) + " of " + std::to_string(extent) +
                      " goes over several dims of the mesh and does not divide by their " +
                      std::to_string(dim.divides) + " parts, so that " + std::string(system) +
                      " cuts some of them anew elsewhere",
                  "dims[" + std::to_string(d) + "]", std::to_string(extent), std::to_string(dim.divides));
    DimPlaces& out = of_dims[d];
    out.places = digits_of(*this, dim);
    out.block = dim.block.value_or(std::max<int64_t>(1, ceil_div(extent, out.count())));
    out.first = dim.first;
  }
  return Placement::of(tensor, places, of_dims);
}

std::string PlacementText::name_of(const Placement& placement, int64_t place) const {
  if (!files.empty()) {
    std::string out = files;
    return out.replace(out.find("{}"), 2, std::to_string(place));
  }
  if (chunked) {
    const bool zarr = system == "zarr";
    std::string out = zarr ? "chunk c" : "chunk (";
    const Dims chunk = chunk_of(placement, place);
    for (int d = 0; d < chunk.size(); ++d) out += (zarr ? "/" : d == 0 ? "" : ",") + std::to_string(chunk[d]);
    return zarr ? out : out + ")";
  }
  std::string axes;
  for (std::size_t k = 0; k < mesh.size(); ++k) {
    if (mesh[k].name.empty()) continue;
    axes += (axes.empty() ? "" : ", ") + mesh[k].name + "=" + std::to_string(place / mesh[k].step % mesh[k].extent);
  }
  return std::string(noun) + " " + std::to_string(place) + (axes.empty() ? "" : " (" + axes + ")");
}

Layout PlacementText::layout_of(const Placement& placement, int64_t place) const {
  const Dims local = placement.local_dims(place);
  Dims whole = local, strides(local.size(), 1);
  if (chunked) {
    for (int d = 0; d < whole.size(); ++d) whole[d] = *dims[static_cast<std::size_t>(d)].block;
  }
  if (leading) {
    if (*leading < whole[0])
      throw Error(ErrorCode::invalid_argument,
                  "placement: lld is " + std::to_string(*leading) + ", and place " + std::to_string(place) + " has " +
                      std::to_string(whole[0]) + " rows",
                  "lld", std::to_string(*leading), std::to_string(whole[0]));
    whole[0] = *leading;
  }
  int64_t step = 1;
  for (int k = 0; k < whole.size(); ++k) {
    const int d = by_columns ? k : whole.size() - 1 - k;
    strides[d] = step;
    const std::optional<int64_t> next = checked_mul(step, std::max<int64_t>(1, whole[d]));
    if (!next) throw Error(ErrorCode::overflow, "placement: the elements of a place overflow 63 bits", "dims");
    step = *next;
  }
  return Layout::strided(local, strides);
}

}  // namespace relayout
